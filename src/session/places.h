/*
 * places.h - how many shells of all clients may have a worker at once, and whose turn it
 * is when they are all taken.
 *
 * A shell that has a call to do takes a place.  If none is free, the one that has been
 * idle longest is asked to go to sleep: its state is saved, its worker ends, and the
 * place is free.  If all are working, the shell waits in line; each stands there once,
 * however many calls it has, so that a client with a hundred calls waits as long as one
 * with a single call.
 */
#ifndef SESSION_PLACES_H
#define SESSION_PLACES_H

#include "base/base.h"

struct places;

/* One shell's part in it; lives in the shell.  All zero: it has no place and wants none.
 */
struct place {
    struct place *older, *newer; /* in the line, or among the idle */
    enum place_state {
        PLACE_NONE,
        PLACE_WAITING,
        PLACE_WORKING,
        PLACE_IDLE,
        PLACE_LEAVING
    } state;
    void (*granted)(void *user); /* the place that it waited for is its own; from within
                                    places_leave() or places_idle() of another one */
    void (*leave)(void *user);   /* it is idle and is to give up its place soon */
    void *user;
};

/* `most` places; at most `max_waiting` shells wait. */
struct places *places_create(unsigned most, unsigned max_waiting);
void places_destroy(struct places *p);

/* Whether places_take() would not refuse. */
bool places_has_room(const struct places *p, const struct place *one);

/* A place for work.  True: it has one, now (*waits false) or when `granted` is called
 * (*waits true).  False: too many wait already; nothing has changed. */
MUST_CHECK bool places_take(struct places *p, struct place *one, bool *waits);

/* Its work is done, but its worker stays, until somebody else needs the place. */
void places_idle(struct places *p, struct place *one);

/* It has no worker any more, or does not wait any more. */
void places_leave(struct places *p, struct place *one);

unsigned places_working(const struct places *p);
unsigned places_waiting(const struct places *p);
unsigned places_taken(const struct places *p); /* working, idle and leaving */

#endif
