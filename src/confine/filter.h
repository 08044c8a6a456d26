/*
 * filter.h - rules about system calls, and the BPF program that is made of them; used
 * inside confine/.
 *
 * A list of rules, one a call, in any order, and what counts for all others.  Arguments
 * are looked at only as numbers: BPF cannot follow a pointer.
 */
#ifndef CONFINE_FILTER_H
#define CONFINE_FILTER_H

#include "base/base.h"

#include <linux/filter.h>

#define FILTER_MAX_PROGRAM 1024 /* instructions */

enum filter_test {
    TEST_NONE,
    TEST_ZERO,     /* the argument is 0, all 64 bits of it */
    TEST_CLEAR,    /* none of these bits */
    TEST_SET,      /* all of these bits */
    TEST_NOT_BOTH, /* not all of these bits */
    TEST_SELF,     /* our own process id */
    TEST_IN,       /* in the list that ends with 0, after `value`, if not 0, as a mask */
    TEST_NOT_IN,   /* not in it */
    TEST_UNLESS,   /* with none of these bits the call is allowed, else look further */
};

struct filter_condition {
    enum filter_test test;
    unsigned arg;
    uint32_t value;
    const uint32_t *list;
};

struct filter_rule {
    unsigned nr;
    unsigned refused; /* errno, or 0: allowed if the conditions hold... */
    struct filter_condition conditions[4]; /* from the first */
    unsigned otherwise;                    /* ...and if not, this errno; 0: EPERM */
};

struct filter {
    struct filter_rule *rules; /* gets sorted; no call is listed twice */
    size_t count;
    unsigned refused; /* for calls not listed: errno, or 0: they are allowed... */
    unsigned end;     /* ...if their number is below this; above: ENOSYS */
    bool all_threads; /* and not only of the one that asks */
};

/* The program, of which the length is returned; a filter that needs more is a bug. */
size_t filter_build(
        const struct filter *filter, struct sock_filter code[FILTER_MAX_PROGRAM]);

/* Returns 0 or an errno; needs no_new_privs. */
MUST_CHECK int filter_install(const struct filter *filter);

#endif
