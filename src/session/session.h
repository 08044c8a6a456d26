/*
 * session.h - one shell: its worker process and the calls that wait for it.
 *
 * Calls run one at a time, in the order they came.  The worker is started when the first
 * call needs it, or ahead of that by session_warm().  A worker that dies costs the call
 * it was running; the next call gets a new one, and its text begins with a note that the
 * state of the shell is gone - unless the session is stateless: then there is none.
 *
 * Shells of many clients (`struct shells`) share a number of places for workers
 * (places.h).  One that is idle goes to sleep when another one needs its place, or by
 * itself after a while: its worker tells its state ("shell.save") and ends, and the next
 * call starts one that is told it ("shell.load").  Nothing is lost by that.  Where the
 * state cannot be saved, the shell stays awake.  A shell with many calls lets others work
 * between two of them.
 *
 * A shell that other servers may run as well has its state in a store (store.h).  It is
 * held there for each call, loaded if it has changed, and saved before the call is
 * answered; a worker that is kept is only worth its start.  If that is not possible, the
 * answer says so, and the next call finds the shell as the store has it.
 */
#ifndef SESSION_SESSION_H
#define SESSION_SESSION_H

#include "broker/spawn.h"
#include "session/door.h"
#include "session/places.h"
#include "session/store.h"

#include <uv.h>

#define SESSION_MAX_CALLS      1024 /* waiting or running */
#define SESSION_MAX_CALL_BYTES ((size_t)64 << 20)
#define SESSION_MAX_STATE      ((size_t)4 << 20)   /* bytes, of one shell asleep */
#define SESSION_MAX_STATES     ((size_t)256 << 20) /* of all of them */
#define SESSION_SAVE_MS        5000
#define SESSION_HOLD_MS        20000 /* so long beyond the time limit of a call */
#define SESSION_TURN_MS        250   /* so long a shell works on, while others wait */

struct session;
struct session_call;
struct spare; /* session/spare.h */

typedef void session_idle_fn(void *user);

/* What shells of many clients share; outlives them. */
struct shells {
    struct places *places;
    unsigned idle_ms; /* unused for so long, a shell goes to sleep; 0: only if asked to */
    unsigned save_ms; /* a worker that saves or loads for longer is killed */
    size_t max_states;   /* bytes of saved states; beyond, shells stay awake */
    size_t states;       /* so many there are */
    size_t asleep;       /* shells that have some */
    struct spare *spare; /* of them all; NULL: each starts its own worker */
};

struct session_config {
    uv_loop_t *loop;
    struct helper_spec worker; /* all it points to outlives the session */
    struct str setup;          /* JSON of policy/setup.h; outlives the session */
    /* Where the worker asks for programs, on the descriptor after those of `worker`;
     * NULL: it has no such descriptor. */
    struct door *door;
    unsigned timeout_ms;   /* the worker ends a call itself then; we kill it 6 s later */
    size_t max_reply;      /* bytes */
    bool once;             /* it is for one call; others like it may follow */
    bool stateless;        /* no call depends on another one: nothing is lost */
    session_idle_fn *idle; /* may be NULL: told when the last call has ended */
    void *idle_user;
    bool *problems_told;   /* shared by sessions that are alike, or NULL: problems.h */
    struct shells *shells; /* NULL: it shares nothing, and never sleeps */
    struct place_owner *owner; /* of its place among them; outlives it; may be NULL */
    struct store *store;       /* or NULL; needs `shells` */
    struct str id;             /* of the record there; copied */
};

/* Called once for each call that is not cancelled, from the loop.  `notes`: the JSON that
 * the worker sent about what it decided and did, or ""; outside bytes. */
typedef void session_done_fn(
        void *user, bool is_error, struct str text, struct str notes);

struct session *session_create(const struct session_config *config);

/* Nothing runs and nothing waits. */
bool session_is_idle(const struct session *s);

/* Whether a call finds a worker, or there is room in the line for one. */
bool session_has_room(const struct session *s);

/* It waits in line for a worker. */
bool session_waits(const struct session *s);

/* Start the worker if there is none, so that the first call finds it ready. */
void session_warm(struct session *s);

/*
 * Queue a call; `args` is JSON.  `*out` is valid until `done` or session_cancel().
 * ERR_LIMIT: too many calls wait already, or too many shells.
 */
MUST_CHECK bool session_call(struct session *s, struct str tool, struct str args,
        session_done_fn *done, void *user, struct session_call **out, struct error *err);

/* `done` will not be called.  A running call is asked to stop and killed after 4 s. */
void session_cancel(struct session *s, struct session_call *call);

/* Kills the worker and waits for its end; what waits is dropped without `done`. */
void session_destroy(struct session *s);

#endif
