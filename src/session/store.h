/*
 * store.h - what shells are, kept outside of this process, so that several servers behind
 * one address share them: a Redis.
 *
 * A session has a record there under its id: the revision of MCP that it speaks, the
 * state of its shell (shell/save.h) and a version that grows with each change.  Records
 * expire by themselves when nobody has used them for the idle time.  Who runs a call
 * holds the record meanwhile, so that two servers never run calls of one shell at once.
 * There are only so many; one more takes the place of the oldest that nobody has used.
 *
 *   paddock:{ID}        a hash: revision, version, state
 *   paddock:{ID}:hold   who holds it; expires by itself
 *   paddock:sessions    a sorted set: the ids, by when they expire (seconds)
 *   paddock:unused      the same of those that no call has used yet
 *   paddock:key         the secret of all servers that share this store
 *
 * What comes back is outside bytes.  Every function answers through its callback, once,
 * from the loop; a store that cannot be reached answers STORE_FAILED, with the reason,
 * and the next job tries to reach it again.
 */
#ifndef SESSION_STORE_H
#define SESSION_STORE_H

#include "base/str.h"

#include <uv.h>

#define STORE_SECRET       32 /* bytes */
#define STORE_MAX_ID       128
#define STORE_MAX_REVISION 64
#define STORE_OPEN_MS      5000 /* so long it may take to reach it first */
#define STORE_ANSWER_MS    5000 /* and to answer; then the connection counts as lost */

struct store;
struct store_job;

enum store_end { STORE_DONE, STORE_NOT_FOUND, STORE_BUSY, STORE_FULL, STORE_FAILED };

struct store_answer {
    enum store_end end;
    struct str revision; /* of store_touch(); borrowed */
    uint64_t version;    /* of store_hold(): 0: no state was ever saved */
    struct str state;    /* of store_hold(); borrowed; "" if `version` is the one known */
    const char *error;   /* STORE_FAILED: why; borrowed */
};

typedef void store_done_fn(void *user, const struct store_answer *answer);

struct store_config {
    uv_loop_t *loop;
    const char *url;      /* store-url.h */
    const char *password; /* or NULL */
    unsigned idle_s;      /* so long a record lives unused */
    size_t max_state;     /* bytes */
    unsigned max_records; /* of all servers together; this counts where one is added */
    /* Another server has begun anew and found none of our secret; may be NULL. */
    void (*secret_changed)(void *user);
    void *user;
};

/* It waits until it is there, some seconds, while the loop runs.  ERR_INVALID: the URL is
 * none.  ERR_UNSUPPORTED: the library is missing.  ERR_IO: nobody answers there, or not
 * as a Redis would; nothing stays open, but the loop has to run once more. */
MUST_CHECK bool store_open(
        const struct store_config *config, struct store **out, struct error *err);

/* No callback comes any more.  Not from within one. */
void store_close(struct store *s);

/* STORE_SECRET random bytes, the same for all who use this store. */
const unsigned char *store_secret(const struct store *s);

/* A new record.  STORE_FULL: there are as many as there may be, and all are used. */
struct store_job *store_add(struct store *s, struct str id, struct str revision,
        store_done_fn *done, void *user);

/* It is being used: it lives on for the idle time.  Gives its revision. */
struct store_job *store_touch(
        struct store *s, struct str id, store_done_fn *done, void *user);

/* Hold it for at most `ms`, and get its state unless `known` is its version.  STORE_BUSY:
 * another one held it for all of `wait_ms`.  Nobody here may hold it already. */
struct store_job *store_hold(struct store *s, struct str id, uint64_t known, unsigned ms,
        unsigned wait_ms, store_done_fn *done, void *user);

/* Let go of it, after `version` is its state; state.data NULL: it did not change.
 * STORE_NOT_FOUND: it was not ours any more, and nothing was written. */
struct store_job *store_let_go(struct store *s, struct str id, uint64_t version,
        struct str state, store_done_fn *done, void *user);

/* End it for everybody, also for one who holds it. */
struct store_job *store_remove(
        struct store *s, struct str id, store_done_fn *done, void *user);

/* `done` will not be called.  What is held is let go of; the rest may happen or not. */
void store_cancel(struct store_job *job);

#endif
