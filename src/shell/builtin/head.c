#include "shell/builtin/ends.h"

static bool first_lines(const struct ends *e, struct stream *s)
{
    struct str view;
    uint64_t left = e->count;
    while (left && cmd_tick(e->c) && stream_peek(s, &view)) {
        size_t len = 0;
        while (left && len < view.len) {
            const char *at = memchr(view.data + len, e->end, view.len - len);
            len = at ? (size_t)(at - view.data) + 1 : view.len;
            left -= at != NULL;
        }
        if (!cmd_put(e->c, str_sub(view, 0, len)))
            return false;
        stream_consume(s, len);
    }
    return true;
}

static bool all_but_last(const struct ends *e, struct stream *s)
{
    struct queue q = { .e = e, .emit = true };
    struct str view;
    bool ok = true;
    while (ok && cmd_tick(e->c) && stream_peek(s, &view)) {
        ok = queue_add(&q, view);
        stream_consume(s, view.len);
    }
    buf_finish(&q.bytes);
    return ok;
}

static bool head_one(const struct ends *e, struct stream *s)
{
    if (e->from_end)
        return all_but_last(e, s);
    return e->bytes ? copy_bytes(e->c, s, e->count) : first_lines(e, s);
}

static int cmd_head(struct cmd *c)
{
    struct ends e;
    if (!ends_parse(c, false, &e))
        return 1;
    bool first = true;
    struct inputs in = inputs_open(c);
    in.style = INPUT_HEAD;
    while (inputs_next(&in)) {
        if (!ends_header(&e, in.name, first) || !head_one(&e, in.stream))
            in.next = in.count;
        first = false;
    }
    return in.status;
}

const struct command command_head = {
    "head",
    cmd_head,
    head_options,
    "[OPTION]... [FILE]...",
    "Print the first 10 lines of each file.",
    0,
};
