#include "vfs/local.h"

#include "base/arena.h"
#include "base/budget.h"
#include "base/file.h"
#include "vfs/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { MAX_PATH = 4096, LIST_BUFFER = 32768 };

static int open_with_kernel(struct local *l, const char *path, int flags, mode_t mode)
{
    struct open_how how = {
        .flags = (uint64_t)flags,
        .mode = flags & O_CREAT ? mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, l->root, path, &how, sizeof(how));
    if (fd >= 0)
        return (int)fd;
    return errno == EXDEV ? -EACCES : -errno;
}

/* One directory further; closes `dir` unless it is the root.  A link is ELOOP. */
static int enter_directory(struct local *l, int dir, const char *name)
{
    int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int error = fd < 0 ? errno : 0;
    struct stat st;
    if (error == ENOTDIR && !fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) &&
            S_ISLNK(st.st_mode))
        error = ELOOP;
    if (dir != l->root)
        close(dir);
    return error ? -error : fd;
}

static int open_by_steps(struct local *l, const char *path, int flags, mode_t mode)
{
    char name[NAME_MAX + 1];
    int dir = l->root;
    for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
        size_t len = (size_t)(slash - path);
        if (len > NAME_MAX) {
            if (dir != l->root)
                close(dir);
            return -ENAMETOOLONG;
        }
        memcpy(name, path, len);
        name[len] = 0;
        dir = enter_directory(l, dir, name);
        if (dir < 0)
            return dir;
    }
    int fd = openat(dir, path, flags, mode);
    int error = fd < 0 ? errno : 0;
    if (dir != l->root)
        close(dir);
    return error ? -error : fd;
}

int local_open_beneath(struct local *l, const char *path, int flags, mode_t mode)
{
    flags |= O_NOFOLLOW | O_CLOEXEC;
    if (!*path)
        path = ".";
    if (!l->walk) {
        int fd = open_with_kernel(l, path, flags, mode);
        if (fd != -ENOSYS)
            return fd;
        l->walk = true; /* a filter took it away */
    }
    return open_by_steps(l, path, flags, mode);
}

int local_place_open(struct local *l, const char *path, struct local_place *out)
{
    const char *slash = strrchr(path, '/');
    *out = (struct local_place){ l->root, *path ? path : ".", -1 };
    if (!slash)
        return 0;
    char parent[MAX_PATH];
    size_t len = (size_t)(slash - path);
    if (len >= sizeof(parent))
        return ENAMETOOLONG;
    memcpy(parent, path, len);
    parent[len] = 0;
    int fd = local_open_beneath(l, parent, O_PATH | O_DIRECTORY, 0);
    /* O_PATH with O_DIRECTORY says ENOTDIR of a link that is the last component. */
    if (fd == -ENOTDIR) {
        fd = local_open_beneath(l, parent, O_PATH, 0);
        struct stat st;
        if (fd >= 0) {
            bool link = !fstat(fd, &st) && S_ISLNK(st.st_mode);
            close(fd);
            fd = link ? -ELOOP : -ENOTDIR;
        }
    }
    if (fd < 0)
        return -fd;
    *out = (struct local_place){ fd, slash + 1, fd };
    return 0;
}

void local_place_close(struct local_place *p)
{
    close_fd(&p->owned);
}

static int result_of(int rc)
{
    return rc < 0 ? errno : 0;
}

int64_t local_time_ns(const struct timespec *t)
{
    return (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;
}

static enum vfs_type type_of_mode(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return VFS_FILE;
    case S_IFDIR:
        return VFS_DIR;
    case S_IFLNK:
        return VFS_LINK;
    case S_IFIFO:
        return VFS_FIFO;
    case S_IFSOCK:
        return VFS_SOCKET;
    case S_IFCHR:
        return VFS_CHAR;
    case S_IFBLK:
        return VFS_BLOCK;
    default:
        return VFS_UNKNOWN;
    }
}

void local_stat_from(const struct stat *st, struct vfs_stat *out)
{
    *out = (struct vfs_stat){
        .type = type_of_mode(st->st_mode),
        .mode = st->st_mode & 07777,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .nlink = st->st_nlink,
        .size = (uint64_t)st->st_size,
        .blocks = (uint64_t)st->st_blocks,
        .dev = st->st_dev,
        .ino = st->st_ino,
        .mtime_ns = local_time_ns(&st->st_mtim),
        .atime_ns = local_time_ns(&st->st_atim),
        .ctime_ns = local_time_ns(&st->st_ctim),
    };
}

static int local_stat(void *self, const char *path, struct vfs_stat *out)
{
    auto_place at = { .owned = -1 };
    struct stat st;
    int error = local_place_open(self, path, &at);
    if (!error)
        error = result_of(fstatat(at.dir, at.name, &st, AT_SYMLINK_NOFOLLOW));
    if (!error)
        local_stat_from(&st, out);
    return error;
}

static int local_readlink(
        void *self, const char *path, char *data, size_t size, size_t *len)
{
    auto_place at = { .owned = -1 };
    int error = local_place_open(self, path, &at);
    if (error)
        return error;
    ssize_t n = readlinkat(at.dir, at.name, data, size);
    if (n < 0)
        return errno;
    if ((size_t)n == size)
        return ENAMETOOLONG;
    *len = (size_t)n;
    return 0;
}

struct dirent_raw {
    uint64_t ino;
    int64_t offset;
    uint16_t record;
    uint8_t type;
    char name[];
};

static enum vfs_type type_of_dirent(uint8_t type)
{
    /* DT_X is the file type of a mode, 12 bits further down. */
    return type_of_mode((mode_t)type << 12);
}

struct entries {
    struct vfs_entry *items;
    size_t count, cap;
};

static void add_entries(
        struct entries *list, const char *data, size_t size, struct arena *arena)
{
    for (size_t at = 0; at < size;) {
        struct dirent_raw head;
        memcpy(&head, data + at, offsetof(struct dirent_raw, name));
        struct str name = str_of(data + at + offsetof(struct dirent_raw, name));
        at += head.record;
        if (str_is(name, ".") || str_is(name, ".."))
            continue;
        GROW(list->items, list->count, list->cap);
        list->items[list->count++] =
                (struct vfs_entry){ arena_str(arena, name), type_of_dirent(head.type) };
    }
}

static int local_list(void *self, const char *path, struct budget *budget,
        struct arena *arena, struct vfs_entry **out, size_t *count)
{
    auto_fd int fd = local_open_beneath(self, path, O_RDONLY | O_DIRECTORY, 0);
    if (fd == -ENOTDIR) {
        struct vfs_stat st; /* a link says ENOTDIR too */
        return !local_stat(self, path, &st) && st.type == VFS_LINK ? ELOOP : ENOTDIR;
    }
    if (fd < 0)
        return -fd;
    auto_free char *buffer = xmalloc(LIST_BUFFER);
    struct entries list = { 0 };
    long n;
    bool stop = false;
    while (!stop && (n = syscall(SYS_getdents64, fd, buffer, LIST_BUFFER)) > 0) {
        add_entries(&list, buffer, (size_t)n, arena);
        stop = budget && budget_stopped(budget);
    }
    int error = stop ? ECANCELED : n < 0 ? errno : 0;
    if (!error) {
        *out = arena_alloc(arena, list.count * sizeof(**out));
        *count = list.count;
        if (list.count)
            memcpy(*out, list.items, list.count * sizeof(**out));
    }
    free(list.items);
    return error;
}

static bool local_enters_remote(void *self, const char *path)
{
    auto_fd int fd = local_open_beneath(self, path, O_PATH | O_DIRECTORY, 0);
    struct stat st, above;
    return fd >= 0 && !fstat(fd, &st) && !fstatat(fd, "..", &above, 0) &&
           st.st_dev != above.st_dev && file_is_remote(fd);
}

static int local_access(void *self, const char *path, int mode)
{
    auto_place at = { .owned = -1 };
    int error = local_place_open(self, path, &at);
    return error ? error
                 : result_of(faccessat(
                           at.dir, at.name, mode, AT_EACCESS | AT_SYMLINK_NOFOLLOW));
}

static int local_mkdir(void *self, const char *path, uint32_t mode)
{
    auto_place at = { .owned = -1 };
    int error = local_place_open(self, path, &at);
    return error ? error : result_of(mkdirat(at.dir, at.name, mode));
}

static int local_unlink(void *self, const char *path)
{
    auto_place at = { .owned = -1 };
    int error = local_place_open(self, path, &at);
    return error ? error : result_of(unlinkat(at.dir, at.name, 0));
}

static int local_rmdir(void *self, const char *path)
{
    auto_place at = { .owned = -1 };
    int error = local_place_open(self, path, &at);
    return error ? error : result_of(unlinkat(at.dir, at.name, AT_REMOVEDIR));
}

static int local_rename(void *self, const char *from, const char *to)
{
    auto_place source = { .owned = -1 };
    auto_place target = { .owned = -1 };
    int error = local_place_open(self, from, &source);
    if (!error)
        error = local_place_open(self, to, &target);
    if (!error)
        error = result_of(renameat(source.dir, source.name, target.dir, target.name));
    return error;
}

static int local_link(void *self, const char *from, const char *to)
{
    auto_place source = { .owned = -1 };
    auto_place target = { .owned = -1 };
    int error = local_place_open(self, from, &source);
    if (!error)
        error = local_place_open(self, to, &target);
    if (!error)
        error = result_of(linkat(source.dir, source.name, target.dir, target.name, 0));
    return error;
}

static int local_symlink(void *self, struct str target, const char *path)
{
    auto_place at = { .owned = -1 };
    char text[MAX_PATH];
    if (target.len >= sizeof(text))
        return ENAMETOOLONG;
    memcpy(text, target.data, target.len);
    text[target.len] = 0;
    int error = local_place_open(self, path, &at);
    return error ? error : result_of(symlinkat(text, at.dir, at.name));
}

#ifndef SYS_fchmodat2
#define SYS_fchmodat2 452
#endif

/*
 * A confined process may change metadata only through a descriptor (confine.h), so that
 * comes first; the call by name is for what cannot be opened.
 */
static int open_for_metadata(struct local *l, const char *path)
{
    int fd = local_open_beneath(l, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
    if (fd == -EACCES)
        fd = local_open_beneath(l, path, O_WRONLY | O_NONBLOCK | O_NOCTTY, 0);
    return fd;
}

static int chmod_by_name(struct local *l, const char *path, uint32_t mode)
{
    auto_place at = { .owned = -1 };
    int error = local_place_open(l, path, &at);
    if (error)
        return error;
    if (!syscall(SYS_fchmodat2, at.dir, at.name, mode, AT_SYMLINK_NOFOLLOW))
        return 0;
    return errno == EOPNOTSUPP ? ELOOP : errno == ENOSYS ? EACCES : errno;
}

static int local_chmod(void *self, const char *path, uint32_t mode)
{
    auto_fd int fd = open_for_metadata(self, path);
    if (fd == -EACCES || fd == -ENXIO)
        return chmod_by_name(self, path, mode);
    return fd < 0 ? -fd : result_of(fchmod(fd, mode));
}

static struct timespec timespec_of(int64_t ns)
{
    if (ns == VFS_TIME_NOW)
        return (struct timespec){ 0, UTIME_NOW };
    if (ns == VFS_TIME_KEEP)
        return (struct timespec){ 0, UTIME_OMIT };
    int64_t rest = ns % 1000000000;
    return (struct timespec){ ns / 1000000000 - (rest < 0),
        rest + (rest < 0 ? 1000000000 : 0) };
}

static int set_times_by_name(
        struct local *l, const char *path, const struct timespec times[2])
{
    auto_place at = { .owned = -1 };
    int error = local_place_open(l, path, &at);
    return error ? error
                 : result_of(utimensat(at.dir, at.name, times, AT_SYMLINK_NOFOLLOW));
}

static int local_set_times(
        void *self, const char *path, int64_t atime_ns, int64_t mtime_ns)
{
    struct timespec times[2] = { timespec_of(atime_ns), timespec_of(mtime_ns) };
    auto_fd int fd = open_for_metadata(self, path);
    if (fd == -EACCES || fd == -ENXIO || fd == -ELOOP)
        return set_times_by_name(self, path, times);
    return fd < 0 ? -fd : result_of(futimens(fd, times));
}

static int local_map_absolute(void *self, struct str target, struct str *out)
{
    const struct local *l = self;
    return vfs_path_below(target, str_of(l->host_path), out) ? 0 : EACCES;
}

static void local_destroy(void *self)
{
    struct local *l = self;
    close_fd(&l->root);
    free(l->host_path);
    free(l);
}

const struct vfs_ops local_ops = {
    .name = "local",
    .stat = local_stat,
    .readlink = local_readlink,
    .list = local_list,
    .open = local_open,
    .access = local_access,
    .mkdir = local_mkdir,
    .unlink = local_unlink,
    .rmdir = local_rmdir,
    .rename = local_rename,
    .link = local_link,
    .symlink = local_symlink,
    .chmod = local_chmod,
    .set_times = local_set_times,
    .replace = local_replace,
    .map_absolute = local_map_absolute,
    .enters_remote = local_enters_remote,
    .destroy = local_destroy,
};

struct local *local_create(int dirfd, const char *host_path, bool force_walk)
{
    struct local *l = xcalloc(1, sizeof(*l));
    *l = (struct local){ dirfd, xstrdup(host_path), force_walk };
    if (!force_walk) {
        /* Old container filters answer EPERM, not ENOSYS: try it. */
        int fd = open_with_kernel(l, ".", O_PATH | O_CLOEXEC, 0);
        l->walk = fd < 0;
        close_fd(&fd);
    }
    return l;
}

int vfs_mount_local(struct vfs *vfs, struct vpath at, int dirfd, const char *host_path)
{
    return vfs_mount(vfs, at, &local_ops, local_create(dirfd, host_path, false));
}
