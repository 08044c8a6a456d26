/*
 * turns.h - whose call is next, where clients share what does the work.
 *
 * For each kind of work there are so many places.  A call takes one and gives it back
 * when it is over; while none may be taken, it waits in the line of its client.  A place
 * that becomes free goes to the address whose turn it is, there to the client whose turn
 * it is, and of his calls to the oldest.  So a client with a single call waits for one
 * round of the others, however many calls they have, and whoever opens a hundred
 * sessions from one address gets the share of one address.
 *
 * A round is not enough: a call may run for a minute.  Where clients share the places, a
 * client who holds some may take one more only if he then has at most TURN_SHARE times
 * what is still free: of 16 places the first gets 12, the next 3, and one is left for
 * the third.  Who holds none may take the last one.  A newcomer's call thus begins at
 * once unless several clients are greedy at the same time, and a client who is alone
 * loses a quarter of the places, since nobody knows when the next one will come.  A
 * server of one client keeps nothing back.
 *
 * Who is a client: a session.  Requests without one have nothing that could tell them
 * apart, since a client takes a new connection for each call that runs beside others and
 * can say of itself what it likes: all of one address share a line.  The address comes
 * first, and not alone, since behind a proxy and on the loopback all have the same.
 *
 * A call may wait as long as its client does; its own time counts from its start.  A
 * client may have TURNS_MAX_OF_CLIENT calls of a kind in line, all together
 * TURNS_MAX_WAITING; beyond that one call each, so that the many calls of some cost
 * nobody his first.  Nothing is allocated for a call.
 */
#ifndef SESSION_TURNS_H
#define SESSION_TURNS_H

#include "session/places.h"

#include "base/str.h"

#include <uv.h>

#define TURN_SHARE          3
#define TURNS_MAX_OF_CLIENT 1024               /* that wait, of a kind */
#define TURNS_MAX_BYTES     ((size_t)64 << 20) /* of these */
#define TURNS_MAX_WAITING   4096               /* of all clients, of a kind */

enum turn_kind { TURN_POOL, TURN_COMMAND, TURN_SNIPPET, TURN_PEER, TURN_KINDS };

struct turns_config {
    uv_loop_t *loop;
    unsigned places[TURN_KINDS];
    bool shared; /* there may be more than one client */
};

struct turns;
struct turns_client;

struct turns *turns_create(const struct turns_config *config);

/* Every client has left by then; the memory goes when the loop has turned. */
void turns_destroy(struct turns *t);

/* A client at `address` ("": there are none), which is copied; it stays until
 * turns_leave(), when nothing of it waits or works.  Without `has_line` it is one with
 * all others from there that have none. */
struct turns_client *turns_join(struct turns *t, struct str address, bool has_line);
void turns_leave(struct turns_client *c);

/* The same client where shells share places; stays as long. */
struct place_owner *turns_owner(struct turns_client *c);

/* One call's part; lives in the call and is not moved.  All zero: it has no place and
 * wants none. */
struct turn {
    enum { TURN_NONE, TURN_WAITING, TURN_WORKING } state;
    enum turn_kind kind;
    struct turns_client *client;
    size_t bytes;            /* that are held while it waits */
    struct turn *next, **at; /* in the line */
    void (*granted)(void *user);
    void *user;
};

/*
 * A place for work, or one in the line: `turn->state` says which.  `granted` is called
 * from the loop when a turn that waits gets its place.  ERR_LIMIT: too many wait, and
 * nothing has changed.
 */
MUST_CHECK bool turns_take(struct turns_client *c, enum turn_kind kind, size_t bytes,
        void (*granted)(void *user), void *user, struct turn *turn, struct error *err);

/* Give the place back, or leave the line. */
void turns_end(struct turn *turn);

/* Whether turns_take() would do it. */
MUST_CHECK bool turns_has_room(const struct turns_client *c, enum turn_kind kind,
        size_t bytes, struct error *err);

/* How many calls have a place, and how many wait. */
unsigned turns_working(const struct turns *t, enum turn_kind kind);
unsigned turns_waiting(const struct turns *t, enum turn_kind kind);

#endif
