#include "session/relay.h"

#include "base/log.h"
#include "base/str.h"

#include <unistd.h>

#define MAX_LINE 900 /* log_line() cuts longer ones */

struct relay {
    uv_poll_t poll;
    int fd;
    const char *name;
    struct buf line;
    size_t left; /* bytes that are still passed on */
};

static void put_line(struct relay *r)
{
    if (r->line.len)
        log_line(LOG_WARN, "%s: %s", r->name, r->line.data);
    buf_clear(&r->line);
}

static bool is_harmless(char c)
{
    return (unsigned char)c >= 0x20 && c != 0x7f;
}

static void pass_on(struct relay *r, const char *data, size_t size)
{
    for (size_t i = 0; i < size && r->left; i++, r->left--) {
        if (data[i] == '\n')
            put_line(r);
        else
            buf_addc(&r->line, is_harmless(data[i]) || data[i] == '\t' ? data[i] : '?');
        if (r->line.len == MAX_LINE)
            put_line(r);
    }
    if (!r->left)
        put_line(r);
}

/* What is there now, a bounded part of it; false: nothing more will come. */
static bool drain(struct relay *r)
{
    char data[4096];
    for (int turns = 0; turns < 32; turns++) {
        ssize_t n = read(r->fd, data, sizeof(data));
        if (n <= 0)
            return n < 0;
        pass_on(r, data, (size_t)n);
    }
    return true;
}

static void on_readable(uv_poll_t *poll, int failure, int events UNUSED)
{
    struct relay *r = poll->data;
    if (failure || !drain(r))
        uv_poll_stop(poll);
}

struct relay *relay_start(uv_loop_t *loop, int fd, const char *name)
{
    struct relay *r = xcalloc(1, sizeof(*r));
    r->fd = fd;
    r->name = name;
    r->line = BUF(MAX_LINE + 1);
    r->left = RELAY_MAX_BYTES;
    r->poll.data = r;
    uv_poll_init(loop, &r->poll, fd);
    uv_poll_start(&r->poll, UV_READABLE, on_readable);
    return r;
}

static void on_closed(uv_handle_t *handle)
{
    struct relay *r = handle->data;
    close_fd(&r->fd);
    buf_finish(&r->line);
    free(r);
}

void relay_end(struct relay *r)
{
    if (!r)
        return;
    drain(r);
    put_line(r);
    uv_close((uv_handle_t *)&r->poll, on_closed);
}
