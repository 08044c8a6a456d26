#include "search/dirwalk.h"
#include "shell/builtin/copy.h"
#include "shell/builtin/files.h"
#include "shell/builtin/quote.h"
#include "shell/builtin/target.h"

#include <errno.h>

static const struct cmd_opt options[] = {
    { 'f', "force", ARG_NONE, NULL, "replace without asking" },
    { 'i', "interactive", ARG_NONE, NULL, "ask before replacing; no answer means no" },
    { 'n', "no-clobber", ARG_NONE, NULL, "do not replace files" },
    { 't', "target-directory", ARG_REQUIRED, "DIR", "move into DIR" },
    { 'T', "no-target-directory", ARG_NONE, NULL, "the last operand is the new name" },
    { 'u', "update", ARG_NONE, NULL, "only what is newer than its target or has none" },
    { 'v', "verbose", ARG_NONE, NULL, "print a line for each" },
    { 0 },
};

struct mv {
    struct cmd *c;
    enum copy_existing existing;
    bool verbose, update;
    struct target target;
};

static bool failed(struct mv *m, const char *from, const char *to, int errnum)
{
    cmd_err(m->c, "cannot move %s to %s: %s", quote(m->c, from), quote(m->c, to),
            errno_text(errnum));
    return false;
}

static bool into_itself(struct mv *m, const char *from, const char *to)
{
    cmd_err(m->c, "cannot move %s to a subdirectory of itself, %s", quote(m->c, from),
            quote(m->c, to));
    return false;
}

/* Remove a tree that was copied away. */
static bool remove_source(struct mv *m, const char *from)
{
    bool ok = true;
    struct dirwalk *w = file_walk(m->c, from, false, false);
    for (struct dirwalk_entry e; dirwalk_next(w, &e);) {
        int errnum = e.errnum;
        if (e.step == WALK_FILE)
            errnum = file_unlink(m->c, e.path);
        else if (e.step == WALK_DIR_END)
            errnum = file_rmdir(m->c, e.path);
        if (!errnum)
            continue;
        cmd_err(m->c, "cannot remove %s: %s", quote(m->c, e.path), errno_text(errnum));
        ok = false;
    }
    dirwalk_destroy(w);
    return ok && !budget_stopped(m->c->budget);
}

/* To another mount. */
static bool copy_over(struct mv *m, const char *from, const char *to)
{
    int errnum = file_check_tree(m->c, from, VFS_TREE_CHANGE);
    if (errnum)
        return failed(m, from, to, errnum);
    struct copy copy = { .c = m->c,
        .recursive = true,
        .keep_mode = true,
        .keep_times = true,
        .keep_links = true,
        .remove_first = true };
    bool ok = copy_operand(&copy, from, to);
    copy_finish(&copy);
    return ok && remove_source(m, from);
}

enum verdict { GO_ON, PASS_OVER, REFUSED };

static enum verdict check_existing(struct mv *m, const char *from, const char *to,
        const struct vfs_stat *st, const struct vfs_stat *there)
{
    struct cmd *c = m->c;
    if (file_is_same(st, there)) {
        if (st->type == VFS_DIR)
            into_itself(m, from, to);
        else
            cmd_err(c, "%s and %s are the same file", quote(c, from), quote(c, to));
        return REFUSED;
    }
    if (m->existing == COPY_SKIP || (m->update && there->mtime_ns >= st->mtime_ns))
        return PASS_OVER;
    if (there->type == VFS_DIR && st->type != VFS_DIR) {
        cmd_err(c, "cannot overwrite directory %s with non-directory", quote(c, to));
        return REFUSED;
    }
    if (st->type == VFS_DIR && there->type != VFS_DIR) {
        cmd_err(c, "cannot overwrite non-directory %s with directory %s", quote(c, to),
                quote(c, from));
        return REFUSED;
    }
    if (m->existing == COPY_ASK && !ask(c, "overwrite %s?", quote(c, to)))
        return PASS_OVER;
    return GO_ON;
}

/* What cannot be renamed: "link/" is the link itself, which is no directory. */
static int check_source(struct mv *m, const char *from, struct vfs_stat *st)
{
    size_t len = strlen(from);
    char *bare = arena_cstr(m->c->arena, name_without_slashes(from));
    bool slash = len > 1 && from[len - 1] == '/';
    int errnum = file_stat(m->c, slash ? bare : from, VFS_NOFOLLOW, st);
    return !errnum && slash && st->type != VFS_DIR ? ENOTDIR : errnum;
}

static bool move_one(struct mv *m, const char *from, const char *to)
{
    struct cmd *c = m->c;
    struct vfs_stat st, there;
    int errnum = check_source(m, from, &st);
    if (errnum == ENOTDIR)
        return failed(m, from, to, errnum);
    if (errnum) {
        cmd_err(c, "cannot stat %s: %s", quote(c, from), errno_text(errnum));
        return false;
    }
    if (!file_stat(c, to, VFS_NOFOLLOW, &there)) {
        enum verdict verdict = check_existing(m, from, to, &st, &there);
        if (verdict != GO_ON)
            return verdict == PASS_OVER;
    }
    size_t len = strlen(to);
    bool to_slash = len > 1 && to[len - 1] == '/';
    errnum = to_slash && st.type != VFS_DIR ? ENOTDIR : file_rename(c, from, to);
    bool copied = errnum == EXDEV;
    if (copied && !copy_over(m, from, to))
        return false;
    if (errnum == EINVAL)
        return into_itself(m, from, to);
    if (errnum && !copied)
        return failed(m, from, to, errnum);
    return !m->verbose || cmd_printf(c, "%s %s -> %s\n", copied ? "copied" : "renamed",
                                  quote(c, from), quote(c, to));
}

static bool set_option(struct mv *m, int key, const char *value)
{
    switch (key) {
    case 'f':
        m->existing = COPY_REPLACE;
        return true;
    case 'i':
        m->existing = COPY_ASK;
        return true;
    case 'n':
        m->existing = COPY_SKIP;
        return true;
    case 't':
        m->target.option = value;
        return true;
    case 'T':
        return m->target.no_dir = true;
    case 'u':
        return m->update = true;
    case 'v':
        return m->verbose = true;
    default:
        return false;
    }
}

static int cmd_mv(struct cmd *c)
{
    struct mv m = { .c = c };
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!set_option(&m, k, o.value))
            return 1;
    if (!target_find(c, &m.target))
        return 1;
    int status = 0;
    for (int i = 0; i < m.target.count && !c->out_failed && cmd_tick(c); i++)
        if (!move_one(&m, c->argv[i], target_of(c, &m.target, c->argv[i])))
            status = 1;
    return status;
}

const struct command command_mv = {
    "mv",
    cmd_mv,
    options,
    "[OPTION]... SOURCE... DEST_OR_DIRECTORY",
    "Move or rename files and trees.",
    0,
};
