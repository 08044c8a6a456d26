#include "vfs/memory.h"

#include <errno.h>

struct memory_file {
    struct vfile base;
    struct node *node;
    enum vfs_open_flags flags;
    uint64_t offset;
};

static int file_pread(
        struct vfile *f, void *data, size_t size, uint64_t offset, size_t *got)
{
    const struct memory_file *m = (struct memory_file *)f;
    if (m->flags & (VFS_WRITE | VFS_APPEND) && !(m->flags & VFS_READ))
        return EBADF;
    if (m->node->st.type == VFS_DIR)
        return EISDIR;
    size_t len = m->node->len;
    size_t n = offset < len ? len - (size_t)offset : 0;
    if (n > size)
        n = size;
    if (n)
        memcpy(data, m->node->data + offset, n);
    *got = n;
    return 0;
}

static int file_read(struct vfile *f, void *data, size_t size, size_t *got)
{
    struct memory_file *m = (struct memory_file *)f;
    int error = file_pread(f, data, size, m->offset, got);
    if (!error)
        m->offset += *got;
    return error;
}

static int file_write(struct vfile *f, struct str data)
{
    struct memory_file *m = (struct memory_file *)f;
    struct node *n = m->node;
    if (!(m->flags & (VFS_WRITE | VFS_APPEND)))
        return EBADF;
    if (m->flags & VFS_APPEND)
        m->offset = n->len;
    if (!data.len)
        return 0;
    if (m->offset > n->owner->max)
        return EFBIG;
    size_t end = (size_t)m->offset + data.len;
    int error = end > n->len ? node_resize(n, end) : 0;
    if (error)
        return error;
    memcpy(n->data + m->offset, data.data, data.len);
    m->offset = end;
    n->st.mtime_ns = n->st.ctime_ns = memory_now();
    return 0;
}

static int file_seek(struct vfile *f, uint64_t offset)
{
    if (offset > INT64_MAX)
        return EINVAL;
    ((struct memory_file *)f)->offset = offset;
    return 0;
}

static int file_truncate(struct vfile *f, uint64_t size)
{
    const struct memory_file *m = (struct memory_file *)f;
    if (!(m->flags & (VFS_WRITE | VFS_APPEND)))
        return EINVAL;
    if (size > m->node->owner->max)
        return EFBIG;
    int error = node_resize(m->node, (size_t)size);
    if (!error)
        m->node->st.mtime_ns = m->node->st.ctime_ns = memory_now();
    return error;
}

static int file_stat(struct vfile *f, struct vfs_stat *out)
{
    node_stat(((struct memory_file *)f)->node, out);
    return 0;
}

static void file_close(struct vfile *f)
{
    node_unref(((struct memory_file *)f)->node);
    free(f);
}

struct vfile *memory_file_create(struct node *n, enum vfs_open_flags flags)
{
    static const struct vfile_ops ops = {
        .read = file_read,
        .pread = file_pread,
        .write = file_write,
        .seek = file_seek,
        .truncate = file_truncate,
        .stat = file_stat,
        .close = file_close,
    };
    struct memory_file *f = xmalloc(sizeof(*f));
    *f = (struct memory_file){ { &ops, -1 }, n, flags, 0 };
    n->refs++;
    return &f->base;
}
