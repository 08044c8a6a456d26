#include "shell/builtin/files.h"
#include "shell/builtin/names.h"
#include "shell/builtin/quote.h"
#include "shell/builtin/target.h"

#include <errno.h>

static const struct cmd_opt options[] = {
    { 'f', "force", ARG_NONE, NULL, "replace what is there" },
    { 'i', "interactive", ARG_NONE, NULL, "ask before replacing; no answer means no" },
    { 'L', "logical", ARG_NONE, NULL, "of a link, take what it points to" },
    { 'n', "no-dereference", ARG_NONE, NULL, "a link to a directory is replaced itself" },
    { 'P', "physical", ARG_NONE, NULL, "of a link, take the link" },
    { 'r', "relative", ARG_NONE, NULL, "with -s: make the target relative to the link" },
    { 's', "symbolic", ARG_NONE, NULL, "symbolic instead of hard links" },
    { 't', "target-directory", ARG_REQUIRED, "DIR", "make the links in DIR" },
    { 'T', "no-target-directory", ARG_NONE, NULL, "the last operand is the link" },
    { 'v', "verbose", ARG_NONE, NULL, "print a line for each link" },
    { 0 },
};

struct ln {
    struct cmd *c;
    bool force, ask, follow, relative, symbolic, verbose;
    struct target target;
};

static const char *relative_target(struct ln *l, const char *source, const char *name)
{
    struct cmd *c = l->c;
    struct vpath to, link;
    if (file_resolve(c, source, VFS_FOLLOW, &to) ||
            file_resolve(c, name, VFS_NOFOLLOW, &link))
        return source;
    const char *slash = memrchr(link.text.data, '/', link.text.len);
    size_t len = (size_t)(slash - link.text.data);
    return name_relative(c, str_sub(link.text, 0, len ? len : 1), to.text);
}

static bool failed(struct ln *l, const char *source, const char *name, int errnum)
{
    struct cmd *c = l->c;
    const char *kind = l->symbolic ? "symbolic" : "hard";
    bool show_source =
            errnum != EEXIST && (l->symbolic ? !*source || errnum == ENAMETOOLONG : true);
    if (show_source)
        cmd_err(c, "failed to create %s link %s %s %s: %s", kind, quote(c, name),
                l->symbolic ? "->" : "=>", quote(c, source), errno_text(errnum));
    else
        cmd_err(c, "failed to create %s link %s: %s", kind, quote(c, name),
                errno_text(errnum));
    return false;
}

/* May a hard link be made of `source`? */
static bool check_source(struct ln *l, const char *source)
{
    struct cmd *c = l->c;
    struct vfs_stat st;
    int errnum = file_stat(c, source, l->follow ? VFS_FOLLOW : VFS_NOFOLLOW, &st);
    if (errnum)
        cmd_err(c, "failed to access %s: %s", quote(c, source), errno_text(errnum));
    else if (st.type == VFS_DIR)
        cmd_err(c, "%s: hard link not allowed for directory", quote_maybe(c, source));
    else
        return true;
    return false;
}

/* Make room at `name`.  False: it stays, said already unless it was the user's wish. */
static bool clear_way(struct ln *l, const char *source, const char *name, bool *skip)
{
    struct cmd *c = l->c;
    struct vfs_stat there, from;
    if (!(l->force || l->ask) || file_stat(c, name, VFS_NOFOLLOW, &there))
        return true;
    if (there.type == VFS_DIR) {
        cmd_err(c, "%s: cannot overwrite directory", quote_maybe(c, name));
        return false;
    }
    if (!l->symbolic && !file_stat(c, source, VFS_NOFOLLOW, &from) &&
            file_is_same(&from, &there)) {
        cmd_err(c, "%s and %s are the same file", quote(c, source), quote(c, name));
        return false;
    }
    if (l->ask && !ask(c, "replace %s?", quote(c, name))) {
        *skip = true;
        return true;
    }
    int errnum = file_unlink(c, name);
    return !errnum || errnum == ENOENT || failed(l, source, name, errnum);
}

static bool link_one(struct ln *l, const char *source, const char *name)
{
    struct cmd *c = l->c;
    bool skip = false;
    if (!l->symbolic && !check_source(l, source))
        return false;
    if (l->symbolic && l->relative)
        source = relative_target(l, source, name);
    if (!clear_way(l, source, name, &skip))
        return false;
    if (skip)
        return true;
    int errnum = l->symbolic ? file_symlink(c, source, name) : file_link(c, source, name);
    if (errnum)
        return failed(l, source, name, errnum);
    return !l->verbose || cmd_printf(c, "%s %s %s\n", quote(c, name),
                                  l->symbolic ? "->" : "=>", quote(c, source));
}

static bool set_option(struct ln *l, int key, const char *value)
{
    switch (key) {
    case 'f':
        l->ask = false;
        return l->force = true;
    case 'i':
        l->force = false;
        return l->ask = true;
    case 'L':
        return l->follow = true;
    case 'P':
        l->follow = false;
        return true;
    case 'n':
        return l->target.no_follow = true;
    case 'r':
        return l->relative = true;
    case 's':
        return l->symbolic = true;
    case 't':
        l->target.option = value;
        return true;
    case 'T':
        return l->target.no_dir = true;
    case 'v':
        return l->verbose = true;
    default:
        return false;
    }
}

static int cmd_ln(struct cmd *c)
{
    struct ln l = { .c = c };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&l, k, o.value))
            return 1;
    if (l.relative && !l.symbolic) {
        cmd_err(c, "cannot do --relative without --symbolic");
        return 1;
    }
    if (c->argc == 1 && !l.target.option && !l.target.no_dir)
        l.target.option = ".";
    if (!target_find(c, &l.target))
        return 1;
    int status = 0;
    for (int i = 0; i < l.target.count && !c->out_failed && cmd_tick(c); i++) {
        const char *name = target_of(c, &l.target, c->argv[i]);
        if (!link_one(&l, c->argv[i], name))
            status = 1;
    }
    return status;
}

const struct command command_ln = {
    "ln",
    cmd_ln,
    options,
    "[OPTION]... TARGET... NAME_OR_DIRECTORY",
    "Make links to files.",
    0,
};
