#include "search/dirwalk.h"
#include "shell/builtin/files.h"
#include "shell/builtin/mode.h"
#include "shell/builtin/quote.h"

#include <errno.h>

enum { OPT_REFERENCE = 256, OPT_PRESERVE_ROOT };

static const struct cmd_opt options[] = {
    { 'c', "changes", ARG_NONE, NULL, "print a line for each mode that changes" },
    { 'f', "silent", ARG_NONE, NULL, "do not report errors" },
    { 'f', "quiet", ARG_NONE, NULL, "the same" },
    { 'v', "verbose", ARG_NONE, NULL, "print a line for each file" },
    { OPT_PRESERVE_ROOT, "preserve-root", ARG_NONE, NULL, "(ignored)" },
    { OPT_REFERENCE, "reference", ARG_REQUIRED, "FILE", "use the mode of FILE" },
    { 'R', "recursive", ARG_NONE, NULL, "directories and what is in them" },
    { 0 },
};

struct chmod {
    struct cmd *c;
    const struct mode_change *change; /* NULL: `mode` */
    uint32_t mode;
    bool changes, silent, verbose, recursive;
};

static bool failed(struct chmod *m, const char *what, const char *name, int errnum)
{
    if (!m->silent)
        cmd_err(m->c, "%s %s: %s", what, quote(m->c, name), errno_text(errnum));
    return false;
}

static bool report(struct chmod *m, const char *name, uint32_t before, uint32_t after)
{
    char old[11], new[11];
    bool changed = before != after;
    mode_text(VFS_FILE, before, old);
    mode_text(VFS_FILE, after, new);
    if (!(m->verbose || (m->changes && changed)))
        return true;
    if (!changed)
        return cmd_printf(m->c, "mode of %s retained as %04o (%s)\n", quote(m->c, name),
                after, new + 1);
    return cmd_printf(m->c, "mode of %s changed from %04o (%s) to %04o (%s)\n",
            quote(m->c, name), before, old + 1, after, new + 1);
}

static bool change_one(struct chmod *m, const char *name, const struct vfs_stat *st)
{
    bool is_dir = st->type == VFS_DIR;
    uint32_t mode =
            m->change ? mode_apply(m->change, st->mode, is_dir, MODE_UMASK) : m->mode;
    int errnum = file_chmod(m->c, name, mode);
    if (errnum)
        return failed(m, "changing permissions of", name, errnum);
    return report(m, name, st->mode, mode);
}

/* Links in a tree are passed over, as they may lead anywhere. */
static bool change_entry(struct chmod *m, const struct dirwalk_entry *e)
{
    switch (e->step) {
    case WALK_FILE:
        if (e->st.type != VFS_LINK)
            return change_one(m, e->path, &e->st);
        return !m->verbose ||
               cmd_printf(m->c,
                       "neither symbolic link %s nor referent has been changed\n",
                       quote(m->c, e->path));
    case WALK_DIR:
        return change_one(m, e->path, &e->st);
    case WALK_DIR_END:
        return true;
    case WALK_UNREADABLE:
        return failed(m, "cannot read directory", e->path, e->errnum);
    case WALK_FAILED:
        break;
    }
    return failed(m, "cannot access", e->path, e->errnum);
}

static bool change_tree(struct chmod *m, const char *name)
{
    bool ok = true;
    struct dirwalk *w = file_walk(m->c, name, true, false);
    for (struct dirwalk_entry e; !m->c->out_failed && dirwalk_next(w, &e);) {
        struct arena_mark mark = arena_mark(m->c->arena);
        ok &= change_entry(m, &e);
        arena_rewind(m->c->arena, mark);
    }
    dirwalk_destroy(w);
    return ok && !budget_stopped(m->c->budget);
}

static bool change_operand(struct chmod *m, const char *name)
{
    struct vfs_stat st;
    if (m->recursive)
        return change_tree(m, name);
    int errnum = file_stat(m->c, name, VFS_FOLLOW, &st);
    if (!errnum)
        return change_one(m, name, &st);
    if (errnum == ENOENT && !file_stat(m->c, name, VFS_NOFOLLOW, &st)) {
        if (!m->silent)
            cmd_err(m->c, "cannot operate on dangling symlink %s", quote(m->c, name));
        return false;
    }
    return failed(m, "cannot access", name, errnum);
}

static bool looks_like_mode(const char *arg)
{
    return arg[0] == '-' && arg[1] && arg[1 + strspn(arg + 1, "rwxXst,+=ugoa-")] == 0 &&
           strchr("rwxXstugoa,", arg[1]);
}

/* "chmod -x file": the mode is not an option.  It is moved behind a "--". */
static void protect_mode(struct cmd *c)
{
    for (int i = 1; i < c->argc && strcmp(c->argv[i], "--"); i++) {
        if (!looks_like_mode(c->argv[i]))
            continue;
        char **argv = arena_alloc(c->arena, ((size_t)c->argc + 2) * sizeof(*argv));
        char *mode = c->argv[i];
        int n = 0, k = 0;
        for (; k < i; k++)
            argv[n++] = c->argv[k];
        /* Options may still follow it, so the mode goes before the other operands only.
         */
        for (k = i + 1; k < c->argc && c->argv[k][0] == '-' && c->argv[k][1]; k++)
            argv[n++] = c->argv[k];
        argv[n++] = arena_cstr(c->arena, STR("--"));
        argv[n++] = mode;
        for (; k < c->argc; k++)
            argv[n++] = c->argv[k];
        argv[n] = NULL;
        c->argv = argv;
        c->argc = n;
        return;
    }
}

static bool set_option(struct chmod *m, int key)
{
    switch (key) {
    case 'c':
        return m->changes = true;
    case 'f':
        return m->silent = true;
    case 'v':
        return m->verbose = true;
    case 'R':
        return m->recursive = true;
    default:
        return key != CMD_BAD;
    }
}

/* The first operand, or the reference; false: reported. */
static bool find_mode(struct chmod *m, const char *reference, int *first)
{
    struct cmd *c = m->c;
    struct vfs_stat st;
    *first = reference ? 0 : 1;
    if (c->argc <= *first) {
        if (c->argc)
            cmd_err(c, "missing operand after %s", quote(c, c->argv[0]));
        else
            cmd_err(c, "missing operand");
        try_help(c, 1);
        return false;
    }
    if (reference) {
        int errnum = file_stat(c, reference, VFS_FOLLOW, &st);
        m->mode = st.mode;
        return !errnum || failed(m, "failed to get attributes of", reference, errnum);
    }
    m->change = mode_parse(c->argv[0], c->arena);
    if (m->change)
        return true;
    cmd_err(c, "invalid mode: %s", quote(c, c->argv[0]));
    try_help(c, 1);
    return false;
}

static int cmd_chmod(struct cmd *c)
{
    struct chmod m = { .c = c };
    const char *reference = NULL;
    int first;
    protect_mode(c);
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (!set_option(&m, k))
            return 1;
        if (k == OPT_REFERENCE)
            reference = o.value;
    }
    if (!find_mode(&m, reference, &first))
        return 1;
    int status = 0;
    for (int i = first; i < c->argc && !c->out_failed && cmd_tick(c); i++)
        if (!change_operand(&m, c->argv[i]))
            status = 1;
    return status;
}

const struct command command_chmod = {
    "chmod",
    cmd_chmod,
    options,
    "[OPTION]... MODE[,MODE]... FILE...",
    "Change the permissions of files.",
    0,
};
