/*
 * python-child.h - one child of a zygote as the server sees it: it becomes ready, runs
 * one snippet, and is ended.
 *
 *   STARTING   ordered from the zygote; it confines itself and warms up
 *   READY      it waits for a snippet, and has nothing to say
 *   RUNNING    until it replies, dies, or its time is over
 *   DRAINING   it has replied; its pipes have 200 ms to come to their end
 *   STOPPING   it has been killed; its end and that of its pipes is waited for
 *   OVER       the run is answered; the zygote has yet to reap it
 *
 * What it sends is outside bytes: a message that is malformed, out of turn or too big
 * ends it.  Each callback comes from the loop, never from inside a function called here.
 */
#ifndef SESSION_PYTHON_CHILD_H
#define SESSION_PYTHON_CHILD_H

#include "session/python-zygote.h"
#include "session/python.h"

#define CHILD_MAX_EVENTS 100000 /* of one run; the rest is counted */

struct child;

/* What all children of a server have in common. */
struct child_host {
    uv_loop_t *loop;
    const struct door_fns *broker; /* or NULL */
    void *broker_user;
    void (*event)(void *user, const json_t *event); /* or NULL */
    void *event_user;
    bool *problems_told;
    void (*printed)(void *user, bool to_stderr, struct str bytes); /* or NULL */
    void *printed_user;
    char chunk[1 << 16]; /* what is read passes through here */
};

struct child_events {
    void (*ready)(void *user, struct child *c);
    /* It ended before it was given a run; `was_ready`: while it waited for one. */
    void (*failed)(void *user, struct child *c, bool was_ready, const char *why);
    /* Its run is over; `wants_network`: nothing was run, because it needs network. */
    void (*answered)(void *user, struct child *c, struct python_result *result,
            bool wants_network);
    /* Reaped, after one of the two above, or after child_stop(): forget the pointer. */
    void (*gone)(void *user, struct child *c);
};

MUST_CHECK bool child_start(struct child_host *host, struct zygote *zygote,
        const struct child_events *events, void *user, struct child **out,
        struct error *err);

bool child_is_starting(const struct child *c);

/* It can be given a run: it has not died or said something meanwhile. */
bool child_is_ready(struct child *c);

/* Only if it is ready.  `call` is JSON. */
void child_run(struct child *c, struct str call, unsigned timeout_ms);

/* Kill it; `answered` and `failed` do not come any more. */
void child_stop(struct child *c);

/* Its zygote is gone, so it is, or will be; this calls back, except for `failed`. */
void child_lose(struct child *c);

/* Kill it and wait for its end (a second at most).  No callback comes any more. */
void child_destroy(struct child *c);

/* What the zygote's events `forked` and `gone` are to be. */
void child_on_forked(void *child, int pid, int pidfd, int error);
void child_on_gone(void *child, int status);

#endif
