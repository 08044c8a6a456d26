/*
 * pool.h - a few workers of one kind that do independent calls side by side.
 *
 * Each is a session without state (session.h).  A call goes to one that is idle; if none
 * is, one more is started, up to POOL_MAX; else the call waits its turn.  One worker
 * stays for the next call, the others end when they have been idle for some seconds.
 */
#ifndef SESSION_POOL_H
#define SESSION_POOL_H

#include "session/census.h"
#include "session/session.h"

#define POOL_MAX     4
#define POOL_IDLE_MS 5000

struct pool;
struct pool_call;

/* `config`: as of a session; `stateless` and `idle` are the pool's own.  `idle_ms`: how
 * long a worker that is not needed is kept. */
struct pool *pool_create(const struct session_config *config, unsigned idle_ms);

/* Start the first worker, so that the first call finds it ready. */
void pool_warm(struct pool *p);

/* These are session_call() and session_cancel(), with their limits and promises. */
MUST_CHECK bool pool_call(struct pool *p, struct str tool, struct str args,
        session_done_fn *done, void *user, struct pool_call **out, struct error *err);
void pool_cancel(struct pool *p, struct pool_call *call);

/* How many workers there are, for tests. */
size_t pool_size(const struct pool *p);

void pool_look(const struct pool *p, struct census *out);

/* Kills the workers; what waits is dropped without `done`. */
void pool_destroy(struct pool *p);

#endif
