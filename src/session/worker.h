/*
 * worker.h - one worker process as the server sees it: start, one call at a time, end.
 *
 * What it sends is outside bytes: a message that is malformed, out of turn or too big
 * ends it.  Whatever the reason, its end is told once, by `ended`, after the process is
 * gone.  Events come from the loop, never from inside a function called here.
 */
#ifndef SESSION_WORKER_H
#define SESSION_WORKER_H

#include "broker/spawn.h"

#include <uv.h>

struct worker;

struct worker_events {
    void (*ready)(void *user, struct str status); /* JSON, see confine/confine.h */
    void (*reply)(void *user, bool is_error, struct str text, struct str notes);
    /* The process is gone and `why` says how; only worker_destroy() is left to do. */
    void (*ended)(void *user, const char *why);
};

/* `setup` is the JSON of policy/setup.h; `max_reply` bytes is the longest message. */
MUST_CHECK bool worker_start(uv_loop_t *loop, const struct helper_spec *spec,
        struct str setup, size_t max_reply, const struct worker_events *events,
        void *user, struct worker **out, struct error *err);

/* Its events go there from now on. */
void worker_hand_over(struct worker *w, const struct worker_events *events, void *user);

/* Whether its process has not ended yet, though that may not have been told. */
bool worker_lives(const struct worker *w);

/* For tests. */
pid_t worker_pid(const struct worker *w);

/* Only when it is ready and no call runs.  `args` is JSON. */
void worker_call(struct worker *w, struct str tool, struct str args);

/* Ask it to stop what it does: the reply to the running call comes soon. */
void worker_interrupt(struct worker *w);

/* End it; `why` is what `ended` will say.  Only the first reason counts. */
void worker_kill(struct worker *w, const char *why);

/* End it, since it is not needed: nothing of that is logged.  `ended` comes as ever. */
void worker_dismiss(struct worker *w);

/* Frees it; kills and reaps the process first if it runs.  No event comes any more. */
void worker_destroy(struct worker *w);

#endif
