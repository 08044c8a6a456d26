#include "base/wire.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

static size_t body_size(const struct wire_message *m)
{
    size_t size = 2;
    for (size_t i = 0; i < m->count; i++)
        size += 4 + m->fields[i].len;
    return size;
}

void wire_write(const struct wire_message *m, struct buf *out)
{
    assert(m->count <= WIRE_MAX_FIELDS);
    size_t size = body_size(m);
    if (size > WIRE_MAX_MESSAGE) {
        out->full = true;
        return;
    }
    buf_add_u32(out, (uint32_t)size);
    buf_addc(out, (char)m->kind);
    buf_addc(out, (char)m->count);
    for (size_t i = 0; i < m->count; i++) {
        buf_add_u32(out, (uint32_t)m->fields[i].len);
        buf_add(out, m->fields[i]);
    }
}

static uint32_t take_u32(struct str *s)
{
    const unsigned char *p = (const unsigned char *)s->data;
    uint32_t n = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                 (uint32_t)p[3] << 24;
    *s = str_from(*s, 4);
    return n;
}

static bool parse_body(struct str body, struct wire_message *out)
{
    unsigned char kind = (unsigned char)body.data[0], count = (unsigned char)body.data[1];
    if (kind < WIRE_SETUP || kind >= WIRE_KINDS || count > WIRE_MAX_FIELDS)
        return false;
    body = str_from(body, 2);
    struct wire_message m = { .kind = (enum wire_kind)kind, .count = count };
    for (size_t i = 0; i < count; i++) {
        if (body.len < 4)
            return false;
        uint32_t len = take_u32(&body);
        if (len > body.len)
            return false;
        m.fields[i] = str_sub(body, 0, len);
        body = str_from(body, len);
    }
    if (body.len)
        return false;
    *out = m;
    return true;
}

bool wire_parse(struct str *bytes, struct wire_message *out, bool *got, struct error *err)
{
    *got = false;
    if (bytes->len < 4)
        return true;
    struct str rest = *bytes;
    uint32_t size = take_u32(&rest);
    if (size < 2 || size > WIRE_MAX_MESSAGE)
        return error_set(err, ERR_INVALID, "helper sent a message of %u bytes", size);
    if (rest.len < size)
        return true;
    if (!parse_body(str_sub(rest, 0, size), out))
        return error_set(err, ERR_INVALID, "helper sent a malformed message");
    *bytes = str_from(rest, size);
    *got = true;
    return true;
}

bool wire_send(int fd, const struct wire_message *m, struct error *err)
{
    auto_buf out = BUF(WIRE_MAX_MESSAGE + 64);
    wire_write(m, &out);
    if (out.full)
        return error_set(err, ERR_LIMIT, "message is larger than %zu bytes",
                (size_t)WIRE_MAX_MESSAGE);
    for (struct str rest = buf_str(&out); rest.len;) {
        ssize_t n = send(fd, rest.data, rest.len, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "cannot send to the peer");
        rest = str_from(rest, (size_t)n);
    }
    return true;
}

void wire_reader_init(struct wire_reader *r, int fd)
{
    *r = (struct wire_reader){ .fd = fd, .in = BUF(WIRE_MAX_MESSAGE + 65536) };
}

void wire_reader_finish(struct wire_reader *r)
{
    buf_finish(&r->in);
}

static void drop_used(struct wire_reader *r)
{
    if (!r->used)
        return;
    r->in.len -= r->used;
    memmove(r->in.data, r->in.data + r->used, r->in.len);
    r->used = 0;
}

bool wire_receive(struct wire_reader *r, struct wire_message *out, struct error *err)
{
    drop_used(r);
    for (;;) {
        struct str bytes = buf_str(&r->in);
        bool got;
        if (!wire_parse(&bytes, out, &got, err))
            return false;
        if (got) {
            r->used = r->in.len - bytes.len;
            return true;
        }
        char *to = buf_reserve(&r->in, 65536);
        if (!to)
            return error_set(err, ERR_LIMIT, "peer's message is too large");
        ssize_t n = read(r->fd, to, 65536);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return error_errno(err, errno, "cannot read from the peer");
        if (!n)
            return error_set(err, ERR_NOT_FOUND, "the peer has closed");
        r->in.len += (size_t)n;
    }
}
