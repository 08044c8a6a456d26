#include "shell/builtin/letters.h"
#include "shell/exec.h"

#include <errno.h>

static int read_script(struct cmd *c, const char *name, struct buf *text)
{
    struct vpath path;
    struct vfs_stat st;
    if (!cmd_path(c, name, &path) && !vfs_stat(c->vfs, path, VFS_FOLLOW, &st) &&
            st.type == VFS_DIR)
        return EISDIR;
    struct stream *in;
    int errnum = cmd_open(c, name, false, &in);
    if (errnum)
        return errnum;
    if (!stream_read_all(in, text))
        errnum = text->full ? EFBIG : stream_error(in);
    stream_unref(in);
    return errnum;
}

/* A name without a slash is looked for in PATH, then here. */
static const char *find(struct shell *sh, const char *name)
{
    if (strchr(name, '/') || (sh->shopt & SHOPT_NO_SOURCEPATH))
        return name;
    const char *file = exec_search_path(sh, name, false);
    return file ? file : name;
}

static int run_file(
        struct cmd *c, struct str name, struct str text, int argc, char **argv)
{
    struct shell *sh = c->shell;
    struct frame frame = { .parent = sh->frame,
        .function = STR("source"),
        .file = name,
        .call_line = sh->line };
    struct saved_args saved;
    int loops = sh->loop_depth;
    if (argc)
        args_enter(sh, (size_t)argc, argv, &saved);
    struct arg_block *given = sh->arg_block;
    given->refs++;
    sh->frame = &frame;
    sh->loop_depth = 0;
    exec_text(sh, text, name, 1);
    if (sh->flow == FLOW_RETURN)
        sh->flow = FLOW_NONE;
    if (trap_is_set(sh, TRAP_RETURN))
        trap_run(sh, TRAP_RETURN);
    sh->loop_depth = loops;
    sh->frame = frame.parent;
    sh->line = frame.call_line;
    if (argc && sh->arg_block == given)
        args_leave(sh, &saved);
    else if (argc) /* it has set its own, which stay */
        args_unref(saved.block);
    args_unref(given);
    return sh->status;
}

static int cmd_source(struct cmd *c)
{
    struct letters l = letters_of(c, "", "source filename [arguments]");
    if (letters_next(&l) == CMD_BAD)
        return 2;
    if (l.index >= c->argc) {
        cmd_err(c, "filename argument required");
        return letters_usage(c, l.usage);
    }
    const char *name = find(c->shell, c->argv[l.index]);
    auto_buf text = BUF(c->budget->max_memory);
    int errnum = read_script(c, name, &text);
    if (errnum) {
        shell_err(c->shell, "%s: %s", name, strerror(errnum));
        return 1;
    }
    return run_file(c, str_of(name), buf_str(&text), c->argc - l.index - 1,
            c->argv + l.index + 1);
}

const struct command command_source = { .name = "source",
    .run = cmd_source,
    .usage = "FILE [ARG]...",
    .summary = "Run the commands of FILE in this shell.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };

const struct command command_dot = { .name = ".",
    .run = cmd_source,
    .usage = "FILE [ARG]...",
    .summary = "Run the commands of FILE in this shell.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };
