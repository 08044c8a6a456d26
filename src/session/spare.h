/*
 * spare.h - one worker that is started before a shell wants it.
 *
 * A shell of a single call (`once` of session.h) waits for the start of its worker, which
 * takes longer than the call.  After the first such shell a worker of the same kind is
 * started when the loop has time, and handed to the next shell that needs one, of
 * whatever client: it is confined, and nobody has used it.  Then it is replaced.  Nothing
 * is ever handed back.
 *
 * It has a place among those of the shells (places.h), which it gives up first of all
 * when somebody needs it, with the worker.  Unused for SPARE_IDLE_MS it ends, and comes
 * back with the next shell of a single call.  If it dies, nobody but the log is told.
 *
 * It is only for workers that see the same however early they started: their roots are
 * descriptors of ours.  A view of the whole machine (setup.h, `paths`) is looked for at
 * the start, and would be old.  What is old in any case, by SPARE_IDLE_MS at most: what
 * the file of the time zone said, and the times of an empty folder in memory.
 */
#ifndef SESSION_SPARE_H
#define SESSION_SPARE_H

#include "session/session.h"
#include "session/worker.h"

#define SPARE_IDLE_MS 10000
#define SPARE_WAIT_MS 20 /* for the call that has taken the last one to end */

struct spare;

/* `config`: as of the shells, without a door. */
struct spare *spare_create(
        const struct session_config *config, struct places *places, unsigned idle_ms);

/* Have one, soon. */
void spare_want(struct spare *s);

/* A call has ended: what is wanted may be started now. */
void spare_begin(struct spare *s);

/*
 * The worker, from now on the caller's, and its events.  `*status`: what it has said when
 * it became ready, to be freed; NULL: it starts yet, and `ready` will come.  False: there
 * is none.
 */
MUST_CHECK bool spare_take(struct spare *s, const struct worker_events *events,
        void *user, struct worker **worker, char **status);

/* The process, for tests; 0: none. */
pid_t spare_pid(const struct spare *s);

/* Kills it.  The loop must turn once more. */
void spare_destroy(struct spare *s);

#endif
