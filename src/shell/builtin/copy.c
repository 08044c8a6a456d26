#include "shell/builtin/copy.h"
#include "base/path.h"

#include "search/dirwalk.h"
#include "shell/builtin/files.h"
#include "shell/builtin/mode.h"
#include "shell/builtin/quote.h"

#include <errno.h>

#define BLOCK ((size_t)128 << 10)

struct copied {
    uint64_t dev, ino;
    char *to;
};

void copy_finish(struct copy *cp)
{
    for (size_t i = 0; i < cp->copied_count; i++)
        free(cp->copied[i].to);
    free(cp->copied);
    free(cp->block);
}

static bool failed(struct copy *cp, const char *what, const char *name, int errnum)
{
    cmd_err(cp->c, "cannot %s %s: %s", what, quote(cp->c, name), errno_text(errnum));
    return false;
}

static bool shown(struct copy *cp, const char *from, const char *to)
{
    return !cp->verbose ||
           cmd_printf(cp->c, "%s -> %s\n", quote(cp->c, from), quote(cp->c, to));
}

static int copy_bytes_of(struct copy *cp, struct vfile *from, struct vfile *to)
{
    size_t got;
    int errnum;
    if (!cp->block)
        cp->block = xmalloc(BLOCK);
    while (!(errnum = vfile_read(from, cp->block, BLOCK, &got)) && got) {
        if (!cmd_tick(cp->c))
            return ECANCELED;
        if ((errnum = vfile_write(to, (struct str){ cp->block, got })))
            return errnum;
    }
    return errnum;
}

static int create(struct copy *cp, const char *to, uint32_t mode, struct vfile **out)
{
    enum vfs_open_flags flags = VFS_WRITE | VFS_CREATE | VFS_TRUNCATE;
    int errnum = file_open(cp->c, to, flags, mode, out);
    if (!errnum || !cp->force || errnum == EISDIR || file_unlink(cp->c, to))
        return errnum;
    return file_open(cp->c, to, flags | VFS_EXCLUSIVE, mode, out);
}

static bool copy_content(
        struct copy *cp, const char *from, const char *to, const struct vfs_stat *st)
{
    struct vfile *in, *out;
    int errnum = file_open(cp->c, from, VFS_READ, 0, &in);
    if (errnum) {
        cmd_err(cp->c, "cannot open %s for reading: %s", quote(cp->c, from),
                errno_text(errnum));
        return false;
    }
    errnum = create(cp, to, st->mode & 0777, &out);
    if (errnum) {
        errnum = errnum == EISDIR ? ENOTDIR : errnum; /* "new/" where nothing is */
        vfile_close(in);
        return failed(cp, "create regular file", to, errnum);
    }
    errnum = copy_bytes_of(cp, in, out);
    vfile_close(in);
    vfile_close(out);
    if (!errnum)
        return true;
    if (errnum != ECANCELED)
        cmd_err(cp->c, "error copying %s to %s: %s", quote(cp->c, from), quote(cp->c, to),
                errno_text(errnum));
    return false;
}

static bool copy_link(struct copy *cp, const char *from, const char *to)
{
    struct str target;
    int errnum = file_readlink(cp->c, from, &target);
    if (errnum)
        return failed(cp, "read symbolic link", from, errnum);
    errnum = file_symlink(cp->c, target.data, to);
    return !errnum || failed(cp, "create symbolic link", to, errnum);
}

static bool make_link(struct copy *cp, const char *from, const char *to)
{
    if (cp->hard_link) {
        int errnum = file_link(cp->c, from, to);
        if (!errnum)
            return true;
        cmd_err(cp->c, "cannot create hard link %s to %s: %s", quote(cp->c, to),
                quote(cp->c, from), errno_text(errnum));
        return false;
    }
    if (from[0] != '/' && strchr(to, '/') && strncmp(to, "./", 2)) {
        cmd_err(cp->c, "%s: can make relative symbolic links only in current directory",
                quote_maybe(cp->c, to));
        return false;
    }
    int errnum = file_symlink(cp->c, from, to);
    if (!errnum)
        return true;
    cmd_err(cp->c, "cannot create symbolic link %s to %s: %s", quote(cp->c, to),
            quote(cp->c, from), errno_text(errnum));
    return false;
}

/* Mode and times of what was copied. */
static bool keep_attributes(struct copy *cp, const char *to, const struct vfs_stat *st)
{
    int errnum = 0;
    bool link = st->type == VFS_LINK;
    if (cp->keep_times)
        errnum = file_set_times(
                cp->c, to, link ? VFS_NOFOLLOW : VFS_FOLLOW, st->atime_ns, st->mtime_ns);
    /* A confined process cannot set the times of a link itself; nobody reads them. */
    if (link && errnum == EPERM)
        errnum = 0;
    if (errnum) {
        cmd_err(cp->c, "preserving times for %s: %s", quote(cp->c, to),
                errno_text(errnum));
        return false;
    }
    errnum = cp->keep_mode && !link ? file_chmod(cp->c, to, st->mode) : 0;
    if (errnum)
        cmd_err(cp->c, "preserving permissions for %s: %s", quote(cp->c, to),
                errno_text(errnum));
    return !errnum;
}

/* A file that was copied under another name already: link to that. */
static const char *copied_before(struct copy *cp, const struct vfs_stat *st)
{
    for (size_t i = 0; i < cp->copied_count; i++)
        if (cp->copied[i].ino == st->ino && cp->copied[i].dev == st->dev)
            return cp->copied[i].to;
    return NULL;
}

static void remember(struct copy *cp, const struct vfs_stat *st, const char *to)
{
    GROW(cp->copied, cp->copied_count, cp->copied_cap);
    cp->copied[cp->copied_count++] =
            (struct copied){ .dev = st->dev, .ino = st->ino, .to = xstrdup(to) };
}

static bool copy_data(
        struct copy *cp, const char *from, const char *to, const struct vfs_stat *st)
{
    bool several = cp->keep_links && st->nlink > 1;
    const char *before = several ? copied_before(cp, st) : NULL;
    if (before) {
        int errnum = file_link(cp->c, before, to);
        return !errnum || failed(cp, "create hard link", to, errnum);
    }
    if (cp->hard_link || cp->symlink)
        return make_link(cp, from, to);
    if (st->type != VFS_FILE && st->type != VFS_LINK)
        return failed(cp, "copy special file", from, EOPNOTSUPP);
    bool ok = st->type == VFS_LINK ? copy_link(cp, from, to)
                                   : copy_content(cp, from, to, st);
    if (ok && several)
        remember(cp, st, to);
    return ok && keep_attributes(cp, to, st);
}

enum verdict { GO_ON, PASS_OVER, REFUSED };

/* `there` is what `to` is, links not followed. */
static enum verdict check_existing(struct copy *cp, const char *from, const char *to,
        const struct vfs_stat *st, const struct vfs_stat *there)
{
    struct cmd *c = cp->c;
    struct vfs_stat end = *there;
    bool links = st->type == VFS_LINK || cp->hard_link || cp->symlink;
    bool dangling =
            there->type == VFS_LINK && file_stat(c, to, VFS_FOLLOW, &end) == ENOENT;
    if (file_is_same(st, links ? there : &end) && !(cp->force && cp->hard_link)) {
        cmd_err(c, "%s and %s are the same file", quote(c, from), quote(c, to));
        return REFUSED;
    }
    if (end.type == VFS_DIR && !(links && there->type == VFS_LINK)) {
        cmd_err(c, "cannot overwrite directory %s with non-directory",
                quote_maybe(c, to));
        return REFUSED;
    }
    if (cp->existing == COPY_SKIP || (cp->update && end.mtime_ns >= st->mtime_ns))
        return PASS_OVER;
    if (cp->existing == COPY_ASK && !ask(c, "overwrite %s?", quote(c, to)))
        return PASS_OVER;
    if (dangling && !links && !cp->remove_first) {
        cmd_err(c, "not writing through dangling symlink %s", quote(c, to));
        return REFUSED;
    }
    return GO_ON;
}

static bool copy_file(
        struct copy *cp, const char *from, const char *to, const struct vfs_stat *st)
{
    struct vfs_stat there;
    if (!file_stat(cp->c, to, VFS_NOFOLLOW, &there)) {
        enum verdict verdict = check_existing(cp, from, to, st, &there);
        if (verdict != GO_ON)
            return verdict == PASS_OVER;
        bool replace = st->type == VFS_LINK || cp->remove_first ||
                       ((cp->hard_link || cp->symlink) && cp->force);
        int errnum = replace ? file_unlink(cp->c, to) : 0;
        if (errnum)
            return failed(cp, "remove", to, errnum);
    }
    return shown(cp, from, to) && copy_data(cp, from, to, st);
}

static bool begin_dir(
        struct copy *cp, const char *from, const char *to, const struct vfs_stat *st)
{
    struct vfs_stat there;
    if (!file_stat(cp->c, to, VFS_FOLLOW, &there)) {
        if (there.type == VFS_DIR)
            return true;
        cmd_err(cp->c, "cannot overwrite non-directory %s with directory %s",
                quote(cp->c, to), quote(cp->c, from));
        return false;
    }
    /* Ours to fill, whatever its mode will be. */
    int errnum = file_mkdir(cp->c, to, st->mode | 0700);
    if (errnum)
        return failed(cp, "create directory", to, errnum);
    return shown(cp, from, to);
}

static bool end_dir(struct copy *cp, const char *to, const struct vfs_stat *st)
{
    if (!cp->keep_mode && (st->mode & 0700) != 0700) {
        int errnum = file_chmod(cp->c, to, st->mode & 0777 & ~(uint32_t)MODE_UMASK);
        if (errnum)
            return failed(cp, "set permissions of", to, errnum);
    }
    return keep_attributes(cp, to, st);
}

/* Through links a tree may lead to its own copy, which would never end. */
static bool enter_dir(struct copy *cp, const struct dirwalk_entry *e, const char *to)
{
    if (e->depth && file_is_same(&e->st, &cp->made)) {
        cmd_err(cp->c, "cannot copy a directory, %s, into itself, %s",
                quote(cp->c, e->path), quote(cp->c, to));
        return false;
    }
    if (!begin_dir(cp, e->path, to, &e->st))
        return false;
    int errnum = e->depth ? 0 : file_stat(cp->c, to, VFS_FOLLOW, &cp->made);
    return !errnum || failed(cp, "stat", to, errnum);
}

static bool copy_step(
        struct copy *cp, struct dirwalk *w, const struct dirwalk_entry *e, const char *to)
{
    switch (e->step) {
    case WALK_FILE:
        return copy_file(cp, e->path, to, &e->st);
    case WALK_DIR:
        if (enter_dir(cp, e, to))
            return true;
        dirwalk_skip(w);
        return false;
    case WALK_DIR_END:
        return end_dir(cp, to, &e->st);
    case WALK_UNREADABLE:
        return failed(cp, "access", e->path, e->errnum);
    case WALK_FAILED:
        break;
    }
    return failed(cp, "stat", e->path, e->errnum);
}

/* Would the tree be copied into itself?  Asked before anything is made. */
static bool is_into_itself(struct copy *cp, const char *from, const char *to)
{
    struct vpath source, target;
    if (file_resolve(cp->c, from, VFS_FOLLOW, &source) ||
            file_resolve(cp->c, to, VFS_FOLLOW, &target))
        return false;
    return path_is_in(target.text, source.text);
}

/* Rules hide what they deny, so a copy may be less than its source: that is said. */
static bool check_whole(struct copy *cp, const char *from)
{
    if (file_check_tree(cp->c, from, VFS_TREE_READ) != EACCES)
        return true;
    cmd_err(cp->c, "%s is not copied whole: the view denies access to some of it",
            quote(cp->c, from));
    return false;
}

static bool copy_tree(struct copy *cp, const char *from, const char *to)
{
    if (is_into_itself(cp, from, to)) {
        cmd_err(cp->c, "cannot copy a directory, %s, into itself, %s", quote(cp->c, from),
                quote(cp->c, to));
        return false;
    }
    bool ok = check_whole(cp, from);
    struct dirwalk *w = file_walk(
            cp->c, from, cp->follow != COPY_LINKS, cp->follow == COPY_FOLLOW_ALL);
    for (struct dirwalk_entry e; !cp->c->out_failed && dirwalk_next(w, &e);) {
        struct arena_mark mark = arena_mark(cp->c->arena);
        const char *rest = e.path + e.root_len;
        ok &= copy_step(cp, w, &e, *rest ? name_join(cp->c, to, rest) : to);
        arena_rewind(cp->c->arena, mark);
    }
    dirwalk_destroy(w);
    return ok && !budget_stopped(cp->c->budget);
}

bool copy_operand(struct copy *cp, const char *from, const char *to)
{
    struct vfs_stat st;
    bool follow = cp->follow != COPY_LINKS;
    int errnum = file_stat(cp->c, from, follow ? VFS_FOLLOW : VFS_NOFOLLOW, &st);
    if (errnum)
        return failed(cp, "stat", from, errnum);
    if (st.type != VFS_DIR)
        return copy_file(cp, from, to, &st);
    if (cp->recursive)
        return copy_tree(cp, from, to);
    cmd_err(cp->c, "-r not specified; omitting directory %s", quote(cp->c, from));
    return false;
}
