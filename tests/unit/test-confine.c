/*
 * Confining cannot be undone, so that every case runs in a child, which answers with its
 * exit status.  What hostile code cannot do afterwards is in tests/escape.
 */
#include "confine/parts.h"
#include "confine/probe.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MEMORY ((uint64_t)1 << 30)

static char folder[] = "/tmp/paddock-confine-XXXXXX";

static int make_folder(void **state UNUSED)
{
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state UNUSED)
{
    return rmdir(folder);
}

/* A kernel without one call: what many containers are. */
static void take_away(unsigned nr, unsigned error)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = { ARRAY_LEN(code), code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
            prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
        _exit(3);
}

typedef bool child_fn(const struct confine_status *status, int root);

static bool as_interpreter; /* the children are confined */
static bool passes_descriptors;

/* Confine a child to the folder, without the call `missing` if it is not 0, and ask it.
 */
static bool in_poor_child(
        unsigned missing, bool writable, int max_landlock, child_fn *ask)
{
    pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        if (missing)
            take_away(missing, ENOSYS);
        int root = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        const struct confine_root roots[] = { { root, writable } };
        const struct confine_request request = { .roots = roots,
            .root_count = 1,
            .max_memory = MEMORY,
            .max_files = 64,
            .interpreter = as_interpreter,
            .passes_descriptors = passes_descriptors,
            .max_landlock = max_landlock };
        struct confine_status status = { 0 };
        if (!confine_follow_parent(parent, &status))
            _exit(2);
        confine_close_others(&root, 1);
        confine_self(&request, &status);
        _exit(ask(&status, root) ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static bool in_confined_child(bool writable, int max_landlock, child_fn *ask)
{
    return in_poor_child(0, writable, max_landlock, ask);
}

static int kernel_abi(void)
{
    int error;
    return landlock_abi(&error);
}

static bool holds_all(const struct confine_status *status, int root)
{
    (void)root;
    for (enum confine_property p = 0; p < CONFINE_PROPERTIES; p++) {
        auto_buf by = BUF(256);
        if (!confine_holds(status, p, &by) &&
                (p != CONFINE_MEMORY || memory_limit_possible())) {
            fprintf(stderr, "%s: %s\n", confine_property_name(p), by.data);
            return false;
        }
    }
    return true;
}

static void test_everything_is_held(void **state UNUSED)
{
    if (kernel_abi() < 3)
        skip();
    assert_true(in_confined_child(true, 0, holds_all));
    assert_true(in_confined_child(false, 0, holds_all));
}

static bool writes_not_held_but_reads(const struct confine_status *status, int root)
{
    (void)root;
    auto_buf by = BUF(256);
    return !confine_holds(status, CONFINE_WRITES, &by) && strstr(by.data, "ABI") &&
           confine_holds(status, CONFINE_READS, NULL);
}

static void test_an_old_landlock_is_reported(void **state UNUSED)
{
    if (kernel_abi() < 3)
        skip();
    assert_true(in_confined_child(true, 1, writes_not_held_but_reads));
    assert_true(in_confined_child(true, 2, writes_not_held_but_reads));
    for (int abi = 3; abi <= kernel_abi(); abi++)
        assert_true(in_confined_child(true, abi, holds_all));
}

/* Only what needs the missing part is lost, and a canary saw that it is. */
static bool only_files_are_lost(const struct confine_status *status, int root)
{
    (void)root;
    const unsigned files = 1u << CONFINE_WRITES | 1u << CONFINE_READS;
    for (enum confine_property p = 0; p < CONFINE_PROPERTIES; p++)
        if (p != CONFINE_MEMORY &&
                confine_holds(status, p, NULL) == (bool)(files >> p & 1))
            return false;
    return (status->canary_escaped & 1u << CONFINE_READS) &&
           !(status->canary_escaped & ~files);
}

static bool only_files_are_held(const struct confine_status *status, int root)
{
    (void)root;
    return confine_holds(status, CONFINE_READS, NULL) &&
           !confine_holds(status, CONFINE_WRITES, NULL) &&
           !confine_holds(status, CONFINE_EXEC, NULL) &&
           !confine_holds(status, CONFINE_NETWORK, NULL) &&
           !confine_holds(status, CONFINE_SIGNALS, NULL) &&
           !confine_holds(status, CONFINE_KILL, NULL) &&
           (status->canary_escaped & 1u << CONFINE_EXEC) &&
           (status->canary_escaped & 1u << CONFINE_NETWORK);
}

static void test_a_missing_mechanism_is_seen(void **state UNUSED)
{
    if (kernel_abi() < 3)
        skip();
    assert_true(in_poor_child(444, true, 0, only_files_are_lost)); /* Landlock */
    assert_true(in_poor_child(SYS_seccomp, true, 0, only_files_are_held));
}

static bool can_write(const struct confine_status *status, int root)
{
    (void)status;
    int fd = openat(root, "file", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    return write(fd, "x", 1) == 1 && !fchmod(fd, 0644) && !futimens(fd, NULL) &&
           !close(fd) && !mkdirat(root, "dir", 0700) &&
           !renameat(root, "file", root, "dir/file") && !unlinkat(root, "dir/file", 0) &&
           !unlinkat(root, "dir", AT_REMOVEDIR);
}

static void test_a_root_is_as_writable_as_asked(void **state UNUSED)
{
    assert_true(in_confined_child(true, 0, can_write));
    assert_false(in_confined_child(false, 0, can_write));
}

static void test_descriptors_are_closed_but_for_some(void **state UNUSED)
{
    pid_t pid = fork();
    if (!pid) {
        int keep[2] = { dup2(0, 10), dup2(0, 20) };
        dup2(0, 9), dup2(0, 15), dup2(0, 21);
        confine_close_others(keep, 2);
        bool good = fcntl(0, F_GETFD) >= 0;
        for (int fd = 3; fd < 40; fd++)
            good = good && (fcntl(fd, F_GETFD) >= 0) == (fd == 10 || fd == 20);
        _exit(good ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_a_dead_parent_is_noticed(void **state UNUSED)
{
    pid_t pid = fork();
    if (!pid) {
        struct confine_status status = { 0 };
        _exit(confine_follow_parent(getpid(), &status) ? 1 : 0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_the_status_names_what_is_missing(void **state UNUSED)
{
    const struct confine_status status = {
        .landlock_error = ENOSYS,
        .memory_error = EPERM,
        .canary_escaped = 1u << CONFINE_NETWORK,
    };
    json_auto_t *json = confine_status_json(&status);
    const json_t *properties = json_object_get(json, "properties");
    static const struct {
        const char *name;
        bool held;
        const char *by;
    } want[] = {
        { "writes", false, "no landlock: Function not implemented" },
        { "reads", false, "no landlock: Function not implemented" },
        { "exec", true, "seccomp" },
        { "network", false, "a trial got through although the kernel had agreed" },
        { "signals", true, "seccomp" },
        { "memory", false, "no rlimit: Operation not permitted" },
        { "kill", true, "seccomp+parent-death-signal" },
    };
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        const json_t *p = json_object_get(properties, want[i].name);
        assert_int_equal(json_is_true(json_object_get(p, "held")), want[i].held);
        assert_string_equal(json_string_value(json_object_get(p, "by")), want[i].by);
    }
    const json_t *problems = json_object_get(json, "problems");
    assert_int_equal(json_array_size(problems), 3 + memory_limit_possible());
    assert_string_equal(json_string_value(json_array_get(problems, 0)),
            "'writes' is not held by the kernel: no landlock: Function not implemented; "
            "use "
            "Linux 5.13 or newer, with 'landlock' in the lsm= boot parameter");
}

static bool maps_code(void)
{
    return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
           MAP_FAILED;
}

static bool makes_code(void)
{
    void *p =
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED || !mprotect(p, 4096, PROT_READ | PROT_EXEC) ||
           mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED;
}

static atomic_int stage; /* 1: the seal is there */
static bool other_maps_code;

static void *wait_for_seal(void *unused UNUSED)
{
    while (stage != 1)
        sched_yield();
    other_maps_code = maps_code();
    return NULL;
}

/* Also for a thread that was there before. */
static bool is_sealed(const struct confine_status *status, int root UNUSED)
{
    pthread_t other;
    auto_buf by = BUF(256);
    if (!confine_holds(status, CONFINE_CODE, &by) || !strstr(by.data, "sealed") ||
            !status->needs_seal || makes_code() || !maps_code() ||
            pthread_create(&other, NULL, wait_for_seal, NULL) || confine_seal())
        return false;
    stage = 1;
    pthread_join(other, NULL);
    return !maps_code() && !other_maps_code && confine_seal() == EPERM;
}

static void test_an_interpreter_is_sealed(void **state UNUSED)
{
    if (kernel_abi() < 3)
        skip();
    as_interpreter = true;
    assert_true(in_confined_child(true, 0, is_sealed));
    as_interpreter = false;
}

/* What Landlock before ABI 3 does not see, the filter of an interpreter refuses. */
static bool empties_nothing(const struct confine_status *status, int root UNUSED)
{
    return confine_holds(status, CONFINE_WRITES, NULL) &&
           open("/dev/null", O_RDONLY | O_TRUNC | O_CLOEXEC) < 0 && errno == EPERM &&
           truncate("/dev/null", 0) < 0 && errno == EPERM;
}

static void test_an_interpreter_under_an_old_landlock(void **state UNUSED)
{
    if (!kernel_abi())
        skip();
    as_interpreter = true;
    assert_true(in_confined_child(true, 2, empties_nothing));
    as_interpreter = false;
}

static bool succeed(void)
{
    return true;
}

static bool refuse(void)
{
    errno = ENOSPC;
    return false;
}

/* No socket there: EBADF is the kernel's answer, EPERM the filter's. */
static bool sends_nothing(const struct confine_status *status UNUSED, int root UNUSED)
{
    const struct msghdr message = { .msg_iovlen = 0 };
    struct msghdr other = { .msg_iovlen = 0 };
    return sendmsg(-1, &message, 0) < 0 && errno == EPERM && recvmsg(-1, &other, 0) < 0 &&
           errno == EPERM;
}

static bool sends_only(const struct confine_status *status UNUSED, int root UNUSED)
{
    const struct msghdr message = { .msg_iovlen = 0 };
    struct msghdr other = { .msg_iovlen = 0 };
    int pair[2];
    return sendmsg(-1, &message, 0) < 0 && errno == EBADF && recvmsg(-1, &other, 0) < 0 &&
           errno == EPERM && socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 &&
           errno == EPERM && socket(AF_UNIX, SOCK_STREAM, 0) < 0 && errno == EPERM;
}

static void test_descriptors_are_sent_where_asked_for(void **state UNUSED)
{
    assert_true(in_confined_child(true, 0, sends_nothing));
    passes_descriptors = true;
    assert_true(in_confined_child(true, 0, sends_only));
    assert_true(in_confined_child(true, 0, holds_all) || kernel_abi() < 3);
    passes_descriptors = false;
}

static void test_probes_answer_with_the_reason(void **state UNUSED)
{
    const struct probe good = { "x", "x", succeed }, bad = { "y", "y", refuse };
    assert_int_equal(probe_run(&good), 0);
    assert_int_equal(probe_run(&bad), ENOSPC);
    for (size_t i = 0; probe_at(i); i++)
        assert_true(probe_run(probe_at(i)) < 255);
    assert_int_equal(probe_run(probe_at(0)) == 0, kernel_abi() > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_everything_is_held),
        cmocka_unit_test(test_an_old_landlock_is_reported),
        cmocka_unit_test(test_a_missing_mechanism_is_seen),
        cmocka_unit_test(test_a_root_is_as_writable_as_asked),
        cmocka_unit_test(test_descriptors_are_closed_but_for_some),
        cmocka_unit_test(test_a_dead_parent_is_noticed),
        cmocka_unit_test(test_an_interpreter_is_sealed),
        cmocka_unit_test(test_descriptors_are_sent_where_asked_for),
        cmocka_unit_test(test_an_interpreter_under_an_old_landlock),
        cmocka_unit_test(test_the_status_names_what_is_missing),
        cmocka_unit_test(test_probes_answer_with_the_reason),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
