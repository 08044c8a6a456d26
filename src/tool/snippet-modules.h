/*
 * snippet-modules.h - what a snippet imports beside the standard library, and waiting
 * until that is installed.
 */
#ifndef TOOL_SNIPPET_MODULES_H
#define TOOL_SNIPPET_MODULES_H

#include "session/packages.h"

struct snippet_modules {
    struct packages *packages; /* NULL: nothing is installed */
    json_t *names; /* first names; NULL: nothing else, or it is not known yet */
    struct packages_wait *wait;
    void (*ready)(void *user);
    void *user;
};

void snippet_modules_finish(struct snippet_modules *m);

/* It imports these.  False: not all of them are there yet. */
bool snippet_modules_set(struct snippet_modules *m, const json_t *names);

/* `ready` is called once, from the loop, when none of them is being installed any more.
 * False: so it is now, and nothing will be called. */
MUST_CHECK bool snippet_modules_wait(
        struct snippet_modules *m, void (*ready)(void *user), void *user);
void snippet_modules_stop_waiting(struct snippet_modules *m);

/* What is being done of what it waits for; "" if it does not wait. */
struct str snippet_modules_doing(const struct snippet_modules *m);

/* Append what is being waited for, and why those that failed did; or nothing. */
void snippet_modules_tell_pending(const struct snippet_modules *m, struct buf *out);
void snippet_modules_tell_failed(const struct snippet_modules *m, struct buf *out);

#endif
