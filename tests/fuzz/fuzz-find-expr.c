/* The input's NUL-separated parts are find's arguments; only -exec is taken away, and the
 * tree is a small one in memory. */
#include "fuzz.h"
#include "shell/cmd.h"

#define MAX_ARGS 64

static struct vfs *make_tree(void)
{
    static const struct vfs_options options = { .umask = 022 };
    static const struct vpath dir = { .text = STR("/d") }, file = { .text = STR("/d/f") };
    static const struct vpath link = { .text = STR("/l") };
    struct vfs *vfs = vfs_create(&options);
    int failed = vfs_mount_memory(vfs, VPATH_ROOT, 1 << 20) ||
                 vfs_mkdir(vfs, dir, 0755) ||
                 vfs_replace(vfs, file, STR("text"), VFS_CREATE, NULL) ||
                 vfs_symlink(vfs, STR("d/f"), link);
    assert(!failed);
    return vfs;
}

static int split(struct str text, struct arena *arena, char **argv)
{
    int argc = 0;
    argv[argc++] = arena_cstr(arena, STR("find"));
    while (text.len && argc < MAX_ARGS) {
        struct str arg = str_cut(&text, 0);
        if (!str_starts(arg, STR("-exec")))
            argv[argc++] = arena_cstr(arena, arg);
    }
    argv[argc] = NULL;
    return argc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *argv[MAX_ARGS + 1];
    auto_buf out = BUF(1 << 20);
    struct arena *arena = arena_create();
    struct budget budget = {
        .steps = 100000, .max_steps = 100000, .max_memory = 1 << 20
    };
    struct vfs *vfs = make_tree();
    struct stream *in = stream_null(), *to = stream_buffer(&out), *err = stream_null();
    struct cmd c = { .name = "find",
        .argc = split((struct str){ (const char *)data, size }, arena, argv),
        .argv = argv,
        .in = in,
        .out = to,
        .err = err,
        .vfs = vfs,
        .cwd = VPATH_ROOT,
        .arena = arena,
        .budget = &budget };
    command_find(STR("find"))->run(&c);
    stream_unref(in);
    stream_unref(to);
    stream_unref(err);
    arena_destroy(arena);
    vfs_destroy(vfs);
    return 0;
}
