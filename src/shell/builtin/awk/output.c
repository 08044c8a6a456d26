/* Where print writes, and what getline reads besides the main input. */
#include "shell/builtin/awk/awk.h"

/* Run a command line in a copy of the shell; nothing leaves it. */
int awk_system(struct awk *a, struct str command, struct stream *in, struct stream *out)
{
    char *argv[] = { arena_cstr(a->cmd->arena, STR("eval")),
        arena_cstr(a->cmd->arena, STR("--")), arena_cstr(a->cmd->arena, command), NULL };
    return cmd_run(a->cmd, 3, argv, in, out, a->cmd->err);
}

static struct awk_output *find_output(struct awk *a, struct str name)
{
    struct awk_output *o = a->outputs;
    while (o && !str_eq(o->name, name))
        o = o->next;
    return o;
}

static struct awk_output *open_output(struct awk *a, int kind, struct str name)
{
    struct arena *arena = a->cmd->arena;
    struct awk_output *o = arena_zalloc(arena, sizeof(*o));
    o->name = arena_str(arena, name);
    o->kind = kind;
    o->piped = BUF(a->cmd->budget->max_memory);
    if (kind != '|') {
        int errnum = str_is(name, "-") ? (o->stream = stream_ref(a->cmd->out), 0)
                                       : cmd_create(a->cmd, o->name.data,
                                                 kind == 'A' ? VFS_APPEND : VFS_TRUNCATE,
                                                 &o->stream);
        if (errnum) {
            awk_fatal(a, "cannot redirect to `%s': %s", o->name.data, strerror(errnum));
            return NULL;
        }
    }
    o->next = a->outputs;
    a->outputs = o;
    return o;
}

bool awk_write(struct awk *a, int kind, struct str name, struct str text)
{
    if (!kind) {
        a->failed = !cmd_put(a->cmd, text) || a->failed;
        return !a->failed;
    }
    struct awk_output *o = find_output(a, name);
    if (!o)
        o = open_output(a, kind, name);
    if (!o)
        return false;
    if (o->kind == '|') {
        buf_add(&o->piped, text);
        return !o->piped.full || budget_stop(a->cmd->budget, BUDGET_MEMORY);
    }
    if (stream_write(o->stream, text))
        return true;
    return awk_fatal(a, "cannot write to `%s': %s", o->name.data,
            strerror(stream_error(o->stream)));
}

static int finish_output(struct awk *a, struct awk_output *o)
{
    int status = 0;
    if (o->kind == '|' && !budget_stopped(a->cmd->budget)) {
        struct stream *in = stream_text(buf_str(&o->piped));
        stream_flush(a->cmd->out);
        status = awk_system(a, o->name, in, a->cmd->out);
        stream_unref(in);
    }
    stream_unref(TAKE(o->stream));
    buf_finish(&o->piped);
    return status;
}

static void run_source(struct awk *a, struct awk_source *s)
{
    auto_buf output = BUF(a->cmd->budget->max_memory);
    struct stream *out = stream_buffer(&output), *in = stream_null();
    awk_system(a, s->name, in, out);
    stream_unref(in);
    stream_unref(out);
    s->stream = stream_text(buf_str(&output));
}

struct awk_source *awk_source_open(struct awk *a, int kind, struct str name)
{
    struct awk_source *s = a->sources;
    while (s && (s->kind != kind || !str_eq(s->name, name)))
        s = s->next;
    if (s)
        return s;
    struct arena *arena = a->cmd->arena;
    s = arena_zalloc(arena, sizeof(*s));
    s->name = arena_str(arena, name);
    s->kind = kind;
    if (kind == '|')
        run_source(a, s);
    else if (cmd_open(a->cmd, s->name.data, true, &s->stream))
        return NULL;
    s->next = a->sources;
    a->sources = s;
    return s;
}

int awk_close(struct awk *a, struct str name)
{
    int status = -1;
    for (struct awk_output **at = &a->outputs; *at;) {
        struct awk_output *o = *at;
        if (!str_eq(o->name, name)) {
            at = &o->next;
            continue;
        }
        *at = o->next;
        status = finish_output(a, o);
    }
    for (struct awk_source **at = &a->sources; *at;) {
        struct awk_source *s = *at;
        if (!str_eq(s->name, name)) {
            at = &s->next;
            continue;
        }
        *at = s->next;
        stream_unref(s->stream);
        status = 0;
    }
    return status;
}

void awk_close_all(struct awk *a)
{
    /* First opened, first run: the list has the newest in front. */
    struct awk_output *order = NULL;
    while (a->outputs) {
        struct awk_output *o = a->outputs;
        a->outputs = o->next;
        o->next = order;
        order = o;
    }
    for (; order; order = order->next)
        finish_output(a, order);
    for (; a->sources; a->sources = a->sources->next)
        stream_unref(a->sources->stream);
}

bool awk_flush(struct awk *a)
{
    for (struct awk_output *o = a->outputs; o; o = o->next)
        if (o->stream && !stream_flush(o->stream))
            return false;
    return true;
}
