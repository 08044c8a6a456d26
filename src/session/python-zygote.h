/*
 * python-zygote.h - one zygote (paddock-python) as the server sees it: start, order
 * children from it, end.
 *
 * It runs no snippet, but a message that is malformed or out of turn ends it all the
 * same.  Events come from the loop, never from inside a function called here.
 */
#ifndef SESSION_PYTHON_ZYGOTE_H
#define SESSION_PYTHON_ZYGOTE_H

#include "broker/spawn.h"

#include <uv.h>

#define ZYGOTE_MAX_CHILDREN 48 /* of one zygote, those that are ending included */

struct zygote;

struct zygote_events {
    void (*ready)(void *user);
    /* `child` is what zygote_fork() was given.  `pidfd` is handed over; -1: it was not
     * forked, and `error` says why. */
    void (*forked)(void *child, int pid, int pidfd, int error);
    void (*gone)(void *child, int status); /* reaped, as from waitpid() */
    /* The process is gone, and its children are or will be; only zygote_destroy() is left
     * to do. */
    void (*ended)(void *user, const char *why);
};

struct zygote_spec {
    const char *program; /* outlives the start only */
    const char *const *env;
    struct str setup; /* JSON of policy/python-setup.h */
};

MUST_CHECK bool zygote_start(uv_loop_t *loop, const struct zygote_spec *spec,
        const struct zygote_events *events, void *user, struct zygote **out,
        struct error *err);

/* It is ready, has not been killed, and has room for one more child. */
bool zygote_can_fork(const struct zygote *z);

/*
 * Only then: a child that gets copies of the four descriptors (python/zygote.h).  False:
 * it does not listen, and is being ended.
 */
MUST_CHECK bool zygote_fork(
        struct zygote *z, const int *fds, void *child, struct error *err);

/* The child is forgotten: no event about it any more. */
void zygote_forget(struct zygote *z, const void *child);

/* End it; `why` is what `ended` will say.  Only the first reason counts. */
void zygote_kill(struct zygote *z, const char *why);

/* Frees it.  It is told to end its children and itself, and is killed if it does not.  No
 * event comes any more. */
void zygote_destroy(struct zygote *z);

#endif
