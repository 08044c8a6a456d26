#include "search/dirwalk.h"
#include "shell/builtin/files.h"
#include "shell/builtin/quote.h"

#include <errno.h>

enum { OPT_PRESERVE_ROOT = 256, OPT_INTERACTIVE };

static const struct cmd_opt options[] = {
    { 'd', "dir", ARG_NONE, NULL, "remove empty directories too" },
    { 'f', "force", ARG_NONE, NULL, "do not mind what is not there, never ask" },
    { 'i', NULL, ARG_NONE, NULL, "ask before each; no answer means no" },
    { 'I', NULL, ARG_NONE, NULL, "ask once before many or a tree" },
    { OPT_INTERACTIVE, "interactive", ARG_OPTIONAL, "WHEN", "never, once or always" },
    { 'r', "recursive", ARG_NONE, NULL, "remove directories and what is in them" },
    { 'R', NULL, ARG_NONE, NULL, "the same as -r" },
    { OPT_PRESERVE_ROOT, "preserve-root", ARG_OPTIONAL, "all", "(always on)" },
    { 'v', "verbose", ARG_NONE, NULL, "print a line for each" },
    { 0 },
};

enum asking { ASK_NEVER, ASK_ONCE, ASK_ALWAYS };

struct rm {
    struct cmd *c;
    bool recursive, dirs, force, verbose;
    enum asking asking;
};

static bool failed(struct rm *r, const char *name, int errnum)
{
    cmd_err(r->c, "cannot remove %s: %s", quote(r->c, name), errno_text(errnum));
    return false;
}

/* May it go? */
static bool confirmed(struct rm *r, const char *name, const struct vfs_stat *st)
{
    return r->asking != ASK_ALWAYS ||
           ask(r->c, "remove %s %s?", file_type_name(st), quote(r->c, name));
}

static bool removed(struct rm *r, const char *name, bool is_dir)
{
    return !r->verbose || cmd_printf(r->c, "removed %s%s\n", is_dir ? "directory " : "",
                                  quote(r->c, name));
}

static bool remove_file(struct rm *r, const char *name, const struct vfs_stat *st)
{
    if (!confirmed(r, name, st))
        return true;
    int errnum = file_unlink(r->c, name);
    if (errnum && !(r->force && errnum == ENOENT))
        return failed(r, name, errnum);
    return errnum ? true : removed(r, name, false);
}

static bool remove_dir(struct rm *r, const char *name, const struct vfs_stat *st)
{
    if (!confirmed(r, name, st))
        return true;
    int errnum = file_rmdir(r->c, name);
    return errnum ? failed(r, name, errnum) : removed(r, name, true);
}

/* An empty directory is not worth the question whether to look into it. */
static bool wants_to_enter(struct rm *r, const char *name)
{
    auto_arena *arena = arena_create();
    struct vpath path;
    struct vfs_entry *entries;
    size_t count = 1;
    if (r->asking != ASK_ALWAYS)
        return true;
    int errnum = vpath_parse(str_of(name), r->c->cwd, arena, &path);
    if (!errnum)
        errnum = vfs_list(r->c->vfs, path, arena, &entries, &count);
    if (!errnum && !count)
        return true;
    return ask(r->c, "descend into directory %s?", quote(r->c, name));
}

static bool remove_entry(struct rm *r, struct dirwalk *w, const struct dirwalk_entry *e)
{
    switch (e->step) {
    case WALK_FILE:
        return remove_file(r, e->path, &e->st);
    case WALK_DIR:
        if (!wants_to_enter(r, e->path))
            dirwalk_skip(w);
        return true;
    case WALK_DIR_END:
        return remove_dir(r, e->path, &e->st);
    case WALK_UNREADABLE:
    case WALK_FAILED:
        break;
    }
    return e->errnum == ENOENT && r->force ? true : failed(r, e->path, e->errnum);
}

/* Nothing goes if anything in the tree must stay. */
static bool remove_tree(struct rm *r, const char *name)
{
    int errnum = file_check_tree(r->c, name, VFS_TREE_CHANGE);
    if (errnum)
        return failed(r, name, errnum);
    bool ok = true;
    struct dirwalk *w = file_walk(r->c, name, false, false);
    for (struct dirwalk_entry e; dirwalk_next(w, &e);) {
        struct arena_mark mark = arena_mark(r->c->arena);
        ok &= remove_entry(r, w, &e);
        arena_rewind(r->c->arena, mark);
        if (r->c->out_failed)
            break;
    }
    dirwalk_destroy(w);
    return ok && !budget_stopped(r->c->budget);
}

/* True if `name` may not be removed; said already. */
static bool is_refused(struct rm *r, const char *name)
{
    const char *base = name_base(r->c, name);
    if (!strcmp(base, ".") || !strcmp(base, "..")) {
        cmd_err(r->c, "refusing to remove '.' or '..' directory: skipping %s",
                quote(r->c, name));
        return true;
    }
    struct vpath path;
    if (file_resolve(r->c, name, VFS_NOFOLLOW, &path) || !str_is(path.text, "/"))
        return false;
    cmd_err(r->c, "it is dangerous to operate recursively on '/'");
    return true;
}

static bool remove_operand(struct rm *r, const char *name)
{
    struct vfs_stat st;
    int errnum = file_stat(r->c, name, VFS_NOFOLLOW, &st);
    size_t len = strlen(name);
    bool slash = len > 1 && name[len - 1] == '/';
    if (slash && (errnum ? !file_stat(r->c, name_base(r->c, name), VFS_NOFOLLOW, &st)
                         : st.type != VFS_DIR))
        errnum = ENOTDIR;
    if (errnum)
        return (r->force && (errnum == ENOENT || errnum == ENOTDIR)) ||
               failed(r, name, errnum);
    if (st.type != VFS_DIR)
        return remove_file(r, name, &st);
    if (!r->recursive && !r->dirs)
        return failed(r, name, EISDIR);
    if (is_refused(r, name))
        return false;
    return r->recursive ? remove_tree(r, name) : remove_dir(r, name, &st);
}

static bool set_asking(struct rm *r, const char *when)
{
    if (!when || !strcmp(when, "always") || !strcmp(when, "yes"))
        r->asking = ASK_ALWAYS;
    else if (!strcmp(when, "once"))
        r->asking = ASK_ONCE;
    else if (!strcmp(when, "never") || !strcmp(when, "no") || !strcmp(when, "none"))
        r->asking = ASK_NEVER;
    else {
        cmd_err(r->c, "invalid argument %s for '--interactive'", quote(r->c, when));
        return false;
    }
    return true;
}

static bool set_option(struct rm *r, int key, const char *value)
{
    switch (key) {
    case 'd':
        return r->dirs = true;
    case 'f':
        r->asking = ASK_NEVER;
        return r->force = true;
    case 'i':
        r->force = false;
        return set_asking(r, "always");
    case 'I':
        r->force = false;
        return set_asking(r, "once");
    case OPT_INTERACTIVE:
        return set_asking(r, value);
    case 'r':
    case 'R':
        return r->recursive = true;
    case OPT_PRESERVE_ROOT:
        return true;
    case 'v':
        return r->verbose = true;
    default:
        return false;
    }
}

static int cmd_rm(struct cmd *c)
{
    struct rm r = { .c = c };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&r, k, o.value))
            return 1;
    if (!c->argc)
        return r.force ? 0 : missing_operand(c);
    if (r.asking == ASK_ONCE && (r.recursive || c->argc > 3) &&
            !ask(c, "remove %d argument%s%s?", c->argc, c->argc > 1 ? "s" : "",
                    r.recursive ? " recursively" : ""))
        return 0;
    int status = 0;
    for (int i = 0; i < c->argc && !c->out_failed && cmd_tick(c); i++)
        if (!remove_operand(&r, c->argv[i]))
            status = 1;
    return status;
}

const struct command command_rm = {
    "rm",
    cmd_rm,
    options,
    "[OPTION]... [FILE]...",
    "Remove files and trees; not the root, nor below $x/ when x is not set.",
    0,
};
