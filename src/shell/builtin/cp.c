#include "shell/builtin/copy.h"
#include "shell/builtin/files.h"
#include "shell/builtin/quote.h"
#include "shell/builtin/target.h"

#include <errno.h>

enum { OPT_PRESERVE = 256, OPT_NO_PRESERVE, OPT_PARENTS, OPT_REMOVE, OPT_IGNORED };

static const struct cmd_opt options[] = {
    { 'a', "archive", ARG_NONE, NULL, "the same as -dR --preserve=all" },
    { 'd', NULL, ARG_NONE, NULL, "the same as --no-dereference --preserve=links" },
    { 'f', "force", ARG_NONE, NULL, "replace a file that cannot be opened for writing" },
    { 'H', NULL, ARG_NONE, NULL, "follow links among the operands" },
    { 'i', "interactive", ARG_NONE, NULL, "ask before replacing; no answer means no" },
    { 'l', "link", ARG_NONE, NULL, "make hard links instead of copying" },
    { 'L', "dereference", ARG_NONE, NULL, "follow all links" },
    { 'n', "no-clobber", ARG_NONE, NULL, "do not replace files" },
    { 'P', "no-dereference", ARG_NONE, NULL, "copy links as links" },
    { 'p', NULL, ARG_NONE, NULL, "the same as --preserve=mode,ownership,timestamps" },
    { OPT_PRESERVE, "preserve", ARG_OPTIONAL, "LIST",
            "keep mode, timestamps, links, all (ownership is never kept)" },
    { OPT_NO_PRESERVE, "no-preserve", ARG_REQUIRED, "LIST", "do not keep these" },
    { OPT_PARENTS, "parents", ARG_NONE, NULL, "copy the path of each source too" },
    { 'R', "recursive", ARG_NONE, NULL, "copy directories with what is in them" },
    { 'r', NULL, ARG_NONE, NULL, "the same as -R" },
    { OPT_IGNORED, "reflink", ARG_OPTIONAL, "WHEN", "(ignored)" },
    { OPT_REMOVE, "remove-destination", ARG_NONE, NULL,
            "remove each existing file first" },
    { OPT_IGNORED, "sparse", ARG_REQUIRED, "WHEN", "(ignored)" },
    { 's', "symbolic-link", ARG_NONE, NULL, "make symbolic links instead of copying" },
    { 't', "target-directory", ARG_REQUIRED, "DIR", "copy into DIR" },
    { 'T', "no-target-directory", ARG_NONE, NULL, "the last operand is the copy" },
    { 'u', "update", ARG_NONE, NULL, "only what is newer than the copy or has none" },
    { 'v', "verbose", ARG_NONE, NULL, "print a line for each" },
    { 'x', "one-file-system", ARG_NONE, NULL, "(ignored)" },
    { 0 },
};

struct cp {
    struct copy copy;
    struct target target;
    bool parents, follow_set;
};

static bool set_preserve(struct cp *cp, const char *list, bool on)
{
    struct copy *copy = &cp->copy;
    struct str rest = str_of(list ? list : "mode,ownership,timestamps");
    while (rest.len) {
        struct str word = str_cut(&rest, ',');
        bool all = str_is(word, "all");
        if (all || str_is(word, "mode"))
            copy->keep_mode = on;
        if (all || str_is(word, "timestamps"))
            copy->keep_times = on;
        if (all || str_is(word, "links"))
            copy->keep_links = on;
        if (all || str_is(word, "mode") || str_is(word, "timestamps") ||
                str_is(word, "links") || str_is(word, "ownership") ||
                str_is(word, "context") || str_is(word, "xattr"))
            continue;
        cmd_err(copy->c, "invalid argument %s for '--%spreserve'",
                quote(copy->c, arena_cstr(copy->c->arena, word)), on ? "" : "no-");
        try_help(copy->c, 1);
        return false;
    }
    return true;
}

static bool set_follow(struct cp *cp, enum copy_follow follow)
{
    cp->copy.follow = follow;
    return cp->follow_set = true;
}

static bool set_flag(struct cp *cp, int key)
{
    struct copy *copy = &cp->copy;
    switch (key) {
    case 'f':
        return copy->force = true;
    case 'i':
        copy->existing = COPY_ASK;
        return true;
    case 'n':
        copy->existing = COPY_SKIP;
        return true;
    case 'l':
        return copy->hard_link = true;
    case 's':
        return copy->symlink = true;
    case 'R':
    case 'r':
        return copy->recursive = true;
    case 'T':
        return cp->target.no_dir = true;
    case 'u':
        return copy->update = true;
    case 'v':
        return copy->verbose = true;
    case OPT_PARENTS:
        return cp->parents = true;
    case OPT_REMOVE:
        return copy->remove_first = true;
    default:
        return key != CMD_BAD;
    }
}

static bool set_option(struct cp *cp, int key, const char *value)
{
    switch (key) {
    case 'a':
        cp->copy.recursive = true;
        return set_preserve(cp, "all", true) && set_follow(cp, COPY_LINKS);
    case 'd':
        return set_preserve(cp, "links", true) && set_follow(cp, COPY_LINKS);
    case 'p':
        return set_preserve(cp, NULL, true);
    case OPT_PRESERVE:
        return set_preserve(cp, value, true);
    case OPT_NO_PRESERVE:
        return set_preserve(cp, value, false);
    case 'H':
        return set_follow(cp, COPY_FOLLOW_ROOT);
    case 'L':
        return set_follow(cp, COPY_FOLLOW_ALL);
    case 'P':
        return set_follow(cp, COPY_LINKS);
    case 't':
        cp->target.option = value;
        return true;
    default:
        return set_flag(cp, key);
    }
}

/* --parents: make the directories of `path` below the target, as they are at the source.
 */
static bool make_parents(struct cp *cp, const char *path)
{
    struct cmd *c = cp->copy.c;
    struct str s = name_without_slashes(path);
    for (size_t i = 1; i < s.len; i++) {
        if (s.data[i] != '/' || s.data[i - 1] == '/')
            continue;
        const char *from = arena_cstr(c->arena, str_sub(s, 0, i));
        const char *to = name_join(c, cp->target.name, from);
        struct vfs_stat st;
        int errnum = file_is_dir(c, to) ? EEXIST : file_stat(c, from, VFS_FOLLOW, &st);
        if (errnum == EEXIST)
            continue;
        if (!errnum)
            errnum = file_mkdir(c, to, st.mode | 0700);
        if (errnum) {
            cmd_err(c, "cannot make directory %s: %s", quote(c, to), errno_text(errnum));
            return false;
        }
        if (cp->copy.verbose && !cmd_printf(c, "%s -> %s\n", from, to))
            return false;
    }
    return true;
}

static bool copy_one(struct cp *cp, const char *from)
{
    struct cmd *c = cp->copy.c;
    if (!cp->parents)
        return copy_operand(&cp->copy, from, target_of(c, &cp->target, from));
    struct vfs_stat st;
    int errnum = file_stat(c, from, VFS_NOFOLLOW, &st);
    if (errnum) {
        cmd_err(c, "cannot stat %s: %s", quote(c, from), errno_text(errnum));
        return false;
    }
    const char *to = arena_cstr(c->arena, name_without_slashes(from));
    return make_parents(cp, from) &&
           copy_operand(&cp->copy, from, name_join(c, cp->target.name, to));
}

static int copy_all(struct cp *cp)
{
    struct cmd *c = cp->copy.c;
    int status = 0;
    for (int i = 0; i < cp->target.count && !c->out_failed && cmd_tick(c); i++)
        if (!copy_one(cp, c->argv[i]))
            status = 1;
    return status;
}

static int cmd_cp(struct cmd *c)
{
    struct cp cp = { .copy = { .c = c } };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&cp, k, o.value))
            return 1;
    if (!cp.follow_set && !cp.copy.recursive)
        cp.copy.follow = COPY_FOLLOW_ALL;
    if (cp.copy.hard_link && cp.copy.symlink) {
        cmd_err(c, "cannot make both hard and symbolic links");
        return try_help(c, 1);
    }
    if (!target_find(c, &cp.target))
        return 1;
    if (cp.parents && !cp.target.is_dir) {
        cmd_err(c, "with --parents, the destination must be a directory");
        return try_help(c, 1);
    }
    int status = copy_all(&cp);
    copy_finish(&cp.copy);
    return status;
}

const struct command command_cp = {
    "cp",
    cmd_cp,
    options,
    "[OPTION]... SOURCE... DEST_OR_DIRECTORY",
    "Copy files and trees.",
    0,
};
