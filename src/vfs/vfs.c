#include "vfs/vfs.h"

#include "vfs/internal.h"

#include <errno.h>
#include <unistd.h>

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

struct resolve_args {
    struct arena *arena;
    struct vpath *out;
};

static int do_resolve(struct vfs *vfs UNUSED, const struct target *t, void *p)
{
    struct resolve_args *args = p;
    if (!t->is_walked)
        return ELOOP; /* nobody has looked at what is there */
    *args->out = (struct vpath){ arena_str(args->arena, t->path), t->must_be_dir };
    return 0;
}

int vfs_resolve(struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        struct arena *arena, struct vpath *out)
{
    struct resolve_args args = { arena, out };
    const struct gate_op op = { "resolve", GATE_LOOK, false };
    return vfs_perform(vfs, path, follow, op, do_resolve, &args);
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
    const struct gate_op op = { "stat", GATE_LOOK, false };
    return vfs_perform(vfs, path, args.follow, op, do_stat, &args);
}

static int do_ask_remote(struct vfs *vfs UNUSED, const struct target *t, void *p)
{
    const struct mount *m = t->mount;
    *(bool *)p = m->ops->enters_remote && m->ops->enters_remote(m->self, t->rel);
    return 0;
}

bool vfs_enters_remote(struct vfs *vfs, struct vpath path)
{
    bool is = false;
    const struct gate_op op = { "stat", GATE_LOOK, false };
    return !vfs_perform(vfs, path, VFS_FOLLOW, op, do_ask_remote, &is) && is;
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
    const struct gate_op op = { "readlink", GATE_LOOK, false };
    return vfs_perform(vfs, path, follow_of(path, VFS_NOFOLLOW), op, do_readlink, &args);
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
    const struct gate_op op = {
        .name = "access",
        .uses = (mode & W_OK ? GATE_CHANGE : GATE_LOOK) | (mode & R_OK ? GATE_READ : 0),
    };
    return vfs_perform(vfs, path, VFS_FOLLOW, op, do_access, &mode);
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

/*
 * The file is judged once it is open, before anything has been done to it: it may be
 * another name of a guarded one.  So it is emptied afterwards.
 */
static int open_judged(struct vfs *vfs, const struct target *t, struct open_args *args)
{
    struct vfile *f = NULL;
    struct vfs_stat st;
    bool truncate = args->flags & VFS_TRUNCATE;
    enum vfs_open_flags flags = args->flags;
    if (truncate)
        flags = (flags & ~(unsigned)VFS_TRUNCATE) | VFS_WRITE;
    int error = t->mount->ops->open(t->mount->self, t->rel, flags, args->mode, &f);
    if (error)
        return error;
    error = vfile_stat(f, &st);
    if (!error)
        error = vfs_check_twin(
                vfs, t->path, &st, changes(args->flags) ? GATE_CHANGE : GATE_READ);
    if (!error && truncate)
        error = vfile_truncate(f, 0);
    if (error)
        vfile_close(f);
    else
        *args->out = f;
    return error;
}

static int do_open(struct vfs *vfs, const struct target *t, void *p)
{
    struct open_args *args = p;
    if (t->must_be_dir || vfs_is_above_mount(vfs, t->path))
        return open_directory(vfs, t, args);
    if (!t->mount->ops->open)
        return EOPNOTSUPP;
    int error = vfs->twins ? open_judged(vfs, t, args)
                           : t->mount->ops->open(t->mount->self, t->rel, args->flags,
                                     args->mode, args->out);
    return args->flags & VFS_CREATE ? explain_missing_parent(vfs, t, error) : error;
}

int vfs_open(struct vfs *vfs, struct vpath path, enum vfs_open_flags flags, uint32_t mode,
        struct vfile **out)
{
    struct open_args args = { flags, mode & ~vfs->options.umask, out };
    bool write = changes(flags), read = !write || flags & VFS_READ;
    const struct gate_op op = {
        .name = write ? "write" : "read",
        .uses = (write ? GATE_CHANGE : 0) | (read ? GATE_READ : 0),
        .changes = write,
    };
    return vfs_perform(vfs, path, flags & VFS_EXCLUSIVE ? VFS_NOFOLLOW : VFS_FOLLOW, op,
            do_open, &args);
}

static int do_mkdir(struct vfs *vfs, const struct target *t, void *p)
{
    uint32_t mode = *(uint32_t *)p;
    struct vfs_stat st;
    if (is_pinned(vfs, t))
        return EEXIST;
    if (vfs->options.read_only || vfs->options.paths) {
        /* What is there already is said before what cannot be made: mkdir -p goes on. */
        int error = t->mount->ops->stat(t->mount->self, t->rel, &st);
        if (error == ENOENT)
            error = vfs_gate_target(vfs, t, GATE_CHANGE);
        else if (!error)
            error = EEXIST;
        if (error)
            return error;
    }
    if (!t->mount->ops->mkdir)
        return EOPNOTSUPP;
    return explain_missing_parent(
            vfs, t, t->mount->ops->mkdir(t->mount->self, t->rel, mode));
}

int vfs_mkdir(struct vfs *vfs, struct vpath path, uint32_t mode)
{
    mode &= ~vfs->options.umask;
    const struct gate_op op = { "mkdir", GATE_LOOK, true };
    return vfs_perform(vfs, path, VFS_NOFOLLOW, op, do_mkdir, &mode);
}

/* A link may be the way to something that is protected, which is then part of that. */
static int check_way(struct vfs *vfs, const struct target *t)
{
    struct vfs_stat st;
    bool is_link = vfs->options.paths &&
                   !t->mount->ops->stat(t->mount->self, t->rel, &st) &&
                   st.type == VFS_LINK;
    return is_link ? vfs_gate_tree(vfs, t) : 0;
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
    int error = check_way(vfs, t);
    return error ? error : t->mount->ops->unlink(t->mount->self, t->rel);
}

int vfs_unlink(struct vfs *vfs, struct vpath path)
{
    const struct gate_op op = { "unlink", GATE_CHANGE, true };
    return vfs_perform(vfs, path, VFS_NOFOLLOW, op, do_unlink, NULL);
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
    const struct gate_op op = { "rmdir", GATE_CHANGE, true };
    return vfs_perform(vfs, path, VFS_NOFOLLOW, op, do_rmdir, NULL);
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
        error = vfs_check_below(vfs, from, to->path, GATE_CHANGE);
    }
    if (!error)
        error = vfs_gate_tree(vfs, from);
    if (!error)
        error = vfs_gate_tree(vfs, to);
    if (error)
        return error;
    if (!from->mount->ops->rename)
        return EOPNOTSUPP;
    return explain_missing_parent(
            vfs, to, from->mount->ops->rename(from->mount->self, from->rel, to->rel));
}

int vfs_rename(struct vfs *vfs, struct vpath from, struct vpath to)
{
    return vfs_perform_pair(vfs, from, to, "rename", rename_target);
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
    error = vfs_check_twin(vfs, from->path, &st, GATE_READ | GATE_CHANGE);
    if (!error)
        error = vfs_gate_tree(vfs, to);
    if (error)
        return error;
    if (!from->mount->ops->link)
        return EOPNOTSUPP;
    return explain_missing_parent(
            vfs, to, from->mount->ops->link(from->mount->self, from->rel, to->rel));
}

int vfs_link(struct vfs *vfs, struct vpath from, struct vpath to)
{
    return vfs_perform_pair(vfs, from, to, "link", link_target);
}

static int do_symlink(struct vfs *vfs, const struct target *t, void *p)
{
    const struct str *target = p;
    if (is_pinned(vfs, t))
        return EEXIST;
    if (t->must_be_dir)
        return ENOENT;
    int error = vfs_gate_tree(vfs, t); /* what lies there would be reached by that name */
    if (error)
        return error;
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
    const struct gate_op op = { "symlink", GATE_CHANGE, true };
    return vfs_perform(vfs, path, VFS_NOFOLLOW, op, do_symlink, &target);
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
    error = vfs_check_twin(vfs, t->path, &st, GATE_CHANGE);
    if (error)
        return error;
    return t->mount->ops->chmod(t->mount->self, t->rel, mode);
}

int vfs_chmod(struct vfs *vfs, struct vpath path, uint32_t mode)
{
    mode &= 07777;
    const struct gate_op op = { "chmod", GATE_CHANGE, true };
    return vfs_perform(vfs, path, VFS_FOLLOW, op, do_chmod, &mode);
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
    error = vfs_check_twin(vfs, t->path, &st, GATE_CHANGE);
    if (error)
        return error;
    return t->mount->ops->set_times(
            t->mount->self, t->rel, args->atime_ns, args->mtime_ns);
}

int vfs_set_times(struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        int64_t atime_ns, int64_t mtime_ns)
{
    struct times_args args = { follow_of(path, follow), atime_ns, mtime_ns };
    const struct gate_op op = { "set-times", GATE_CHANGE, true };
    return vfs_perform(vfs, path, args.follow, op, do_set_times, &args);
}

struct replace_args {
    struct str data;
    enum vfs_open_flags flags;
    uint32_t mode;
    const struct vfs_stat *expect;
};

/* A file with several names is written in place: then it must be the one that was looked
 * at here. */
static int check_replaced(struct vfs *vfs, const struct target *t, struct vfs_stat *st,
        const struct vfs_stat **expect)
{
    if (!vfs->twins || t->mount->ops->stat(t->mount->self, t->rel, st) || st->nlink < 2)
        return 0;
    if (!*expect && st->type == VFS_FILE)
        *expect = st;
    return vfs_check_twin(vfs, t->path, st, GATE_CHANGE);
}

static int do_replace(struct vfs *vfs, const struct target *t, void *p)
{
    struct replace_args *args = p;
    if (t->must_be_dir || is_pinned(vfs, t)) {
        struct open_args open = { VFS_WRITE | args->flags, 0, NULL };
        return open_directory(vfs, t, &open);
    }
    if (!t->mount->ops->replace)
        return EOPNOTSUPP;
    struct vfs_stat st;
    const struct vfs_stat *expect = args->expect;
    int error = check_replaced(vfs, t, &st, &expect);
    if (error)
        return error;
    vfs_announce_replace(vfs, t->path, args->data);
    error = t->mount->ops->replace(
            t->mount->self, t->rel, args->data, args->flags, args->mode, expect);
    return args->flags & VFS_CREATE ? explain_missing_parent(vfs, t, error) : error;
}

int vfs_replace(struct vfs *vfs, struct vpath path, struct str data,
        enum vfs_open_flags flags, const struct vfs_stat *expect)
{
    struct replace_args args = { data, flags, 0666 & ~vfs->options.umask, expect };
    const struct gate_op op = { "replace", GATE_CHANGE, true };
    return vfs_perform(vfs, path, flags & VFS_EXCLUSIVE ? VFS_NOFOLLOW : VFS_FOLLOW, op,
            do_replace, &args);
}
