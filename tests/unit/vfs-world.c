#include "vfs-world.h"

#include "policy/deny.h"
#include "vfs/local.h"
#include "vfs/memory.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <unistd.h>

const char *const world_names[WORLD_KINDS] = {
    "local",
    "local without openat2",
    "local below a mount",
    "memory",
    "memory below a mount",
};

static void make_backend(struct world *w)
{
    if (w->kind == WORLD_MEMORY || w->kind == WORLD_MEMORY_MOUNTED) {
        w->ops = &memory_ops;
        w->self = memory_create(16 << 20);
        return;
    }
    /* Not mkdtemp(): a confined process has mkdirat() only. */
    static int count;
    const char *tmp = getenv("TMPDIR");
    snprintf(w->dir, sizeof(w->dir), "%s/vfs-%d-%d", tmp ? tmp : "/tmp", (int)getpid(),
            count++);
    assert_int_equal(mkdirat(AT_FDCWD, w->dir, 0755), 0);
    int fd = open(w->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    w->ops = &local_ops;
    w->self = local_create(fd, w->dir, w->kind == WORLD_LOCAL_STEPS);
}

static struct vfs *create_view(
        struct world *w, const struct vfs_options *options, const struct vfs_ops *ops)
{
    struct vfs *vfs = vfs_create(options);
    if (w->base.text.len > 1)
        assert_int_equal(vfs_mount_memory(vfs, VPATH_ROOT, 1 << 20), 0);
    assert_int_equal(vfs_mount(vfs, w->base, ops, w->self), 0);
    return vfs;
}

struct world *world_create(enum world_kind kind)
{
    struct world *w = xcalloc(1, sizeof(*w));
    w->kind = kind;
    w->arena = arena_create();
    struct deny_rules *rules = arena_alloc(w->arena, sizeof(*rules));
    struct error err;
    assert_true(deny_rules_build(NULL, w->arena, rules, &err));
    w->deny = rules;
    w->base = VPATH_ROOT;
    if (kind == WORLD_LOCAL_MOUNTED || kind == WORLD_MEMORY_MOUNTED)
        w->base = (struct vpath){ .text = STR("/mnt/box") };
    make_backend(w);
    struct vfs_options options = { .deny = rules, .read_only = false, .umask = 022 };
    w->vfs = create_view(w, &options, w->ops);
    return w;
}

static void keep_backend(void *self)
{
    (void)self;
}

struct vfs *world_view(struct world *w, bool deny, bool read_only)
{
    struct vfs_ops *borrowed = arena_alloc(w->arena, sizeof(*borrowed));
    *borrowed = *w->ops;
    borrowed->destroy = keep_backend;
    struct vfs_options options = {
        .deny = deny ? w->deny : NULL, .read_only = read_only, .umask = 022
    };
    return create_view(w, &options, borrowed);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

void world_destroy(struct world *w)
{
    if (!w)
        return;
    vfs_destroy(w->vfs);
    arena_destroy(w->arena);
    if (w->dir[0] && !w->keep_dir)
        nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    free(w);
}

struct vpath at(struct world *w, const char *path)
{
    struct vpath out;
    assert_int_equal(vpath_parse(str_of(path), w->base, w->arena, &out), 0);
    return out;
}

static void put_through(
        struct vfs *vfs, struct world *w, const char *path, const char *content)
{
    struct vfile *f;
    int flags = VFS_WRITE | VFS_CREATE | VFS_TRUNCATE;
    assert_int_equal(vfs_open(vfs, at(w, path), flags, 0666, &f), 0);
    assert_int_equal(vfile_write(f, str_of(content)), 0);
    vfile_close(f);
}

void put(struct world *w, const char *path, const char *content)
{
    put_through(w->vfs, w, path, content);
}

void put_hidden(struct world *w, const char *path, const char *content)
{
    struct vfs *plain = world_view(w, false, false);
    put_through(plain, w, path, content);
    vfs_destroy(plain);
}

static char *read_through(struct vfs *vfs, struct world *w, const char *path)
{
    struct vfile *f;
    int error = vfs_open(vfs, at(w, path), VFS_READ, 0, &f);
    if (error)
        return arena_printf(w->arena, "errno %d", error);
    char *data = arena_zalloc(w->arena, 65536);
    size_t len = 0, got = 1;
    while (!error && got && len < 65535) {
        error = vfile_read(f, data + len, 65535 - len, &got);
        len += error ? 0 : got;
    }
    vfile_close(f);
    return error ? arena_printf(w->arena, "errno %d", error) : data;
}

const char *content_of(struct world *w, const char *path)
{
    return read_through(w->vfs, w, path);
}

char *raw_content(struct world *w, const char *path)
{
    struct vfs *plain = world_view(w, false, false);
    char *content = read_through(plain, w, path);
    vfs_destroy(plain);
    return content;
}

int stat_error(struct world *w, const char *path)
{
    struct vfs_stat st;
    return vfs_stat(w->vfs, at(w, path), VFS_FOLLOW, &st);
}

struct vfs_stat stat_of(struct world *w, const char *path)
{
    struct vfs_stat st;
    assert_int_equal(vfs_stat(w->vfs, at(w, path), VFS_FOLLOW, &st), 0);
    return st;
}

struct vfs_stat lstat_of(struct world *w, const char *path)
{
    struct vfs_stat st;
    assert_int_equal(vfs_stat(w->vfs, at(w, path), VFS_NOFOLLOW, &st), 0);
    return st;
}

void make_dir(struct world *w, const char *path)
{
    assert_int_equal(vfs_mkdir(w->vfs, at(w, path), 0777), 0);
}

void make_link(struct world *w, const char *target, const char *path)
{
    assert_int_equal(vfs_symlink(w->vfs, str_of(target), at(w, path)), 0);
}

int open_error(struct world *w, const char *path, enum vfs_open_flags flags)
{
    struct vfile *f = NULL;
    int error = vfs_open(w->vfs, at(w, path), flags, 0666, &f);
    if (!error)
        vfile_close(f);
    return error;
}

const char *names_in(struct world *w, const char *path)
{
    struct vfs_entry *entries;
    size_t count;
    int error = vfs_list(w->vfs, at(w, path), w->arena, &entries, &count);
    if (error)
        return arena_printf(w->arena, "errno %d", error);
    const char *names = "";
    for (size_t i = 0; i < count; i++)
        names = arena_printf(
                w->arena, "%s%s%s", names, i ? " " : "", entries[i].name.data);
    return names;
}
