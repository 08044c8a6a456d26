#include "bridge/output.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* More than all exchanges can have in their hands at once. */
#define MAX_WAITING ((size_t)256 << 20)
#define KEEP_BUFFER ((size_t)256 << 10)

void output_init(struct output *o, int fd)
{
    *o = (struct output){ .fd = fd, .waiting = BUF(MAX_WAITING) };
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void output_finish(struct output *o)
{
    buf_finish(&o->waiting);
}

void output_add(struct output *o, struct str json)
{
    char *to = buf_reserve(&o->waiting, json.len + 1);
    if (!to) {
        o->is_broken = true;
        return;
    }
    for (size_t i = 0; i < json.len; i++)
        to[i] = json.data[i];
    for (char *at = to; (at = memchr(at, '\n', (size_t)(to + json.len - at)));)
        *at = ' ';
    for (char *at = to; (at = memchr(at, '\r', (size_t)(to + json.len - at)));)
        *at = ' ';
    to[json.len] = '\n';
    o->waiting.len += json.len + 1;
}

void output_add_json(struct output *o, const json_t *json)
{
    auto_buf text = BUF(MAX_WAITING);
    json_write(json, &text);
    output_add(o, buf_str(&text));
}

void output_flush(struct output *o)
{
    while (output_waiting(o) && !o->is_broken) {
        ssize_t n = write(o->fd, o->waiting.data + o->sent, output_waiting(o));
        if (n < 0 && errno == EAGAIN)
            return;
        if (n < 0 && errno != EINTR)
            o->is_broken = true;
        if (n > 0)
            o->sent += (size_t)n;
    }
    o->waiting.len = o->sent = 0;
    if (o->waiting.cap > KEEP_BUFFER)
        buf_finish(&o->waiting);
}
