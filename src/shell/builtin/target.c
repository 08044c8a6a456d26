#include "shell/builtin/target.h"

#include "shell/builtin/files.h"
#include "shell/builtin/quote.h"

#include <errno.h>

static bool usage(struct cmd *c)
{
    try_help(c, 1);
    return false;
}

/* 0 if it is a directory, ENOTDIR if it is something else. */
static int look(struct cmd *c, const struct target *t, const char *name)
{
    struct vfs_stat st;
    int errnum = file_stat(c, name, t->no_follow ? VFS_NOFOLLOW : VFS_FOLLOW, &st);
    return errnum ? errnum : st.type == VFS_DIR ? 0 : ENOTDIR;
}

static bool into_option(struct cmd *c, struct target *t)
{
    if (t->no_dir) {
        cmd_err(c,
                "cannot combine --target-directory (-t) and --no-target-directory (-T)");
        return false;
    }
    int errnum = look(c, t, t->option);
    if (errnum) {
        cmd_err(c, "target directory %s: %s", quote(c, t->option), errno_text(errnum));
        return false;
    }
    t->name = t->option;
    t->is_dir = true;
    t->count = c->argc;
    return true;
}

bool target_find(struct cmd *c, struct target *t)
{
    if (!c->argc) {
        cmd_err(c, "missing file operand");
        return usage(c);
    }
    if (t->option)
        return into_option(c, t);
    if (c->argc == 1) {
        cmd_err(c, "missing destination file operand after %s", quote(c, c->argv[0]));
        return usage(c);
    }
    t->count = c->argc - 1;
    t->name = c->argv[t->count];
    if (t->no_dir) {
        if (t->count == 1)
            return true;
        cmd_err(c, "extra operand %s", quote(c, c->argv[2]));
        return usage(c);
    }
    int errnum = look(c, t, t->name);
    t->is_dir = !errnum;
    if (!errnum || t->count == 1)
        return true;
    cmd_err(c, "target %s: %s", quote(c, t->name), errno_text(errnum));
    return false;
}

const char *target_of(struct cmd *c, const struct target *t, const char *source)
{
    return t->is_dir ? name_join(c, t->name, name_base(c, source)) : t->name;
}
