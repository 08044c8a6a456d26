#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = {
    { 'a', "append", ARG_NONE, NULL, "add to the files instead of replacing them" },
    { 'i', "ignore-interrupts", ARG_NONE, NULL, "(ignored)" },
    { 'p', "output-error", ARG_OPTIONAL, "MODE", "(ignored)" },
    { 0 },
};

struct output {
    const char *name;
    struct stream *stream; /* NULL: it failed */
};

static bool open_output(struct cmd *c, enum vfs_open_flags flags, struct output *out)
{
    int errnum = cmd_create(c, out->name, flags, &out->stream);
    if (!errnum)
        return true;
    out->stream = NULL;
    cmd_err(c, "%s: %s", quote_maybe(c, out->name), errno_text(errnum));
    return false;
}

static bool write_output(struct cmd *c, struct output *out, struct str data)
{
    if (!out->stream || stream_write(out->stream, data))
        return true;
    cmd_err(c, "%s: %s", quote_maybe(c, out->name),
            errno_text(stream_error(out->stream)));
    stream_unref(out->stream);
    out->stream = NULL;
    return false;
}

static int copy(struct cmd *c, struct output *outputs)
{
    int status = 0;
    struct str view;
    while (cmd_tick(c) && stream_peek(c->in, &view)) {
        for (int i = 0; i < c->argc; i++)
            if (!write_output(c, &outputs[i], view))
                status = 1;
        if (!cmd_put(c, view))
            return 1;
        stream_consume(c->in, view.len);
    }
    if (!stream_error(c->in))
        return status;
    cmd_err(c, "read error: %s", errno_text(stream_error(c->in)));
    return 1;
}

static int cmd_tee(struct cmd *c)
{
    enum vfs_open_flags flags = VFS_WRITE | VFS_CREATE | VFS_TRUNCATE;
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        if (k == 'a')
            flags = VFS_WRITE | VFS_CREATE | VFS_APPEND;
    }
    struct output *outputs =
            arena_zalloc(c->arena, ((size_t)c->argc + 1) * sizeof(*outputs));
    int status = 0;
    for (int i = 0; i < c->argc; i++) {
        outputs[i].name = c->argv[i];
        if (!open_output(c, flags, &outputs[i]))
            status = 1;
    }
    int copied = copy(c, outputs);
    for (int i = 0; i < c->argc; i++) {
        if (outputs[i].stream && !stream_flush(outputs[i].stream) &&
                !write_output(c, &outputs[i], STR("")))
            status = 1;
        stream_unref(outputs[i].stream);
    }
    return copied ? copied : status;
}

const struct command command_tee = {
    "tee",
    cmd_tee,
    options,
    "[OPTION]... [FILE]...",
    "Copy standard input to each file and to standard output.",
    0,
};
