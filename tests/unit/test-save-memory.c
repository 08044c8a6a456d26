/* The files of memory roots, kept and made again, and lists that would do more. */
#include "worker/save-memory.h"

#include "base/json.h"
#include "shell/shell.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define ROOM ((size_t)4 << 20)

/* "/" and "/mnt/inner" in memory, "/mnt/disk" a folder of the machine. */
struct world {
    char folder[32];
    struct vfs *vfs;
    struct shell *sh;
    struct arena *arena;
};

static const struct setup_root roots[] = {
    { .at = STR("/"), .kind = SETUP_MEMORY },
    { .at = STR("/mnt/disk"), .kind = SETUP_LOCAL },
    { .at = STR("/mnt/inner"), .kind = SETUP_MEMORY },
};
static const struct setup setup = { .roots = roots, .root_count = ARRAY_LEN(roots) };

static struct vpath path_of(struct world *w, const char *text)
{
    struct vpath path;
    assert_int_equal(vpath_parse(str_of(text), VPATH_ROOT, w->arena, &path), 0);
    return path;
}

static void open_world(struct world *w, const char *folder)
{
    static const struct vfs_options options = { .umask = 022 };
    w->arena = arena_create();
    w->vfs = vfs_create(&options);
    snprintf(w->folder, sizeof(w->folder), "%s", folder);
    int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(vfs_mount_memory(w->vfs, VPATH_ROOT, ROOM * 4), 0);
    assert_int_equal(vfs_mount_local(w->vfs, path_of(w, "/mnt/disk"), fd, folder), 0);
    assert_int_equal(vfs_mount_memory(w->vfs, path_of(w, "/mnt/inner"), ROOM * 4), 0);
    const struct shell_options shell = {
        .vfs = w->vfs, .name = "mcpath", .cwd = VPATH_ROOT
    };
    w->sh = shell_create(&shell);
}

static void close_world(struct world *w)
{
    shell_destroy(w->sh);
    vfs_destroy(w->vfs);
    arena_destroy(w->arena);
}

static void run(struct world *w, const char *text, struct buf *out)
{
    bool exited;
    struct stream *in = stream_null(), *to = stream_buffer(out);
    (void)shell_run(w->sh, str_of(text), &SHELL_LIMITS, NULL, in, to, to, &exited);
    stream_unref(in);
    stream_unref(to);
}

static const char make[] =
        "mkdir -p /a/b /empty /mnt/inner/deep; chmod 700 /a; echo text > /a/file\n"
        "printf 'a\\0b\\xff' > /a/b/bytes; printf x > $'/a/raw\\xff'; ln -s ../file "
        "/a/b/up\n"
        "ln /a/file /a/b/same; ln -s /nowhere /broken; chmod 640 /a/b/bytes\n"
        "echo inner > /mnt/inner/deep/file; echo disk > /mnt/disk/file\n"
        "touch -d 2020-01-02T03:04:05 /a/file /a/b/bytes /a/b; touch -d 2021-01-01 /a";
static const char show[] = "find / -path /mnt/disk -prune -o -printf '%p %y %m %n %s "
                           "%TY-%Tm-%Td %l\\n' | grep -v "
                           "'^/ \\|^/mnt ' | sort; md5sum /a/file /a/b/bytes /a/raw* "
                           "/mnt/inner/deep/file; cat "
                           "/a/b/up; ls -l --time-style=full-iso /a/file";

static void test_round_trip(void **state UNUSED)
{
    char folder[] = "/tmp/paddock-memory-XXXXXX";
    struct world a, b;
    struct error err;
    auto_buf text = BUF(ROOM), before = BUF(ROOM), after = BUF(ROOM);
    json_auto_t *list = NULL;
    assert_non_null(mkdtemp(folder));
    open_world(&a, folder);
    run(&a, make, &before);
    assert_string_equal(buf_str(&before).len ? before.data : "", "");
    run(&a, show, &before);
    assert_true(save_memory(a.vfs, &setup, &text, &err));
    assert_null(strstr(text.data, "/mnt/disk"));
    close_world(&a);
    assert_true(json_parse(buf_str(&text), &list, &err));
    open_world(&b, folder);
    if (!load_memory(b.vfs, &setup, list, &err))
        fail_msg("%s in %s", err.message, text.data);
    run(&b, show, &after);
    assert_string_equal(before.data, after.data);
    buf_clear(&after);
    run(&b, "cat /mnt/disk/file; rm /mnt/disk/file", &after);
    assert_string_equal(after.data, "disk\n");
    close_world(&b);
    rmdir(folder);
}

static void test_too_much(void **state UNUSED)
{
    static const char *const makers[] = { "yes | head -c 5000000 > /big",
        "for i in 1 2 3 4 5; do yes | head -c 1000000 > /file$i; done" };
    for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
        struct world w;
        struct error err = { 0 };
        auto_buf text = BUF(ROOM), out = BUF(ROOM);
        open_world(&w, "/tmp");
        run(&w, makers[i], &out);
        bool kept = save_memory(w.vfs, &setup, &text, &err);
        assert_true(!kept || text.full);
        assert_true(kept || err.code == ERR_LIMIT);
        close_world(&w);
    }
}

/* Nothing but memory is touched, and nothing is made twice. */
static void test_hostile_lists(void **state UNUSED)
{
    static const char *const lists[] = {
        "{}",
        "[1]",
        "[[\"f\",\"/mnt/disk/new\",420,0,\"x\"]]",
        "[[\"d\",\"/mnt/disk/new\",493,0]]",
        "[[\"l\",\"/mnt/disk/new\",511,0,\"/\"]]",
        "[[\"h\",\"/mnt/disk/new\",0,0,\"/mnt/disk/old\"]]",
        "[[\"h\",\"/new\",0,0,\"/mnt/disk/old\"]]",
        "[[\"f\",\"/x/../mnt/disk/new\",420,0,\"x\"]]",
        "[[\"d\",\"/mnt/inner/..\",493,0]]",
        "[[\"l\",\"/way\",511,0,\"/mnt/disk\"],[\"f\",\"/way/new\",420,0,\"x\"]]",
        "[[\"d\",\"/mnt/disk\",0,0]]",
        "[[\"f\",\"relative\",420,0,\"x\"]]",
        "[[\"f\",\"/a\",420,0,\"x\"],[\"f\",\"/a\",420,0,\"y\"]]",
        "[[\"f\",\"/a\",\"420\",0,\"x\"]]",
        "[[\"f\",\"/a\",420,0]]",
        "[[\"x\",\"/a\",420,0,\"x\"]]",
        "[[\"\",\"/a\",420,0,\"x\"]]",
        "[[\"f\",\"/no/folder\",420,0,\"x\"]]",
    };
    char folder[] = "/tmp/paddock-memory-XXXXXX";
    auto_buf after = BUF(ROOM);
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct world w;
        struct error err;
        json_auto_t *list = NULL;
        open_world(&w, folder);
        run(&w, "echo old > /mnt/disk/old", &after);
        assert_true(json_parse(str_of(lists[i]), &list, &err));
        if (load_memory(w.vfs, &setup, list, &err))
            fail_msg("%s was taken", lists[i]);
        buf_clear(&after);
        run(&w, "ls -A /mnt/disk; stat -c '%h %a' /mnt/disk/old; cat /mnt/disk/old",
                &after);
        assert_string_equal(after.data, "old\n1 644\nold\n");
        run(&w, "rm /mnt/disk/old", &after);
        close_world(&w);
    }
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_hostile_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
