/*
 * The view of files, entered by children as the user who runs this and, for root, as an
 * ordinary user: what shows, what can be changed, and that nothing is left behind.
 */
#include "can-mount.h"
#include "confine/view.h"
#include "scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534

/* In a folder for each test: ws is writable but for a few things in it. */
struct fixture {
    char folder[64], ws[80], outside[80];
    bool as_user;
};

static void write_file(const char *folder, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void make_folder(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0755), 0);
}

static void run_in(const char *folder, const char *script)
{
    char command[1024];
    snprintf(command, sizeof(command), "cd '%s' && %s", folder, script);
    assert_int_equal(system(command), 0);
}

static int set_up(struct fixture *f, const char *template)
{
    snprintf(f->folder, sizeof(f->folder), "%s", template);
    scratch_make(f->folder);
    assert_int_equal(chmod(f->folder, 0755), 0);
    snprintf(f->ws, sizeof(f->ws), "%s/ws", f->folder);
    snprintf(f->outside, sizeof(f->outside), "%s/outside", f->folder);
    make_folder(f->folder, "ws");
    make_folder(f->folder, "outside");
    write_file(f->outside, "file", "outside");
    make_folder(f->ws, ".git");
    write_file(f->ws, ".git/config", "config");
    make_folder(f->ws, "deep");
    make_folder(f->ws, "deep/scripts");
    write_file(f->ws, "deep/scripts/run", "run");
    make_folder(f->ws, "secret");
    write_file(f->ws, "secret/key", "key");
    write_file(f->ws, ".env", "env");
    if (f->as_user)
        run_in(f->folder, "chown -R 65534:65534 .");
    return 0;
}

static int tear_down(struct fixture *f)
{
    scratch_remove(f->folder);
    return 0;
}

static const char *at(const struct fixture *f, const char *name)
{
    static char path[4][256];
    static unsigned next;
    char *out = path[next++ % ARRAY_LEN(path)];
    snprintf(out, sizeof(path[0]), "%s/%s", f->folder, name);
    return out;
}

#define PATHS 6
static void name_paths(const struct fixture *f, struct view_path *paths)
{
    static char names[PATHS][256];
    static const struct view_path relative[PATHS] = { { VIEW_WRITABLE, "ws" },
        { VIEW_READ_ONLY, "ws/.git" }, { VIEW_READ_ONLY, "ws/deep/scripts" },
        { VIEW_HIDDEN, "ws/secret" }, { VIEW_HIDDEN, "ws/.env" },
        { VIEW_READ_ONLY, "ws/not-there" } };
    for (size_t i = 0; i < PATHS; i++) {
        snprintf(names[i], sizeof(names[i]), "%s/%s", f->folder, relative[i].path);
        paths[i] = (struct view_path){ relative[i].rule, names[i] };
    }
}

static void become_user(const struct fixture *f)
{
    if (!f->as_user)
        return;
    if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
            setresuid(NOBODY, NOBODY, NOBODY))
        _exit(90);
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* as after execve() */
}

/* 0: it held; else the line that did not. */
typedef int attempt_fn(const struct fixture *f);

static void check_in_view(
        const struct fixture *f, const struct view_request *wanted, attempt_fn *attempt)
{
    struct view_path paths[PATHS];
    struct view_request request = *wanted;
    name_paths(f, paths);
    request.paths = paths;
    request.path_count = PATHS;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        struct view_status status;
        become_user(f);
        view_enter(&request, &status);
        if (status.failed)
            fprintf(stderr, "%s: %s\n", status.failed, strerror(status.error));
        if (status.error || status.is_partial || status.hidden != 2 ||
                status.read_only != 3)
            _exit(91);
        int line = attempt(f);
        if (line)
            fprintf(stderr, "line %d: %s\n", line, strerror(errno));
        _exit(line ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#define HOLDS(condition)     \
    do {                     \
        if (!(condition))    \
            return __LINE__; \
    } while (0)
#define FAILS(call, error) HOLDS((call) < 0 && errno == (error))

static int open_for(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd;
}

static int works_in_it(const struct fixture *f)
{
    HOLDS(open_for(at(f, "ws/new"), O_WRONLY | O_CREAT) >= 0);
    HOLDS(!rename(at(f, "ws/new"), at(f, "ws/moved")));
    HOLDS(!mkdir(at(f, "ws/deep/new"), 0755));
    HOLDS(!rmdir(at(f, "ws/deep/new")));
    HOLDS(!chmod(at(f, "ws/moved"), 0700));
    HOLDS(!unlink(at(f, "ws/moved")));
    HOLDS(open_for(at(f, "ws/.git/config"), O_RDONLY) >= 0);
    HOLDS(open_for("/dev/null", O_WRONLY) >= 0);
    return 0;
}

static int outside_is_read_only(const struct fixture *f)
{
    HOLDS(open_for(at(f, "outside/file"), O_RDONLY) >= 0);
    FAILS(open_for(at(f, "outside/file"), O_WRONLY), EROFS);
    FAILS(open_for(at(f, "outside/new"), O_WRONLY | O_CREAT), EROFS);
    FAILS(mkdir(at(f, "new"), 0755), EROFS);
    FAILS(chmod(at(f, "outside/file"), 0700), EROFS);
    FAILS(truncate(at(f, "outside/file"), 0), EROFS);
    FAILS(unlink(at(f, "outside/file")), EROFS);
    HOLDS(rename(at(f, "ws"), at(f, "other")) < 0);
    FAILS(link(at(f, "outside/file"), at(f, "ws/link")), EXDEV);
    return 0;
}

static int protected_is_read_only(const struct fixture *f)
{
    FAILS(open_for(at(f, "ws/.git/config"), O_WRONLY), EROFS);
    FAILS(open_for(at(f, "ws/.git/new"), O_WRONLY | O_CREAT), EROFS);
    FAILS(chmod(at(f, "ws/.git/config"), 0777), EROFS);
    FAILS(utimensat(AT_FDCWD, at(f, "ws/.git/config"), NULL, 0), EROFS);
    FAILS(unlink(at(f, "ws/.git/config")), EROFS);
    FAILS(rename(at(f, "ws/.git"), at(f, "ws/x")), EBUSY);
    FAILS(rmdir(at(f, "ws/.git")), EBUSY);
    FAILS(rename(at(f, "ws/.git/config"), at(f, "ws/x")), EXDEV);
    FAILS(link(at(f, "ws/.git/config"), at(f, "ws/x")), EXDEV);
    FAILS(rename(at(f, "ws/deep"), at(f, "ws/x")), EBUSY);
    FAILS(rename(at(f, "ws/deep/scripts"), at(f, "ws/x")), EXDEV);
    FAILS(open_for(at(f, "ws/deep/scripts/run"), O_WRONLY), EROFS);
    HOLDS(!symlink(".git/config", at(f, "ws/link")));
    FAILS(open_for(at(f, "ws/link"), O_WRONLY), EROFS);
    HOLDS(!unlink(at(f, "ws/link")));
    return 0;
}

static int hidden_is_hidden(const struct fixture *f)
{
    HOLDS(open_for(at(f, "ws/secret/key"), O_RDONLY) < 0);
    FAILS(open_for(at(f, "ws/.env"), O_RDONLY), EACCES);
    FAILS(open_for(at(f, "ws/.env"), O_WRONLY), EACCES);
    FAILS(rename(at(f, "ws/.env"), at(f, "ws/x")), EBUSY);
    FAILS(unlink(at(f, "ws/.env")), EBUSY);
    FAILS(rename(at(f, "ws/secret"), at(f, "ws/x")), EBUSY);
    FAILS(chmod(at(f, "ws/.env"), 0777), EROFS);
    FAILS(link(at(f, "ws/.env"), at(f, "ws/x")), EXDEV);
    struct stat st;
    char root[256];
    snprintf(root, sizeof(root), "/proc/self/root%s", at(f, "ws/secret/key"));
    HOLDS(stat(root, &st) < 0);
    return 0;
}

/* Nor by a namespace within: what was mounted before is locked there. */
static int cannot_be_undone(const struct fixture *f)
{
    /* As root this is for the capabilities to prevent, which are dropped later. */
    if (!f->as_user || unshare(CLONE_NEWUSER | CLONE_NEWNS))
        return 0;
    FAILS(umount2(at(f, "ws/.git"), MNT_DETACH), EINVAL);
    FAILS(umount2(at(f, "ws/secret"), MNT_DETACH), EINVAL);
    HOLDS(mount(NULL, at(f, "ws/.git"), NULL, MS_REMOUNT | MS_BIND, NULL) < 0);
    HOLDS(mount(at(f, "ws"), "/mnt", NULL, MS_BIND, NULL) < 0);
    HOLDS(mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL) < 0);
    return 0;
}

static int tmp_is_private(const struct fixture *f)
{
    struct stat st;
    HOLDS(!stat("/tmp", &st) && (st.st_mode & 07777) == 01777);
    HOLDS(open_for("/tmp/paddock-view-canary", O_WRONLY | O_CREAT) >= 0);
    HOLDS(open_for("/var/tmp/paddock-view-canary", O_WRONLY | O_CREAT) >= 0);
    HOLDS(open_for("/dev/shm/paddock-view-canary", O_WRONLY | O_CREAT) >= 0);
    FAILS(stat(at(f, "outside"), &st), ENOENT);
    HOLDS(!stat(at(f, "ws/deep/scripts/run"), &st));
    return works_in_it(f);
}

static int tmp_is_bounded(const struct fixture *f UNUSED)
{
    char block[65536] = { 0 };
    auto_fd int fd = open("/tmp/big", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    HOLDS(fd >= 0);
    for (int i = 0; i < 20; i++)
        if (write(fd, block, sizeof(block)) < 0)
            return errno == ENOSPC ? 0 : __LINE__;
    return __LINE__;
}

static int run_is_private(const struct fixture *f UNUSED)
{
    static const char *const kept[] = { ".", "..", "NetworkManager", "current-system",
        "resolvconf", "systemd" };
    DIR *dir = opendir("/run");
    HOLDS(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        size_t i = 0;
        while (i < ARRAY_LEN(kept) && strcmp(kept[i], entry->d_name))
            i++;
        HOLDS(i < ARRAY_LEN(kept));
    }
    closedir(dir);
    return 0;
}

static int network_is_empty(const struct fixture *f UNUSED)
{
    char text[4096] = "";
    auto_fd int fd = open("/proc/net/dev", O_RDONLY | O_CLOEXEC);
    HOLDS(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
    HOLDS(!strstr(text, "eth") && strstr(text, "lo:"));
    return 0;
}

static void check_all(struct fixture *f, const char *template)
{
    static attempt_fn *const attempts[] = { works_in_it, outside_is_read_only,
        protected_is_read_only, hidden_is_hidden, cannot_be_undone };
    if (!can_mount(f->as_user ? NOBODY : geteuid()))
        skip();
    set_up(f, template);
    const struct view_request plain = { .no_network = false };
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++)
        check_in_view(f, &plain, attempts[i]);
    const struct view_request private = {
        .private_tmp = true, .private_run = true, .no_network = true, .tmp_bytes = 1 << 20
    };
    check_in_view(f, &private, protected_is_read_only);
    check_in_view(f, &private, hidden_is_hidden);
    check_in_view(f, &private, tmp_is_bounded);
    check_in_view(f, &private, run_is_private);
    check_in_view(f, &private, network_is_empty);
    if (!strncmp(template, "/tmp/", 5))
        check_in_view(f, &private, tmp_is_private);
    /* Nothing has come, nothing has gone. */
    run_in(f->folder,
            "test \"$(find . | sort | tr '\\n' ' ')\" = '. ./outside ./outside/file ./ws "
            "./ws/.env ./ws/.git ./ws/.git/config ./ws/deep ./ws/deep/scripts "
            "./ws/deep/scripts/run ./ws/secret ./ws/secret/key '");
    tear_down(f);
}

static void test_as_ourselves(void **state UNUSED)
{
    struct fixture f = { .as_user = false };
    check_all(&f, "/tmp/paddock-view-XXXXXX");
}

static void test_as_user(void **state UNUSED)
{
    struct fixture f = { .as_user = true };
    if (geteuid())
        skip();
    check_all(&f, "/tmp/paddock-view-XXXXXX");
}

static void test_elsewhere(void **state UNUSED)
{
    struct fixture f = { .as_user = !geteuid() };
    if (access("/var/lib", W_OK))
        skip();
    check_all(&f, "/var/lib/paddock-view-XXXXXX");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_ourselves),
        cmocka_unit_test(test_as_user),
        cmocka_unit_test(test_elsewhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
