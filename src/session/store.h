/*
 * store.h - what shells are, kept outside of this process, so that several servers behind
 * one address share them: a Redis.
 *
 * A session has a record there under its id: the revision of MCP that it speaks, the
 * state of its shell (shell/save.h) and a version that grows with each change.  Records
 * expire by themselves when nobody has used them for the idle time.  Who runs a call
 * holds the record meanwhile, so that two servers never run calls of one shell at once.
 *
 * What comes back is outside bytes.  Every function answers through its callback, once,
 * from the loop; a store that cannot be reached answers STORE_FAILED, with the reason.
 */
#ifndef SESSION_STORE_H
#define SESSION_STORE_H

#include "base/str.h"

#include <uv.h>

struct store;
struct store_job;

enum store_end { STORE_DONE, STORE_NOT_FOUND, STORE_BUSY, STORE_FAILED };

struct store_answer {
    enum store_end end;
    struct str revision; /* of store_touch(); borrowed */
    uint64_t version;    /* of store_hold(): 0: no state was ever saved */
    struct str state;    /* of store_hold(); borrowed; "" if `version` is the one known */
    const char *error;   /* STORE_FAILED */
};

typedef void store_done_fn(void *user, const struct store_answer *answer);

struct store_config {
    uv_loop_t *loop;
    const char *url;      /* "redis://[USER@]HOST[:PORT][/DB]" or "redis+unix:///PATH" */
    const char *password; /* or NULL */
    unsigned idle_s;      /* so long a record lives unused */
    size_t max_state;     /* bytes */
};

/* ERR_INVALID: the URL is none of these.  ERR_UNSUPPORTED: the library is missing.
 * ERR_IO: nobody answers there now (it waits for that, some seconds). */
MUST_CHECK bool store_open(
        const struct store_config *config, struct store **out, struct error *err);
void store_close(struct store *s); /* no callback comes any more */

/* A new record. */
struct store_job *store_add(struct store *s, struct str id, struct str revision,
        store_done_fn *done, void *user);

/* It is being used: it lives on for the idle time.  Gives its revision. */
struct store_job *store_touch(
        struct store *s, struct str id, store_done_fn *done, void *user);

/* Hold it for at most `ms`, and get its state unless `known` is its version.  STORE_BUSY:
 * another one held it for all of `wait_ms`. */
struct store_job *store_hold(struct store *s, struct str id, uint64_t known, unsigned ms,
        unsigned wait_ms, store_done_fn *done, void *user);

/* Let go of it, after `version` is its state; state.data NULL: it did not change.
 * STORE_NOT_FOUND: it was not ours any more, and nothing was written. */
struct store_job *store_let_go(struct store *s, struct str id, uint64_t version,
        struct str state, store_done_fn *done, void *user);

/* End it for everybody. */
struct store_job *store_remove(
        struct store *s, struct str id, store_done_fn *done, void *user);

/* `done` will not be called.  A hold that comes too late is let go of. */
void store_cancel(struct store_job *job);

#endif
