#include "broker/collect.h"

void collector_init(struct collector *c, size_t head_bytes, size_t tail_bytes)
{
    *c = (struct collector){ .head = BUF(head_bytes), .ring_size = tail_bytes };
}

void collector_finish(struct collector *c)
{
    buf_finish(&c->head);
    free(c->ring);
    c->ring = NULL;
}

static void add_to_ring(struct collector *c, struct str bytes)
{
    uint64_t start = c->beyond;
    c->beyond += bytes.len;
    c->beyond_lines += str_count(bytes, '\n');
    if (!c->ring_size || !bytes.len)
        return;
    if (!c->ring)
        c->ring = xmalloc(c->ring_size);
    if (bytes.len > c->ring_size) {
        start += bytes.len - c->ring_size;
        bytes = str_from(bytes, bytes.len - c->ring_size);
    }
    size_t at = start % c->ring_size;
    struct str first = str_sub(bytes, 0, c->ring_size - at);
    memcpy(c->ring + at, first.data, first.len);
    memcpy(c->ring, bytes.data + first.len, bytes.len - first.len);
}

void collector_add(struct collector *c, struct str bytes)
{
    size_t room = c->head.max - c->head.len;
    buf_add(&c->head, str_sub(bytes, 0, room));
    add_to_ring(c, str_from(bytes, room));
}

static void reverse(char *p, size_t count)
{
    for (size_t i = 0; i < count / 2; i++) {
        char c = p[i];
        p[i] = p[count - 1 - i];
        p[count - 1 - i] = c;
    }
}

struct str collector_tail(struct collector *c)
{
    if (!c->ring)
        return STR("");
    if (c->beyond <= c->ring_size)
        return (struct str){ c->ring, (size_t)c->beyond };
    /* The oldest byte stands where the next one would: turn it to the front. */
    size_t at = c->beyond % c->ring_size;
    reverse(c->ring, at);
    reverse(c->ring + at, c->ring_size - at);
    reverse(c->ring, c->ring_size);
    return (struct str){ c->ring, c->ring_size };
}

uint64_t collector_dropped(const struct collector *c)
{
    return c->beyond > c->ring_size ? c->beyond - c->ring_size : 0;
}

uint64_t collector_dropped_lines(const struct collector *c)
{
    size_t kept = c->beyond < c->ring_size ? (size_t)c->beyond : c->ring_size;
    struct str tail = { c->ring, c->ring ? kept : 0 };
    return c->beyond_lines - str_count(tail, '\n');
}
