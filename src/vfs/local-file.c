#include "vfs/local.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int file_read(struct vfile *f, void *data, size_t size, size_t *got)
{
    ssize_t n;
    do
        n = read(f->fd, data, size);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno;
    *got = (size_t)n;
    return 0;
}

static int file_pread(
        struct vfile *f, void *data, size_t size, uint64_t offset, size_t *got)
{
    ssize_t n;
    do
        n = pread(f->fd, data, size, (off_t)offset);
    while (n < 0 && errno == EINTR);
    if (n < 0)
        return errno;
    *got = (size_t)n;
    return 0;
}

static int file_write(struct vfile *f, struct str data)
{
    while (data.len) {
        ssize_t n = write(f->fd, data.data, data.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno;
        data = str_from(data, (size_t)n);
    }
    return 0;
}

static int file_seek(struct vfile *f, uint64_t offset)
{
    if (offset > INT64_MAX)
        return EINVAL;
    return lseek(f->fd, (off_t)offset, SEEK_SET) < 0 ? errno : 0;
}

static int file_truncate(struct vfile *f, uint64_t size)
{
    if (size > INT64_MAX)
        return EFBIG;
    return ftruncate(f->fd, (off_t)size) < 0 ? errno : 0;
}

static int file_stat(struct vfile *f, struct vfs_stat *out)
{
    struct stat st;
    if (fstat(f->fd, &st))
        return errno;
    local_stat_from(&st, out);
    return 0;
}

static void file_close(struct vfile *f)
{
    close(f->fd);
    free(f);
}

static const struct vfile_ops file_ops = {
    .read = file_read,
    .pread = file_pread,
    .write = file_write,
    .seek = file_seek,
    .truncate = file_truncate,
    .stat = file_stat,
    .close = file_close,
};

/* O_NONBLOCK: a FIFO or a device must not stop us before we see that it is one.  On the
 * regular files that we keep it means nothing. */
static int flags_of(enum vfs_open_flags flags)
{
    bool write = flags & (VFS_WRITE | VFS_APPEND | VFS_TRUNCATE);
    int how = !write ? O_RDONLY : flags & VFS_READ ? O_RDWR : O_WRONLY;
    if (flags & VFS_CREATE)
        how |= O_CREAT;
    if (flags & VFS_CREATE && flags & VFS_EXCLUSIVE)
        how |= O_EXCL;
    if (flags & VFS_TRUNCATE)
        how |= O_TRUNC;
    if (flags & VFS_APPEND)
        how |= O_APPEND;
    return how | O_NONBLOCK | O_NOCTTY;
}

int local_open(void *self, const char *path, enum vfs_open_flags flags, uint32_t mode,
        struct vfile **out)
{
    auto_fd int fd = local_open_beneath(self, path, flags_of(flags), mode);
    if (fd == -ENXIO || fd == -ENODEV)
        return EOPNOTSUPP; /* a socket, a FIFO without a reader, a device without a driver
                            */
    if (fd < 0)
        return -fd;
    struct stat st;
    if (fstat(fd, &st))
        return errno;
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        return EOPNOTSUPP;
    struct vfile *f = xmalloc(sizeof(*f));
    *f = (struct vfile){ &file_ops, fd };
    fd = -1;
    *out = f;
    return 0;
}
