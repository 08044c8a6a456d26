/*
 * The nth system call of a replacement fails, for every n and several reasons: either the
 * file is new, or everything is as it was and no temporary file is left.
 *
 * Calls are wrapped by the linker (meson.build).  Removing the temporary file is not made
 * to fail: there is nothing one could do about that.
 */
#include "../unit/vfs-world.h"

#include "edit/edit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

static int countdown; /* 0: no fault is planned */
static int fault_errno;

static bool is_due(void)
{
    if (!countdown || --countdown)
        return false;
    errno = fault_errno;
    return true;
}

#define WRAP(type, call, params, args)                   \
    type __real_##call params;                           \
    type __wrap_##call params;                           \
    type __wrap_##call params                            \
    {                                                    \
        return is_due() ? (type)-1 : __real_##call args; \
    }

WRAP(int, faccessat, (int d, const char *p, int m, int f), (d, p, m, f))
WRAP(int, fallocate64, (int d, int m, off_t a, off_t n), (d, m, a, n))
WRAP(int, fchmod, (int d, mode_t m), (d, m))
WRAP(int, fchown, (int d, uid_t u, gid_t g), (d, u, g))
WRAP(ssize_t, fgetxattr, (int d, const char *k, void *v, size_t n), (d, k, v, n))
WRAP(ssize_t, flistxattr, (int d, char *l, size_t n), (d, l, n))
WRAP(int, fsetxattr, (int d, const char *k, const void *v, size_t n, int f),
        (d, k, v, n, f))
WRAP(int, fstat64, (int d, struct stat *st), (d, st))
WRAP(int, fstatat64, (int d, const char *p, struct stat *st, int f), (d, p, st, f))
WRAP(int, ftruncate64, (int d, off_t n), (d, n))
WRAP(ssize_t, getrandom, (void *p, size_t n, unsigned f), (p, n, f))
WRAP(int, linkat, (int a, const char *p, int b, const char *q, int f), (a, p, b, q, f))
WRAP(int, openat64, (int d, const char *p, int f, mode_t m), (d, p, f, m))
WRAP(ssize_t, pread64, (int d, void *p, size_t n, off_t a), (d, p, n, a))
WRAP(ssize_t, read, (int d, void *p, size_t n), (d, p, n))
WRAP(int, renameat, (int a, const char *p, int b, const char *q), (a, p, b, q))
WRAP(int, renameat2, (int a, const char *p, int b, const char *q, unsigned f),
        (a, p, b, q, f))
WRAP(long, syscall, (long n, long a, long b, long c, long d, long e, long f),
        (n, a, b, c, d, e, f))

/* A disk that fills up writes a part first. */
ssize_t __real_pwrite64(int fd, const void *data, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t at);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t size, off_t at)
{
    if (!countdown || --countdown)
        return __real_pwrite64(fd, data, size, at);
    if (size > 1) {
        countdown = 1; /* the rest fails */
        return __real_pwrite64(fd, data, size / 2, at);
    }
    errno = fault_errno;
    return -1;
}

enum scenario { REPLACE, REPLACE_LINKED, REPLACE_SHORTER, CREATE, EDIT, SCENARIOS };

static int act(struct world *w, enum scenario scenario)
{
    struct edit_request request = { .path = at(w, "f"),
        .shown_path = STR("f"),
        .old_text = STR("old"),
        .new_text = STR("new") };
    struct edit_result result;
    struct str detail;
    struct error err;
    switch (scenario) {
    case REPLACE:
    case REPLACE_LINKED:
        return vfs_replace(w->vfs, at(w, "f"), STR("new content, longer"), 0, NULL);
    case REPLACE_SHORTER:
        return vfs_replace(w->vfs, at(w, "f"), STR("new"), 0, NULL);
    case CREATE:
        return vfs_replace(
                w->vfs, at(w, "n"), STR("new"), VFS_CREATE | VFS_EXCLUSIVE, NULL);
    case EDIT:
        return edit_apply(w->vfs, &request, w->arena, &result, &detail, &err) ? 0 : EIO;
    case SCENARIOS:
        break;
    }
    return EINVAL;
}

static void prepare(struct world *w, enum scenario scenario)
{
    put(w, "f", "old content");
    assert_int_equal(vfs_chmod(w->vfs, at(w, "f"), 0751), 0);
    const char *host = arena_printf(w->arena, "%s/f", w->dir);
    (void)!setxattr(host, "user.kept", "yes", 3, 0); /* where the file system has them */
    if (scenario == REPLACE_LINKED || scenario == REPLACE_SHORTER)
        assert_int_equal(vfs_link(w->vfs, at(w, "f"), at(w, "g")), 0);
}

static void check_afterwards(struct world *w, enum scenario scenario, int error)
{
    static const char *const after[] = { "new content, longer", "new content, longer",
        "new", "old content", "new content" };
    bool linked = scenario == REPLACE_LINKED || scenario == REPLACE_SHORTER;
    assert_content(w, "f", error ? "old content" : after[scenario]);
    assert_int_equal(stat_of(w, "f").mode, 0751);
    assert_int_equal(stat_of(w, "f").nlink, linked ? 2 : 1);
    const char *names = linked ? "f g" : scenario == CREATE && !error ? "f n" : "f";
    assert_string_equal(names_in(w, "."), names);
    char value[8];
    const char *host = arena_printf(w->arena, "%s/f", w->dir);
    ssize_t n = getxattr(host, "user.kept", value, sizeof(value));
    /* EOPNOTSUPP says that the file system has none: then they are not looked for. */
    assert_true(n == 3 || errno == ENOTSUP || fault_errno == EOPNOTSUPP);
}

static void try_all(enum scenario scenario, int why)
{
    for (int n = 1;; n++) {
        struct world *w = world_create(WORLD_LOCAL);
        prepare(w, scenario);
        countdown = n;
        fault_errno = why;
        int error = act(w, scenario);
        bool reached = !countdown;
        countdown = 0;
        check_afterwards(w, scenario, error);
        world_destroy(w);
        if (!reached)
            return;
        assert_true(n < 200);
    }
}

static void test_every_call(void **state)
{
    (void)state;
    static const int reasons[] = { EIO, ENOSPC, EPERM, EACCES, ENOSYS, EINVAL,
        EOPNOTSUPP };
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++) {
        for (int scenario = 0; scenario < SCENARIOS; scenario++)
            try_all((enum scenario)scenario, reasons[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_call) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
