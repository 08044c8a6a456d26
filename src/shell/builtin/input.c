#include "shell/builtin/input.h"

#include "shell/builtin/quote.h"

#include <errno.h>

static char *stdin_only[] = { (char[]){ "-" }, NULL };

static void close_held(void *held)
{
    stream_unref(*(struct stream **)held);
}

struct inputs inputs_open(struct cmd *c)
{
    struct stream **held = arena_zalloc(c->arena, sizeof(struct stream *));
    arena_defer(c->arena, close_held, held);
    return (struct inputs){
        .c = c,
        .held = held,
        .names = c->argc ? c->argv : stdin_only,
        .count = c->argc ? c->argc : 1,
    };
}

bool input_is_stdin(const char *name)
{
    return !strcmp(name, "-");
}

static void report_open(
        struct cmd *c, enum input_style style, const char *name, const char *why)
{
    switch (style) {
    case INPUT_PLAIN:
        cmd_err(c, "%s: %s", quote_maybe(c, name), why);
        break;
    case INPUT_HEAD:
        cmd_err(c, "cannot open %s for reading: %s", quote(c, name), why);
        break;
    case INPUT_TAC:
        cmd_err(c, "failed to open %s for reading: %s", quote(c, name), why);
        break;
    case INPUT_OPEN:
        cmd_err(c, "cannot open %s: %s", name, why);
        break;
    case INPUT_SORT:
        cmd_err(c, "cannot read: %s: %s", quote_maybe(c, name), why);
        break;
    }
}

void input_failed(struct cmd *c, enum input_style style, const char *name, int errnum)
{
    const char *why = errno_text(errnum);
    if (style == INPUT_HEAD)
        cmd_err(c, "error reading %s: %s", quote(c, name), why);
    else if (style == INPUT_SORT)
        cmd_err(c, "read failed: %s: %s", quote_maybe(c, name), why);
    else if (style == INPUT_TAC)
        cmd_err(c, "%s: read error: %s", quote_maybe(c, name), why);
    else
        cmd_err(c, "%s: %s", quote_maybe(c, name), why);
}

static void finish_one(struct inputs *in)
{
    int errnum = stream_error(in->stream);
    if (errnum && errnum != ECANCELED) {
        input_failed(in->c, in->style, in->name, errnum);
        in->status = 1;
    }
    stream_unref(in->stream);
    in->stream = *in->held = NULL;
}

bool inputs_next(struct inputs *in)
{
    if (in->stream)
        finish_one(in);
    while (in->next < in->count && cmd_tick(in->c)) {
        in->name = in->names[in->next++];
        int errnum = cmd_open(in->c, in->name, true, &in->stream);
        in->opened += !errnum;
        if (!errnum) {
            *in->held = in->stream;
            return true;
        }
        report_open(in->c, in->style, in->name, errno_text(errnum));
        in->status = 1;
    }
    return false;
}

struct stream *inputs_take(struct inputs *in)
{
    *in->held = NULL;
    return TAKE(in->stream);
}

int inputs_stop(struct inputs *in)
{
    stream_unref(inputs_take(in));
    return 1;
}

bool input_line(struct cmd *c, struct stream *s, char end, struct str *line, bool *ended)
{
    if (!cmd_tick(c))
        return false;
    if (!stream_line(s, end, c->budget->max_memory, line)) {
        if (stream_error(s) == EFBIG)
            budget_stop(c->budget, BUDGET_MEMORY);
        return false;
    }
    bool has_end = line->len && line->data[line->len - 1] == end;
    line->len -= has_end;
    if (ended)
        *ended = has_end;
    return true;
}

bool copy_bytes(struct cmd *c, struct stream *s, uint64_t max)
{
    struct str view;
    while (max && cmd_tick(c) && stream_peek(s, &view)) {
        view = str_sub(view, 0, max < SIZE_MAX ? max : SIZE_MAX);
        if (!cmd_put(c, view))
            return false;
        stream_consume(s, view.len);
        max -= max == UINT64_MAX ? 0 : view.len;
    }
    return true;
}

bool skip_bytes(struct cmd *c, struct stream *s, uint64_t n)
{
    struct str view;
    while (n && cmd_tick(c) && stream_peek(s, &view)) {
        view = str_sub(view, 0, n);
        stream_consume(s, view.len);
        n -= view.len;
    }
    return !n;
}

bool skip_lines(struct cmd *c, struct stream *s, char end, uint64_t n)
{
    struct str view;
    while (n && cmd_tick(c) && stream_peek(s, &view)) {
        const char *at = memchr(view.data, end, view.len);
        stream_consume(s, at ? (size_t)(at - view.data) + 1 : view.len);
        n -= at != NULL;
    }
    return !n;
}
