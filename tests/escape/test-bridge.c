/*
 * Attempts to get out of paddock-bridge with full native control: each in a process of
 * its own that has confined itself as the bridge does, as the user who runs the test and,
 * for root, as an ordinary user too.
 */
#include "bridge/confinement.h"
#include "confine/parts.h"
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534

struct place {
    char folder[64]; /* as a workspace: everybody may do everything in it */
    char file[96];
    int port, other_port; /* somebody listens at both; the first is that of the URL */
    uid_t user;           /* to become */
};

/* The result is 0 if it got what it wanted, else an errno. */
typedef int attempt_fn(const struct place *p);

static int status_of(long result)
{
    return result < 0 ? errno : 0;
}

static const char *in_folder(const struct place *p, const char *name)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof(path), "%s/%s", p->folder, name);
    return path;
}

static int open_it(const char *path, int flags)
{
    return status_of(open(path, flags | O_CLOEXEC, 0600));
}

/* --- reading --- */

static int read_workspace(const struct place *p)
{
    return open_it(p->file, O_RDONLY);
}

static int list_workspace(const struct place *p)
{
    return open_it(p->folder, O_RDONLY | O_DIRECTORY);
}

static int read_passwords(const struct place *p UNUSED)
{
    return open_it("/etc/passwd", O_RDONLY);
}

static int read_shadow(const struct place *p UNUSED)
{
    return open_it("/etc/shadow", O_RDONLY);
}

static int list_root(const struct place *p UNUSED)
{
    return open_it("/", O_RDONLY | O_DIRECTORY);
}

static int list_certificates(const struct place *p UNUSED)
{
    return open_it("/etc/ssl", O_RDONLY | O_DIRECTORY);
}

static int read_environment(const struct place *p UNUSED)
{
    return open_it("/proc/self/environ", O_RDONLY);
}

static int read_by_openat2(const struct place *p)
{
    uint64_t how[3] = { O_RDONLY, 0, 0 };
    return status_of(syscall(SYS_openat2, AT_FDCWD, p->file, how, sizeof(how)));
}

/* --- writing --- */

static int write_file(const struct place *p)
{
    return open_it(p->file, O_WRONLY);
}

static int append_file(const struct place *p)
{
    return open_it(p->file, O_RDWR | O_APPEND);
}

static int empty_file(const struct place *p)
{
    return open_it(p->file, O_RDONLY | O_TRUNC);
}

static int create_file(const struct place *p)
{
    return open_it(in_folder(p, "made"), O_RDONLY | O_CREAT);
}

static int create_nameless(const struct place *p)
{
    return open_it(p->folder, O_TMPFILE | O_RDWR);
}

static int create_in_tmp(const struct place *p UNUSED)
{
    return open_it("/tmp", O_TMPFILE | O_RDWR);
}

static int create_by_creat(const struct place *p)
{
    return status_of(syscall(SYS_creat, in_folder(p, "made"), 0600));
}

static int remove_file(const struct place *p)
{
    return status_of(unlinkat(AT_FDCWD, p->file, 0));
}

static int rename_file(const struct place *p)
{
    return status_of(renameat(AT_FDCWD, p->file, AT_FDCWD, in_folder(p, "made")));
}

static int link_file(const struct place *p)
{
    return status_of(linkat(AT_FDCWD, p->file, AT_FDCWD, in_folder(p, "made"), 0));
}

static int make_link(const struct place *p)
{
    return status_of(symlinkat("/etc", AT_FDCWD, in_folder(p, "made")));
}

static int make_folder(const struct place *p)
{
    return status_of(mkdirat(AT_FDCWD, in_folder(p, "made"), 0700));
}

static int change_mode(const struct place *p)
{
    return status_of(fchmodat(AT_FDCWD, p->file, 0777, 0));
}

static int change_time(const struct place *p)
{
    return status_of(utimensat(AT_FDCWD, p->file, NULL, 0));
}

static int truncate_file(const struct place *p)
{
    return status_of(truncate(p->file, 0));
}

/* --- programs, code, other processes --- */

static int run_program(const struct place *p UNUSED)
{
    char name[] = "/bin/true", *const none[] = { name, NULL };
    return status_of(execve(name, none, none + 1));
}

static int make_process(const struct place *p UNUSED)
{
    long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (!pid)
        _exit(0);
    return status_of(pid);
}

static int make_memory_file(const struct place *p UNUSED)
{
    return status_of(memfd_create("x", 0));
}

static int map_code(const struct place *p UNUSED)
{
    void *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? errno : 0;
}

static int turn_into_code(const struct place *p UNUSED)
{
    void *at =
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? 0 : status_of(mprotect(at, 4096, PROT_READ | PROT_EXEC));
}

static int signal_parent(const struct place *p UNUSED)
{
    return status_of(kill(getppid(), 0));
}

static int trace_parent(const struct place *p UNUSED)
{
    return status_of(ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
}

static int read_parent(const struct place *p UNUSED)
{
    char byte;
    struct iovec here = { &byte, 1 }, there = { &byte, 1 };
    return status_of(process_vm_readv(getppid(), &here, 1, &there, 1, 0));
}

static int become_root(const struct place *p UNUSED)
{
    return status_of(setresuid(0, 0, 0));
}

static int take_capabilities(const struct place *p UNUSED)
{
    return status_of(chroot("/"));
}

static int make_namespace(const struct place *p UNUSED)
{
    return status_of(syscall(SYS_unshare, 0x10000000 /* CLONE_NEWUSER */));
}

/* --- the network --- */

static int open_socket(int family, int type, int protocol)
{
    return status_of(socket(family, type | SOCK_CLOEXEC, protocol));
}

static int open_local_socket(const struct place *p UNUSED)
{
    return open_socket(AF_UNIX, SOCK_STREAM, 0);
}

static int open_netlink(const struct place *p UNUSED)
{
    return open_socket(AF_NETLINK, SOCK_RAW, 0);
}

static int open_packet(const struct place *p UNUSED)
{
    return open_socket(AF_PACKET, SOCK_RAW, 0);
}

static int open_raw(const struct place *p UNUSED)
{
    return open_socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int make_datagram_pair(const struct place *p UNUSED)
{
    int ends[2];
    return status_of(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
}

static struct sockaddr_in loopback(int port)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static int connect_to(int port)
{
    struct sockaddr_in address = loopback(port);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? 0
                  : status_of(connect(
                            fd, (struct sockaddr *)(void *)&address, sizeof(address)));
}

static int connect_elsewhere(const struct place *p)
{
    return connect_to(p->other_port);
}

static int take_port(const struct place *p UNUSED)
{
    struct sockaddr_in address = loopback(0);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? 0
                  : status_of(bind(
                            fd, (struct sockaddr *)(void *)&address, sizeof(address)));
}

static int listen_anyhow(const struct place *p UNUSED)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd < 0 ? 0 : status_of(listen(fd, 1));
}

/* --- what it is for goes on --- */

static int connect_there(const struct place *p)
{
    return connect_to(p->port);
}

static int look_up_name(const struct place *p UNUSED)
{
    struct addrinfo *found;
    int error = getaddrinfo("localhost", NULL, NULL, &found);
    return error == EAI_SYSTEM ? errno : error ? EIO : 0;
}

static void *do_nothing(void *arg)
{
    return arg;
}

static int use_thread(const struct place *p UNUSED)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, do_nothing, NULL);
    return error ? error : pthread_join(thread, NULL);
}

static int read_hosts(const struct place *p UNUSED)
{
    return open_it("/etc/hosts", O_RDONLY);
}

static int use_pair(const struct place *p UNUSED)
{
    int ends[2];
    return status_of(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
}

static const struct {
    const char *name;
    attempt_fn *run;
    int error; /* what stops it; 0: it works */
} attempts[] = {
    { "read the workspace", read_workspace, EACCES },
    { "list the workspace", list_workspace, EACCES },
    { "read /etc/passwd", read_passwords, EACCES },
    { "read /etc/shadow", read_shadow, EACCES },
    { "list /", list_root, EACCES },
    { "list /etc/ssl", list_certificates, EACCES },
    { "read an environment", read_environment, EACCES },
    { "read with openat2", read_by_openat2, ENOSYS },
    { "write a file", write_file, EPERM },
    { "append to a file", append_file, EPERM },
    { "empty a file", empty_file, EPERM },
    { "create a file", create_file, EPERM },
    { "create one without a name", create_nameless, EPERM },
    { "create one in /tmp", create_in_tmp, EPERM },
    { "creat()", create_by_creat, ENOSYS },
    { "remove a file", remove_file, EPERM },
    { "rename a file", rename_file, EPERM },
    { "link a file", link_file, EPERM },
    { "make a symbolic link", make_link, EPERM },
    { "make a folder", make_folder, EPERM },
    { "change a mode", change_mode, EPERM },
    { "change a time", change_time, EPERM },
    { "truncate a file", truncate_file, EPERM },
    { "run a program", run_program, EPERM },
    { "make a process", make_process, EPERM },
    { "make a file in memory", make_memory_file, EPERM },
    { "map memory as code", map_code, EPERM },
    { "turn memory into code", turn_into_code, EPERM },
    { "signal its parent", signal_parent, EPERM },
    { "trace its parent", trace_parent, EPERM },
    { "read its parent", read_parent, EPERM },
    { "become root", become_root, EPERM },
    { "change its root", take_capabilities, EPERM },
    { "make a namespace", make_namespace, EPERM },
    { "open a local socket", open_local_socket, EAFNOSUPPORT },
    { "open a netlink socket", open_netlink, EAFNOSUPPORT },
    { "open a packet socket", open_packet, EAFNOSUPPORT },
    { "open a raw socket", open_raw, EAFNOSUPPORT },
    { "make a pair for datagrams", make_datagram_pair, EPERM },
    { "connect to another port", connect_elsewhere, EACCES },
    { "take a port", take_port, EPERM },
    { "listen", listen_anyhow, EPERM },
    { "connect to its URL", connect_there, 0 },
    { "look up a name", look_up_name, 0 },
    { "use a thread", use_thread, 0 },
    { "read /etc/hosts", read_hosts, 0 },
    { "use a pair of sockets", use_pair, 0 },
};

static int listen_at(int *port)
{
    struct sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_false(bind(fd, (struct sockaddr *)(void *)&address, sizeof(address)));
    assert_false(listen(fd, 64));
    assert_false(getsockname(fd, (struct sockaddr *)(void *)&address, &size));
    *port = ntohs(address.sin_port);
    return fd;
}

static void make_place(struct place *p)
{
    strcpy(p->folder, "/tmp/paddock-bridge-XXXXXX");
    scratch_make(p->folder);
    assert_false(chmod(p->folder, 0777));
    snprintf(p->file, sizeof(p->file), "%s/file", p->folder);
    int fd = open(p->file, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    assert_true(fd >= 0 && write(fd, "text", 4) == 4 && !fchmod(fd, 0666));
    close(fd);
}

/* Nothing that was tried has left a trace. */
static void check_place(const struct place *p, const char *after)
{
    struct stat st;
    if (stat(p->file, &st) || st.st_size != 4 || (st.st_mode & 07777) != 0666 ||
            st.st_nlink != 1 || !access(in_folder(p, "made"), F_OK))
        fail_msg("%s: something has changed", after);
}

static bool confine_as(const struct place *p)
{
    struct error err;
    struct confine_status status = { 0 };
    struct bridge_setup setup = { .header_count = 0 };
    auto_arena *arena = arena_create();
    char url[64];
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/", p->port);
    if (p->user != geteuid() &&
            (setgroups(0, NULL) || setresgid(p->user, p->user, p->user) ||
                    setresuid(p->user, p->user, p->user)))
        return false;
    if (!confine_follow_parent(getppid(), &status) ||
            !url_parse(url, NULL, arena, &setup.url, &err))
        return false;
    bridge_confine(&setup, &status);
    return confine_holds_all(&status) || !confine_holds(&status, CONFINE_MEMORY, NULL);
}

static int try_in_child(const struct place *p, attempt_fn *run)
{
    pid_t pid = fork();
    if (!pid) {
        if (!confine_as(p))
            _exit(255);
        _exit(run(p));
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 254;
}

static void try_all(struct place *p, uid_t user)
{
    int error = 0, abi = landlock_abi(&error);
    p->user = user;
    for (size_t i = 0; i < ARRAY_LEN(attempts); i++) {
        if (attempts[i].run == connect_elsewhere && abi < 4)
            continue; /* the kernel knows no ports */
        int got = try_in_child(p, attempts[i].run);
        if (got != attempts[i].error)
            fail_msg("as uid %u: %s: %s, not %s", user, attempts[i].name, strerror(got),
                    strerror(attempts[i].error));
        check_place(p, attempts[i].name);
    }
}

static void test_attempts(void **state UNUSED)
{
    struct place p;
    make_place(&p);
    auto_fd int one = listen_at(&p.port);
    auto_fd int two = listen_at(&p.other_port);
    assert_true(one >= 0 && two >= 0);
    try_all(&p, geteuid());
    if (!geteuid())
        try_all(&p, NOBODY);
    scratch_remove(p.folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_attempts) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
