/*
 * session-parts.h - the parts of session.h: the calls, and the stages of a worker.
 *
 * session.c has the queue of calls, session-stages.c the worker that does them: it is
 * started, loads what was saved, runs calls, saves, ends.
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

struct session {
    struct session_config config;
    uv_timer_t timer; /* one wait at a time */
    struct worker *worker;
    struct door_line *line; /* the worker's way to programs, or NULL */
    enum stage stage;
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

/* session-stages.c */

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
