#include "shell/builtin/sed/sed.h"

#include <errno.h>

void sed_input_init(
        struct sed_input *in, struct cmd *c, const struct sed_script *s, char **files)
{
    *in = (struct sed_input){ .cmd = c,
        .script = s,
        .files = files,
        .end = s->nul_lines ? 0 : '\n',
        .replacement = BUF(c->budget->max_memory) };
}

static bool complain(struct sed_input *in, const char *what, const char *name, int errnum)
{
    cmd_err(in->cmd, "%s %s: %s", what, name, strerror(errnum));
    in->status = 2;
    return false;
}

/* In place: what the file is now, so that nobody's change is overwritten. */
static bool look_at(struct sed_input *in, const char *name)
{
    struct vfile *file = stream_vfile(in->current);
    int errnum = file ? vfile_stat(file, &in->before) : EINVAL;
    if (!errnum && in->before.type == VFS_FILE)
        return true;
    cmd_err(in->cmd, "couldn't edit %s: not a regular file", name);
    in->status = 4;
    stream_unref(TAKE(in->current));
    return false;
}

static bool open_next(struct sed_input *in)
{
    while (in->files[in->next]) {
        const char *name = in->files[in->next++];
        int errnum = cmd_open(in->cmd, name, !in->script->in_place, &in->current);
        if (errnum) {
            complain(in, "can't read", name, errnum);
            continue;
        }
        if (in->script->in_place && !look_at(in, name))
            continue;
        in->name = name;
        in->new_file = true;
        buf_clear(&in->replacement);
        return true;
    }
    return false;
}

/* A copy, since a second link to the file would be rewritten with it. */
static int copy_file(struct cmd *c, const char *from, const char *to)
{
    struct stream *in, *out = NULL;
    int errnum = cmd_open(c, from, false, &in);
    if (errnum)
        return errnum;
    errnum = cmd_create(c, to, VFS_TRUNCATE, &out);
    struct str view;
    while (!errnum && cmd_tick(c) && stream_peek(in, &view)) {
        errnum = stream_write(out, view) ? 0 : stream_error(out);
        stream_consume(in, view.len);
    }
    if (!errnum)
        errnum = stream_error(in);
    stream_unref(in);
    if (!errnum && !stream_flush(out))
        errnum = stream_error(out);
    stream_unref(out);
    return errnum;
}

static bool back_up(struct sed_input *in)
{
    struct cmd *c = in->cmd;
    const char *suffix = in->script->suffix;
    const char *slash = strrchr(in->name, '/');
    struct str base = str_of(slash ? slash + 1 : in->name);
    auto_buf name = BUF(8192);
    if (!strchr(suffix, '/'))
        buf_add(&name, (struct str){ in->name, (size_t)(base.data - in->name) });
    if (!strchr(suffix, '*'))
        buf_add(&name, base);
    for (const char *s = suffix; *s; s++) {
        if (*s == '*')
            buf_add(&name, base);
        else
            buf_addc(&name, *s);
    }
    int errnum = copy_file(c, in->name, name.data);
    return !errnum || complain(in, "cannot back up", in->name, errnum);
}

bool sed_input_finish(struct sed_input *in)
{
    if (!in->current)
        return true;
    stream_unref(TAKE(in->current));
    if (!in->script->in_place)
        return true;
    struct vpath path;
    int errnum = cmd_path(in->cmd, in->name, &path);
    if (!errnum && in->script->suffix && !back_up(in))
        return false;
    /* The link of a backup changes the time of the inode, which is no change of content.
     */
    if (!errnum && in->script->suffix)
        errnum = vfs_stat(in->cmd->vfs, path, VFS_FOLLOW, &in->before);
    if (!errnum)
        errnum = vfs_replace(
                in->cmd->vfs, path, buf_str(&in->replacement), 0, &in->before);
    if (!errnum)
        return true;
    cmd_err(in->cmd, "couldn't edit %s: %s", in->name, strerror(errnum));
    in->status = 4;
    return false;
}

bool sed_input_line(struct sed_input *in, struct buf *out, bool *ended)
{
    while (in->current || open_next(in)) {
        if (in->new_file && in->script->separate)
            in->line = 0;
        struct str line;
        if (cmd_tick(in->cmd) &&
                stream_line(in->current, in->end, in->cmd->budget->max_memory, &line)) {
            *ended = line.data[line.len - 1] == in->end;
            buf_add(out, str_sub(line, 0, line.len - *ended));
            in->line++;
            return !out->full || budget_stop(in->cmd->budget, BUDGET_MEMORY);
        }
        int errnum = stream_error(in->current);
        if (budget_stopped(in->cmd->budget))
            return false;
        if (errnum) {
            complain(in, "read error on", in->name, errnum);
            stream_unref(TAKE(in->current));
        } else if (!sed_input_finish(in)) {
            return false;
        }
    }
    return false;
}

bool sed_input_is_last(struct sed_input *in)
{
    struct str view;
    while (in->current && !stream_peek(in->current, &view)) {
        if (in->script->separate || !in->files[in->next])
            return true;
        stream_unref(TAKE(in->current));
        if (!open_next(in))
            return true;
    }
    return !in->current;
}

bool sed_emit(struct sed_input *in, struct str text)
{
    if (!in->script->in_place)
        return cmd_put(in->cmd, text);
    buf_add(&in->replacement, text);
    return !in->replacement.full || budget_stop(in->cmd->budget, BUDGET_MEMORY);
}
