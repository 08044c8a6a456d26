/*
 * What the filter of an interpreter says otherwise than that of a worker.  Its libraries
 * call the kernel through libc and know nothing of us, so what they cannot do without is
 * there, with the arguments that they need it with.
 */
#include "confine/parts.h"
#include "confine/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define SET_ID  06000
#define CREATES (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))

/* A datagram of a pair goes to whom its message names, which no filter can see. */
static const uint32_t unix_only[] = { AF_UNIX, 0 };
static const uint32_t connected[] = { SOCK_STREAM, SOCK_SEQPACKET, 0 };

/* Without a right to write, O_TRUNC empties the file all the same, and Landlock before
 * ABI 3 does not see it. */
static const uint32_t only_truncates[] = { O_TRUNC, O_TRUNC | O_ACCMODE, 0 };

static const uint32_t set_filter[] = { SECCOMP_SET_MODE_FILTER, 0 };
static const uint32_t all_threads[] = { SECCOMP_FILTER_FLAG_TSYNC, 0 };

static const struct filter_rule always[] = {
    /* Files. */
    { .nr = __NR_openat,
            .conditions = { { TEST_NOT_IN, 2, O_TRUNC | O_ACCMODE, only_truncates },
                    { TEST_UNLESS, 2, CREATES, NULL },
                    { TEST_CLEAR, 3, SET_ID, NULL } } },
    SECCOMP_REFUSED(openat2, ENOSYS), /* its flags are in memory */
    SECCOMP_ALLOWED(chdir),
    SECCOMP_ALLOWED(statfs),
    /* shutil copies them if there are such things. */
    SECCOMP_REFUSED(listxattr, EOPNOTSUPP),
    SECCOMP_REFUSED(llistxattr, EOPNOTSUPP),
    SECCOMP_REFUSED(flistxattr, EOPNOTSUPP),
    SECCOMP_REFUSED(getxattr, EOPNOTSUPP),
    SECCOMP_REFUSED(lgetxattr, EOPNOTSUPP),
    SECCOMP_REFUSED(fgetxattr, EOPNOTSUPP),
    SECCOMP_REFUSED(setxattr, EOPNOTSUPP),
    SECCOMP_REFUSED(lsetxattr, EOPNOTSUPP),
    SECCOMP_REFUSED(fsetxattr, EOPNOTSUPP),
    SECCOMP_REFUSED(removexattr, EOPNOTSUPP),
    SECCOMP_REFUSED(lremovexattr, EOPNOTSUPP),
    SECCOMP_REFUSED(fremovexattr, EOPNOTSUPP),
    /* Memory: nothing is code that was written here. */
    { .nr = __NR_mmap,
            .conditions = { { TEST_NOT_BOTH, 2, PROT_WRITE | PROT_EXEC, NULL },
                    { TEST_NOT_BOTH, 3, MAP_SHARED | MAP_ANONYMOUS, NULL } } },
    { .nr = __NR_mprotect, .conditions = { { TEST_CLEAR, 2, PROT_EXEC, NULL } } },
    /* Ends of pairs, among them those that lead to the server. */
    { .nr = __NR_socketpair,
            .conditions = { { TEST_IN, 0, 0, unix_only },
                    { TEST_IN, 1, SECCOMP_SOCKET_TYPE, connected } } },
    SECCOMP_ALLOWED(sendmsg),
    SECCOMP_ALLOWED(recvmsg),
    SECCOMP_ALLOWED(recvfrom),
    SECCOMP_ALLOWED(getsockname),
    SECCOMP_ALLOWED(getpeername),
    SECCOMP_ALLOWED(getsockopt),
    /* Questions about itself. */
    SECCOMP_ALLOWED(getpriority),
    SECCOMP_ALLOWED(sched_getscheduler),
    SECCOMP_ALLOWED(sched_getparam),
    SECCOMP_ALLOWED(sched_get_priority_max),
    SECCOMP_ALLOWED(sched_get_priority_min),
    SECCOMP_ALLOWED(timerfd_create),
    SECCOMP_ALLOWED(timerfd_settime),
    SECCOMP_ALLOWED(timerfd_gettime),
#ifdef __x86_64__
    { .nr = __NR_open,
            .conditions = { { TEST_NOT_IN, 1, O_TRUNC | O_ACCMODE, only_truncates },
                    { TEST_UNLESS, 1, CREATES, NULL },
                    { TEST_CLEAR, 2, SET_ID, NULL } } },
    { .nr = __NR_creat, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
    { .nr = __NR_mkdir, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
    SECCOMP_ALLOWED(rmdir),
    SECCOMP_ALLOWED(unlink),
    SECCOMP_ALLOWED(rename),
    SECCOMP_ALLOWED(link),
    SECCOMP_ALLOWED(symlink),
    SECCOMP_ALLOWED(alarm),
    SECCOMP_ALLOWED(epoll_create),
    SECCOMP_ALLOWED(eventfd),
#endif
    { .nr = __NR_mkdirat, .conditions = { { TEST_CLEAR, 2, SET_ID, NULL } } },
};

/* Landlock does not look at them: only where all that is outside is read-only. */
static const struct filter_rule by_path[] = {
    { .nr = __NR_fchmod, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
    { .nr = __NR_fchmodat, .conditions = { { TEST_CLEAR, 2, SET_ID, NULL } } },
    SECCOMP_ALLOWED(utimensat),
#ifdef __x86_64__
    { .nr = __NR_chmod, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
    SECCOMP_ALLOWED(utime),
    SECCOMP_ALLOWED(utimes),
    SECCOMP_ALLOWED(futimesat),
#endif
};

static const struct filter_rule not_by_path[] = {
    SECCOMP_REFUSED(fchmod, EPERM),
    SECCOMP_REFUSED(fchown, EPERM),
    SECCOMP_REFUSED(utimensat, EPERM),
};

static const struct filter_rule truncates[] = { SECCOMP_ALLOWED(truncate) };

/* One more filter, of all threads; it can only take away. */
static const struct filter_rule seals[] = {
    { .nr = __NR_seccomp,
            .conditions = { { TEST_IN, 0, 0, set_filter },
                    { TEST_IN, 1, 0, all_threads } } },
};

size_t seccomp_say_python(
        struct filter_rule *rules, size_t count, const struct seccomp_profile *profile)
{
    count = SECCOMP_SAY(rules, count, always);
    if (profile->by_path)
        count = SECCOMP_SAY(rules, count, by_path);
    else
        count = SECCOMP_SAY(rules, count, not_by_path);
    if (profile->truncates)
        count = SECCOMP_SAY(rules, count, truncates);
    if (profile->seals)
        count = SECCOMP_SAY(rules, count, seals);
    if (profile->network)
        count = seccomp_say_network(rules, count);
    return count;
}

_Static_assert(ARRAY_LEN(always) + ARRAY_LEN(by_path) + ARRAY_LEN(truncates) +
                               ARRAY_LEN(seals) + SECCOMP_NETWORK_RULES <=
                       SECCOMP_MORE_RULES,
        "there is room for all of them");

int seccomp_seal(void)
{
    struct filter_rule rules[] = {
        { .nr = __NR_mmap, .conditions = { { TEST_CLEAR, 2, PROT_EXEC, NULL } } },
        SECCOMP_REFUSED(seccomp, EPERM),
    };
    const struct filter filter = { .rules = rules,
        .count = ARRAY_LEN(rules),
        .end = UINT32_MAX >> 1,
        .all_threads = true };
    return filter_install(&filter);
}
