/*
 * backend.h - what a store of files provides to vfs.c.
 *
 * `path` is canonical and relative to the mount: "" is its root, "a/b" has no leading
 * slash, no "." and no "..".  A backend never follows a link: one before the last
 * component is ELOOP for every function, one as the last is ELOOP for those that need
 * what it points to (list, open, chmod, replace).  vfs.c then walks the path and asks
 * again with where the link led.  Nothing here asks the gate.  A NULL member means
 * EOPNOTSUPP.  Functions return 0 or an errno; on failure nothing has changed.
 */
#ifndef VFS_BACKEND_H
#define VFS_BACKEND_H

#include "vfs/vfs.h"

struct vfile_ops {
    int (*read)(struct vfile *f, void *data, size_t size, size_t *got);
    int (*pread)(struct vfile *f, void *data, size_t size, uint64_t offset, size_t *got);
    int (*write)(struct vfile *f, struct str data);
    int (*seek)(struct vfile *f, uint64_t offset);
    int (*truncate)(struct vfile *f, uint64_t size);
    int (*stat)(struct vfile *f, struct vfs_stat *out);
    void (*close)(struct vfile *f); /* frees `f` too */
};

/* Backends embed this as the first member of their own file. */
struct vfile {
    const struct vfile_ops *ops;
    int fd; /* -1 if there is none */
};

struct vfs_ops {
    const char *name;
    int (*stat)(
            void *self, const char *path, struct vfs_stat *out); /* of the link itself */
    /* Like readlink(2): no NUL is added.  ENAMETOOLONG if it does not fit; EINVAL: no
     * link. */
    int (*readlink)(void *self, const char *path, char *data, size_t size, size_t *len);
    /* Unsorted, every entry.  ECANCELED: the budget (or NULL) ended meanwhile, which a
     * directory on a slow store may well take. */
    int (*list)(void *self, const char *path, struct budget *budget, struct arena *arena,
            struct vfs_entry **out, size_t *count);
    int (*open)(void *self, const char *path, enum vfs_open_flags flags, uint32_t mode,
            struct vfile **out);
    int (*access)(void *self, const char *path, int mode);
    int (*mkdir)(void *self, const char *path, uint32_t mode);
    int (*unlink)(void *self, const char *path);
    int (*rmdir)(void *self, const char *path);
    int (*rename)(void *self, const char *from, const char *to);
    int (*link)(void *self, const char *from, const char *to);
    int (*symlink)(void *self, struct str target, const char *path);
    int (*chmod)(void *self, const char *path, uint32_t mode);
    int (*set_times)(void *self, const char *path, int64_t atime_ns, int64_t mtime_ns);
    int (*replace)(void *self, const char *path, struct str data,
            enum vfs_open_flags flags, uint32_t mode, const struct vfs_stat *expect);
    /* The part of an absolute link target below the mount ("a/b", a view of `target`), or
     * EACCES if it lies outside.  NULL: link targets are paths of the vfs. */
    int (*map_absolute)(void *self, struct str target, struct str *out);
    /* Of a directory: vfs_enters_remote().  NULL: none is. */
    bool (*enters_remote)(void *self, const char *path);
    void (*destroy)(void *self);
};

#endif
