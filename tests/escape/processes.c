#include "escape.h"

#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static char *no_strings[] = { NULL };

static int exec_true(const struct cage *cage UNUSED)
{
    return outcome(execve("/bin/true", no_strings, no_strings));
}

static int exec_script(const struct cage *cage)
{
    return outcome(execve(inside(cage, "script"), no_strings, no_strings));
}

static int exec_descriptor(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "script", O_RDONLY);
    return outcome(syscall(SYS_execveat, fd, "", no_strings, no_strings, AT_EMPTY_PATH));
}

static int exec_loader(const struct cage *cage)
{
    char *argv[] = { strdup("ld.so"), strdup(inside(cage, "script")), NULL };
    return outcome(execve("/lib64/ld-linux-x86-64.so.2", argv, no_strings));
}

static int memory_file(const struct cage *cage UNUSED)
{
    return outcome_fd(memfd_create("x", 0));
}

/* A child that came to be ends at once; the parent must not be mistaken for it. */
static int outcome_child(long pid)
{
    if (!pid)
        syscall(SYS_exit_group, 0);
    if (pid > 0)
        waitpid((pid_t)pid, NULL, 0);
    return outcome(pid);
}

static int fork_libc(const struct cage *cage UNUSED)
{
    return outcome_child(fork());
}

static int fork_clone(const struct cage *cage UNUSED)
{
    return outcome_child(syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
}

static int fork_clone3(const struct cage *cage UNUSED)
{
    struct clone_args args = { .exit_signal = SIGCHLD };
    return outcome_child(syscall(SYS_clone3, &args, sizeof(args)));
}

static int clone_parent(const struct cage *cage UNUSED)
{
    return outcome_child(syscall(SYS_clone, CLONE_PARENT, NULL, NULL, NULL, NULL));
}

static int clone_namespace(const struct cage *cage UNUSED)
{
    return outcome_child(
            syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, NULL, NULL, NULL, NULL));
}

/* Looks like a thread to who looks at one flag only; the kernel would refuse it too. */
static int clone_thread_namespace(const struct cage *cage UNUSED)
{
    return outcome_child(
            syscall(SYS_clone, CLONE_THREAD | CLONE_SIGHAND | CLONE_VM | CLONE_NEWNS,
                    NULL, NULL, NULL, NULL));
}

static int fork_old(const struct cage *cage UNUSED)
{
#ifdef SYS_fork
    return outcome_child(syscall(SYS_fork));
#else
    return fork_clone(cage);
#endif
}

static int spawn_true(const struct cage *cage UNUSED)
{
    pid_t pid;
    return posix_spawn(&pid, "/bin/true", NULL, NULL, no_strings, no_strings);
}

static int kill_parent(const struct cage *cage)
{
    return outcome(kill(cage->parent, 0));
}

static int kill_everybody(const struct cage *cage UNUSED)
{
    return outcome(kill(-1, 0));
}

static int kill_group(const struct cage *cage UNUSED)
{
    return outcome(kill(0, 0));
}

static int tgkill_parent(const struct cage *cage)
{
    return outcome(syscall(SYS_tgkill, cage->parent, cage->parent, 0));
}

static int tkill_parent(const struct cage *cage)
{
    return outcome(syscall(SYS_tkill, cage->parent, 0));
}

static int queue_signal(const struct cage *cage)
{
    return outcome(sigqueue(cage->parent, 0, (union sigval){ 0 }));
}

static int pidfd_of_parent(const struct cage *cage)
{
    return outcome_fd(syscall(SYS_pidfd_open, cage->parent, 0));
}

static int pidfd_signal(const struct cage *cage)
{
    return outcome(syscall(SYS_pidfd_send_signal, cage->root, 0, NULL, 0));
}

static int pidfd_steal(const struct cage *cage)
{
    return outcome_fd(syscall(SYS_pidfd_getfd, cage->root, 0, 0));
}

/* Input on the socket would then signal the parent. */
static int signal_by_owner(const struct cage *cage)
{
    return outcome(fcntl(cage->socket, F_SETOWN, cage->parent));
}

static int signal_by_lease(const struct cage *cage)
{
    return outcome(fcntl(cage->socket, F_SETSIG, SIGKILL));
}

static int trace_parent(const struct cage *cage)
{
    return outcome(ptrace(PTRACE_SEIZE, cage->parent, NULL, NULL));
}

static int trace_me(const struct cage *cage UNUSED)
{
    return outcome(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int read_parent_memory(const struct cage *cage)
{
    char byte;
    struct iovec local = { &byte, 1 }, remote = { &byte, 1 };
    return outcome(process_vm_readv(cage->parent, &local, 1, &remote, 1, 0));
}

static int write_parent_memory(const struct cage *cage)
{
    char byte = 0;
    struct iovec local = { &byte, 1 }, remote = { &byte, 1 };
    return outcome(process_vm_writev(cage->parent, &local, 1, &remote, 1, 0));
}

static int compare_parent(const struct cage *cage)
{
    return outcome(syscall(SYS_kcmp, getpid(), cage->parent, (long)KCMP_FILES, 0L, 0L));
}

static int limit_parent(const struct cage *cage)
{
    struct rlimit limit;
    return outcome(prlimit(cage->parent, RLIMIT_NOFILE, NULL, &limit));
}

static int raise_core_limit(const struct cage *cage UNUSED)
{
    const struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };
    return outcome(setrlimit(RLIMIT_CORE, &limit));
}

static int slow_parent(const struct cage *cage)
{
    return outcome(setpriority(PRIO_PROCESS, (id_t)cage->parent, 19));
}

static int bind_parent(const struct cage *cage)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(0, &set);
    return outcome(sched_setaffinity(cage->parent, sizeof(set), &set));
}

static int new_session(const struct cage *cage UNUSED)
{
    return outcome(setsid());
}

static int become_dumpable(const struct cage *cage UNUSED)
{
    return outcome(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0));
}

static int outlive_parent(const struct cage *cage UNUSED)
{
    return outcome(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0));
}

static int allow_tracer(const struct cage *cage UNUSED)
{
    return outcome(prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0));
}

static int move_memory_map(const struct cage *cage UNUSED)
{
    return outcome(prctl(PR_SET_MM, PR_SET_MM_ARG_START, 0, 0, 0));
}

static int raise_ambient(const struct cage *cage UNUSED)
{
    return outcome(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 1, 0, 0));
}

static int become_root(const struct cage *cage UNUSED)
{
    return outcome(syscall(SYS_setresuid, 0, 0, 0));
}

static int change_group(const struct cage *cage UNUSED)
{
    return outcome(syscall(SYS_setgroups, 0, NULL));
}

static int allocate_too_much(const struct cage *cage UNUSED)
{
    void *p = mmap(NULL, (size_t)64 << 30, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? errno : 0;
}

static int allocate_shared(const struct cage *cage UNUSED)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? errno : 0;
}

const struct attempt process_attempts[] = {
    { "execve", RULE_CALL, exec_true, false },
    { "execve a script in the root", RULE_CALL, exec_script, false },
    { "execveat a descriptor", RULE_CALL, exec_descriptor, false },
    { "run a program by the loader", RULE_CALL, exec_loader, false },
    { "make a file in memory to run", RULE_CALL, memory_file, false },
    { "fork", RULE_CALL, fork_libc, false },
    { "the old fork call", RULE_CALL, fork_old, false },
    { "clone a process", RULE_ARGUMENT, fork_clone, false },
    { "clone3", RULE_ABSENT, fork_clone3, false },
    { "clone a child of the parent", RULE_ARGUMENT, clone_parent, false },
    { "clone into a namespace", RULE_ARGUMENT, clone_namespace, false },
    { "clone a thread into a namespace", RULE_ARGUMENT, clone_thread_namespace, false },
    { "posix_spawn", RULE_CALL, spawn_true, false },
    { "kill the parent", RULE_ARGUMENT, kill_parent, false },
    { "kill everybody", RULE_ARGUMENT, kill_everybody, false },
    { "kill the process group", RULE_ARGUMENT, kill_group, false },
    { "tgkill", RULE_ARGUMENT, tgkill_parent, false },
    { "tkill", RULE_CALL, tkill_parent, false },
    { "queue a signal", RULE_CALL, queue_signal, false },
    { "pidfd_open", RULE_CALL, pidfd_of_parent, false },
    { "pidfd_send_signal", RULE_CALL, pidfd_signal, false },
    { "pidfd_getfd", RULE_CALL, pidfd_steal, false },
    { "signal by F_SETOWN", RULE_ARGUMENT, signal_by_owner, false },
    { "signal by F_SETSIG", RULE_ARGUMENT, signal_by_lease, false },
    { "trace the parent", RULE_CALL, trace_parent, false },
    { "ask to be traced", RULE_CALL, trace_me, false },
    { "process_vm_readv", RULE_CALL, read_parent_memory, false },
    { "process_vm_writev", RULE_CALL, write_parent_memory, false },
    { "kcmp", RULE_CALL, compare_parent, false },
    { "read the parent's limits", RULE_ARGUMENT, limit_parent, false },
    { "raise a limit", RULE_ARGUMENT, raise_core_limit, false },
    { "slow the parent down", RULE_CALL, slow_parent, false },
    { "bind the parent to a processor", RULE_CALL, bind_parent, false },
    { "leave the session", RULE_CALL, new_session, false },
    { "become dumpable", RULE_ARGUMENT, become_dumpable, false },
    { "outlive the parent", RULE_ARGUMENT, outlive_parent, false },
    { "allow a tracer", RULE_ARGUMENT, allow_tracer, false },
    { "move the memory map", RULE_ARGUMENT, move_memory_map, false },
    { "raise an ambient capability", RULE_ARGUMENT, raise_ambient, false },
    { "become root", RULE_CALL, become_root, false },
    { "change groups", RULE_CALL, change_group, false },
    { "allocate 64 GiB", RULE_MEMORY, allocate_too_much, false },
    { "allocate shared memory", RULE_ARGUMENT, allocate_shared, false },
    { 0 },
};
