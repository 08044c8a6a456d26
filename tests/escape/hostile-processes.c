#include "hostile.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

static bool signal_server(const struct prey *p)
{
    return !kill(p->server, 0) || !syscall(SYS_tgkill, p->server, p->server, 0) ||
           !sigqueue(p->server, 0, (union sigval){ 0 });
}

static bool signal_by_descriptor(const struct prey *p)
{
    auto_fd int fd = (int)syscall(SYS_pidfd_open, p->server, 0);
    return fd >= 0 && !syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0);
}

/* Whoever started us must not end by our hand: with SIGKILL, this would be the end. */
static bool signal_keeper(const struct prey *p UNUSED)
{
    return getppid() != 1 && !kill(getppid(), 0);
}

static bool trace(int pid)
{
    if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
        return false;
    ptrace(PTRACE_DETACH, pid, NULL, NULL);
    return true;
}

static bool trace_server(const struct prey *p)
{
    return trace(p->server);
}

static bool trace_keeper(const struct prey *p UNUSED)
{
    return trace(getppid());
}

static bool read_memory(const struct prey *p)
{
    char byte;
    struct iovec here = { &byte, 1 }, there = { &byte, 1 };
    return process_vm_readv(p->server, &here, 1, &there, 1, 0) == 1 || errno == EFAULT;
}

static bool can_read_proc(int pid, const char *name)
{
    char path[64], byte;
    snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    return fd >= 0 && read(fd, &byte, 1) == 1;
}

static bool read_environment(const struct prey *p)
{
    return can_read_proc(p->server, "environ") || can_read_proc(1, "environ") ||
           can_read_proc(getppid(), "environ");
}

static bool look_inside(const struct prey *p)
{
    char path[64], target[8];
    static const char *const names[] = { "root", "cwd", "exe", "fd/0", "ns/mnt" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "/proc/%d/%s", p->server, names[i]);
        if (readlink(path, target, sizeof(target)) >= 0)
            return true;
    }
    return can_read_proc(p->server, "maps") || can_read_proc(getppid(), "maps");
}

static bool steal_descriptor(const struct prey *p)
{
    auto_fd int fd = (int)syscall(SYS_pidfd_open, p->server, 0);
    return fd >= 0 && syscall(SYS_pidfd_getfd, fd, 0, 0) >= 0;
}

static bool limit_server(const struct prey *p)
{
    const struct rlimit limit = { 0, 0 };
    return !prlimit(p->server, RLIMIT_CORE, &limit, NULL);
}

static bool connect_to(int family, int type, const void *address, socklen_t size)
{
    auto_fd int fd = socket(family, type | SOCK_CLOEXEC, 0);
    return fd >= 0 && !connect(fd, address, size);
}

static struct sockaddr_in loopback(const struct prey *p)
{
    return (struct sockaddr_in){ .sin_family = AF_INET,
        .sin_port = htons((uint16_t)p->port),
        .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static bool connect_tcp(const struct prey *p)
{
    const struct sockaddr_in address = loopback(p);
    return connect_to(AF_INET, SOCK_STREAM, &address, sizeof(address));
}

static bool send_udp(const struct prey *p)
{
    const struct sockaddr_in address = loopback(p);
    auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return sendto(fd, "x", 1, 0, (const struct sockaddr *)&address, sizeof(address)) == 1;
}

static bool connect_abstract(const struct prey *p)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t len = strlen(p->abstract_name);
    memcpy(address.sun_path + 1, p->abstract_name, len);
    return connect_to(AF_UNIX, SOCK_STREAM, &address,
            (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + len));
}

static bool connect_path(const struct prey *p)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", p->socket_path);
    return connect_to(AF_UNIX, SOCK_STREAM, &address, sizeof(address));
}

/* A datagram goes wherever its message says, socket() or not. */
static bool datagram_pair(const struct prey *p UNUSED)
{
    int ends[2];
    return !socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) ||
           !socketpair(AF_UNIX, SOCK_RAW, 0, ends);
}

static bool odd_families(const struct prey *p UNUSED)
{
    static const int families[] = { AF_PACKET, AF_VSOCK, AF_ALG, AF_BLUETOOTH, AF_CAN,
        AF_KEY, AF_XDP, AF_TIPC };
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        auto_fd int fd = socket(families[i], SOCK_RAW | SOCK_CLOEXEC, 0);
        auto_fd int other = socket(families[i], SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        if (fd >= 0 || other >= 0)
            return true;
    }
    return false;
}

static bool raw_socket(const struct prey *p UNUSED)
{
    auto_fd int fd = socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP);
    return fd >= 0;
}

const struct attempt process_attempts[] = {
    { "signals", "signal the server", signal_server },
    { "signals", "signal it by a descriptor", signal_by_descriptor },
    { "signals", "signal the keeper", signal_keeper },
    { "signals", "trace the server", trace_server },
    { "signals", "trace the keeper", trace_keeper },
    { "signals", "read the server's memory", read_memory },
    { "signals", "read another's environment", read_environment },
    { "signals", "look inside the server", look_inside },
    { "signals", "steal a descriptor", steal_descriptor },
    { "signals", "limit the server", limit_server },
    { "network", "connect by TCP", connect_tcp },
    { "network", "send by UDP", send_udp },
    { "network", "connect to an abstract socket", connect_abstract },
    { "network", "connect to a socket by its path", connect_path },
    { "network", "make a pair for datagrams", datagram_pair },
    { "always", "open a socket of an odd family", odd_families },
    { "always", "open a raw socket", raw_socket },
    { NULL, NULL, NULL },
};
