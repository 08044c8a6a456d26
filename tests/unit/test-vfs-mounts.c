/* Several backends in one tree, the directories that only mounts make, and memory. */
#include "vfs-world.h"

#include "base/budget.h"
#include "vfs/backend.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

/* "/" and "/mnt/a", "/mnt/deep/b" in memory; nothing at "/mnt" itself. */
static struct world *create_mounts(void)
{
    struct world *w = world_create(WORLD_MEMORY);
    struct vpath a = { .text = STR("/mnt/a") }, b = { .text = STR("/mnt/deep/b") };
    assert_int_equal(vfs_mount_memory(w->vfs, a, 1 << 20), 0);
    assert_int_equal(vfs_mount_memory(w->vfs, b, 1 << 20), 0);
    return w;
}

static void test_mounting(void **state)
{
    (void)state;
    struct vfs_options options = { 0 };
    struct vfs *vfs = vfs_create(&options);
    struct vpath a = { .text = STR("/mnt/a") }, up = { .text = STR("/mnt/../b") };
    struct vfs_stat st;
    assert_int_equal(vfs_stat(vfs, VPATH_ROOT, VFS_FOLLOW, &st), ENOENT);
    assert_int_equal(vfs_stat(vfs, up, VFS_FOLLOW, &st), ENOENT);
    assert_int_equal(vfs_mount_memory(vfs, a, 1000), EINVAL);
    assert_int_equal(vfs_mount_memory(vfs, VPATH_ROOT, 1000), 0);
    assert_int_equal(vfs_mount_memory(vfs, VPATH_ROOT, 1000), EEXIST);
    assert_int_equal(vfs_mount_memory(vfs, a, 1000), 0);
    assert_int_equal(vfs_mount_memory(vfs, a, 1000), EEXIST);
    assert_int_equal(vfs_mount_memory(vfs, up, 1000), EINVAL);
    vfs_destroy(vfs);
}

static void test_virtual_directories(void **state)
{
    (void)state;
    struct world *w = create_mounts();
    put(w, "top", "T");
    put(w, "/mnt/a/f", "A");
    assert_string_equal(names_in(w, "/"), "mnt top");
    assert_string_equal(names_in(w, "/mnt"), "a deep");
    assert_string_equal(names_in(w, "/mnt/deep"), "b");
    assert_string_equal(names_in(w, "/mnt/a"), "f");
    assert_int_equal(stat_of(w, "/mnt").type, VFS_DIR);
    assert_int_equal(stat_of(w, "/mnt/").type, VFS_DIR);
    assert_int_not_equal(stat_of(w, "/mnt").ino, stat_of(w, "/mnt/deep").ino);
    assert_int_equal(stat_error(w, "/mnt/x"), ENOENT);
    assert_content(w, "/mnt/a/../a/f", "A");
    assert_content(w, "/mnt/deep/b/../../../top", "T");
    assert_int_equal(open_error(w, "/mnt", VFS_READ), 0);
    assert_string_equal(
            content_of(w, "/mnt"), arena_printf(w->arena, "errno %d", EISDIR));
    assert_int_equal(vfs_access(w->vfs, at(w, "/mnt"), R_OK | X_OK), 0);
    assert_int_equal(vfs_access(w->vfs, at(w, "/mnt"), W_OK), EROFS);
    world_destroy(w);
}

static void test_mounts_stay(void **state)
{
    (void)state;
    struct world *w = create_mounts();
    put(w, "/mnt/a/f", "A");
    put(w, "top", "T");
    static const char *const fixed[] = { "/", "/mnt", "/mnt/a", "/mnt/deep",
        "/mnt/deep/b" };
    for (size_t i = 0; i < ARRAY_LEN(fixed); i++) {
        struct vpath p = at(w, fixed[i]);
        assert_int_equal(vfs_rmdir(w->vfs, p), EBUSY);
        assert_int_equal(vfs_unlink(w->vfs, p), EBUSY);
        assert_int_equal(vfs_mkdir(w->vfs, p, 0777), EEXIST);
        assert_int_equal(vfs_symlink(w->vfs, STR("x"), p), EEXIST);
        assert_int_equal(open_error(w, fixed[i], VFS_WRITE | VFS_CREATE), EISDIR);
        assert_int_equal(vfs_replace(w->vfs, p, STR("x"), VFS_CREATE, NULL), EISDIR);
        int error = vfs_rename(w->vfs, p, at(w, "/new"));
        assert_true(error == EBUSY || error == EXDEV);
    }
    assert_int_equal(vfs_check_tree(w->vfs, at(w, "/mnt"), VFS_TREE_CHANGE), EBUSY);
    assert_int_equal(vfs_chmod(w->vfs, at(w, "/mnt"), 0777), EROFS);
    assert_int_equal(open_error(w, "/mnt/n", VFS_WRITE | VFS_CREATE), EROFS);
    assert_int_equal(vfs_mkdir(w->vfs, at(w, "/mnt/n"), 0777), EROFS);
    assert_int_equal(vfs_symlink(w->vfs, STR("x"), at(w, "/mnt/n")), EROFS);
    assert_int_equal(vfs_rename(w->vfs, at(w, "top"), at(w, "/mnt/n")), EROFS);
    assert_int_equal(vfs_rename(w->vfs, at(w, "top"), at(w, "/mnt/a/n")), EXDEV);
    assert_int_equal(vfs_link(w->vfs, at(w, "top"), at(w, "/mnt/a/n")), EXDEV);
    assert_content(w, "top", "T");
    world_destroy(w);
}

static void test_links_stay_in_their_mount(void **state)
{
    (void)state;
    struct world *w = create_mounts();
    put(w, "top", "T");
    make_dir(w, "d");
    put(w, "/mnt/a/f", "A");
    make_link(w, "../../top", "/mnt/a/up");
    make_link(w, "/top", "/mnt/a/abs");
    make_link(w, "/mnt/a/f", "/mnt/a/own");
    make_link(w, "mnt/a/f", "/down");
    make_link(w, "/mnt", "/d/virtual");
    make_link(w, "d", "/l");
    assert_string_equal(content_of(w, "/mnt/a/up"), "errno 13");
    assert_string_equal(content_of(w, "/mnt/a/abs"), "errno 13");
    assert_content(w, "/mnt/a/own", "A");
    assert_string_equal(content_of(w, "/down"), "errno 13");
    assert_string_equal(
            content_of(w, "/d/virtual/x"), arena_printf(w->arena, "errno %d", ENOENT));
    /* What the caller writes after a link may leave again. */
    assert_content(w, "/l/../mnt/a/f", "A");
    world_destroy(w);
}

static void test_denied_mount_names(void **state)
{
    (void)state;
    struct world *w = world_create(WORLD_MEMORY);
    struct vpath p = { .text = STR("/mnt/.git") };
    assert_int_equal(vfs_mount_memory(w->vfs, p, 1 << 20), 0);
    assert_string_equal(names_in(w, "/mnt"), "");
    assert_string_equal(names_in(w, "/mnt/.git"), "errno 13");
    world_destroy(w);
}

static void test_memory_is_bounded(void **state)
{
    (void)state;
    struct vfs_options options = { 0 };
    struct vfs *vfs = vfs_create(&options);
    assert_int_equal(vfs_mount_memory(vfs, VPATH_ROOT, 100000), 0);
    struct vpath path = { .text = STR("/f") };
    struct vfile *f;
    char block[1000] = "";
    int error = 0, writes = 0;
    assert_int_equal(vfs_open(vfs, path, VFS_WRITE | VFS_CREATE, 0644, &f), 0);
    while (!error && writes < 1000) {
        error = vfile_write(f, (struct str){ block, sizeof(block) });
        writes += !error;
    }
    assert_int_equal(error, ENOSPC);
    assert_true(writes > 90 && writes < 100);
    assert_int_equal(vfile_seek(f, UINT64_MAX / 4), 0);
    assert_int_not_equal(vfile_write(f, STR("x")), 0);
    int made = 0;
    for (error = 0; !error; made++) {
        char name[16];
        int len = snprintf(name, sizeof(name), "/e%d", made);
        error = vfs_mkdir(vfs, (struct vpath){ .text = { name, (size_t)len } }, 0755);
        assert_true(made < 1000);
    }
    assert_int_equal(error, ENOSPC);
    assert_int_equal(vfs_unlink(vfs, path), 0);
    vfile_close(f);
    assert_int_equal(vfs_open(vfs, path, VFS_WRITE | VFS_CREATE, 0644, &f), 0);
    assert_int_equal(vfile_write(f, (struct str){ block, sizeof(block) }), 0);
    /* An open file outlives its file system. */
    vfs_destroy(vfs);
    assert_int_equal(vfile_write(f, (struct str){ block, sizeof(block) }), 0);
    vfile_close(f);
}

static void test_many_appends(void **state)
{
    (void)state;
    struct world *w = world_create(WORLD_MEMORY);
    struct vfile *f;
    assert_int_equal(vfs_open(w->vfs, at(w, "f"), VFS_APPEND | VFS_CREATE, 0644, &f), 0);
    for (int i = 0; i < 1000000; i++)
        assert_int_equal(vfile_write(f, STR("0123456789")), 0);
    vfile_close(f);
    assert_int_equal(stat_of(w, "f").size, 10000000);
    world_destroy(w);
}

/* As deep as paths can go: no recursion may depend on it. */
static void test_deep_trees(void **state)
{
    (void)state;
    struct world *w = world_create(WORLD_MEMORY);
    char path[4097] = "/top";
    make_dir(w, path);
    size_t len = 4;
    for (; len + 2 <= 4096; len += 2) {
        memcpy(path + len, "/d", 3);
        make_dir(w, path);
    }
    assert_int_equal(vfs_check_tree(w->vfs, at(w, "/top"), VFS_TREE_CHANGE), 0);
    assert_int_equal(vfs_rename(w->vfs, at(w, "/top"), at(w, "/pot")), 0);
    struct budget budget = { .steps = 100, .max_steps = 100 };
    vfs_set_budget(w->vfs, &budget);
    assert_int_equal(vfs_check_tree(w->vfs, at(w, "/pot"), VFS_TREE_CHANGE), ECANCELED);
    vfs_set_budget(w->vfs, NULL);
    world_destroy(w);
}

static void test_umask(void **state)
{
    (void)state;
    struct world *w = world_create(WORLD_MEMORY);
    vfs_set_umask(w->vfs, 077);
    put(w, "f", "");
    make_dir(w, "d");
    assert_int_equal(stat_of(w, "f").mode, 0600);
    assert_int_equal(stat_of(w, "d").mode, 0700);
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mounting),
        cmocka_unit_test(test_virtual_directories),
        cmocka_unit_test(test_mounts_stay),
        cmocka_unit_test(test_links_stay_in_their_mount),
        cmocka_unit_test(test_denied_mount_names),
        cmocka_unit_test(test_memory_is_bounded),
        cmocka_unit_test(test_many_appends),
        cmocka_unit_test(test_deep_trees),
        cmocka_unit_test(test_umask),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
