/*
 * local.h - a host folder as a backend: everything happens beneath one descriptor.
 *
 * Every path is opened with openat2(RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS), so the kernel
 * itself refuses to leave the folder or to follow a link, whatever others do to the tree
 * meanwhile.  Where openat2 is missing (before Linux 5.6, or filtered) the path is opened
 * component by component with O_NOFOLLOW, which promises the same.  No /proc is needed.
 *
 * What this cannot see: a hard link to a denied file under another name, and another
 * file system mounted inside the folder (it is part of the tree).  What a confined
 * process cannot do: change the times of a link, or the mode of a file that it can
 * neither read nor write, for both take a name instead of a descriptor
 * (confine/confine.h).
 */
#ifndef VFS_LOCAL_H
#define VFS_LOCAL_H

#include "vfs/backend.h"

#include <sys/stat.h>

struct local {
    int root; /* any descriptor of the folder, O_PATH will do */
    char *host_path;
    bool walk; /* no openat2 */
};

extern const struct vfs_ops local_ops;

/* `dirfd` is taken over.  `force_walk`: do without openat2 even if it is there. */
struct local *local_create(int dirfd, const char *host_path, bool force_walk);

/* A descriptor (never through a link), or -errno. */
int local_open_beneath(struct local *l, const char *path, int flags, mode_t mode);

/* The directory of a path and the last component, for the *at() family. */
struct local_place {
    int dir;
    const char *name; /* "." for the root */
    int owned;        /* `dir` if it must be closed, or -1 */
};

int local_place_open(struct local *l, const char *path, struct local_place *out);
void local_place_close(struct local_place *p);
#define auto_place AUTO(local_place_close) struct local_place

void local_stat_from(const struct stat *st, struct vfs_stat *out);
int64_t local_time_ns(const struct timespec *t);

/* local-replace.c: keep a file from being replaced until the descriptor is closed. */
void local_lock(int fd);
int local_replace(void *self, const char *path, struct str data,
        enum vfs_open_flags flags, uint32_t mode, const struct vfs_stat *expect);

/* local-file.c */
int local_open(void *self, const char *path, enum vfs_open_flags flags, uint32_t mode,
        struct vfile **out);

#endif
