/*
 * Replacing a file in one step.
 *
 * The usual road: write a temporary file beside the target, give it the target's owner,
 * mode and extended attributes, rename it over the target.  A reader sees the old bytes
 * or the new ones; a process killed in between leaves `.HEX.tmp` behind.  (O_TMPFILE
 * would leave no name behind after a crash, but a nameless file can only be linked to a
 * new name, never over an old one.)
 *
 * The other road rewrites the file in place and restores the old bytes if that fails: for
 * files with several links, and where the new file could not be made equal to the old one
 * (a foreign owner, an attribute we may not set, a directory we may not write).
 *
 * Nothing is fsync'ed: rename after write is ordered on the file systems in use, agents'
 * files are not databases, and a sync of every edit would cost more than all the rest.
 *
 * Linux has no "rename if unchanged".  Calls of ours that run at the same time lock the
 * old file from the last comparison with `expect` to the rename, so that one of them sees
 * what the other did.  Another program's write in these few microseconds would be lost.
 */
#include "vfs/local.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { MAX_XATTR_NAMES = 65536, MAX_XATTR_VALUE = 65536, MAX_LOCK_MS = 100 };

/* Not an errno: the temporary file cannot become equal, take the other road. */
enum { IN_PLACE = -1 };

struct replacement {
    const struct local_place *at;
    struct str data;
    const struct vfs_stat *expect;
    int old_fd;      /* open for reading; -1 if the file is new */
    struct stat old; /* valid if old_fd is */
};

static bool is_unchanged(const struct stat *st, const struct vfs_stat *expect)
{
    return st->st_dev == expect->dev && st->st_ino == expect->ino &&
           (uint64_t)st->st_size == expect->size &&
           local_time_ns(&st->st_mtim) == expect->mtime_ns &&
           local_time_ns(&st->st_ctim) == expect->ctime_ns;
}

void local_lock(int fd)
{
    for (int ms = 0; ms < MAX_LOCK_MS && flock(fd, LOCK_EX | LOCK_NB); ms++)
        poll(NULL, 0, 1);
}

/* Is the name still the file that we opened, and the file what the caller saw?  To be
 * asked last, since from here on it is locked. */
static int check_unchanged(const struct replacement *r)
{
    struct stat now;
    local_lock(r->old_fd);
    struct vfs_stat opened;
    if (fstatat(r->at->dir, r->at->name, &now, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? ESTALE : errno;
    local_stat_from(&r->old, &opened);
    if (!is_unchanged(&now, &opened))
        return ESTALE;
    return !r->expect || is_unchanged(&now, r->expect) ? 0 : ESTALE;
}

static int write_all(int fd, struct str data, off_t at)
{
    while (data.len) {
        ssize_t n = pwrite(fd, data.data, data.len, at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        if (!n)
            return EIO;
        at += n;
        data = str_from(data, (size_t)n);
    }
    return 0;
}

static int read_all(int fd, char *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t n = pread(fd, data + at, size - at, (off_t)at);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ESTALE; /* shorter than it was */
        at += (size_t)n;
    }
    return 0;
}

/* The kernel itself drops file capabilities when a file is written. */
static bool is_copied(const char *name)
{
    return strcmp(name, "security.capability") && strncmp(name, "security.selinux", 16);
}

static int copy_xattrs(int from, int to)
{
    auto_free char *names = xmalloc(MAX_XATTR_NAMES);
    ssize_t len = flistxattr(from, names, MAX_XATTR_NAMES);
    if (len <= 0)
        return len == 0 || errno == EOPNOTSUPP ? 0 : IN_PLACE;
    auto_free char *value = xmalloc(MAX_XATTR_VALUE);
    for (const char *name = names; name < names + len; name += strlen(name) + 1) {
        if (!is_copied(name))
            continue;
        ssize_t size = fgetxattr(from, name, value, MAX_XATTR_VALUE);
        if (size < 0 || fsetxattr(to, name, value, (size_t)size, 0))
            return IN_PLACE;
    }
    return 0;
}

static int copy_attributes(const struct replacement *r, int fd)
{
    struct stat st;
    if (fstat(fd, &st))
        return errno;
    if ((st.st_uid != r->old.st_uid || st.st_gid != r->old.st_gid) &&
            fchown(fd, r->old.st_uid, r->old.st_gid))
        return IN_PLACE;
    int error = copy_xattrs(r->old_fd, fd);
    if (!error && fchmod(fd, r->old.st_mode & 07777))
        error = IN_PLACE;
    return error;
}

enum { TEMP_NAME = 32 };

static int open_temp(const struct local_place *at, uint32_t mode, char name[TEMP_NAME])
{
    for (int i = 0; i < 16; i++) {
        uint64_t random;
        if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
            return -EIO;
        snprintf(name, TEMP_NAME, ".%016llx.tmp", (unsigned long long)random);
        int fd = openat(at->dir, name,
                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)mode);
        if (fd >= 0 || errno != EEXIST)
            return fd >= 0 ? fd : -errno;
    }
    return -EEXIST;
}

/* Give the temporary file its name. */
static int publish(const struct replacement *r, const char *temp)
{
    const struct local_place *at = r->at;
    if (r->old_fd >= 0) {
        int error = check_unchanged(r);
        return !error && renameat(at->dir, temp, at->dir, at->name) ? errno : error;
    }
    if (!renameat2(at->dir, temp, at->dir, at->name, RENAME_NOREPLACE))
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return errno;
    /* A file system without that flag: link() does not replace either. */
    if (linkat(at->dir, temp, at->dir, at->name, 0))
        return errno;
    unlinkat(at->dir, temp, 0);
    return 0;
}

static int by_rename(const struct replacement *r, uint32_t mode)
{
    char temp[TEMP_NAME];
    bool is_new = r->old_fd < 0;
    auto_fd int fd = open_temp(r->at, is_new ? mode : 0600, temp);
    if (fd < 0)
        return !is_new && (fd == -EACCES || fd == -EPERM || fd == -EROFS) ? IN_PLACE
                                                                          : -fd;
    int error = write_all(fd, r->data, 0);
    if (!error && !is_new)
        error = copy_attributes(r, fd);
    if (!error)
        error = publish(r, temp);
    if (error)
        unlinkat(r->at->dir, temp, 0);
    return error;
}

/* Write over the old bytes; `saved` holds them for the way back. */
static int overwrite(int fd, struct str data, struct str saved)
{
    /* Room first: what usually fails then fails before anything has changed. */
    int error = 0;
    if (data.len > saved.len && fallocate(fd, 0, 0, (off_t)data.len) &&
            errno != EOPNOTSUPP && errno != ENOSYS)
        error = errno;
    if (!error)
        error = write_all(fd, data, 0);
    if (!error && ftruncate(fd, (off_t)data.len))
        error = errno;
    if (!error)
        return 0;
    bool restored = !write_all(fd, saved, 0) && !ftruncate(fd, (off_t)saved.len);
    return restored ? error : EIO;
}

static int in_place(struct local *l, const struct replacement *r, const char *path)
{
    auto_fd int fd = local_open_beneath(l, path, O_RDWR | O_NONBLOCK | O_NOCTTY, 0);
    if (fd < 0)
        return -fd;
    struct stat st;
    if (fstat(fd, &st))
        return errno;
    if (st.st_ino != r->old.st_ino || st.st_dev != r->old.st_dev)
        return ESTALE;
    size_t size = (size_t)r->old.st_size;
    auto_free char *saved = xmalloc(size);
    int error = read_all(fd, saved, size);
    if (!error)
        error = check_unchanged(r);
    return error ? error : overwrite(fd, r->data, (struct str){ saved, size });
}

static int check_target(const struct replacement *r)
{
    if (S_ISDIR(r->old.st_mode))
        return EISDIR;
    if (!S_ISREG(r->old.st_mode))
        return EOPNOTSUPP;
    /* Renaming over a file needs no right to write it; replacing it should. */
    if (faccessat(r->at->dir, r->at->name, W_OK, AT_EACCESS | AT_SYMLINK_NOFOLLOW))
        return errno;
    return r->expect && !is_unchanged(&r->old, r->expect) ? ESTALE : 0;
}

static int replace_old(struct local *l, struct replacement *r, const char *path)
{
    if (fstat(r->old_fd, &r->old))
        return errno;
    int error = check_target(r);
    if (!error)
        error = r->old.st_nlink > 1 ? IN_PLACE : by_rename(r, 0);
    return error == IN_PLACE ? in_place(l, r, path) : error;
}

int local_replace(void *self, const char *path, struct str data,
        enum vfs_open_flags flags, uint32_t mode, const struct vfs_stat *expect)
{
    auto_place at = { .owned = -1 };
    int error = local_place_open(self, path, &at);
    if (error)
        return error;
    struct replacement r = { &at, data, expect, .old_fd = -1 };
    if (flags & VFS_EXCLUSIVE)
        return by_rename(&r, mode);
    auto_fd int old = local_open_beneath(self, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (old == -ENOENT && flags & VFS_CREATE && !expect)
        return by_rename(&r, mode);
    if (old < 0)
        return old == -ENXIO ? EOPNOTSUPP : -old;
    r.old_fd = old;
    return replace_old(self, &r, path);
}
