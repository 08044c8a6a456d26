/*
 * internal.h - what the files of vfs/ share and nobody else sees.
 *
 * Every operation is the same three steps, and vfs_perform() in vfs.c is the place that
 * takes them: locate() turns a path into a target, vfs_gate() judges it, the operation
 * asks the backend.  The first attempt takes the path as it is written: one without ".."
 * in which the backend meets no link *is* canonical, and the backend says ELOOP when it
 * does meet one.  Only then is the path walked, component by component, and the backend
 * asked again with the canonical path.  There is no moment at which something that was
 * checked by name is used by following links.
 */
#ifndef VFS_INTERNAL_H
#define VFS_INTERNAL_H

#include "vfs/backend.h"

enum { VFS_MAX_PATH = 4096, VFS_MAX_LINKS = 40 };

struct mount {
    char *path;    /* owned */
    struct str at; /* the same: "/" or "/mnt/data" */
    const struct vfs_ops *ops;
    void *self;
};

struct vfs {
    struct vfs_options options;
    struct mount *mounts; /* longest `at` first */
    size_t count, cap;
    struct budget *budget; /* of the current call, or NULL */
};

enum gate_use { GATE_LOOK, GATE_CHANGE };

/* May `path` (canonical, or one component of it) be used so?  0, EACCES or EROFS. */
int vfs_gate(const struct vfs *vfs, struct str path, enum gate_use use);

/* A canonical path and where it leads. */
struct target {
    struct str path; /* NUL-terminated */
    const struct mount *mount;
    const char *rel; /* in the mount */
    bool must_be_dir;
    void *storage; /* of `path`, or NULL if it is the caller's */
};

/*
 * Attempt 0 takes `path` as written (ELOOP if it has ".."), later ones walk it.  The last
 * component need not exist.  EACCES: what the walk came through is denied, or a link
 * leaves its mount; the target itself is judged by the caller.
 */
int vfs_locate(const struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        int attempt, struct target *out);
void target_finish(struct target *t);
#define auto_target AUTO(target_finish) struct target

/* What to do with a target.  ELOOP: the backend met a link, locate again. */
typedef int target_fn(struct vfs *vfs, const struct target *t, void *args);

/* Locate, ask the gate, do it; again with links followed while the answer is ELOOP. */
int vfs_perform(struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        enum gate_use use, target_fn *op, void *args);

/* What vfs_check_tree() says about the entries below a directory. */
int vfs_check_below(struct vfs *vfs, const struct target *dir);

/* The mount that a canonical path belongs to, and the rest of the path below it. */
const struct mount *vfs_find_mount(
        const struct vfs *vfs, struct str path, const char **rel);

/*
 * Is `path` the directory `dir` or below it, component by component?  `*rest`: what comes
 * after `dir`, without a slash before it.  Neither may be relative; ".." is a name like
 * others.
 */
bool vfs_path_below(struct str path, struct str dir, struct str *rest);

bool vfs_is_mount_point(const struct vfs *vfs, struct str path);

/* Is something mounted below `path`?  Then it is a directory whatever the tree says. */
bool vfs_is_above_mount(const struct vfs *vfs, struct str path);

/* The stat of such a directory if the tree has none there. */
struct vfs_stat vfs_virtual_stat(struct str path);

/* An open directory: reading it is EISDIR. */
struct vfile *dir_file_create(const struct vfs_stat *st);

#endif
