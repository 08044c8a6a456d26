#include "vfs/internal.h"
#include "vfs/local.h"

#include <errno.h>

int vfile_read(struct vfile *f, void *data, size_t size, size_t *got)
{
    return f->ops->read ? f->ops->read(f, data, size, got) : EOPNOTSUPP;
}

int vfile_pread(struct vfile *f, void *data, size_t size, uint64_t offset, size_t *got)
{
    return f->ops->pread ? f->ops->pread(f, data, size, offset, got) : EOPNOTSUPP;
}

int vfile_write(struct vfile *f, struct str data)
{
    return f->ops->write ? f->ops->write(f, data) : EBADF;
}

int vfile_seek(struct vfile *f, uint64_t offset)
{
    return f->ops->seek ? f->ops->seek(f, offset) : EOPNOTSUPP;
}

int vfile_truncate(struct vfile *f, uint64_t size)
{
    return f->ops->truncate ? f->ops->truncate(f, size) : EOPNOTSUPP;
}

int vfile_stat(struct vfile *f, struct vfs_stat *out)
{
    return f->ops->stat ? f->ops->stat(f, out) : EOPNOTSUPP;
}

void vfile_lock(struct vfile *f)
{
    if (f->fd >= 0)
        local_lock(f->fd);
}

int vfile_fd(const struct vfile *f)
{
    return f->fd;
}

void vfile_close(struct vfile *f)
{
    if (f)
        f->ops->close(f);
}

struct dir_file {
    struct vfile base;
    struct vfs_stat st;
};

static int dir_read(struct vfile *f, void *data, size_t size, size_t *got)
{
    (void)f, (void)data, (void)size, (void)got;
    return EISDIR;
}

static int dir_pread(
        struct vfile *f, void *data, size_t size, uint64_t offset, size_t *got)
{
    (void)offset;
    return dir_read(f, data, size, got);
}

static int dir_seek(struct vfile *f, uint64_t offset)
{
    (void)f, (void)offset;
    return 0;
}

static int dir_stat(struct vfile *f, struct vfs_stat *out)
{
    *out = ((struct dir_file *)f)->st;
    return 0;
}

static void dir_close(struct vfile *f)
{
    free(f);
}

struct vfile *dir_file_create(const struct vfs_stat *st)
{
    static const struct vfile_ops ops = {
        .read = dir_read,
        .pread = dir_pread,
        .seek = dir_seek,
        .stat = dir_stat,
        .close = dir_close,
    };
    struct dir_file *f = xcalloc(1, sizeof(*f));
    f->base = (struct vfile){ &ops, -1 };
    f->st = *st;
    return &f->base;
}
