/*
 * places.h - how many shells of all clients may have a worker at once, and whose turn it
 * is when they are all taken.
 *
 * A shell that has a call to do takes a place.  If none is free, the one that has been
 * idle longest is asked to go to sleep: its state is saved, its worker ends, and the
 * place is free.  If all are working, the shell waits in line; each stands there once,
 * however many calls it has, so that a client with a hundred calls waits as long as one
 * with a single call.  A place that becomes free goes to the address that got one longest
 * ago, there to the client of whom that is true, and of his shells to the one that waits
 * longest: calls that have a new shell each wait for their own kind.
 *
 * A shell whose state cannot be saved stays: it is not asked again before it has worked
 * once more.  Where all places are held by such shells nobody waits, since nothing would
 * end that.
 */
#ifndef SESSION_PLACES_H
#define SESSION_PLACES_H

#include "session/census.h"

#include "base/base.h"

struct places;

enum place_state {
    PLACE_NONE,
    PLACE_WAITING, /* in the line */
    PLACE_WORKING,
    PLACE_IDLE,    /* may be asked to leave */
    PLACE_LEAVING, /* gives up its place soon */
    PLACE_STAYING, /* idle, and cannot leave */
    PLACE_STATES,
};

/* What a shell is told, from within a function that was called for another one.  It takes
 * note, and calls none of these functions before it has returned. */
struct place_events {
    void (*granted)(void *user); /* the place that it waited for is its own */
    void (*refused)(void *user); /* it waits no more: all places are held for good */
    void (*leave)(void *user);   /* it is idle, and is to give up its place soon */
};

/* Whose shells they are: a client, `of` his address.  With no more than that set: he
 * never had a place. */
struct place_owner {
    struct place_owner *of; /* or NULL */
    uint64_t served;        /* the number of the last place that he got; 0: none yet */
    unsigned waiting;       /* of his shells */
};

/* One shell's part in it; lives in the shell.  With no more than its events and user set:
 * it has no place and wants none. */
struct place {
    struct place *older, *newer; /* in the line, or among the idle */
    enum place_state state;      /* set by these functions only */
    const struct place_events *events;
    void *user;                /* of events */
    struct place_owner *owner; /* outlives it; NULL: nobody in particular */
};

/* `most` places; at most `max_waiting` shells wait, beyond that one of each owner; 0:
 * nobody does. */
struct places *places_create(unsigned most, unsigned max_waiting);

/* Nobody has a place or waits for one by then. */
void places_destroy(struct places *p);

/* Whether places_take() would not refuse. */
bool places_has_room(const struct places *p, const struct place *one);

/* A place for work.  True: it has one, now (*waits false) or when `granted` is called
 * (*waits true).  Who is leaving has changed its mind, and somebody else is asked.
 * False: too many wait already, or all places are held for good; nothing has changed. */
MUST_CHECK bool places_take(struct places *p, struct place *one, bool *waits);

/* A place for what nobody needs yet, if one is free and nobody waits: idle, and the first
 * to be asked to leave. */
MUST_CHECK bool places_take_free(struct places *p, struct place *one);

/* Somebody waits for whom nobody is about to leave: who has worked for long and has more
 * to do leaves (places_leaving()) and stands in line again. */
bool places_are_wanted(const struct places *p);

/* Its work is done, but its worker stays, until somebody else needs the place. */
void places_idle(struct places *p, struct place *one);

/* It gives up its place soon, though it was not asked. */
void places_leaving(struct places *p, struct place *one);

/* It was leaving, and cannot. */
void places_stay(struct places *p, struct place *one);

/* It has no worker any more, or does not wait any more; from any state. */
void places_leave(struct places *p, struct place *one);

unsigned places_waiting(const struct places *p);
unsigned places_taken(const struct places *p); /* working, idle, leaving and staying */

/* The workers; who leaves still works, who stays is idle. */
void places_look(const struct places *p, struct census *out);

#endif
