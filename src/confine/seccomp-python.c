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

#define SET_ID   06000
#define CREATES  (O_CREAT | (O_TMPFILE & ~O_DIRECTORY))
#define ALL_BITS UINT32_MAX

/* A datagram of a pair goes to whom its message names, which no filter can see. */
static const uint32_t unix_only[] = { AF_UNIX, 0 };
static const uint32_t connected[] = { SOCK_STREAM, SOCK_SEQPACKET, 0 };
#define SOCKET_TYPE 0xf /* beside it are flags */

/* Without a right to write, O_TRUNC empties the file all the same, and Landlock before
 * ABI 3 does not see it. */
static const uint32_t only_truncates[] = { O_TRUNC, O_TRUNC | O_ACCMODE, 0 };

static const uint32_t set_filter[] = { SECCOMP_SET_MODE_FILTER, 0 };
static const uint32_t all_threads[] = { SECCOMP_FILTER_FLAG_TSYNC, 0 };

#define ALLOWED(call)     \
    {                     \
        .nr = __NR_##call \
    }
#define REFUSED(call, no)                  \
    {                                      \
        .nr = __NR_##call, .refused = (no) \
    }

static const struct filter_rule always[] = {
    /* Files. */
    { .nr = __NR_openat,
            .conditions = { { TEST_NOT_IN, 2, O_TRUNC | O_ACCMODE, only_truncates },
                    { TEST_UNLESS, 2, CREATES, NULL },
                    { TEST_CLEAR, 3, SET_ID, NULL } } },
    REFUSED(openat2, ENOSYS), /* its flags are in memory */
    ALLOWED(chdir),
    ALLOWED(statfs),
    /* shutil copies them if there are such things. */
    REFUSED(listxattr, EOPNOTSUPP),
    REFUSED(llistxattr, EOPNOTSUPP),
    REFUSED(flistxattr, EOPNOTSUPP),
    REFUSED(getxattr, EOPNOTSUPP),
    REFUSED(lgetxattr, EOPNOTSUPP),
    REFUSED(fgetxattr, EOPNOTSUPP),
    REFUSED(setxattr, EOPNOTSUPP),
    REFUSED(lsetxattr, EOPNOTSUPP),
    REFUSED(fsetxattr, EOPNOTSUPP),
    REFUSED(removexattr, EOPNOTSUPP),
    REFUSED(lremovexattr, EOPNOTSUPP),
    REFUSED(fremovexattr, EOPNOTSUPP),
    /* Memory: nothing is code that was written here. */
    { .nr = __NR_mmap,
            .conditions = { { TEST_NOT_BOTH, 2, PROT_WRITE | PROT_EXEC, NULL },
                    { TEST_NOT_BOTH, 3, MAP_SHARED | MAP_ANONYMOUS, NULL } } },
    { .nr = __NR_mprotect, .conditions = { { TEST_CLEAR, 2, PROT_EXEC, NULL } } },
    /* Ends of pairs, among them those that lead to the server. */
    { .nr = __NR_socketpair,
            .conditions = { { TEST_IN, 0, 0, unix_only },
                    { TEST_IN, 1, SOCKET_TYPE, connected } } },
    ALLOWED(sendmsg),
    ALLOWED(recvmsg),
    ALLOWED(recvfrom),
    ALLOWED(getsockname),
    ALLOWED(getpeername),
    ALLOWED(getsockopt),
    /* Questions about itself. */
    ALLOWED(getpriority),
    ALLOWED(sched_getscheduler),
    ALLOWED(sched_getparam),
    ALLOWED(sched_get_priority_max),
    ALLOWED(sched_get_priority_min),
    ALLOWED(timerfd_create),
    ALLOWED(timerfd_settime),
    ALLOWED(timerfd_gettime),
#ifdef __x86_64__
    { .nr = __NR_open,
            .conditions = { { TEST_NOT_IN, 1, O_TRUNC | O_ACCMODE, only_truncates },
                    { TEST_UNLESS, 1, CREATES, NULL },
                    { TEST_CLEAR, 2, SET_ID, NULL } } },
    { .nr = __NR_creat, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
    { .nr = __NR_mkdir, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
    ALLOWED(rmdir),
    ALLOWED(unlink),
    ALLOWED(rename),
    ALLOWED(link),
    ALLOWED(symlink),
    ALLOWED(alarm),
    ALLOWED(epoll_create),
    ALLOWED(eventfd),
#endif
    { .nr = __NR_mkdirat, .conditions = { { TEST_CLEAR, 2, SET_ID, NULL } } },
};

/* Landlock does not look at them: only where all that is outside is read-only. */
static const struct filter_rule by_path[] = {
    { .nr = __NR_fchmod, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
    { .nr = __NR_fchmodat, .conditions = { { TEST_CLEAR, 2, SET_ID, NULL } } },
    ALLOWED(utimensat),
#ifdef __x86_64__
    { .nr = __NR_chmod, .conditions = { { TEST_CLEAR, 1, SET_ID, NULL } } },
    ALLOWED(utime),
    ALLOWED(utimes),
    ALLOWED(futimesat),
#endif
};

static const struct filter_rule not_by_path[] = {
    REFUSED(fchmod, EPERM),
    REFUSED(fchown, EPERM),
    REFUSED(utimensat, EPERM),
};

static const struct filter_rule truncates[] = { ALLOWED(truncate) };

/* One more filter, of all threads; it can only take away. */
static const struct filter_rule seals[] = {
    { .nr = __NR_seccomp,
            .conditions = { { TEST_IN, 0, 0, set_filter },
                    { TEST_IN, 1, 0, all_threads } } },
};

static const uint32_t inet[] = { AF_INET, AF_INET6, 0 };
static const uint32_t inet_types[] = { SOCK_STREAM, SOCK_DGRAM, 0 };
static const uint32_t protocols[] = { 6 /* TCP */, 17 /* UDP */, 0 };

/* Programs for the kernel (SO_ATTACH_...), other protocols on top, packet filters. */
static const uint32_t refused_options[] = { 26, 50, 51, 52, 31, 64, 0 };

/* Clients only: nothing is bound, nobody is listened to. */
static const struct filter_rule network[] = {
    { .nr = __NR_socket,
            .conditions = { { TEST_IN, 0, 0, inet },
                    { TEST_IN, 1, SOCKET_TYPE, inet_types },
                    { TEST_UNLESS, 2, ALL_BITS, NULL }, { TEST_IN, 2, 0, protocols } },
            .otherwise = EAFNOSUPPORT },
    ALLOWED(connect),
    ALLOWED(sendto),
    ALLOWED(sendmmsg),
    ALLOWED(recvmmsg),
    { .nr = __NR_setsockopt,
            .conditions = { { TEST_NOT_IN, 2, 0, refused_options } },
            .otherwise = ENOPROTOOPT },
};

/* In the place of what was said about the call, if anything was. */
static size_t say(struct filter_rule *rules, size_t count, const struct filter_rule *more,
        size_t more_count)
{
    for (size_t i = 0; i < more_count; i++) {
        size_t at = 0;
        while (at < count && rules[at].nr != more[i].nr)
            at++;
        rules[at] = more[i];
        count += at == count;
    }
    return count;
}

#define SAY(rules, count, more) say((rules), (count), (more), ARRAY_LEN(more))

size_t seccomp_say_python(
        struct filter_rule *rules, size_t count, const struct seccomp_profile *profile)
{
    count = SAY(rules, count, always);
    if (profile->by_path)
        count = SAY(rules, count, by_path);
    else
        count = SAY(rules, count, not_by_path);
    if (profile->truncates)
        count = SAY(rules, count, truncates);
    if (profile->seals)
        count = SAY(rules, count, seals);
    if (profile->network)
        count = SAY(rules, count, network);
    return count;
}

_Static_assert(ARRAY_LEN(always) + ARRAY_LEN(by_path) + ARRAY_LEN(truncates) +
                               ARRAY_LEN(seals) + ARRAY_LEN(network) <=
                       SECCOMP_PYTHON_RULES,
        "there is room for all of them");

int seccomp_seal(void)
{
    struct filter_rule rules[] = {
        { .nr = __NR_mmap, .conditions = { { TEST_CLEAR, 2, PROT_EXEC, NULL } } },
        REFUSED(seccomp, EPERM),
    };
    const struct filter filter = { .rules = rules,
        .count = ARRAY_LEN(rules),
        .end = UINT32_MAX >> 1,
        .all_threads = true };
    return filter_install(&filter);
}
