/*
 * A worker with the view of the whole machine that has been taken over: raw system calls
 * in a process that is confined as a worker is.  Whatever it tries, as root and as an
 * ordinary user, afterwards every protected file is what it was and no secret was read.
 */
#include "base/json.h"
#include "can-mount.h"
#include "machine.h"
#include "worker/view.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534

/* Run in the confined process; true: it worked. */
typedef bool attempt_fn(const struct machine *m);

static bool reads(const char *path)
{
    char text[64];
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, text, sizeof(text)) > 0;
}

static bool writes(const char *path, int flags)
{
    auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC | flags, 0644);
    return fd >= 0 && write(fd, "x", 1) == 1;
}

#define READS(fn, name)                        \
    static bool fn(const struct machine *m)    \
    {                                          \
        return reads(machine_path(m, (name))); \
    }
#define WRITES(fn, name, flags)                          \
    static bool fn(const struct machine *m)              \
    {                                                    \
        return writes(machine_path(m, (name)), (flags)); \
    }
#define MOVES(fn, from, to)                                                          \
    static bool fn(const struct machine *m)                                          \
    {                                                                                \
        return !renameat(                                                            \
                AT_FDCWD, machine_path(m, (from)), AT_FDCWD, machine_path(m, (to))); \
    }
#define LINKS(fn, from, to)                                                             \
    static bool fn(const struct machine *m)                                             \
    {                                                                                   \
        return !linkat(                                                                 \
                AT_FDCWD, machine_path(m, (from)), AT_FDCWD, machine_path(m, (to)), 0); \
    }

READS(read_ssh_key, "home/.ssh/key")
READS(read_npmrc, "home/.npmrc")
READS(read_aws, "home/.aws/credentials")
WRITES(write_outside, "out/f.txt", O_TRUNC)
WRITES(create_outside, "out/new", O_CREAT)
WRITES(write_behind_link, "ws/link/new", O_CREAT)
WRITES(write_home, "home/new", O_CREAT)
WRITES(write_git_config, "ws/.git/config", O_TRUNC)
WRITES(create_in_git, "ws/.git/commondir", O_CREAT)
WRITES(write_policy, "ws/.pyddock/pyddock.toml", O_TRUNC)
WRITES(create_override, "ws/.pyddock/pyddock.override.toml", O_CREAT)
WRITES(write_script, "ws/tools/jobs/run.sh", O_TRUNC)
WRITES(create_script, "ws/tools/jobs/new.sh", O_CREAT)
WRITES(write_settings, "ws/.kiro/settings/mcp.json", O_TRUNC)
MOVES(move_git, "ws/.git", "ws/old")
MOVES(move_policy, "ws/.pyddock", "ws/old")
MOVES(move_scripts, "ws/tools/jobs", "ws/old")
MOVES(move_above_scripts, "ws/tools", "ws/old")
MOVES(move_above_settings, "ws/.kiro", "ws/old")
MOVES(move_over_config, "ws/a.txt", "ws/.git/config")
LINKS(link_config, "ws/.git/config", "ws/config2")
LINKS(link_script, "ws/tools/jobs/run.sh", "ws/run2")

READS(read_nested_npmrc, "ws/nested/.npmrc")
READS(read_device, "out/zero")
WRITES(write_nested_config, "ws/nested/.git/config", O_TRUNC)
WRITES(create_in_nested, "ws/nested/.git/commondir", O_CREAT)
WRITES(write_fifo, "out/fifo", O_NONBLOCK)
MOVES(move_nested, "ws/nested/.git", "ws/old")
MOVES(move_above_nested, "ws/nested", "ws/old")

/* One in the place of the other. */
static bool exchange_scripts(const struct machine *m)
{
    return !syscall(SYS_renameat2, AT_FDCWD, machine_path(m, "ws/tools"), AT_FDCWD,
            machine_path(m, "ws/sub"), RENAME_EXCHANGE);
}

/* A file without a name that gets one. */
static bool link_nameless(const struct machine *m)
{
    char path[64];
    auto_fd int fd =
            open(machine_path(m, "ws/sub"), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0644);
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return fd >= 0 && !linkat(AT_FDCWD, path, AT_FDCWD,
                              machine_path(m, "ws/.git/commondir"), AT_SYMLINK_FOLLOW);
}

static bool change_times_outside(const struct machine *m)
{
    auto_fd int fd = open(machine_path(m, "out/f.txt"), O_RDONLY | O_CLOEXEC);
    return fd >= 0 && !futimens(fd, NULL);
}

static bool change_attributes_outside(const struct machine *m)
{
    auto_fd int fd = open(machine_path(m, "out/f.txt"), O_RDONLY | O_CLOEXEC);
    return fd >= 0 && !fsetxattr(fd, "user.x", "x", 1, 0);
}

/* Opened for writing is enough: what is written there holds for the whole machine. */
static bool open_setting(const struct machine *m UNUSED)
{
    auto_fd int fd = open("/proc/sys/kernel/hostname", O_WRONLY | O_CLOEXEC);
    return fd >= 0 || !faccessat(AT_FDCWD, "/sys", W_OK, 0);
}

static bool remove_script(const struct machine *m)
{
    return !unlinkat(AT_FDCWD, machine_path(m, "ws/tools/jobs/run.sh"), 0);
}

static bool change_mode(const struct machine *m)
{
    auto_fd int fd = open(machine_path(m, "ws/.git/config"), O_RDONLY | O_CLOEXEC);
    return fd >= 0 && !fchmod(fd, 0777);
}

static bool change_mode_outside(const struct machine *m)
{
    auto_fd int fd = open(machine_path(m, "out/f.txt"), O_RDONLY | O_CLOEXEC);
    return fd >= 0 && !fchmod(fd, 0777);
}

static bool read_server(const struct machine *m UNUSED)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/environ", getppid());
    return reads(path);
}

static bool read_memory_of_server(const struct machine *m UNUSED)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/maps", getppid());
    return reads(path);
}

static bool look_around_by_server(const struct machine *m)
{
    char path[256];
    snprintf(path, sizeof(path), "/proc/%d/root%s", getppid(),
            machine_path(m, "home/.ssh/key"));
    return reads(path);
}

static bool unmount(const struct machine *m)
{
    return !umount2(machine_path(m, "ws/.git"), MNT_DETACH);
}

static bool mount_again(const struct machine *m)
{
    return !mount(NULL, machine_path(m, "ws/.git"), NULL, MS_REMOUNT | MS_BIND, NULL);
}

static bool make_namespace(const struct machine *m UNUSED)
{
    return !unshare(CLONE_NEWUSER | CLONE_NEWNS);
}

static bool open_disk(const struct machine *m UNUSED)
{
    DIR *dir = opendir("/dev");
    size_t count = 0;
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count > 2;
}

static const struct {
    const char *name;
    attempt_fn *run;
} attempts[] = {
    { "read ~/.ssh/key", read_ssh_key },
    { "read ~/.npmrc", read_npmrc },
    { "read ~/.aws/credentials", read_aws },
    { "write outside", write_outside },
    { "create outside", create_outside },
    { "write behind a link", write_behind_link },
    { "write in HOME", write_home },
    { "write .git/config", write_git_config },
    { "create .git/commondir", create_in_git },
    { "write the policy", write_policy },
    { "create an overlay", create_override },
    { "write a script", write_script },
    { "create a script", create_script },
    { "remove a script", remove_script },
    { "write .kiro/settings", write_settings },
    { "move .git", move_git },
    { "move .pyddock", move_policy },
    { "move the scripts", move_scripts },
    { "move what is above the scripts", move_above_scripts },
    { "move what is above the settings", move_above_settings },
    { "move over .git/config", move_over_config },
    { "link .git/config", link_config },
    { "link a script", link_script },
    { "read .npmrc in a folder", read_nested_npmrc },
    { "write .git/config of another repository", write_nested_config },
    { "create in another repository", create_in_nested },
    { "move .git of another repository", move_nested },
    { "move another repository", move_above_nested },
    { "exchange what is above the scripts", exchange_scripts },
    { "link a nameless file into .git", link_nameless },
    { "read a device outside", read_device },
    { "write to a FIFO outside", write_fifo },
    { "change the times outside", change_times_outside },
    { "change the attributes outside", change_attributes_outside },
    { "open a setting of the kernel", open_setting },
    { "change the mode of .git/config", change_mode },
    { "change the mode outside", change_mode_outside },
    { "read the environment of the server", read_server },
    { "read the maps of the server", read_memory_of_server },
    { "look through the eyes of the server", look_around_by_server },
    { "unmount", unmount },
    { "remount", mount_again },
    { "make a namespace", make_namespace },
    { "see devices", open_disk },
};

/* What must go on working. */
READS(read_workspace, "ws/a.txt")
READS(read_env, "ws/.env")
READS(read_git, "ws/.git/config")
READS(read_public, "home/public.txt")
READS(read_outside, "out/f.txt")
WRITES(write_workspace, "ws/a.txt", O_TRUNC)
WRITES(create_in_workspace, "ws/new", O_CREAT)
WRITES(create_beside_scripts, "ws/tools/new", O_CREAT)
WRITES(create_in_tmp, "ws/.pyddock/tmp/new", O_CREAT)
MOVES(move_in_workspace, "ws/a.txt", "ws/sub/b.txt")

static bool read_system(const struct machine *m UNUSED)
{
    return reads("/etc/passwd");
}

static const struct {
    const char *name;
    attempt_fn *run;
} works[] = {
    { "read in the workspace", read_workspace },
    { "read .env of the workspace", read_env },
    { "read .git/config", read_git },
    { "read in HOME", read_public },
    { "read outside", read_outside },
    { "read /etc/passwd", read_system },
    { "write in the workspace", write_workspace },
    { "create in the workspace", create_in_workspace },
    { "create beside the scripts", create_beside_scripts },
    { "create in .pyddock/tmp", create_in_tmp },
    { "move in the workspace", move_in_workspace },
};

/* A program that was started anew may map itself into a user namespace; one that has only
 * changed its user may not. */
static bool become(uid_t user)
{
    return user == geteuid() ||
           (!setgroups(0, NULL) && !setresgid(user, user, user) &&
                   !setresuid(user, user, user) && !prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

/* What a worker does before its first call. */
static bool confine(const struct machine *m, struct confine_status *status)
{
    struct error err = { 0 };
    static struct view view; /* it lives as long as the process */
    struct setup_root root = {
        .at = STR("/"), .kind = SETUP_LOCAL, .host_path = STR("/")
    };
    root.fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct setup *setup = arena_zalloc(m->arena, sizeof(*setup));
    struct setup_root *roots = arena_zalloc(m->arena, sizeof(*roots));
    *roots = root;
    *setup = (struct setup){ .name = STR("paddock"),
        .max_output = 1000,
        .timeout_ms = 1000,
        .roots = roots,
        .root_count = 1,
        .paths = m->paths };
    if (view_create(setup, m->arena, &view, &err) &&
            view_confine(&view, NULL, getppid(), m->arena, status, &err))
        return true;
    fprintf(stderr, "%s\n", err.message);
    return false;
}

enum { LET_THROUGH = 1, REFUSED = 0, NOT_CONFINED = 2, NO_VIEW = 3 };

/* A machine on which nobody may make namespaces, as many containers are. */
static bool forbid_namespaces(void)
{
    struct sock_filter code[] = {
        { BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(struct seccomp_data, nr) },
        { BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_unshare },
        { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EPERM },
        { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW },
    };
    struct sock_fprog program = { .len = ARRAY_LEN(code), .filter = code };
    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

static int wait_for(pid_t pid)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (!WIFEXITED(status))
        fail_msg("killed by signal %d", WTERMSIG(status));
    return WEXITSTATUS(status);
}

static int try_in_child(const struct machine *m, uid_t user, attempt_fn *fn)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        struct confine_status status = { 0 };
        if (!become(user) || !confine(m, &status))
            _exit(NOT_CONFINED);
        if (status.view_error)
            _exit(NO_VIEW);
        _exit(fn(m) ? LET_THROUGH : REFUSED);
    }
    return wait_for(pid);
}

static int try_without_view(const struct machine *m, uid_t user, attempt_fn *fn)
{
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        struct confine_status status = { 0 };
        if (!become(user) || !forbid_namespaces() || !confine(m, &status))
            _exit(NOT_CONFINED);
        bool told = status.view_error == EPERM &&
                    !confine_holds(&status, CONFINE_PROTECTED, NULL) &&
                    !confine_holds(&status, CONFINE_SECRETS, NULL) &&
                    !confine_holds_all(&status);
        _exit(!told ? NOT_CONFINED : fn(m) ? LET_THROUGH : REFUSED);
    }
    return wait_for(pid);
}

static void expect_unharmed(const struct machine *m, const char *after)
{
    static const char *const files[] = { "ws/.git/config", "ws/.kiro/settings/mcp.json",
        "ws/nested/.git/config", "ws/nested/.npmrc", "ws/.pyddock/pyddock.toml",
        "ws/tools/jobs/run.sh", "home/.npmrc", "home/.ssh/key", "out/f.txt" };
    static const char *const absent[] = { "ws/.git/commondir", "ws/nested/.git/commondir",
        "ws/old", "ws/tools/jobs/new.sh", "ws/.pyddock/pyddock.override.toml", "out/new",
        "home/new" };
    struct stat st;
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        if (!machine_holds(m, files[i], "SECRET\n") ||
                stat(machine_path(m, files[i]), &st) || (st.st_mode & 0777) != 0644)
            fail_msg("after '%s': %s has changed", after, files[i]);
    for (size_t i = 0; i < ARRAY_LEN(absent); i++)
        if (machine_has(m, absent[i]))
            fail_msg("after '%s': there is %s", after, absent[i]);
}

static void check_as(uid_t user)
{
    struct machine m;
    if (!can_mount(user))
        skip();
    machine_create(&m, user);
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        int result = try_in_child(&m, user, attempts[i].run);
        expect_unharmed(&m, attempts[i].name);
        if (result != REFUSED)
            fail_msg("as uid %u: %s: %d", user, attempts[i].name, result);
    }
    for (size_t i = 0; i < ARRAY_LEN(works); i++)
        if (try_in_child(&m, user, works[i].run) != LET_THROUGH)
            fail_msg("as uid %u: cannot %s", user, works[i].name);
    machine_destroy(&m);
}

static void test_as_who_we_are(void **state UNUSED)
{
    check_as(geteuid());
}

static void test_as_an_ordinary_user(void **state UNUSED)
{
    if (geteuid())
        skip();
    check_as(NOBODY);
}

/* Landlock holds what it can say, and the status names the rest. */
static void test_without_namespaces(void **state UNUSED)
{
    static attempt_fn *const refused[] = { write_outside, create_outside,
        write_behind_link, write_home, read_server, read_memory_of_server,
        look_around_by_server, make_namespace };
    struct machine m;
    uid_t users[] = { geteuid(), NOBODY };
    for (size_t i = 0; i < (geteuid() ? 1 : 2); i++) {
        machine_create(&m, users[i]);
        for (size_t j = 0; j < ARRAY_LEN(refused); j++) {
            assert_int_equal(try_without_view(&m, users[i], refused[j]), REFUSED);
            expect_unharmed(&m, "without namespaces");
        }
        assert_int_equal(
                try_without_view(&m, users[i], create_in_workspace), LET_THROUGH);
        machine_destroy(&m);
    }
}

/* With a list of what may be read, Landlock knows it. */
static void test_reading_is_restricted(void **state UNUSED)
{
    static attempt_fn *const refused[] = { read_outside, read_public, read_system,
        read_ssh_key, read_server };
    struct machine m;
    if (!can_mount(geteuid()))
        skip();
    machine_create(&m, geteuid());
    m.policy.readable_all = false;
    m.policy.readable = m.policy.writable;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        assert_int_equal(try_in_child(&m, geteuid(), refused[i]), REFUSED);
    assert_int_equal(try_in_child(&m, geteuid(), read_workspace), LET_THROUGH);
    machine_destroy(&m);
}

/* The kernel's settings are no files of anybody. */
static void test_all_may_be_written(void **state UNUSED)
{
    struct machine m;
    if (!can_mount(geteuid()))
        skip();
    machine_create(&m, geteuid());
    m.policy.writable[0].path = STR("/");
    m.paths = path_policy_create(&m.policy, m.arena);
    assert_int_equal(try_in_child(&m, geteuid(), write_home), LET_THROUGH);
    assert_int_equal(try_in_child(&m, geteuid(), open_setting), REFUSED);
    assert_int_equal(try_in_child(&m, geteuid(), write_policy), REFUSED);
    assert_int_equal(try_in_child(&m, geteuid(), read_device), REFUSED);
    assert_int_equal(try_in_child(&m, geteuid(), open_disk), REFUSED);
    machine_destroy(&m);
}

/* The names of what is not held. */
static int report_status(const struct machine *m, uid_t user, char *text, size_t size)
{
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t pid = fork();
    if (!pid) {
        struct confine_status status = { 0 };
        auto_buf out = BUF(4096);
        dup2(pipes[1], STDERR_FILENO); /* the others are closed */
        if (!become(user) || !confine(m, &status))
            _exit(1);
        json_auto_t *json = confine_status_json(&status);
        json_write(json, &out);
        _exit(write(STDERR_FILENO, out.data, out.len) < 0);
    }
    close(pipes[1]);
    ssize_t n = 0, got;
    while ((got = read(pipes[0], text + n, size - 1 - (size_t)n)) > 0)
        n += got;
    text[n] = 0;
    close(pipes[0]);
    int status;
    waitpid(pid, &status, 0);
    return status;
}

static void test_the_status_says_what_is_held(void **state UNUSED)
{
    char text[8192];
    struct machine m;
    struct error err;
    machine_create(&m, geteuid());
    assert_int_equal(report_status(&m, geteuid(), text, sizeof(text)), 0);
    json_auto_t *json = NULL;
    assert_true(json_parse(str_of(text), &json, &err));
    json_t *properties = json_object_get(json, "properties");
    assert_int_equal(json_object_size(properties), 9);
    json_t *secrets = json_object_get(properties, "secrets");
    bool held = json_is_true(json_object_get(secrets, "held"));
    size_t problems = json_array_size(json_object_get(json, "problems"));
    if (held ? problems != 0 : problems < 2)
        fail_msg("%s", text);
    machine_destroy(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_who_we_are),
        cmocka_unit_test(test_as_an_ordinary_user),
        cmocka_unit_test(test_without_namespaces),
        cmocka_unit_test(test_reading_is_restricted),
        cmocka_unit_test(test_all_may_be_written),
        cmocka_unit_test(test_the_status_says_what_is_held),
    };
    signal(SIGPIPE, SIG_IGN); /* as the server does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
