/* The files of memory roots, kept and made again, and lists that would do more. */
#include "worker/save-memory.h"

#include "base/json.h"
#include "shell/shell.h"
#include "unit.h"
#include "worker/worker.h"

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
        "touch -d 2020-01-02T03:04:05 /a/file /a/b/bytes /a/b; touch -d 2021-01-01 /a\n"
        "mkdir /shut; echo in > /shut/in; chmod 0 /shut/in; chmod 500 /shut";
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
        "[[\"l\",\"/way\",511,0,\"/mnt/disk\"],[\"f\",\"/way/old\",420,0,\"x\"]]",
        "[[\"l\",\"/way\",511,0,\"/mnt/disk\"],[\"d\",\"/way/sub\",511,0]]",
        "[[\"l\",\"/way\",511,0,\"/mnt\"],[\"d\",\"/way/disk\",511,0]]",
        "[[\"l\",\"/way\",511,0,\"/mnt\"],[\"h\",\"/b\",0,0,\"/way/disk/old\"]]",
        "[[\"d\",\"/mnt/disk\",0,0]]",
        "[[\"f\",\"relative\",420,0,\"x\"]]",
        "[[\"f\",\"/a\",420,0,\"x\"],[\"f\",\"/a\",420,0,\"y\"]]",
        "[[\"f\",\"/a\",\"420\",0,\"x\"]]",
        "[[\"f\",\"/a\",420,0]]",
        "[[\"x\",\"/a\",420,0,\"x\"]]",
        "[[\"\",\"/a\",420,0,\"x\"]]",
        "[[\"f\",\"/no/folder\",420,0,\"x\"]]",
        "[[\"d\",\"/d\",365,0],[\"f\",\"/d/a\",0,0,\"x\"],[\"d\",\"/d\",0,0],1]",
        "[[\"d\",\"/mnt/inner/d\",493,0],[\"l\",\"/mnt/inner/d/l\",511,0,\"/\"],7]",
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
        buf_clear(&after);
        run(&w, "ls -A / /mnt/inner", &after);
        assert_string_equal(after.data, "/:\nmnt\n\n/mnt/inner:\n");
        run(&w, "rm /mnt/disk/old", &after);
        close_world(&w);
    }
    rmdir(folder);
}

static bool call(struct world *w, worker_tool_fn *tool, struct str args, struct buf *text)
{
    struct worker worker = { .setup = &setup, .vfs = w->vfs, .shell = w->sh };
    struct error err;
    json_auto_t *value = NULL;
    assert_true(json_parse(args, &value, &err));
    buf_clear(text);
    return tool(&worker, value, w->arena, text);
}

/* Shell and files together, as the server asks for them. */
static void test_calls(void **state UNUSED)
{
    char folder[] = "/tmp/paddock-memory-XXXXXX";
    struct world a, b;
    auto_buf kept = BUF(ROOM), text = BUF(ROOM), out = BUF(ROOM);
    assert_non_null(mkdtemp(folder));
    open_world(&a, folder);
    run(&a, "mkdir /a; cd /a; echo text > file; x=1", &out);
    assert_false(call(&a, worker_shell_save, STR("{}"), &kept));
    open_world(&b, folder);
    assert_false(call(&b, worker_shell_load, buf_str(&kept), &text));
    assert_int_equal(text.len, 0);
    run(&b, "pwd; cat file; echo $x", &out);
    assert_string_equal(out.data, "/a\ntext\n1\n");
    close_world(&b);

    run(&a, "exec 7< file", &out);
    assert_true(call(&a, worker_shell_save, STR("{}"), &text));
    assert_non_null(strstr(text.data, "descriptor 7"));
    close_world(&a);
    rmdir(folder);
}

/* Neither half of a state is taken when the other half is none. */
static void test_half_a_state(void **state UNUSED)
{
    static const char *const halves[] = {
        ("{\"shell\":{\"version\":1},\"memory\":[[\"d\",\"/a\",493,0],"
         "[\"f\",\"/a/b\",420,0,\"x\"],[\"d\",\"/a\",493,0]]}"),
        "{\"memory\":[[\"f\",\"/mnt/inner/f\",420,0,\"x\"]]}",
        "{}",
        "[]",
    };
    struct world w;
    auto_buf text = BUF(ROOM), good = BUF(ROOM), out = BUF(ROOM);
    char folder[] = "/tmp/paddock-memory-XXXXXX";
    assert_non_null(mkdtemp(folder));
    open_world(&w, folder);
    run(&w, "x=loaded", &out);
    assert_false(call(&w, worker_shell_save, STR("{}"), &text));
    struct str shell = buf_str(&text);
    shell.len -= STR(",\"memory\":[]}").len;
    buf_addf(&good, "%.*s,\"memory\":[[\"f\",\"/f\",420,0,\"x\"],7]}", STR_ARG(shell));
    run(&w, "x=before", &out);
    assert_true(call(&w, worker_shell_load, buf_str(&good), &text));
    for (size_t i = 0; i < ARRAY_LEN(halves); i++) {
        assert_true(call(&w, worker_shell_load, str_of(halves[i]), &text));
        assert_true(text.len > 0);
    }
    run(&w, "echo $x; ls -A / /mnt/inner /mnt/disk", &out);
    assert_string_equal(out.data, "before\n/:\nmnt\n\n/mnt/disk:\n\n/mnt/inner:\n");
    close_world(&w);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_hostile_lists),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_half_a_state),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
