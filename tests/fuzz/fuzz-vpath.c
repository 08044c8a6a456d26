#include "base/arena.h"
#include "fuzz.h"
#include "vfs/vfs.h"

/* A parsed path keeps what vfs.h promises of it, and parses to itself. */
static void check_form(struct vpath path, struct arena *arena)
{
    struct str rest = str_from(path.text, 1);
    assert(path.text.data[0] == '/' && path.text.len <= 4096);
    assert(strlen(path.text.data) == path.text.len);
    bool leading = true;
    while (rest.len) {
        struct str name = str_cut(&rest, '/');
        assert(name.len && name.len <= 255 && !str_is(name, "."));
        assert(!leading || !str_is(name, ".."));
        leading = false;
    }
    assert(path.text.len == 1 || !str_ends(path.text, STR("/")));
    struct vpath again;
    assert(!vpath_parse(path.text, VPATH_ROOT, arena, &again));
    assert(str_eq(again.text, path.text));
}

static void make(struct vfs *vfs, const char *target, const char *path)
{
    struct vpath p = { .text = str_of(path) };
    int error = target ? vfs_symlink(vfs, str_of(target), p) : vfs_mkdir(vfs, p, 0755);
    assert(!error);
}

/* Wherever it leads, a resolved path has neither links nor "..". */
static void check_resolved(struct vpath path, struct arena *arena)
{
    struct vfs_options options = { 0 };
    struct vfs *vfs = vfs_create(&options);
    assert(!vfs_mount_memory(vfs, VPATH_ROOT, 1 << 20));
    make(vfs, NULL, "/a");
    make(vfs, NULL, "/a/b");
    make(vfs, "a/b", "/c");
    make(vfs, "..//./a/", "/a/d");
    make(vfs, "/a/../c", "/a/b/e");
    make(vfs, "../../..", "/a/b/f");
    make(vfs, "g/g", "/g");
    struct vpath found, again;
    if (!vfs_resolve(vfs, path, VFS_FOLLOW, arena, &found)) {
        assert(!strstr(found.text.data, "/../"));
        assert(!vfs_resolve(vfs, found, VFS_FOLLOW, arena, &again));
        assert(str_eq(found.text, again.text));
    }
    vfs_destroy(vfs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena *arena = arena_create();
    struct str text = { (const char *)data, size }, first = str_cut(&text, '\n');
    struct vpath cwd, path;
    if (vpath_parse(first, VPATH_ROOT, arena, &cwd))
        return 0;
    check_form(cwd, arena);
    if (vpath_parse(text, cwd, arena, &path))
        return 0;
    check_form(path, arena);
    check_resolved(path, arena);
    return 0;
}
