#include "base/arena.h"
#include "edit/edit.h"
#include "fuzz.h"

#define PATH ((struct vpath){ .text = STR("/f") })

static struct str content_of(struct vfs *vfs, struct arena *arena)
{
    struct vfile *f;
    struct vfs_stat st;
    size_t got = 0;
    assert(!vfs_open(vfs, PATH, VFS_READ, 0, &f));
    assert(!vfile_stat(f, &st));
    char *data = arena_alloc(arena, (size_t)st.size + 1);
    assert(!vfile_read(f, data, (size_t)st.size, &got));
    vfile_close(f);
    return (struct str){ data, got };
}

/* The input is content, old and new text, each ended by a byte 0x01. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena *arena = arena_create();
    struct str rest = { (const char *)data, size };
    struct str content = str_cut(&rest, 1), old = str_cut(&rest, 1);
    struct vfs_options options = { 0 };
    struct vfs *vfs = vfs_create(&options);
    assert(!vfs_mount_memory(vfs, VPATH_ROOT, 64 << 20));
    assert(!vfs_replace(vfs, PATH, content, VFS_CREATE, NULL));
    struct edit_request request = { .path = PATH,
        .shown_path = STR("f"),
        .old_text = old,
        .new_text = rest,
        .replace_all = size % 2 };
    struct edit_result result;
    struct str detail = STR("");
    struct error err;
    bool ok = edit_apply(vfs, &request, arena, &result, &detail, &err);
    struct str after = content_of(vfs, arena);
    assert(ok != str_eq(after, content));
    if (ok)
        assert(result.count && (request.replace_all || result.count == 1));
    vfs_destroy(vfs);
    return 0;
}
