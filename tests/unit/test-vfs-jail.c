/*
 * Roads out of a host folder and to denied names, tried on a real tree with secrets
 * beside it, also while another thread swaps links and directories.
 */
#include "base/budget.h"
#include "vfs-world.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The world's folder is `dir`; the secret lies in `dir`-outside. */
struct jail {
    struct world *w;
    char outside[96];
    int dir_fd, outside_fd;
};

static void write_host(int dir, const char *path, const char *content)
{
    int fd = openat(dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (int)strlen(content));
    close(fd);
}

static struct jail *jail_create(enum world_kind kind)
{
    struct jail *j = xcalloc(1, sizeof(*j));
    j->w = world_create(kind);
    snprintf(j->outside, sizeof(j->outside), "%s-outside", j->w->dir);
    assert_int_equal(mkdir(j->outside, 0755), 0);
    j->dir_fd = open(j->w->dir, O_RDONLY | O_DIRECTORY);
    j->outside_fd = open(j->outside, O_RDONLY | O_DIRECTORY);
    write_host(j->outside_fd, "secret", "SECRET");
    return j;
}

static void jail_destroy(struct jail *j)
{
    unlinkat(j->outside_fd, "secret", 0);
    close(j->dir_fd);
    close(j->outside_fd);
    /* Fails if anything was made there: nothing ever may. */
    assert_int_equal(rmdir(j->outside), 0);
    world_destroy(j->w);
    free(j);
}

static void host_link(struct jail *j, const char *target, const char *path)
{
    assert_int_equal(symlinkat(target, j->dir_fd, path), 0);
}

static void check_refused(struct jail *j, const char *path)
{
    struct world *w = j->w;
    struct vfs_stat st;
    struct vpath p = at(w, path);
    struct vfs_entry *entries;
    size_t count;
    assert_int_equal(vfs_stat(w->vfs, p, VFS_FOLLOW, &st), EACCES);
    assert_int_equal(vfs_access(w->vfs, p, R_OK), EACCES);
    assert_int_equal(open_error(w, path, VFS_READ), EACCES);
    assert_int_equal(open_error(w, path, VFS_WRITE | VFS_CREATE | VFS_TRUNCATE), EACCES);
    assert_int_equal(vfs_list(w->vfs, p, w->arena, &entries, &count), EACCES);
    assert_int_equal(vfs_chmod(w->vfs, p, 0777), EACCES);
    assert_int_equal(vfs_set_times(w->vfs, p, VFS_FOLLOW, 1, 1), EACCES);
    assert_int_equal(vfs_replace(w->vfs, p, STR("x"), VFS_CREATE, NULL), EACCES);
    const char *below = arena_printf(w->arena, "%s/new", path);
    assert_int_equal(open_error(w, below, VFS_WRITE | VFS_CREATE), EACCES);
    assert_int_equal(vfs_mkdir(w->vfs, at(w, below), 0777), EACCES);
    assert_int_equal(vfs_unlink(w->vfs, at(w, below)), EACCES);
    assert_int_equal(vfs_symlink(w->vfs, STR("x"), at(w, below)), EACCES);
    assert_int_equal(vfs_rename(w->vfs, at(w, "own"), at(w, below)), EACCES);
    assert_int_equal(vfs_link(w->vfs, at(w, "own"), at(w, below)), EACCES);
}

static void test_links_out(void **state)
{
    struct jail *j = jail_create(*(enum world_kind *)*state);
    struct world *w = j->w;
    put(w, "own", "mine");
    make_dir(w, "d");
    static const char *const up[] = { "..", "../..", "d/../..", "./../x", "/", "/etc",
        "/proc/self/root", "d/../../../../../../etc/passwd" };
    for (size_t i = 0; i < ARRAY_LEN(up); i++) {
        const char *name = arena_printf(w->arena, "up%zu", i);
        host_link(j, up[i], name);
        check_refused(j, name);
    }
    host_link(j, j->outside, "abs");
    check_refused(j, "abs");
    check_refused(j, "abs/secret");
    host_link(j, arena_printf(w->arena, "..%s", strrchr(j->outside, '/')), "rel");
    check_refused(j, "rel");
    check_refused(j, "rel/secret");
    host_link(j, "rel", "rel2");
    check_refused(j, "rel2/secret");
    host_link(j, "../rel", "d/rel3");
    check_refused(j, "d/rel3/secret");
    /* The link itself is an entry like others. */
    assert_int_equal(lstat_of(w, "abs").type, VFS_LINK);
    assert_int_equal(vfs_unlink(w->vfs, at(w, "abs")), 0);
    jail_destroy(j);
}

static void test_absolute_links_inside(void **state)
{
    struct jail *j = jail_create(*(enum world_kind *)*state);
    struct world *w = j->w;
    make_dir(w, "d");
    put(w, "d/f", "inside");
    put(w, "own", "");
    host_link(j, arena_printf(w->arena, "%s/d", w->dir), "abs");
    host_link(j, arena_printf(w->arena, "/%s//./d/f", w->dir), "odd");
    host_link(j, w->dir, "root");
    host_link(j, arena_printf(w->arena, "%s/../x", w->dir), "up");
    assert_content(w, "abs/f", "inside");
    assert_content(w, "odd", "inside");
    assert_content(w, "root/root/d/f", "inside");
    check_refused(j, "up");
    jail_destroy(j);
}

static void test_denied_through_links(void **state)
{
    struct jail *j = jail_create(*(enum world_kind *)*state);
    struct world *w = j->w;
    put(w, "own", "");
    make_dir(w, "d");
    mkdirat(j->dir_fd, "d/.Git", 0755);
    write_host(j->dir_fd, "d/.Git/config", "C");
    write_host(j->dir_fd, ".ENV", "E");
    host_link(j, ".ENV", "l1");
    host_link(j, arena_printf(w->arena, "%s/.ENV", w->dir), "l2");
    host_link(j, "d/.Git/config", "l3");
    host_link(j, "d/.Git/../../own", "l4");
    host_link(j, "l1", "l5");
    host_link(j, "d/.Git", "l6");
    static const char *const paths[] = { "l1", "l2", "l3", "l4", "l5", "l6", "l6/config",
        "d/.Git/../../own", "d/.git", ".env" };
    for (size_t i = 0; i < ARRAY_LEN(paths); i++)
        check_refused(j, paths[i]);
    assert_string_equal(names_in(w, "d"), "");
    assert_string_equal(names_in(w, "."), "d l1 l2 l3 l4 l5 l6 own");
    assert_int_equal(vfs_check_tree(w->vfs, at(w, "d"), VFS_TREE_CHANGE), EACCES);
    assert_string_equal(raw_content(w, ".ENV"), "E");
    assert_string_equal(raw_content(w, "d/.Git/config"), "C");
    jail_destroy(j);
}

static void test_special_files(void **state)
{
    struct jail *j = jail_create(*(enum world_kind *)*state);
    struct world *w = j->w;
    assert_int_equal(mkfifoat(j->dir_fd, "pipe", 0666), 0);
    assert_int_equal(mknodat(j->dir_fd, "socket", S_IFSOCK | 0666, 0), 0);
    static const char *const paths[] = { "pipe", "socket", "zero" };
    /* Only root may make a device. */
    bool device = !mknodat(j->dir_fd, "zero", S_IFCHR | 0666, (1 << 8) | 5);
    for (size_t i = 0; i < ARRAY_LEN(paths) - !device; i++) {
        int append = VFS_WRITE | VFS_APPEND | VFS_CREATE;
        int error = open_error(w, paths[i], VFS_READ);
        assert_true(error == EOPNOTSUPP || (device && i == 2));
        error = open_error(w, paths[i], (enum vfs_open_flags)append);
        assert_int_equal(error, EOPNOTSUPP);
        assert_int_equal(vfs_replace(w->vfs, at(w, paths[i]), STR("x"), VFS_CREATE, NULL),
                EOPNOTSUPP);
        assert_int_not_equal(stat_of(w, paths[i]).type, VFS_FILE);
        assert_int_equal(vfs_unlink(w->vfs, at(w, paths[i])), 0);
    }
    jail_destroy(j);
}

/* Another program that swaps what a name means, as fast as it can. */
struct flipper {
    struct jail *j;
    const char *name, *other;
    atomic_bool stop;
    pthread_t thread;
};

static void *flip(void *p)
{
    struct flipper *f = p;
    int fd = f->j->dir_fd;
    while (!atomic_load(&f->stop))
        syscall(SYS_renameat2, fd, f->name, fd, f->other, 2 /* RENAME_EXCHANGE */);
    return NULL;
}

static void flipper_start(struct flipper *f)
{
    atomic_init(&f->stop, false);
    assert_int_equal(pthread_create(&f->thread, NULL, flip, f), 0);
}

static void flipper_stop(struct flipper *f)
{
    atomic_store(&f->stop, true);
    pthread_join(f->thread, NULL);
}

static bool time_is_up(const struct timespec *begin, int ms)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - begin->tv_sec) * 1000 +
                   (now.tv_nsec - begin->tv_nsec) / 1000000 >=
           ms;
}

/* Everything that could touch `s/...` while `s` flips between a directory and a link. */
static void use_swapped(struct world *w)
{
    struct vfs_stat st;
    assert_null(strstr(content_of(w, "s/secret"), "SECRET"));
    (void)open_error(w, "s/new", VFS_WRITE | VFS_CREATE);
    int error = vfs_mkdir(w->vfs, at(w, "s/dir"), 0777);
    error = vfs_symlink(w->vfs, STR("x"), at(w, "s/link"));
    error = vfs_link(w->vfs, at(w, "own"), at(w, "s/hard"));
    error = vfs_rename(w->vfs, at(w, "s/new"), at(w, "s/moved"));
    error = vfs_replace(w->vfs, at(w, "s/secret"), STR("mine"), VFS_CREATE, NULL);
    error = vfs_chmod(w->vfs, at(w, "s/secret"), 0600);
    error = vfs_set_times(w->vfs, at(w, "s/secret"), VFS_FOLLOW, 1, 1);
    error = vfs_stat(w->vfs, at(w, "s/secret"), VFS_FOLLOW, &st);
    if (!error)
        assert_int_not_equal(st.size, strlen("SECRET"));
    static const char *const made[] = { "s/new", "s/moved", "s/link", "s/hard" };
    for (size_t i = 0; i < ARRAY_LEN(made); i++)
        error = vfs_unlink(w->vfs, at(w, made[i]));
    error = vfs_rmdir(w->vfs, at(w, "s/dir"));
    (void)error;
}

static void test_race_of_directory(void **state)
{
    struct jail *j = jail_create(*(enum world_kind *)*state);
    struct world *w = j->w;
    put(w, "own", "mine");
    make_dir(w, "s");
    put(w, "s/secret", "mine");
    host_link(j, j->outside, "alt");
    struct stat before, after;
    assert_int_equal(fstatat(j->outside_fd, "secret", &before, 0), 0);
    struct flipper f = { .j = j, .name = "s", .other = "alt" };
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    flipper_start(&f);
    while (!time_is_up(&begin, 300)) {
        struct arena_mark mark = arena_mark(w->arena);
        use_swapped(w);
        arena_rewind(w->arena, mark);
    }
    flipper_stop(&f);
    assert_int_equal(fstatat(j->outside_fd, "secret", &after, 0), 0);
    assert_int_equal(before.st_mode, after.st_mode);
    assert_int_equal(before.st_ctim.tv_nsec, after.st_ctim.tv_nsec);
    assert_int_equal(before.st_nlink, after.st_nlink);
    jail_destroy(j);
}

/* A link that flips between an open file, a denied one and one outside. */
static void test_race_of_links(void **state)
{
    struct jail *j = jail_create(*(enum world_kind *)*state);
    struct world *w = j->w;
    put(w, "open", "open");
    write_host(j->dir_fd, ".env", "SECRET");
    host_link(j, "open", "a");
    host_link(j, ".env", "b");
    host_link(j, arena_printf(w->arena, "%s/secret", j->outside), "c");
    static const char *const others[] = { "b", "c", "open" };
    size_t reads = 0;
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        struct flipper f = { .j = j, .name = "a", .other = others[i] };
        struct timespec begin;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        flipper_start(&f);
        while (!time_is_up(&begin, 100)) {
            struct arena_mark mark = arena_mark(w->arena);
            const char *content = content_of(w, "a");
            assert_null(strstr(content, "SECRET"));
            reads += !strcmp(content, "open");
            arena_rewind(w->arena, mark);
        }
        flipper_stop(&f);
    }
    assert_true(reads > 0);
    jail_destroy(j);
}

/* What permission bits forbid is forbidden to us too (root is above them). */
static void check_as_user(struct world *w)
{
    put(w, "r", "content");
    assert_int_equal(vfs_chmod(w->vfs, at(w, "r"), 0444), 0);
    assert_int_equal(vfs_access(w->vfs, at(w, "r"), W_OK), EACCES);
    assert_int_equal(open_error(w, "r", VFS_WRITE), EACCES);
    assert_int_equal(vfs_replace(w->vfs, at(w, "r"), STR("x"), VFS_CREATE, NULL), EACCES);
    assert_content(w, "r", "content");
    assert_int_equal(vfs_chmod(w->vfs, at(w, "r"), 0), 0);
    assert_int_equal(open_error(w, "r", VFS_READ), EACCES);
    assert_int_equal(vfs_chmod(w->vfs, at(w, "r"), 0644), 0);
    /* A directory that may not be written: the file is rewritten in place. */
    make_dir(w, "d");
    put(w, "d/f", "old");
    assert_int_equal(vfs_chmod(w->vfs, at(w, "d"), 0555), 0);
    uint64_t ino = stat_of(w, "d/f").ino;
    assert_int_equal(vfs_replace(w->vfs, at(w, "d/f"), STR("longer"), 0, NULL), 0);
    assert_content(w, "d/f", "longer");
    assert_int_equal(stat_of(w, "d/f").ino, ino);
    assert_int_equal(open_error(w, "d/new", VFS_WRITE | VFS_CREATE), EACCES);
    assert_int_equal(vfs_chmod(w->vfs, at(w, "d"), 0755), 0);
}

static void test_as_ordinary_user(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
            _exit(3);
        struct world *w = world_create(WORLD_LOCAL);
        check_as_user(w);
        world_destroy(w);
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* A directory of a slow store may take longer than the whole call. */
static void test_list_ends_with_its_call(void **state)
{
    volatile sig_atomic_t alarm = BUDGET_OK;
    struct budget budget = { .steps = 1000, .max_steps = 1000, .alarm = &alarm };
    struct jail *j = jail_create(*(enum world_kind *)*state);
    struct vfs_entry *entries;
    size_t count = 0;
    write_host(j->dir_fd, "a", "a");
    vfs_set_budget(j->w->vfs, &budget);
    assert_int_equal(
            vfs_list(j->w->vfs, at(j->w, "."), j->w->arena, &entries, &count), 0);
    assert_int_equal(count, 1);
    alarm = BUDGET_TIME;
    assert_int_equal(
            vfs_list(j->w->vfs, at(j->w, "."), j->w->arena, &entries, &count), ECANCELED);
    vfs_set_budget(j->w->vfs, NULL);
    unlinkat(j->dir_fd, "a", 0);
    jail_destroy(j);
}

int main(void)
{
    static enum world_kind kernel = WORLD_LOCAL, steps = WORLD_LOCAL_STEPS,
                           mounted = WORLD_LOCAL_MOUNTED;
#define ON(test, kind)                                \
    {                                                 \
#test " (" #kind ")", test, NULL, NULL, &kind \
    }
#define ON_ALL(test) ON(test, kernel), ON(test, steps), ON(test, mounted)
    const struct CMUnitTest tests[] = {
        ON_ALL(test_links_out),
        ON_ALL(test_absolute_links_inside),
        ON_ALL(test_denied_through_links),
        ON_ALL(test_special_files),
        ON_ALL(test_list_ends_with_its_call),
        ON_ALL(test_race_of_directory),
        ON_ALL(test_race_of_links),
        cmocka_unit_test(test_as_ordinary_user),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
