/*
 * hosts.h - machines that lack a part of what confines, for tests that run on each, as
 * the one who we are and, for root, as an ordinary user.
 */
#ifndef TESTS_HOSTS_H
#define TESTS_HOSTS_H

#include <stdbool.h>

enum host {
    HOST_WHOLE,        /* this one */
    HOST_NO_MOUNTS,    /* namespaces and mounts are refused, as in many containers */
    HOST_OLD_LANDLOCK, /* the same, and Landlock of ABI 2 (told to the program) */
    HOST_NO_LANDLOCK,
    HOSTS,
};

extern const char *const host_names[HOSTS];

/* In a child of ours; its status is what `tests` returns.  Returns 0 if it is 0, or if
 * the user cannot have what the host is to have (it says so). */
int host_run(enum host host, bool as_user, int (*tests)(enum host host));

#endif
