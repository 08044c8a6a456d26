#include "fuzz.h"
#include "worker/save-memory.h"

#include "base/json.h"

#define ROOM ((size_t)1 << 20)

/* "/" and "/mnt/inner" are in memory, and "/mnt/disk" is not, as far as the list is told.
 */
static const struct setup_root told[] = {
    { .at = STR("/"), .kind = SETUP_MEMORY },
    { .at = STR("/mnt/disk"), .kind = SETUP_LOCAL },
    { .at = STR("/mnt/inner"), .kind = SETUP_MEMORY },
};
/* With which it can be seen what is in there. */
static const struct setup_root seen[] = {
    { .at = STR("/"), .kind = SETUP_LOCAL },
    { .at = STR("/mnt/disk"), .kind = SETUP_MEMORY },
    { .at = STR("/mnt/inner"), .kind = SETUP_LOCAL },
};
static const struct setup memory = { .roots = told, .root_count = ARRAY_LEN(told) };
static const struct setup disk = { .roots = seen, .root_count = ARRAY_LEN(seen) };
static const char on_disk[] = "[[\"d\",\"/mnt/disk/sub\",493,1],"
                              "[\"f\",\"/mnt/disk/sub/kept\",384,1,\"kept\"],"
                              "[\"l\",\"/mnt/disk/up\",511,1,\"/\"],"
                              "[\"d\",\"/mnt/disk/sub\",493,1]]";

static struct vfs *new_files(struct arena *arena)
{
    const struct vfs_options options = { .umask = 022 };
    struct vfs *vfs = vfs_create(&options);
    json_auto_t *list = NULL;
    struct error err;
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        struct vpath at;
        assert(!vpath_parse(told[i].at, VPATH_ROOT, arena, &at));
        assert(!vfs_mount_memory(vfs, at, ROOM));
    }
    assert(json_parse(str_of(on_disk), &list, &err));
    assert(load_memory(vfs, &disk, list, &err));
    return vfs;
}

static bool text_of(struct vfs *vfs, const struct setup *setup, struct buf *text)
{
    struct error err;
    return save_memory(vfs, setup, text, &err) && !text->full;
}

/* What was kept and made again is the same. */
static void keep(struct str text, struct arena *arena)
{
    struct vfs *vfs = new_files(arena);
    auto_buf again = BUF(8 * ROOM);
    json_auto_t *list = NULL;
    struct error err;
    assert(json_parse(text, &list, &err));
    assert(load_memory(vfs, &memory, list, &err));
    assert(text_of(vfs, &memory, &again) && str_eq(buf_str(&again), text));
    vfs_destroy(vfs);
}

/* The input is a list that somebody has kept: it makes nothing elsewhere, and all or
 * none. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena *arena = arena_create();
    auto_buf disk_before = BUF(ROOM), disk_after = BUF(ROOM), text = BUF(8 * ROOM);
    json_auto_t *list = NULL;
    struct error err;
    if (!json_parse((struct str){ (const char *)data, size }, &list, &err))
        return 0;
    struct vfs *vfs = new_files(arena);
    assert(text_of(vfs, &disk, &disk_before));
    bool loaded = load_memory(vfs, &memory, list, &err);
    assert(text_of(vfs, &disk, &disk_after));
    assert(str_eq(buf_str(&disk_before), buf_str(&disk_after)));
    bool kept = text_of(vfs, &memory, &text);
    assert(loaded || (kept && str_is(buf_str(&text), "[]")));
    if (loaded && kept)
        keep(buf_str(&text), arena);
    vfs_destroy(vfs);
    return 0;
}
