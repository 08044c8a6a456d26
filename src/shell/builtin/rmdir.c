#include "shell/builtin/files.h"
#include "shell/builtin/quote.h"

#include <errno.h>

enum { OPT_IGNORE = 256 };

static const struct cmd_opt options[] = {
    { OPT_IGNORE, "ignore-fail-on-non-empty", ARG_NONE, NULL,
            "do not mind a directory that is not empty" },
    { 'p', "parents", ARG_NONE, NULL, "remove the directories above it too" },
    { 'v', "verbose", ARG_NONE, NULL, "print a line for each directory" },
    { 0 },
};

struct rmdir {
    struct cmd *c;
    bool ignore, parents, verbose;
};

static bool remove_one(struct rmdir *r, const char *name, bool is_parent)
{
    struct cmd *c = r->c;
    if (r->verbose &&
            !cmd_printf(c, "%s: removing directory, %s\n", c->name, quote(c, name)))
        return false;
    const char *base = name_base(c, name);
    int errnum = strcmp(base, ".") ? file_rmdir(c, name) : EINVAL;
    if (!errnum)
        return true;
    if (r->ignore && errnum == ENOTEMPTY)
        return !r->parents;
    cmd_err(c, "failed to remove %s%s: %s", is_parent ? "directory " : "", quote(c, name),
            errno_text(errnum));
    return false;
}

static bool remove_parents(struct rmdir *r, const char *name)
{
    char *path = arena_cstr(r->c->arena, name_without_slashes(name));
    for (char *slash; (slash = strrchr(path, '/')) && cmd_tick(r->c);) {
        while (slash > path && slash[-1] == '/')
            slash--;
        *slash = 0;
        if (!*path || !remove_one(r, path, true))
            return !*path;
    }
    return true;
}

static int cmd_rmdir(struct cmd *c)
{
    struct rmdir r = { .c = c };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        r.ignore |= k == OPT_IGNORE;
        r.parents |= k == 'p';
        r.verbose |= k == 'v';
    }
    if (!c->argc)
        return missing_operand(c);
    int status = 0;
    for (int i = 0; i < c->argc && cmd_tick(c); i++)
        if (!remove_one(&r, c->argv[i], false) ||
                (r.parents && !remove_parents(&r, c->argv[i])))
            status = 1;
    return status;
}

const struct command command_rmdir = {
    "rmdir",
    cmd_rmdir,
    options,
    "[OPTION]... DIRECTORY...",
    "Remove empty directories.",
    0,
};
