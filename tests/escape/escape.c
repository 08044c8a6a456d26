/*
 * Runs every attempt and every work, each in a confined process, as the user who runs it
 * and, for root, as an ordinary user too.  Output is TAP; the status is 0 if all held.
 */
#include "escape.h"

#include "confine/parts.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY      65534
#define MAX_MEMORY  ((uint64_t)4 << 30)
#define STATUS_HELD 0
#define STATUS_OUT  200 /* above every errno that is looked for */

static const struct {
    const char *text;
    int error, other; /* what the attempt must have failed with */
} rules[] = {
    [RULE_READS] = { "Landlock: reads only beneath the roots", EACCES, 0 },
    [RULE_WRITES] = { "Landlock: writes only beneath the roots", EACCES, 0 },
    [RULE_BOUNDARY] = { "Landlock: nothing moves across the roots", EXDEV, EACCES },
    [RULE_CALL] = { "seccomp: the call is refused", EPERM, 0 },
    [RULE_ARGUMENT] = { "seccomp: refused with these arguments", EPERM, 0 },
    [RULE_ABSENT] = { "seccomp: the call does not exist", ENOSYS, 0 },
    [RULE_ENTRY] = { "seccomp: killed", 0, 0 },
    [RULE_OPATH] = { "an O_PATH descriptor does nothing", EBADF, 0 },
    [RULE_MEMORY] = { "rlimit: private memory", ENOMEM, 0 },
    [RULE_SET_ID] = { "no CAP_FSETID: writing takes the bit off", EPERM, 0 },
};

struct run {
    struct cage cage;
    uid_t user; /* to become */
    unsigned count, failed;
};

static void report(struct run *run, bool good, const char *name, const char *why)
{
    run->count++;
    run->failed += !good;
    printf("%sok %u - as uid %u: %s: %s\n", good ? "" : "not ", run->count, run->user,
            name, why);
    fflush(stdout);
}

static bool become(uid_t user)
{
    return user == geteuid() || (!setgroups(0, NULL) && !setresgid(user, user, user) &&
                                        !setresuid(user, user, user));
}

/* In the child: everything that a worker does before its first call. */
static bool confine(struct run *run, bool writable)
{
    struct cage *cage = &run->cage;
    struct confine_status status = { 0 };
    cage->root = open(cage->inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    cage->outside_dir = open(cage->outside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (cage->root < 0 || cage->outside_dir < 0 || chdir("/") || !become(run->user) ||
            !confine_follow_parent(cage->parent, &status))
        return false;
    const struct confine_root roots[] = { { cage->root, writable } };
    const struct confine_request request = {
        .roots = roots, .root_count = 1, .max_memory = MAX_MEMORY, .max_files = 1024
    };
    confine_self(&request, &status);
    return !status.landlock_error && !status.seccomp_error && !status.privileges_error;
}

/* The wait status of a child that ran `fn`, whose result is its exit status. */
static int in_child(struct run *run, int (*fn)(const struct cage *), bool writable)
{
    pid_t pid = fork();
    if (!pid) {
        if (!confine(run, writable)) {
            fprintf(stderr, "# cannot confine: %s\n", strerror(errno));
            _exit(STATUS_OUT);
        }
        _exit(fn(&run->cage));
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
}

static bool is_held(enum rule rule, int status)
{
    if (rule == RULE_ENTRY)
        return WIFSIGNALED(status) &&
               (WTERMSIG(status) == SIGSYS || WTERMSIG(status) == SIGSEGV);
    int error = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return error && (error == rules[rule].error || error == rules[rule].other);
}

static void describe(enum rule rule, int status, char *text, size_t size)
{
    if (WIFSIGNALED(status))
        snprintf(text, size, "%s (%s)", sigabbrev_np(WTERMSIG(status)), rules[rule].text);
    else if (!WEXITSTATUS(status))
        snprintf(text, size, "got out (%s)", rules[rule].text);
    else
        snprintf(text, size, "%s (%s)", strerrorname_np(WEXITSTATUS(status)),
                rules[rule].text);
}

static void make_file(int dir, const char *name, mode_t mode)
{
    auto_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10 || fchmod(fd, mode) ||
            (!geteuid() && fchown(fd, NOBODY, NOBODY)))
        perror(name);
}

static void make_folder(const char *path)
{
    if ((mkdir(path, 0777) && errno != EEXIST) || chmod(path, 0777) ||
            (!geteuid() && chown(path, NOBODY, NOBODY)))
        perror(path);
}

/* Whatever the last attempt did: the same files for the next. */
static void reset(const struct cage *cage)
{
    static const char *const left_behind[] = { "link-made", "link-root", "stolen",
        "set-uid", "new" };
    make_folder(cage->inside);
    make_folder(cage->outside);
    make_folder(inside(cage, "dir"));
    make_folder(outside(cage, "empty"));
    auto_fd int in = open(cage->inside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    auto_fd int out = open(cage->outside, O_PATH | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < ARRAY_LEN(left_behind); i++) {
        unlinkat(in, left_behind[i], 0);
        unlinkat(out, left_behind[i], 0);
    }
    make_file(in, "file", 0666);
    make_file(in, "script", 0777);
    make_file(out, "secret", 0666);
    if ((symlinkat("../outside/secret", in, "link-up") ||
                symlinkat(cage->secret, in, "link-abs")) &&
            errno != EEXIST)
        perror("link-up");
}

static void run_attempts(struct run *run, const struct attempt *attempts)
{
    for (const struct attempt *a = attempts; a->name; a++) {
        if (a->rule == RULE_MEMORY && !memory_limit_possible())
            continue;
        reset(&run->cage);
        int status = in_child(run, a->run, !a->read_only);
        char why[128];
        describe(a->rule, status, why, sizeof(why));
        report(run, is_held(a->rule, status), a->name, why);
    }
}

static void run_works(struct run *run)
{
    for (const struct work *w = works; w->name; w++) {
        reset(&run->cage);
        int status = in_child(run, w->run, true);
        bool good = WIFEXITED(status) && !WEXITSTATUS(status);
        char why[64] = "works";
        if (WIFSIGNALED(status))
            snprintf(why, sizeof(why), "killed by SIG%s", sigabbrev_np(WTERMSIG(status)));
        else if (!good)
            snprintf(why, sizeof(why), "%s", strerror(WEXITSTATUS(status)));
        report(run, good, w->name, why);
    }
}

/* A confined process is gone soon after its parent, which does nothing about it. */
static void run_orphan(struct run *run)
{
    int gone[2]; /* closes when the last process that holds it is gone */
    if (pipe2(gone, O_CLOEXEC))
        perror("pipe");
    pid_t pid = fork();
    if (!pid) {
        run->cage.parent = getpid();
        if (!fork()) {
            bool confined = confine(run, true);
            ssize_t unused UNUSED = write(gone[1], confined ? "y" : "n", 1);
            for (;;)
                pause();
        }
        char byte;
        _exit(read(gone[0], &byte, 1) == 1 && byte == 'y' ? 0 : 1);
    }
    int status;
    char byte;
    close_fd(&gone[1]);
    waitpid(pid, &status, 0);
    alarm(60); /* a process that does not end would hang us */
    bool ended = !status && !read(gone[0], &byte, 1);
    alarm(0);
    close_fd(&gone[0]);
    report(run, ended, "outlive the parent that died",
            ended ? "killed (parent-death signal)" : "got out");
}

static void run_all(struct run *run, uid_t user)
{
    run->user = user;
    run_attempts(run, read_attempts);
    run_attempts(run, write_attempts);
    run_attempts(run, process_attempts);
    run_attempts(run, kernel_attempts);
    run_attempts(run, network_attempts);
    run_attempts(run, entry_attempts);
    run_orphan(run);
    run_works(run);
}

static bool make_cage(struct cage *cage, char *base)
{
    int pair[2];
    if (!mkdtemp(base) || chmod(base, 0755) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
        return false;
    snprintf(cage->inside, PATH_MAX, "%s/inside", base);
    snprintf(cage->outside, PATH_MAX, "%s/outside", base);
    snprintf(cage->secret, PATH_MAX, "%s/outside/secret", base);
    cage->socket = pair[0];
    cage->parent = getpid();
    return true;
}

static void remove_cage(const struct cage *cage, const char *base)
{
    static const char *const names[] = { "link-made", "link-root", "link-up", "link-abs",
        "set-uid", "file", "script", "secret" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        unlink(inside(cage, names[i]));
        unlink(outside(cage, names[i]));
    }
    rmdir(inside(cage, "dir"));
    rmdir(outside(cage, "empty"));
    if (rmdir(cage->inside) || rmdir(cage->outside) || rmdir(base))
        perror(base);
}

int main(void)
{
    char base[] = "/tmp/paddock-escape-XXXXXX";
    struct run run = { .count = 0 };
    int error;
    if (landlock_abi(&error) < 3) {
        puts("1..0 # SKIP this kernel has no Landlock of ABI 3 or newer");
        return 77;
    }
    if (!make_cage(&run.cage, base)) {
        perror(base);
        return 1;
    }
    umask(0);
    run_all(&run, geteuid());
    if (!geteuid())
        run_all(&run, NOBODY);
    remove_cage(&run.cage, base);
    printf("1..%u\n# %u passed, %u failed\n", run.count, run.count - run.failed,
            run.failed);
    return run.failed ? 1 : 0;
}
