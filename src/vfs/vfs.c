#include "vfs/vfs.h"

#include "base/budget.h"
#include "policy/deny.h"
#include "vfs/internal.h"

#include <errno.h>
#include <unistd.h>

/* How often a link may be swapped in between before we give up. */
enum { MAX_ATTEMPTS = 8 };

int vfs_gate(const struct vfs *vfs, struct str path, enum gate_use use)
{
    if (deny_match_path(vfs->options.deny, path))
        return EACCES;
    return use == GATE_CHANGE && vfs->options.read_only ? EROFS : 0;
}

int vfs_perform(struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        enum gate_use use, target_fn *op, void *args)
{
    int error = ELOOP;
    for (int attempt = 0; error == ELOOP && attempt < MAX_ATTEMPTS; attempt++) {
        auto_target t = { 0 };
        error = vfs_locate(vfs, path, follow, attempt, &t);
        if (!error)
            error = vfs_gate(vfs, t.path, use);
        if (!error)
            error = op(vfs, &t, args);
    }
    return error;
}

typedef int pair_fn(struct vfs *vfs, const struct target *from, const struct target *to);

static int perform_pair(struct vfs *vfs, struct vpath from, struct vpath to,
        enum gate_use from_use, pair_fn *op)
{
    int error = ELOOP;
    for (int attempt = 0; error == ELOOP && attempt < MAX_ATTEMPTS; attempt++) {
        auto_target f = { 0 };
        auto_target t = { 0 };
        error = vfs_locate(vfs, from, VFS_NOFOLLOW, attempt, &f);
        if (!error)
            error = vfs_locate(vfs, to, VFS_NOFOLLOW, attempt, &t);
        if (!error)
            error = vfs_gate(vfs, f.path, from_use);
        if (!error)
            error = vfs_gate(vfs, t.path, GATE_CHANGE);
        if (!error && f.mount != t.mount)
            error = EXDEV;
        if (!error)
            error = op(vfs, &f, &t);
    }
    return error;
}

static bool is_pinned(const struct vfs *vfs, const struct target *t)
{
    return !*t->rel || vfs_is_above_mount(vfs, t->path);
}

/* Creating in a directory that only mounts make exist. */
static int explain_missing_parent(
        const struct vfs *vfs, const struct target *t, int error)
{
    if (error != ENOENT)
        return error;
    struct str parent = t->path;
    while (parent.len > 1 && parent.data[--parent.len] != '/')
        ;
    return parent.len && vfs_is_above_mount(vfs, parent) ? EROFS : ENOENT;
}

/* Of the target itself, which may be a link unless it was written with a slash. */
static int stat_target(
        const struct vfs *vfs, const struct target *t, struct vfs_stat *out)
{
    struct vfs_stat st;
    int error = t->mount->ops->stat(t->mount->self, t->rel, &st);
    if ((error || st.type != VFS_DIR) && vfs_is_above_mount(vfs, t->path)) {
        st = vfs_virtual_stat(t->path);
        error = 0;
    }
    if (!error && t->must_be_dir && st.type != VFS_DIR)
        error = ENOTDIR;
    if (!error)
        *out = st;
    return error;
}

void vfs_set_budget(struct vfs *vfs, struct budget *budget)
{
    vfs->budget = budget;
}

uint32_t vfs_umask(const struct vfs *vfs)
{
    return vfs->options.umask;
}

void vfs_set_umask(struct vfs *vfs, uint32_t mask)
{
    vfs->options.umask = mask & 0777;
}

int vfs_resolve(struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        struct arena *arena, struct vpath *out)
{
    int error = ELOOP;
    for (int attempt = 1; error == ELOOP && attempt < MAX_ATTEMPTS; attempt++) {
        auto_target t = { 0 };
        error = vfs_locate(vfs, path, follow, attempt, &t);
        if (!error)
            error = vfs_gate(vfs, t.path, GATE_LOOK);
        if (!error)
            *out = (struct vpath){ arena_str(arena, t.path), t.must_be_dir };
    }
    return error;
}

struct stat_args {
    enum vfs_follow follow;
    struct vfs_stat *out;
};

static int do_stat(struct vfs *vfs, const struct target *t, void *p)
{
    struct stat_args *args = p;
    struct target bare = *t;
    bare.must_be_dir = false;
    struct vfs_stat st;
    int error = stat_target(vfs, &bare, &st);
    if (error)
        return error;
    if (st.type == VFS_LINK && args->follow == VFS_FOLLOW)
        return ELOOP;
    if (t->must_be_dir && st.type != VFS_DIR)
        return ENOTDIR;
    *args->out = st;
    return 0;
}

/* "link/" means what the link leads to. */
static enum vfs_follow follow_of(struct vpath path, enum vfs_follow follow)
{
    return path.must_be_dir ? VFS_FOLLOW : follow;
}

int vfs_stat(
        struct vfs *vfs, struct vpath path, enum vfs_follow follow, struct vfs_stat *out)
{
    struct stat_args args = { follow_of(path, follow), out };
    return vfs_perform(vfs, path, args.follow, GATE_LOOK, do_stat, &args);
}

struct readlink_args {
    struct arena *arena;
    struct str *out;
};

static int do_readlink(struct vfs *vfs, const struct target *t, void *p)
{
    struct readlink_args *args = p;
    if (is_pinned(vfs, t) || !t->mount->ops->readlink)
        return EINVAL;
    auto_free char *text = xmalloc(VFS_MAX_PATH);
    size_t len = 0;
    int error = t->mount->ops->readlink(t->mount->self, t->rel, text, VFS_MAX_PATH, &len);
    if (!error)
        *args->out = arena_str(args->arena, (struct str){ text, len });
    return error;
}

int vfs_readlink(struct vfs *vfs, struct vpath path, struct arena *arena, struct str *out)
{
    struct readlink_args args = { arena, out };
    return vfs_perform(
            vfs, path, follow_of(path, VFS_NOFOLLOW), GATE_LOOK, do_readlink, &args);
}

static int do_access(struct vfs *vfs, const struct target *t, void *p)
{
    int mode = *(int *)p;
    struct vfs_stat st;
    struct stat_args look = { VFS_FOLLOW, &st };
    int error = do_stat(vfs, t, &look);
    if (error)
        return error;
    if (st.dev == UINT64_MAX)
        return mode & W_OK ? EROFS : 0;
    if (mode == F_OK || !t->mount->ops->access)
        return 0;
    return t->mount->ops->access(t->mount->self, t->rel, mode);
}

int vfs_access(struct vfs *vfs, struct vpath path, int mode)
{
    return vfs_perform(vfs, path, VFS_FOLLOW, mode & W_OK ? GATE_CHANGE : GATE_LOOK,
            do_access, &mode);
}

struct open_args {
    enum vfs_open_flags flags;
    uint32_t mode;
    struct vfile **out;
};

static bool changes(enum vfs_open_flags flags)
{
    return flags & (VFS_WRITE | VFS_CREATE | VFS_TRUNCATE | VFS_APPEND);
}

/* Opening what must be a directory: one that mounts make, or a name with a slash. */
static int open_directory(struct vfs *vfs, const struct target *t, struct open_args *args)
{
    struct vfs_stat st;
    struct stat_args look = { VFS_FOLLOW, &st };
    int error = do_stat(vfs, t, &look);
    if (error == ENOENT && args->flags & VFS_CREATE)
        return EISDIR;
    if (error)
        return error;
    if (changes(args->flags))
        return EISDIR;
    *args->out = dir_file_create(&st);
    return 0;
}

static int do_open(struct vfs *vfs, const struct target *t, void *p)
{
    struct open_args *args = p;
    if (t->must_be_dir || vfs_is_above_mount(vfs, t->path))
        return open_directory(vfs, t, args);
    if (!t->mount->ops->open)
        return EOPNOTSUPP;
    int error = t->mount->ops->open(
            t->mount->self, t->rel, args->flags, args->mode, args->out);
    return args->flags & VFS_CREATE ? explain_missing_parent(vfs, t, error) : error;
}

int vfs_open(struct vfs *vfs, struct vpath path, enum vfs_open_flags flags, uint32_t mode,
        struct vfile **out)
{
    struct open_args args = { flags, mode & ~vfs->options.umask, out };
    return vfs_perform(vfs, path, flags & VFS_EXCLUSIVE ? VFS_NOFOLLOW : VFS_FOLLOW,
            changes(flags) ? GATE_CHANGE : GATE_LOOK, do_open, &args);
}

static int do_mkdir(struct vfs *vfs, const struct target *t, void *p)
{
    uint32_t mode = *(uint32_t *)p;
    struct vfs_stat st;
    if (is_pinned(vfs, t))
        return EEXIST;
    if (vfs->options.read_only) {
        /* What is there already is said before what cannot be made: mkdir -p goes on. */
        int error = t->mount->ops->stat(t->mount->self, t->rel, &st);
        return error == ENOENT ? EROFS : error ? error : EEXIST;
    }
    if (!t->mount->ops->mkdir)
        return EOPNOTSUPP;
    return explain_missing_parent(
            vfs, t, t->mount->ops->mkdir(t->mount->self, t->rel, mode));
}

int vfs_mkdir(struct vfs *vfs, struct vpath path, uint32_t mode)
{
    mode &= ~vfs->options.umask;
    return vfs_perform(vfs, path, VFS_NOFOLLOW, GATE_LOOK, do_mkdir, &mode);
}

static int do_unlink(struct vfs *vfs, const struct target *t, void *p)
{
    (void)p;
    struct vfs_stat st;
    if (is_pinned(vfs, t))
        return EBUSY;
    if (t->must_be_dir) {
        int error = stat_target(vfs, t, &st);
        return error ? error : EISDIR;
    }
    if (!t->mount->ops->unlink)
        return EOPNOTSUPP;
    return t->mount->ops->unlink(t->mount->self, t->rel);
}

int vfs_unlink(struct vfs *vfs, struct vpath path)
{
    return vfs_perform(vfs, path, VFS_NOFOLLOW, GATE_CHANGE, do_unlink, NULL);
}

static int do_rmdir(struct vfs *vfs, const struct target *t, void *p)
{
    (void)p;
    if (is_pinned(vfs, t))
        return EBUSY;
    if (!t->mount->ops->rmdir)
        return EOPNOTSUPP;
    return t->mount->ops->rmdir(t->mount->self, t->rel);
}

int vfs_rmdir(struct vfs *vfs, struct vpath path)
{
    return vfs_perform(vfs, path, VFS_NOFOLLOW, GATE_CHANGE, do_rmdir, NULL);
}

static int rename_target(
        struct vfs *vfs, const struct target *from, const struct target *to)
{
    struct vfs_stat st;
    struct str below;
    if (is_pinned(vfs, from) || is_pinned(vfs, to))
        return EBUSY;
    int error = stat_target(vfs, from, &st);
    if (error)
        return error;
    if (to->must_be_dir && st.type != VFS_DIR)
        return ENOTDIR;
    if (st.type == VFS_DIR && !str_eq(from->path, to->path)) {
        if (vfs_path_below(to->path, from->path, &below))
            return EINVAL;
        error = vfs_check_below(vfs, from);
        if (error)
            return error;
    }
    if (!from->mount->ops->rename)
        return EOPNOTSUPP;
    return explain_missing_parent(
            vfs, to, from->mount->ops->rename(from->mount->self, from->rel, to->rel));
}

int vfs_rename(struct vfs *vfs, struct vpath from, struct vpath to)
{
    return perform_pair(vfs, from, to, GATE_CHANGE, rename_target);
}

static int link_target(
        struct vfs *vfs, const struct target *from, const struct target *to)
{
    struct vfs_stat st;
    int error = stat_target(vfs, from, &st);
    if (error)
        return error;
    if (st.type == VFS_DIR)
        return EPERM;
    if (is_pinned(vfs, to))
        return EEXIST;
    if (to->must_be_dir)
        return ENOENT;
    if (!from->mount->ops->link)
        return EOPNOTSUPP;
    return explain_missing_parent(
            vfs, to, from->mount->ops->link(from->mount->self, from->rel, to->rel));
}

int vfs_link(struct vfs *vfs, struct vpath from, struct vpath to)
{
    return perform_pair(vfs, from, to, GATE_CHANGE, link_target);
}

static int do_symlink(struct vfs *vfs, const struct target *t, void *p)
{
    const struct str *target = p;
    if (is_pinned(vfs, t))
        return EEXIST;
    if (t->must_be_dir)
        return ENOENT;
    if (!t->mount->ops->symlink)
        return EOPNOTSUPP;
    return explain_missing_parent(
            vfs, t, t->mount->ops->symlink(t->mount->self, *target, t->rel));
}

int vfs_symlink(struct vfs *vfs, struct str target, struct vpath path)
{
    if (!target.len)
        return ENOENT;
    if (memchr(target.data, 0, target.len))
        return EINVAL;
    if (target.len >= VFS_MAX_PATH)
        return ENAMETOOLONG;
    return vfs_perform(vfs, path, VFS_NOFOLLOW, GATE_CHANGE, do_symlink, &target);
}

static int do_chmod(struct vfs *vfs, const struct target *t, void *p)
{
    uint32_t mode = *(uint32_t *)p;
    struct vfs_stat st;
    struct stat_args look = { VFS_FOLLOW, &st };
    int error = do_stat(vfs, t, &look);
    if (error)
        return error;
    if (st.dev == UINT64_MAX)
        return EROFS;
    if (!t->mount->ops->chmod)
        return EOPNOTSUPP;
    return t->mount->ops->chmod(t->mount->self, t->rel, mode);
}

int vfs_chmod(struct vfs *vfs, struct vpath path, uint32_t mode)
{
    mode &= 07777;
    return vfs_perform(vfs, path, VFS_FOLLOW, GATE_CHANGE, do_chmod, &mode);
}

struct times_args {
    enum vfs_follow follow;
    int64_t atime_ns, mtime_ns;
};

static int do_set_times(struct vfs *vfs, const struct target *t, void *p)
{
    struct times_args *args = p;
    struct vfs_stat st;
    struct stat_args look = { args->follow, &st };
    int error = do_stat(vfs, t, &look);
    if (error)
        return error;
    if (st.dev == UINT64_MAX)
        return EROFS;
    if (!t->mount->ops->set_times)
        return EOPNOTSUPP;
    return t->mount->ops->set_times(
            t->mount->self, t->rel, args->atime_ns, args->mtime_ns);
}

int vfs_set_times(struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        int64_t atime_ns, int64_t mtime_ns)
{
    struct times_args args = { follow_of(path, follow), atime_ns, mtime_ns };
    return vfs_perform(vfs, path, args.follow, GATE_CHANGE, do_set_times, &args);
}

struct replace_args {
    struct str data;
    enum vfs_open_flags flags;
    uint32_t mode;
    const struct vfs_stat *expect;
};

static int do_replace(struct vfs *vfs, const struct target *t, void *p)
{
    struct replace_args *args = p;
    if (t->must_be_dir || is_pinned(vfs, t)) {
        struct open_args open = { VFS_WRITE | args->flags, 0, NULL };
        return open_directory(vfs, t, &open);
    }
    if (!t->mount->ops->replace)
        return EOPNOTSUPP;
    int error = t->mount->ops->replace(
            t->mount->self, t->rel, args->data, args->flags, args->mode, args->expect);
    return args->flags & VFS_CREATE ? explain_missing_parent(vfs, t, error) : error;
}

int vfs_replace(struct vfs *vfs, struct vpath path, struct str data,
        enum vfs_open_flags flags, const struct vfs_stat *expect)
{
    struct replace_args args = { data, flags, 0666 & ~vfs->options.umask, expect };
    return vfs_perform(vfs, path, flags & VFS_EXCLUSIVE ? VFS_NOFOLLOW : VFS_FOLLOW,
            GATE_CHANGE, do_replace, &args);
}
