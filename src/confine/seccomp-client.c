/*
 * What the filter of a client of the internet says otherwise than that of a worker: it
 * speaks TCP and UDP to others, nobody speaks to it, and it writes no file.
 */
#include "confine/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define ALL_BITS UINT32_MAX
#define WRITES   (O_ACCMODE | O_CREAT | O_TRUNC)

static const uint32_t inet[] = { AF_INET, AF_INET6, 0 };
static const uint32_t inet_types[] = { SOCK_STREAM, SOCK_DGRAM, 0 };
static const uint32_t protocols[] = { 6 /* TCP */, 17 /* UDP */, 0 };

/* Programs for the kernel (SO_ATTACH_...), other protocols on top, packet filters. */
static const uint32_t refused_options[] = { 26, 50, 51, 52, 31, 64, 0 };

/* Clients only: nothing is bound, nobody is listened to. */
static const struct filter_rule network[] = {
    { .nr = __NR_socket,
            .conditions = { { TEST_IN, 0, 0, inet },
                    { TEST_IN, 1, SECCOMP_SOCKET_TYPE, inet_types },
                    { TEST_UNLESS, 2, ALL_BITS, NULL }, { TEST_IN, 2, 0, protocols } },
            .otherwise = EAFNOSUPPORT },
    SECCOMP_ALLOWED(connect),
    SECCOMP_ALLOWED(sendto),
    SECCOMP_ALLOWED(sendmmsg),
    SECCOMP_ALLOWED(recvmmsg),
    { .nr = __NR_setsockopt,
            .conditions = { { TEST_NOT_IN, 2, 0, refused_options } },
            .otherwise = ENOPROTOOPT },
};

_Static_assert(ARRAY_LEN(network) == SECCOMP_NETWORK_RULES, "the header says how many");

size_t seccomp_say_network(struct filter_rule *rules, size_t count)
{
    return SECCOMP_SAY(rules, count, network);
}

/* Threads that look up names tell so by pairs. */
static const uint32_t unix_only[] = { AF_UNIX, 0 };
static const uint32_t streams[] = { SOCK_STREAM, 0 };

static const struct filter_rule client[] = {
    SECCOMP_ALLOWED(sendmsg),
    SECCOMP_ALLOWED(recvmsg),
    SECCOMP_ALLOWED(recvfrom),
    SECCOMP_ALLOWED(getsockname),
    SECCOMP_ALLOWED(getpeername),
    SECCOMP_ALLOWED(getsockopt),
    { .nr = __NR_socketpair,
            .conditions = { { TEST_IN, 0, 0, unix_only },
                    { TEST_IN, 1, SECCOMP_SOCKET_TYPE, streams } } },
    /* What it reads from outside is never code. */
    { .nr = __NR_mmap,
            .conditions = { { TEST_NOT_BOTH, 2, PROT_WRITE | PROT_EXEC, NULL },
                    { TEST_NOT_BOTH, 3, MAP_SHARED | MAP_ANONYMOUS, NULL } } },
    { .nr = __NR_mprotect, .conditions = { { TEST_CLEAR, 2, PROT_EXEC, NULL } } },
    /* Nothing is written, even where there is no Landlock. */
    { .nr = __NR_openat, .conditions = { { TEST_CLEAR, 2, WRITES, NULL } } },
    SECCOMP_REFUSED(openat2, ENOSYS), /* its flags are in memory */
    SECCOMP_REFUSED(mkdirat, EPERM),
    SECCOMP_REFUSED(unlinkat, EPERM),
    SECCOMP_REFUSED(renameat, EPERM),
    SECCOMP_REFUSED(renameat2, EPERM),
    SECCOMP_REFUSED(linkat, EPERM),
    SECCOMP_REFUSED(symlinkat, EPERM),
    SECCOMP_REFUSED(ftruncate, EPERM),
    SECCOMP_REFUSED(fallocate, EPERM),
    SECCOMP_REFUSED(copy_file_range, EPERM),
#ifdef __x86_64__
    { .nr = __NR_open, .conditions = { { TEST_CLEAR, 1, WRITES, NULL } } },
#endif
};

_Static_assert(ARRAY_LEN(client) + SECCOMP_NETWORK_RULES <= SECCOMP_MORE_RULES,
        "there is room for all of them");

size_t seccomp_say_client(struct filter_rule *rules, size_t count)
{
    count = seccomp_say_network(rules, count);
    return SECCOMP_SAY(rules, count, client);
}
