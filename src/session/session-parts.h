/*
 * session-parts.h - the parts of session.h: the calls, and the stages of a worker.
 *
 * session.c has the queue of calls, session-stages.c the worker that does them: it is
 * started, loads what was saved, runs calls, saves, ends.  session-shared.c has what is
 * more to be done for each call of a shell whose state is in a store.
 */
#ifndef SESSION_SESSION_PARTS_H
#define SESSION_SESSION_PARTS_H

#include "session/session.h"
#include "session/worker.h"

struct session_call {
    struct session_call *next;
    char *tool, *args;
    size_t args_len;
    session_done_fn *done; /* NULL: cancelled */
    void *user;
};

enum stage {
    STAGE_NONE, /* no worker: the shell is new, asleep, or waits for a place */
    STAGE_STARTING,
    STAGE_LOADING,
    STAGE_READY, /* idle, or running a call */
    STAGE_SAVING,
    STAGE_ENDING, /* dismissed */
};

/* Of a shell in a store.  The record is held for one call. */
struct shared {
    enum { SHARED_FREE, SHARED_ASKED, SHARED_HELD, SHARED_SETTLING } state;
    struct store_job *job; /* while it is asked for, or let go of with a state */
    uint64_t version;      /* that the worker has; of a new worker: 0 */
    uint64_t coming;       /* that is being loaded */
    char *load;            /* what a new worker is to load; or NULL */
    size_t load_len;
    bool is_error; /* the answer that waits until the state is kept */
    struct buf text, notes;
};

struct session {
    struct session_config config;
    struct shared shared;
    uv_timer_t timer; /* one wait at a time */
    struct worker *worker;
    struct door_line *line; /* the worker's way to programs, or NULL */
    enum stage stage;
    bool is_spare;      /* the worker was started ahead, and its start is not ours yet */
    char *status;       /* what it has said then, until we hear it; or NULL */
    bool used;          /* the worker has run a call: it has state that is nowhere else */
    char *state;        /* what was saved; true while the worker is not used; or NULL */
    size_t state_len;   /* bytes */
    const char *note;   /* of a loss that nobody was told of yet, or NULL */
    bool problems_told; /* unless that is shared */
    bool stay_told;     /* why it cannot sleep */
    struct place place;
    uint64_t turn;              /* ms: since when it works */
    struct session_call *first; /* waiting */
    struct session_call **last; /* where the next one is linked in */
    struct session_call *running;
    unsigned asks;       /* to stop, while a cancelled call runs */
    size_t calls, bytes; /* waiting and running */
    char *trouble;       /* why no worker can be had, not told yet; or NULL */
};

/* session.c */

/* Answer the call and forget it; the first answer after a loss says so. */
void session_answer(struct session *s, struct session_call *call, bool is_error,
        struct str text, struct str notes);

/* Take the one that has waited longest out of the queue. */
struct session_call *session_take_first(struct session *s);

/* What was saved; false: it would be too much. */
MUST_CHECK bool session_keep_state(struct session *s, struct str state);
void session_drop_state(struct session *s);

/* session-shared.c */

/* The first call may run: true if the record is held; otherwise that is asked for. */
bool session_shared_begin(struct session *s);

/* The running call has ended, and its worker is to save.  The answer is kept. */
void session_shared_keep(
        struct session *s, bool is_error, struct str text, struct str notes);

/* What the worker has saved; or why it could not: it is no longer used then. */
void session_shared_saved(struct session *s, bool is_error, struct str text);

/* The running call, if there is one, has no answer; `why` it has none. */
void session_shared_lost(struct session *s, const char *why);

/* Nothing runs that needs the record. */
void session_shared_free(struct session *s);

/* session-stages.c */

/* Have the worker load this; `s->stage` is STAGE_READY. */
void session_load(struct session *s, struct str state);

/* In place of one that has another state. */
void session_new_worker(struct session *s);

/* After a call has ended. */
void session_go_on(struct session *s);

/* It has a place, whatever it was about to do with it, and works. */
void session_keep_place(struct session *s);

/* Why a call cannot even wait. */
extern const char session_no_place[];

/* What the places tell a session. */
extern const struct place_events session_place_events;

/* Give the worker its next call, if there is one and it is free; start it if needed. */
void session_pump(struct session *s);

/* It has no worker, wants no place, or waits for none any more. */
void session_leave_place(struct session *s);

/* The running call is cancelled: ask for its end until it comes. */
void session_ask_to_stop(struct session *s);

/* Kill the worker, wait for its end, and give up its place. */
void session_end_worker(struct session *s);

#endif
