/*
 * seccomp.h - between seccomp.c, which has the filter of a worker, and those files that
 * change it: seccomp-python.c for an interpreter, seccomp-client.c for a client of the
 * internet.
 */
#ifndef CONFINE_SECCOMP_H
#define CONFINE_SECCOMP_H

#include "confine/filter.h"
#include "confine/parts.h"

#define SECCOMP_MORE_RULES    80 /* room for what they add */
#define SECCOMP_NETWORK_RULES 6

#define SECCOMP_SOCKET_TYPE 0xf /* beside it are flags */

#define SECCOMP_ALLOWED(call) \
    {                         \
        .nr = __NR_##call     \
    }
#define SECCOMP_REFUSED(call, no)          \
    {                                      \
        .nr = __NR_##call, .refused = (no) \
    }

/* Put `more` in the place of what was said about the same calls; the new count. */
size_t seccomp_say(struct filter_rule *rules, size_t count,
        const struct filter_rule *more, size_t more_count);

#define SECCOMP_SAY(rules, count, more) \
    seccomp_say((rules), (count), (more), ARRAY_LEN(more))

/* Change `rules`, which has the room; the new count. */
size_t seccomp_say_python(
        struct filter_rule *rules, size_t count, const struct seccomp_profile *profile);
size_t seccomp_say_client(struct filter_rule *rules, size_t count);

/* Sockets of the internet, of which none is bound. */
size_t seccomp_say_network(struct filter_rule *rules, size_t count);

#endif
