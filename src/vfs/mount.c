#include "base/path.h"
#include "vfs/internal.h"

#include <errno.h>

struct vfs *vfs_create(const struct vfs_options *options)
{
    struct vfs *vfs = xcalloc(1, sizeof(*vfs));
    vfs->options = *options;
    if (options->paths) {
        vfs->why = xmalloc(sizeof(*vfs->why));
        refusal_init(vfs->why);
    }
    return vfs;
}

void vfs_destroy(struct vfs *vfs)
{
    if (!vfs)
        return;
    for (size_t i = 0; i < vfs->count; i++) {
        struct mount *m = &vfs->mounts[i];
        m->ops->destroy(m->self);
        free(m->path);
    }
    free(vfs->mounts);
    if (vfs->why)
        refusal_finish(vfs->why);
    free(vfs->why);
    vfs_destroy_twins(vfs);
    free(vfs);
}

static int check_mount_point(const struct vfs *vfs, struct vpath at)
{
    bool above = at.text.len == 1;
    for (size_t i = 0; i < vfs->count; i++) {
        if (str_eq(vfs->mounts[i].at, at.text))
            return EEXIST;
        above |= path_is_beneath(at.text, vfs->mounts[i].at);
    }
    return above && !strstr(at.text.data, "/..") ? 0 : EINVAL;
}

int vfs_mount(struct vfs *vfs, struct vpath at, const struct vfs_ops *ops, void *self)
{
    int error = check_mount_point(vfs, at);
    if (error) {
        ops->destroy(self);
        return error;
    }
    GROW(vfs->mounts, vfs->count, vfs->cap);
    size_t i = vfs->count++;
    for (; i && vfs->mounts[i - 1].at.len < at.text.len; i--)
        vfs->mounts[i] = vfs->mounts[i - 1];
    char *path = xstrdup(at.text.data);
    vfs->mounts[i] = (struct mount){ path, { path, at.text.len }, ops, self };
    return 0;
}

const struct mount *vfs_find_mount(
        const struct vfs *vfs, struct str path, const char **rel)
{
    for (size_t i = 0; i < vfs->count; i++) {
        const struct mount *m = &vfs->mounts[i];
        if (path_is_beneath(path, m->at)) {
            *rel = path.data + m->at.len + (m->at.len > 1);
            return m;
        }
        if (str_eq(path, m->at)) {
            *rel = "";
            return m;
        }
    }
    return NULL;
}

bool vfs_is_above_mount(const struct vfs *vfs, struct str path)
{
    for (size_t i = 0; i < vfs->count; i++) {
        if (path_is_beneath(vfs->mounts[i].at, path))
            return true;
    }
    return false;
}

struct vfs_stat vfs_virtual_stat(struct str path)
{
    uint64_t hash = 14695981039346656037u; /* FNV-1a: a number that stays the same */
    for (size_t i = 0; i < path.len; i++)
        hash = (hash ^ (unsigned char)path.data[i]) * 1099511628211u;
    return (struct vfs_stat){
        .type = VFS_DIR,
        .mode = 0555,
        .nlink = 2,
        .dev = UINT64_MAX,
        .ino = hash,
    };
}

/* The next component that is not empty or "."; false at the end. */
static bool next_name(struct str *rest, struct str *name)
{
    while (rest->len) {
        *name = str_cut(rest, '/');
        if (name->len && !str_is(*name, "."))
            return true;
    }
    return false;
}

bool vfs_path_below(struct str path, struct str dir, struct str *rest)
{
    struct str want, have;
    while (next_name(&dir, &want)) {
        if (!next_name(&path, &have) || !str_eq(want, have))
            return false;
    }
    while (path.len && path.data[0] == '/')
        path = str_from(path, 1);
    *rest = path;
    return true;
}
