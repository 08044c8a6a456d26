/* The gate with a path policy: what every operation says, and that it did nothing. */
#include "policy/refusal.h"
#include "vfs/memory.h"
#include "vfs/vfs.h"

#include <errno.h>
#include <unistd.h>

#include "path-world.h"
#include "unit.h"

struct fixture {
    struct path_world world;
    struct vfs_ops ops; /* of a tree that two vfs share */
    struct vfs *raw;    /* without a policy; it owns the tree */
    struct vfs *vfs;
    struct arena *arena;
    struct buf events;
};

static struct vpath at(struct fixture *f, const char *path)
{
    struct vpath out;
    assert_int_equal(vpath_parse(str_of(path), VPATH_ROOT, f->arena, &out), 0);
    return out;
}

static const char *const folders[] = { "/w", "/w/.git", "/w/.kiro", "/w/.kiro/settings",
    "/w/.pyddock", "/w/.pyddock/tmp", "/w/tools", "/w/tools/jobs", "/w/sub", "/w/new",
    "/w/new/settings", "/w/new/jobs", "/h", "/h/.ssh", "/o", "/o/d" };
static const char *const files[] = { "/w/a", "/w/.git/config", "/w/.kiro/settings/s",
    "/w/.pyddock/p", "/w/tools/jobs/run", "/w/new/settings/s", "/w/new/jobs/j",
    "/h/.ssh/key", "/h/.npmrc", "/h/pub", "/o/f" };
static const struct {
    const char *target, *path;
} links[] = { { "/w/.git", "/w/sub/g" }, { "/w", "/o/to-w" }, { "/o", "/w/to-o" },
    { "/h/.ssh/key", "/w/to-key" }, { "/w/new", "/w/sub/.kiro" } };
static const struct {
    const char *file, *path;
} twins[] = { { "/w/.git/config", "/w/twin" }, { "/h/.ssh/key", "/w/key" },
    { "/w/a", "/w/a2" } };

static void fill(struct fixture *f)
{
    struct vfile *file;
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        assert_int_equal(vfs_mkdir(f->raw, at(f, folders[i]), 0755), 0);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        assert_int_equal(
                vfs_open(f->raw, at(f, files[i]), VFS_WRITE | VFS_CREATE, 0644, &file),
                0);
        assert_int_equal(vfile_write(file, STR("old")), 0);
        vfile_close(file);
    }
    for (size_t i = 0; i < ARRAY_LEN(links); i++)
        assert_int_equal(
                vfs_symlink(f->raw, str_of(links[i].target), at(f, links[i].path)), 0);
    for (size_t i = 0; i < ARRAY_LEN(twins); i++)
        assert_int_equal(vfs_link(f->raw, at(f, twins[i].file), at(f, twins[i].path)), 0);
}

static void no_destroy(void *self UNUSED)
{
}

static struct fixture *open_fixture(const char *readable)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    struct memory *tree = memory_create((uint64_t)1 << 20);
    path_world_init(&f->world, readable);
    f->arena = arena_create();
    f->events = BUF((size_t)1 << 16);
    f->raw = vfs_create(&(struct vfs_options){ .umask = 022 });
    f->vfs = vfs_create(&(struct vfs_options){ .umask = 022, .paths = f->world.paths });
    f->ops = memory_ops;
    f->ops.destroy = no_destroy;
    assert_int_equal(vfs_mount(f->raw, VPATH_ROOT, &memory_ops, tree), 0);
    assert_int_equal(vfs_mount(f->vfs, VPATH_ROOT, &f->ops, tree), 0);
    fill(f);
    return f;
}

static void close_fixture(struct fixture *f)
{
    vfs_destroy(f->vfs);
    vfs_destroy(f->raw);
    buf_finish(&f->events);
    arena_destroy(f->arena);
    path_world_finish(&f->world);
    free(f);
}

static int set_up(void **state)
{
    *state = open_fixture("*");
    return 0;
}

static int set_up_closed(void **state)
{
    *state = open_fixture("/w");
    return 0;
}

static int tear_down(void **state)
{
    close_fixture(*state);
    return 0;
}

/* The whole tree in one text, as somebody sees it whom no policy keeps out. */
static void dump(struct fixture *f, const char *folder, struct buf *out)
{
    struct vfs_entry *entries;
    size_t count;
    assert_int_equal(vfs_list(f->raw, at(f, folder), f->arena, &entries, &count), 0);
    for (size_t i = 0; i < count; i++) {
        struct vfs_stat st;
        const char *path = arena_printf(f->arena, "%s/%s",
                strcmp(folder, "/") ? folder : "", entries[i].name.data);
        assert_int_equal(vfs_stat(f->raw, at(f, path), VFS_NOFOLLOW, &st), 0);
        buf_addf(out, "%s %d %o %llu %lld\n", path, (int)st.type, st.mode,
                (unsigned long long)st.size, (long long)st.mtime_ns);
        if (st.type == VFS_DIR)
            dump(f, path, out);
    }
}

/* One attempt in words: an operation and its operands. */
static int attempt(struct fixture *f, const char *op, const char *a, const char *b)
{
    struct vfile *file = NULL;
    struct vfs_stat st;
    struct str text;
    struct vfs_entry *entries;
    size_t count;
    int error = -1;
    if (!strcmp(op, "read"))
        error = vfs_open(f->vfs, at(f, a), VFS_READ, 0, &file);
    else if (!strcmp(op, "write"))
        error = vfs_open(f->vfs, at(f, a), VFS_WRITE, 0, &file);
    else if (!strcmp(op, "truncate"))
        error = vfs_open(f->vfs, at(f, a), VFS_WRITE | VFS_TRUNCATE, 0, &file);
    else if (!strcmp(op, "create"))
        error = vfs_open(f->vfs, at(f, a), VFS_WRITE | VFS_CREATE, 0644, &file);
    else if (!strcmp(op, "replace"))
        error = vfs_replace(f->vfs, at(f, a), STR("new!"), VFS_CREATE, NULL);
    else if (!strcmp(op, "list"))
        error = vfs_list(f->vfs, at(f, a), f->arena, &entries, &count);
    else if (!strcmp(op, "stat"))
        error = vfs_stat(f->vfs, at(f, a), VFS_FOLLOW, &st);
    else if (!strcmp(op, "readlink"))
        error = vfs_readlink(f->vfs, at(f, a), f->arena, &text);
    else if (!strcmp(op, "access"))
        error = vfs_access(f->vfs, at(f, a), W_OK);
    else if (!strcmp(op, "mkdir"))
        error = vfs_mkdir(f->vfs, at(f, a), 0755);
    else if (!strcmp(op, "unlink"))
        error = vfs_unlink(f->vfs, at(f, a));
    else if (!strcmp(op, "rmdir"))
        error = vfs_rmdir(f->vfs, at(f, a));
    else if (!strcmp(op, "rename"))
        error = vfs_rename(f->vfs, at(f, a), at(f, b));
    else if (!strcmp(op, "link"))
        error = vfs_link(f->vfs, at(f, a), at(f, b));
    else if (!strcmp(op, "symlink"))
        error = vfs_symlink(f->vfs, str_of(b), at(f, a));
    else if (!strcmp(op, "chmod"))
        error = vfs_chmod(f->vfs, at(f, a), 0777);
    else if (!strcmp(op, "times"))
        error = vfs_set_times(f->vfs, at(f, a), VFS_FOLLOW, 1, 1);
    else if (!strcmp(op, "check-tree"))
        error = vfs_check_tree(f->vfs, at(f, a), VFS_TREE_CHANGE);
    else if (!strcmp(op, "check-copy"))
        error = vfs_check_tree(f->vfs, at(f, a), VFS_TREE_READ);
    vfile_close(file);
    return error;
}

struct case_of {
    const char *op, *a, *b, *code; /* of the refusal */
};

static void expect_refused(struct fixture *f, const struct case_of *cases, size_t count)
{
    auto_buf before = BUF((size_t)1 << 16);
    dump(f, "/", &before);
    for (size_t i = 0; i < count; i++) {
        auto_buf after = BUF((size_t)1 << 16);
        vfs_clear_refusal(f->vfs);
        assert_null(vfs_refusal(f->vfs));
        int error = attempt(f, cases[i].op, cases[i].a, cases[i].b);
        const struct refusal *why = vfs_refusal(f->vfs);
        if (error != EACCES || !why || strcmp(why->code, cases[i].code))
            fail_msg("%s %s %s: %s (%s)", cases[i].op, cases[i].a, cases[i].b,
                    strerror(error), why ? why->code : "-");
        dump(f, "/", &after);
        assert_string_equal(before.data, after.data);
    }
}

static void test_refused(void **state)
{
    static const struct case_of cases[] = {
        { "read", "/h/.ssh/key", "", "guard" },
        { "read", "/w/../h/.ssh/key", "", "guard" },
        { "read", "/w/to-key", "", "guard" },
        { "read", "/w/key", "", "hard-link" },
        { "read", "/h/.ssh/../pub", "", "guard" },
        { "stat", "/h/.ssh/nothing", "", "guard" },
        { "stat", "/h/.npmrc", "", "guard" },
        { "list", "/h/.ssh", "", "guard" },
        { "write", "/w/.git/config", "", "guard" },
        { "write", "/w/sub/g/config", "", "guard" },
        { "truncate", "/w/.git/config", "", "guard" },
        { "create", "/w/.git/new", "", "guard" },
        { "create", "/w/.GIT", "", "guard" },
        { "replace", "/w/.git/config", "", "guard" },
        { "access", "/w/.git/config", "", "guard" },
        { "mkdir", "/w/.git/new", "", "guard" },
        { "mkdir", "/o/new", "", "writes-restricted" },
        { "mkdir", "/w/to-o/new", "", "writes-restricted" },
        { "create", "/w/to-o/new", "", "writes-restricted" },
        { "unlink", "/w/.git/config", "", "guard" },
        { "rmdir", "/w/.git", "", "guard" },
        { "rmdir", "/w/.pyddock/tmp", "", "write-protected" },
        { "chmod", "/w/.git/config", "", "guard" },
        { "times", "/o/f", "", "writes-restricted" },
        { "write", "/w/twin", "", "hard-link" },
        { "truncate", "/w/twin", "", "hard-link" },
        { "replace", "/w/twin", "", "hard-link" },
        { "chmod", "/w/twin", "", "hard-link" },
        { "times", "/w/twin", "", "hard-link" },
        { "link", "/w/twin", "/w/twin2", "hard-link" },
        { "link", "/w/.git/config", "/w/c", "guard" },
        { "link", "/h/pub", "/w/p", "writes-restricted" },
        { "link", "/w/a", "/w/.git/a", "guard" },
        { "symlink", "/w/.git/s", "/o", "guard" },
        { "symlink", "/w/tools/.kiro", "/w/new", "guard" },
        { "unlink", "/w/sub/.kiro", "", "guard" },
        { "rename", "/w/sub/.kiro", "/w/k", "guard" },
        { "rename", "/w/.git", "/w/g", "guard" },
        { "rename", "/w/.kiro", "/w/k", "guard" },
        { "rename", "/w/tools", "/w/t", "write-protected" },
        { "rename", "/w/new", "/w/tools/.kiro", "guard" },
        { "rename", "/w/new/settings", "/w/.kiro/settings", "guard" },
        { "rename", "/w/a", "/w/.pyddock/tmp", "write-protected" },
        { "rename", "/w/a", "/o/a", "writes-restricted" },
        { "rename", "/o/f", "/w/f", "writes-restricted" },
        { "rename", "/h/.npmrc", "/w/n", "guard" },
        { "check-tree", "/w/tools", "", "write-protected" },
        { "check-tree", "/w/.kiro", "", "guard" },
        { "check-tree", "/w", "", "guard" },
        { "check-copy", "/h", "", "guard" },
    };
    struct fixture *f = *state;
    const struct vfs_guarded guarded[] = { { at(f, "/w/.git"), false },
        { at(f, "/h/.ssh"), true } };
    vfs_guard_twins(f->vfs, guarded, ARRAY_LEN(guarded));
    expect_refused(f, cases, ARRAY_LEN(cases));
}

static void test_reading_is_restricted(void **state)
{
    static const struct case_of cases[] = {
        { "read", "/o/f", "", "reads-restricted" },
        { "read", "/w/to-o/f", "", "reads-restricted" },
        { "stat", "/o/f", "", "reads-restricted" },
        { "stat", "/o/nothing", "", "reads-restricted" },
        { "stat", "/o/nothing/x", "", "reads-restricted" },
        { "stat", "/o/f/x", "", "reads-restricted" },
        { "stat", "/o/d/../../w/a", "", "reads-restricted" },
        { "stat", "/o/nothing/../../w/a", "", "reads-restricted" },
        { "stat", "/w/to-o/d/../../w/a", "", "reads-restricted" },
        { "check-copy", "/o", "", "reads-restricted" },
        { "readlink", "/o/to-w", "", "reads-restricted" },
        { "list", "/", "", "reads-restricted" },
    };
    struct fixture *f = *state;
    expect_refused(f, cases, ARRAY_LEN(cases));
    assert_int_equal(attempt(f, "stat", "/", ""), 0);
    /* The link is not looked at: where it leads counts. */
    assert_int_equal(attempt(f, "read", "/o/to-w/a", ""), 0);
    assert_int_equal(attempt(f, "create", "/o/to-w/b", ""), 0);
    assert_int_equal(attempt(f, "mkdir", "/o/to-w/d", ""), 0);
}

static void test_allowed(void **state)
{
    static const struct {
        const char *op, *a, *b;
        int error;
    } cases[] = {
        { "read", "/h/pub", "", 0 },
        { "read", "/w/.git/config", "", 0 },
        { "read", "/w/twin", "", 0 },
        { "write", "/w/a", "", 0 },
        { "write", "/w/a2", "", 0 },
        { "truncate", "/w/a2", "", 0 },
        { "replace", "/w/a2", "", 0 },
        { "unlink", "/w/twin", "", 0 },
        { "mkdir", "/w", "", EEXIST },
        { "mkdir", "/w/.git", "", EEXIST },
        { "mkdir", "/o", "", EEXIST },
        { "mkdir", "/w/no/x", "", ENOENT },
        { "create", "/w/.pyddock/tmp/x", "", 0 },
        { "rename", "/w/.pyddock/tmp/x", "/w/x", 0 },
        { "rename", "/w/new", "/w/newer", 0 },
        { "symlink", "/w/l", "/etc", 0 },
        { "check-tree", "/w/newer", "", 0 },
        { "check-copy", "/w", "", 0 },
        { "check-copy", "/o", "", 0 },
        { "unlink", "/w/to-o", "", 0 },
        { "stat", "/o/d/../f", "", 0 },
        { "stat", "/w/nothing", "", ENOENT },
        { "unlink", "/w/nothing", "", ENOENT },
    };
    struct fixture *f = *state;
    const struct vfs_guarded guarded[] = { { at(f, "/w/.git"), false },
        { at(f, "/h/.ssh"), true } };
    vfs_guard_twins(f->vfs, guarded, ARRAY_LEN(guarded));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int error = attempt(f, cases[i].op, cases[i].a, cases[i].b);
        if (error != cases[i].error || vfs_refusal(f->vfs))
            fail_msg("%s %s: %s", cases[i].op, cases[i].a, strerror(error));
    }
}

static void test_listings(void **state)
{
    struct fixture *f = *state;
    struct vfs_entry *entries;
    size_t count;
    assert_int_equal(vfs_list(f->vfs, at(f, "/h"), f->arena, &entries, &count), 0);
    assert_int_equal(count, 1);
    assert_string_equal(entries[0].name.data, "pub");
    assert_null(vfs_refusal(f->vfs));
}

/* A guarded file that came after the last look is found in the next call. */
static void test_twins_are_looked_for_again(void **state)
{
    struct fixture *f = *state;
    const struct vfs_guarded guarded[] = { { at(f, "/w/.git"), false } };
    vfs_guard_twins(f->vfs, guarded, 1);
    assert_int_equal(attempt(f, "write", "/w/a2", ""), 0);
    assert_int_equal(vfs_link(f->raw, at(f, "/w/a"), at(f, "/w/.git/a")), 0);
    vfs_clear_refusal(f->vfs);
    assert_int_equal(attempt(f, "write", "/w/a2", ""), EACCES);
}

static void observe(void *user, const struct vfs_event *event)
{
    struct fixture *f = user;
    buf_addf(&f->events, "%s%s %.*s %s%s %d\n", event->is_before ? "before " : "",
            event->op, STR_ARG(event->path), event->changes ? "changes " : "",
            event->allowed ? "allowed" : "refused", event->error);
}

static void test_the_observer(void **state)
{
    struct fixture *f = *state;
    vfs_set_observer(f->vfs, observe, f);
    attempt(f, "read", "/o/to-w/a", "");
    attempt(f, "write", "/w/sub/g/config", "");
    attempt(f, "read", "/h/.ssh/../pub", "");
    attempt(f, "list", "/h", "");
    attempt(f, "mkdir", "/w/.git/x", "");
    attempt(f, "mkdir", "/w/m", "");
    attempt(f, "replace", "/w/a", "");
    attempt(f, "rename", "/w/a", "/w/b");
    attempt(f, "unlink", "/w/nothing", "");
    vfs_set_observer(f->vfs, NULL, NULL);
    attempt(f, "stat", "/w/b", "");
    assert_string_equal(f->events.data, "read /w/a allowed 0\n"
                                        "write /w/.git/config changes refused 13\n"
                                        "read /h/.ssh/../pub refused 13\n"
                                        "list /h allowed 0\n"
                                        "mkdir /w/.git/x changes refused 13\n"
                                        "mkdir /w/m changes allowed 0\n"
                                        "before replace /w/a changes allowed 0\n"
                                        "replace /w/a changes allowed 0\n"
                                        "rename /w/a changes allowed 0\n"
                                        "rename /w/b changes allowed 0\n"
                                        "unlink /w/nothing changes allowed 2\n");
}

#define WITH(set_up, test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(set_up, test_refused),
        WITH(set_up_closed, test_reading_is_restricted),
        WITH(set_up, test_allowed),
        WITH(set_up, test_listings),
        WITH(set_up, test_twins_are_looked_for_again),
        WITH(set_up, test_the_observer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
