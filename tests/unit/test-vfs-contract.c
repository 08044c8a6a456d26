/* What every backend promises: the same checks over all of them. */
#include "vfs-world.h"

#include "confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void check_read_and_write(struct world *w)
{
    put(w, "a", "hello\n");
    assert_content(w, "a", "hello\n");
    struct vfs_stat st = stat_of(w, "a");
    assert_int_equal(st.type, VFS_FILE);
    assert_int_equal(st.size, 6);
    assert_int_equal(st.mode, 0644);
    assert_int_equal(st.nlink, 1);
    put(w, "a", "x");
    assert_content(w, "a", "x");
    assert_int_equal(open_error(w, "none", VFS_READ), ENOENT);
    assert_int_equal(open_error(w, "none/x", VFS_WRITE | VFS_CREATE), ENOENT);
    assert_int_equal(open_error(w, "a/x", VFS_READ), ENOTDIR);
    assert_int_equal(open_error(w, "a/", VFS_READ), ENOTDIR);
    assert_int_equal(open_error(w, "a", VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE), EEXIST);
    assert_int_equal(open_error(w, "new/", VFS_WRITE | VFS_CREATE), EISDIR);
    assert_int_equal(stat_error(w, "new"), ENOENT);
}

static void check_offsets(struct world *w)
{
    struct vfile *f;
    size_t got = 0;
    char data[8] = "";
    put(w, "a", "0123456789");
    assert_int_equal(vfs_open(w->vfs, at(w, "a"), VFS_READ | VFS_WRITE, 0, &f), 0);
    assert_int_equal(vfile_pread(f, data, 3, 5, &got), 0);
    assert_memory_equal(data, "567", 3);
    assert_int_equal(vfile_read(f, data, 2, &got), 0);
    assert_memory_equal(data, "01", 2);
    assert_int_equal(vfile_write(f, STR("XY")), 0);
    assert_int_equal(vfile_seek(f, 12), 0);
    assert_int_equal(vfile_write(f, STR("Z")), 0);
    assert_int_equal(vfile_pread(f, data, 8, 100, &got), 0);
    assert_int_equal(got, 0);
    vfile_close(f);
    struct vfs_stat st = stat_of(w, "a");
    assert_int_equal(st.size, 13);
    assert_content(w, "a", "01XY456789");
}

static void check_append(struct world *w)
{
    struct vfile *f, *g;
    put(w, "a", "1");
    assert_int_equal(vfs_open(w->vfs, at(w, "a"), VFS_WRITE | VFS_APPEND, 0, &f), 0);
    assert_int_equal(vfs_open(w->vfs, at(w, "a"), VFS_WRITE | VFS_APPEND, 0, &g), 0);
    assert_int_equal(vfile_write(f, STR("2")), 0);
    assert_int_equal(vfile_write(g, STR("3")), 0);
    assert_int_equal(vfile_seek(f, 0), 0);
    assert_int_equal(vfile_write(f, STR("4")), 0);
    vfile_close(f);
    vfile_close(g);
    assert_content(w, "a", "1234");
}

static void check_open_file_outlives_name(struct world *w)
{
    struct vfile *f;
    char data[4];
    size_t got = 0;
    put(w, "a", "abc");
    assert_int_equal(vfs_open(w->vfs, at(w, "a"), VFS_READ, 0, &f), 0);
    assert_int_equal(vfs_unlink(w->vfs, at(w, "a")), 0);
    assert_int_equal(vfile_read(f, data, sizeof(data), &got), 0);
    assert_int_equal(got, 3);
    vfile_close(f);
}

static void check_directories(struct world *w)
{
    make_dir(w, "d");
    assert_int_equal(stat_of(w, "d").mode, 0755);
    assert_int_equal(stat_of(w, "d/").type, VFS_DIR);
    make_dir(w, "d/e/");
    assert_int_equal(vfs_mkdir(w->vfs, at(w, "d"), 0777), EEXIST);
    assert_int_equal(vfs_mkdir(w->vfs, at(w, "x/y"), 0777), ENOENT);
    put(w, "f", "");
    assert_int_equal(vfs_mkdir(w->vfs, at(w, "f"), 0777), EEXIST);
    assert_int_equal(vfs_mkdir(w->vfs, at(w, "f/x"), 0777), ENOTDIR);
    assert_int_equal(vfs_mkdir(w->vfs, at(w, "."), 0777), EEXIST);
    assert_int_equal(open_error(w, "d", VFS_READ), 0);
    assert_string_equal(content_of(w, "d"), arena_printf(w->arena, "errno %d", EISDIR));
    assert_int_equal(open_error(w, "d", VFS_WRITE), EISDIR);
    assert_int_equal(open_error(w, "d", VFS_WRITE | VFS_CREATE | VFS_TRUNCATE), EISDIR);
    assert_int_equal(vfs_unlink(w->vfs, at(w, "d")), EISDIR);
    assert_int_equal(vfs_rmdir(w->vfs, at(w, "d")), ENOTEMPTY);
    assert_int_equal(vfs_rmdir(w->vfs, at(w, "f")), ENOTDIR);
    assert_int_equal(vfs_unlink(w->vfs, at(w, "f/")), ENOTDIR);
    assert_int_equal(vfs_rmdir(w->vfs, at(w, "d/e")), 0);
    assert_int_equal(vfs_rmdir(w->vfs, at(w, "d/")), 0);
    assert_int_equal(vfs_rmdir(w->vfs, at(w, ".")), EBUSY);
    assert_int_equal(vfs_unlink(w->vfs, at(w, "none")), ENOENT);
    assert_int_equal(vfs_rmdir(w->vfs, at(w, "none")), ENOENT);
}

static void check_listing(struct world *w)
{
    assert_string_equal(names_in(w, "."), "");
    put(w, "b", "");
    put(w, "B", "");
    put(w, "\xFF", "");
    put_hidden(w, ".env", "");
    assert_string_equal(names_in(w, "."), "B b \xFF");
}

static void check_many_entries(struct world *w)
{
    char name[32];
    make_dir(w, "d");
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof(name), "d/name-%04d", i);
        put(w, name, "");
    }
    struct vfs_entry *entries;
    size_t count = 0;
    assert_int_equal(vfs_list(w->vfs, at(w, "d"), w->arena, &entries, &count), 0);
    assert_int_equal(count, 3000);
    assert_string_equal(entries[2999].name.data, "name-2999");
    assert_int_equal(entries[0].type, VFS_FILE);
}

static void check_rename(struct world *w)
{
    put(w, "a", "A");
    put(w, "b", "B");
    assert_int_equal(vfs_rename(w->vfs, at(w, "a"), at(w, "b")), 0);
    assert_content(w, "b", "A");
    assert_int_equal(stat_error(w, "a"), ENOENT);
    assert_int_equal(stat_of(w, "b").nlink, 1);
    make_dir(w, "d");
    make_dir(w, "d/e");
    put(w, "d/e/f", "F");
    make_dir(w, "empty");
    assert_int_equal(vfs_rename(w->vfs, at(w, "d"), at(w, "d/e/x")), EINVAL);
    assert_int_equal(vfs_rename(w->vfs, at(w, "d"), at(w, "b")), ENOTDIR);
    assert_int_equal(vfs_rename(w->vfs, at(w, "b"), at(w, "d")), EISDIR);
    assert_int_equal(vfs_rename(w->vfs, at(w, "empty"), at(w, "d")), ENOTEMPTY);
    assert_int_equal(vfs_rename(w->vfs, at(w, "b"), at(w, "new/")), ENOTDIR);
    assert_int_equal(vfs_rename(w->vfs, at(w, "b/"), at(w, "new")), ENOTDIR);
    assert_int_equal(vfs_rename(w->vfs, at(w, "none"), at(w, "b")), ENOENT);
    assert_int_equal(vfs_rename(w->vfs, at(w, "b"), at(w, "none/b")), ENOENT);
    assert_int_equal(vfs_rename(w->vfs, at(w, "b"), at(w, "b")), 0);
    assert_int_equal(vfs_rename(w->vfs, at(w, "d"), at(w, "empty")), 0);
    assert_content(w, "empty/e/f", "F");
    assert_int_equal(vfs_rename(w->vfs, at(w, "."), at(w, "q")), EBUSY);
    assert_string_equal(names_in(w, "."), "b empty");
}

static void check_hard_links(struct world *w)
{
    put(w, "a", "one");
    make_dir(w, "d");
    assert_int_equal(vfs_link(w->vfs, at(w, "a"), at(w, "d/b")), 0);
    assert_int_equal(stat_of(w, "a").nlink, 2);
    assert_int_equal(stat_of(w, "a").ino, stat_of(w, "d/b").ino);
    put(w, "d/b", "two");
    assert_content(w, "a", "two");
    assert_int_equal(vfs_link(w->vfs, at(w, "a"), at(w, "d/b")), EEXIST);
    assert_int_equal(vfs_link(w->vfs, at(w, "d"), at(w, "e")), EPERM);
    assert_int_equal(vfs_link(w->vfs, at(w, "none"), at(w, "e")), ENOENT);
    assert_int_equal(vfs_rename(w->vfs, at(w, "a"), at(w, "d/b")), 0);
    assert_int_equal(vfs_unlink(w->vfs, at(w, "a")), 0);
    assert_int_equal(stat_of(w, "d/b").nlink, 1);
}

static const char *link_text(struct world *w, const char *path)
{
    struct str target;
    int error = vfs_readlink(w->vfs, at(w, path), w->arena, &target);
    return error ? arena_printf(w->arena, "errno %d", error) : target.data;
}

static void check_links(struct world *w)
{
    make_dir(w, "d");
    make_dir(w, "d/sub");
    put(w, "d/f", "F");
    put(w, "top", "T");
    make_link(w, "d/f", "l");
    make_link(w, "d", "dl");
    make_link(w, "../top", "d/up");
    make_link(w, "../d/./sub//", "d/s");
    make_link(w, "l", "ll");
    assert_content(w, "l", "F");
    assert_content(w, "ll", "F");
    assert_content(w, "dl/f", "F");
    assert_content(w, "dl/up", "T");
    assert_content(w, "dl/sub/../f", "F");
    assert_content(w, "d/s/../f", "F");
    assert_content(w, "dl/../top", "T");
    assert_int_equal(stat_error(w, "none/../top"), ENOENT);
    assert_int_equal(stat_error(w, "top/../top"), ENOTDIR);
    assert_int_equal(lstat_of(w, "dl").type, VFS_LINK);
    assert_int_equal(lstat_of(w, "dl/").type, VFS_DIR);
    assert_int_equal(stat_of(w, "dl").type, VFS_DIR);
    assert_string_equal(link_text(w, "d/up"), "../top");
    assert_string_equal(link_text(w, "dl/up"), "../top");
    assert_string_equal(link_text(w, "top"), arena_printf(w->arena, "errno %d", EINVAL));
    assert_string_equal(names_in(w, "dl"), "f s sub up");
    assert_string_equal(names_in(w, "d/s"), "");
    put(w, "ll", "G");
    assert_content(w, "d/f", "G");
    assert_int_equal(vfs_rmdir(w->vfs, at(w, "dl")), ENOTDIR);
    assert_int_equal(vfs_rmdir(w->vfs, at(w, "d/s/")), ENOTDIR);
    assert_int_equal(vfs_unlink(w->vfs, at(w, "dl/up")), 0);
    assert_int_equal(vfs_rename(w->vfs, at(w, "dl"), at(w, "dm")), 0);
    assert_content(w, "dm/f", "G");
    assert_int_equal(vfs_unlink(w->vfs, at(w, "dm")), 0);
    assert_int_equal(stat_error(w, "d"), 0);
}

static void check_dangling_links(struct world *w)
{
    make_link(w, "target", "l");
    make_link(w, "nodir/x", "m");
    make_link(w, "loop", "loop");
    make_link(w, "b", "a");
    make_link(w, "a", "b");
    assert_int_equal(stat_error(w, "l"), ENOENT);
    assert_int_equal(lstat_of(w, "l").type, VFS_LINK);
    assert_int_equal(open_error(w, "l", VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE), EEXIST);
    put(w, "l", "made");
    assert_content(w, "target", "made");
    assert_int_equal(open_error(w, "m", VFS_WRITE | VFS_CREATE), ENOENT);
    assert_int_equal(stat_error(w, "loop"), ELOOP);
    assert_int_equal(stat_error(w, "loop/x"), ELOOP);
    assert_int_equal(stat_error(w, "a"), ELOOP);
    assert_int_equal(vfs_symlink(w->vfs, STR("x"), at(w, "l")), EEXIST);
    assert_int_equal(vfs_symlink(w->vfs, STR(""), at(w, "q")), ENOENT);
}

static void check_long_chain_of_links(struct world *w)
{
    char name[16], target[16];
    put(w, "n0", "end");
    for (int i = 1; i <= 41; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        snprintf(target, sizeof(target), "n%d", i - 1);
        make_link(w, target, name);
    }
    assert_content(w, "n40", "end");
    assert_int_equal(stat_error(w, "n41"), ELOOP);
}

static void check_resolve(struct world *w)
{
    make_dir(w, "d");
    make_link(w, "d", "l");
    static const struct {
        const char *path;
        enum vfs_follow follow;
        const char *expect;
    } table[] = {
        { "l", VFS_FOLLOW, "/d" },
        { "l", VFS_NOFOLLOW, "/l" },
        { "l/none", VFS_FOLLOW, "/d/none" },
        { "l/..", VFS_FOLLOW, "" },
        { "d/../l/x", VFS_NOFOLLOW, "/d/x" },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct vpath out;
        assert_int_equal(vfs_resolve(w->vfs, at(w, table[i].path), table[i].follow,
                                 w->arena, &out),
                0);
        const char *base = w->base.text.len > 1 ? w->base.text.data : "";
        const char *expect = arena_printf(w->arena, "%s%s", base, table[i].expect);
        assert_string_equal(out.text.data, *expect ? expect : "/");
    }
    struct vpath out;
    assert_int_equal(
            vfs_resolve(w->vfs, at(w, "no/x"), VFS_FOLLOW, w->arena, &out), ENOENT);
}

static void check_attributes(struct world *w)
{
    put(w, "f", "");
    make_link(w, "f", "l");
    assert_int_equal(vfs_chmod(w->vfs, at(w, "l"), 0750), 0);
    assert_int_equal(stat_of(w, "f").mode, 0750);
    assert_int_equal(vfs_chmod(w->vfs, at(w, "f"), 0644), 0);
    put(w, "closed", "");
    assert_int_equal(vfs_chmod(w->vfs, at(w, "closed"), 0), 0);
    /* A confined user has no descriptor to give it back with. */
    int reopened = vfs_chmod(w->vfs, at(w, "closed"), 0644);
    assert_true(!reopened || (w->keep_dir && reopened == EACCES));
    assert_int_equal(vfs_chmod(w->vfs, at(w, "none"), 0644), ENOENT);
    assert_int_equal(vfs_access(w->vfs, at(w, "l"), R_OK | W_OK), 0);
    assert_int_equal(vfs_access(w->vfs, at(w, "l"), X_OK), EACCES);
    assert_int_equal(vfs_access(w->vfs, at(w, "."), X_OK), 0);
    assert_int_equal(vfs_access(w->vfs, at(w, "none"), F_OK), ENOENT);
    int64_t then = -1500000000;
    assert_int_equal(
            vfs_set_times(w->vfs, at(w, "l"), VFS_FOLLOW, VFS_TIME_KEEP, then), 0);
    assert_true(stat_of(w, "f").mtime_ns == then);
    /* A confined process cannot touch a link: there is no call for it by descriptor. */
    int error = vfs_set_times(w->vfs, at(w, "l"), VFS_NOFOLLOW, 5, 7);
    assert_true(!error || (w->keep_dir && error == EPERM));
    assert_true(stat_of(w, "f").mtime_ns == then);
    assert_true(error || lstat_of(w, "l").mtime_ns == 7);
    assert_int_equal(
            vfs_set_times(w->vfs, at(w, "f"), VFS_FOLLOW, VFS_TIME_NOW, VFS_TIME_NOW), 0);
    assert_true(stat_of(w, "f").mtime_ns > (int64_t)1000000000 * 1000000000);
}

static int replace(struct world *w, const char *path, const char *data,
        enum vfs_open_flags flags, const struct vfs_stat *expect)
{
    return vfs_replace(w->vfs, at(w, path), str_of(data), flags, expect);
}

static void check_replace(struct world *w)
{
    put(w, "f", "old");
    assert_int_equal(vfs_chmod(w->vfs, at(w, "f"), 0751), 0);
    make_link(w, "f", "l");
    assert_int_equal(replace(w, "l", "new content", 0, NULL), 0);
    assert_content(w, "f", "new content");
    assert_int_equal(stat_of(w, "f").mode, 0751);
    assert_int_equal(lstat_of(w, "l").type, VFS_LINK);
    struct vfs_stat seen = stat_of(w, "f");
    put(w, "f", "somebody else");
    assert_int_equal(replace(w, "f", "mine", 0, &seen), ESTALE);
    assert_content(w, "f", "somebody else");
    seen = stat_of(w, "f");
    assert_int_equal(replace(w, "f", "mine", 0, &seen), 0);
    assert_content(w, "f", "mine");
    assert_int_equal(replace(w, "n", "x", 0, NULL), ENOENT);
    assert_int_equal(replace(w, "n", "x", VFS_CREATE, NULL), 0);
    assert_int_equal(stat_of(w, "n").mode, 0644);
    assert_int_equal(replace(w, "n", "y", VFS_CREATE | VFS_EXCLUSIVE, NULL), EEXIST);
    assert_int_equal(replace(w, "l", "y", VFS_CREATE | VFS_EXCLUSIVE, NULL), EEXIST);
    assert_int_equal(replace(w, "m", "", VFS_CREATE | VFS_EXCLUSIVE, NULL), 0);
    assert_int_equal(replace(w, "no/m", "", VFS_CREATE | VFS_EXCLUSIVE, NULL), ENOENT);
    make_dir(w, "d");
    assert_int_equal(replace(w, "d", "y", VFS_CREATE, NULL), EISDIR);
    assert_int_equal(replace(w, "f/", "y", VFS_CREATE, NULL), ENOTDIR);
    assert_string_equal(names_in(w, "."), "d f l m n");
}

static void check_replace_keeps_hard_links(struct world *w)
{
    put(w, "a", "a longer text");
    assert_int_equal(vfs_link(w->vfs, at(w, "a"), at(w, "b")), 0);
    assert_int_equal(replace(w, "b", "short", 0, NULL), 0);
    assert_content(w, "a", "short");
    assert_int_equal(stat_of(w, "a").nlink, 2);
    assert_int_equal(replace(w, "a", "longer than before", 0, NULL), 0);
    assert_content(w, "b", "longer than before");
}

static const char eacces[] = "errno 13";

static void check_denied_names(struct world *w)
{
    struct vfs *plain = world_view(w, false, false);
    make_dir(w, "d");
    assert_int_equal(vfs_mkdir(plain, at(w, "d/.git"), 0777), 0);
    put_hidden(w, "d/.git/config", "C");
    put_hidden(w, ".ENV", "E");
    vfs_destroy(plain);
    make_link(w, ".ENV", "l");
    make_link(w, "d/.git", "g");
    make_link(w, "l", "ll");
    static const char *const paths[] = { ".ENV", "./.ENV", "d/../.ENV", "l", "ll",
        "g/config", "d/.git", "d/.git/", "d/.git/config", "d/.git/../x", "none/.env",
        "x.KEY" };
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const char *p = paths[i];
        assert_int_equal(stat_error(w, p), EACCES);
        assert_int_equal(vfs_access(w->vfs, at(w, p), F_OK), EACCES);
        assert_string_equal(content_of(w, p), eacces);
        assert_string_equal(names_in(w, p), eacces);
        assert_int_equal(open_error(w, p, VFS_WRITE | VFS_CREATE | VFS_TRUNCATE), EACCES);
        assert_int_equal(open_error(w, p, VFS_READ | VFS_TRUNCATE), EACCES);
        assert_int_equal(vfs_chmod(w->vfs, at(w, p), 0777), EACCES);
        assert_int_equal(vfs_set_times(w->vfs, at(w, p), VFS_FOLLOW, 1, 1), EACCES);
        assert_int_equal(replace(w, p, "x", VFS_CREATE, NULL), EACCES);
    }
    assert_string_equal(raw_content(w, ".ENV"), "E");
    assert_string_equal(raw_content(w, "d/.git/config"), "C");
    assert_string_equal(names_in(w, "."), "d g l ll");
    assert_string_equal(names_in(w, "d"), "");
}

static void check_denied_changes(struct world *w)
{
    make_dir(w, "d");
    make_dir(w, "d/e");
    put(w, "f", "F");
    put_hidden(w, "d/e/.env", "E");
    assert_int_equal(vfs_rmdir(w->vfs, at(w, "d/e")), ENOTEMPTY);
    assert_int_equal(vfs_unlink(w->vfs, at(w, "d/e/.env")), EACCES);
    assert_int_equal(vfs_rmdir(w->vfs, at(w, "d/.git")), EACCES);
    assert_int_equal(vfs_mkdir(w->vfs, at(w, ".git"), 0777), EACCES);
    assert_int_equal(vfs_symlink(w->vfs, STR("f"), at(w, "x.pem")), EACCES);
    assert_int_equal(vfs_link(w->vfs, at(w, "f"), at(w, ".env")), EACCES);
    assert_int_equal(vfs_link(w->vfs, at(w, "d/e/.env"), at(w, "seen")), EACCES);
    assert_int_equal(vfs_rename(w->vfs, at(w, "f"), at(w, ".env")), EACCES);
    assert_int_equal(vfs_rename(w->vfs, at(w, "d/e/.env"), at(w, "seen")), EACCES);
    assert_int_equal(vfs_rename(w->vfs, at(w, "d"), at(w, "moved")), EACCES);
    assert_int_equal(vfs_rename(w->vfs, at(w, "d/e"), at(w, "moved")), EACCES);
    assert_int_equal(vfs_check_tree(w->vfs, at(w, "d"), VFS_TREE_CHANGE), EACCES);
    assert_int_equal(vfs_check_tree(w->vfs, at(w, "f"), VFS_TREE_CHANGE), 0);
    assert_int_equal(vfs_check_tree(w->vfs, at(w, "none"), VFS_TREE_CHANGE), ENOENT);
    make_link(w, "d", "l");
    assert_int_equal(vfs_check_tree(w->vfs, at(w, "l"), VFS_TREE_CHANGE), 0);
    assert_string_equal(raw_content(w, "d/e/.env"), "E");
    assert_string_equal(names_in(w, "."), "d f l");
}

static void check_read_only(struct world *w)
{
    make_dir(w, "d");
    put(w, "f", "F");
    make_link(w, "f", "l");
    struct vfs_stat before = stat_of(w, "f");
    struct vfs *vfs = w->vfs;
    w->vfs = world_view(w, true, true);
    assert_content(w, "l", "F");
    static const int writes[] = { VFS_WRITE, VFS_READ | VFS_TRUNCATE, VFS_APPEND,
        VFS_WRITE | VFS_CREATE, VFS_READ | VFS_CREATE };
    for (size_t i = 0; i < ARRAY_LEN(writes); i++) {
        assert_int_equal(open_error(w, "f", (enum vfs_open_flags)writes[i]), EROFS);
        assert_int_equal(open_error(w, "l", (enum vfs_open_flags)writes[i]), EROFS);
        assert_int_equal(open_error(w, ".env", (enum vfs_open_flags)writes[i]), EACCES);
    }
    assert_int_equal(open_error(w, "n", VFS_WRITE | VFS_CREATE), EROFS);
    assert_int_equal(vfs_mkdir(w->vfs, at(w, "n"), 0777), EROFS);
    assert_int_equal(vfs_mkdir(w->vfs, at(w, "d"), 0777), EEXIST);
    assert_int_equal(vfs_unlink(w->vfs, at(w, "f")), EROFS);
    assert_int_equal(vfs_rmdir(w->vfs, at(w, "d")), EROFS);
    assert_int_equal(vfs_rename(w->vfs, at(w, "f"), at(w, "g")), EROFS);
    assert_int_equal(vfs_link(w->vfs, at(w, "f"), at(w, "g")), EROFS);
    assert_int_equal(vfs_symlink(w->vfs, STR("f"), at(w, "g")), EROFS);
    assert_int_equal(vfs_chmod(w->vfs, at(w, "f"), 0777), EROFS);
    assert_int_equal(vfs_set_times(w->vfs, at(w, "f"), VFS_FOLLOW, 1, 1), EROFS);
    assert_int_equal(replace(w, "f", "x", VFS_CREATE, NULL), EROFS);
    assert_int_equal(vfs_check_tree(w->vfs, at(w, "d"), VFS_TREE_CHANGE), EROFS);
    assert_int_equal(vfs_access(w->vfs, at(w, "f"), W_OK), EROFS);
    assert_int_equal(vfs_access(w->vfs, at(w, "f"), R_OK), 0);
    struct vfs_stat after = stat_of(w, "f");
    vfs_destroy(w->vfs);
    w->vfs = vfs;
    assert_true(before.mtime_ns == after.mtime_ns && before.ctime_ns == after.ctime_ns);
    assert_string_equal(names_in(w, "."), "d f l");
}

static const struct {
    const char *name;
    void (*check)(struct world *w);
} checks[] = {
    { "read and write", check_read_and_write },
    { "offsets", check_offsets },
    { "append", check_append },
    { "an open file outlives its name", check_open_file_outlives_name },
    { "directories", check_directories },
    { "listing", check_listing },
    { "many entries", check_many_entries },
    { "rename", check_rename },
    { "hard links", check_hard_links },
    { "links", check_links },
    { "dangling links", check_dangling_links },
    { "a long chain of links", check_long_chain_of_links },
    { "resolve", check_resolve },
    { "attributes", check_attributes },
    { "replace", check_replace },
    { "replace keeps hard links", check_replace_keeps_hard_links },
    { "denied names", check_denied_names },
    { "denied changes", check_denied_changes },
    { "read-only", check_read_only },
};

struct job {
    enum world_kind kind;
    size_t check;
    bool confined;
};

static void run_job(void **state)
{
    const struct job *job = *state;
    struct world *w = world_create(job->kind);
    w->keep_dir = job->confined;
    checks[job->check].check(w);
    world_destroy(w);
}

static int run_checks(bool confined)
{
    static struct job jobs[WORLD_KINDS * ARRAY_LEN(checks)];
    static struct CMUnitTest tests[WORLD_KINDS * ARRAY_LEN(checks)];
    auto_arena *arena = arena_create();
    for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
        jobs[i] = (struct job){ (enum world_kind)(i / ARRAY_LEN(checks)),
            i % ARRAY_LEN(checks), confined };
        tests[i].name = arena_printf(arena, "%s%s: %s", confined ? "confined, " : "",
                world_names[jobs[i].kind], checks[jobs[i].check].name);
        tests[i].test_func = run_job;
        tests[i].initial_state = &jobs[i];
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* As the worker runs it: nothing but a folder, and only the calls that are let through.
 */
static void confine_to(const char *dir)
{
    struct confine_root root = { open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), true };
    struct confine_request request = { .roots = &root, .root_count = 1 };
    struct confine_status status = { 0 };
    confine_self(&request, &status);
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static int run_confined(void)
{
    char dir[] = "/tmp/vfs-confined-XXXXXX";
    if (!mkdtemp(dir))
        return 1;
    fflush(NULL);
    pid_t child = fork();
    if (!child) {
        setenv("TMPDIR", dir, 1);
        confine_to(dir);
        int failed = run_checks(true);
        fflush(NULL);
        _exit(failed ? 1 : 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return status;
}

int main(void)
{
    return run_checks(false) || run_confined();
}
