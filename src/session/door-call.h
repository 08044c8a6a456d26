/*
 * door-call.h - a tool of another MCP server that a helper asks for at the door: the
 * arguments come, and the answer goes, through one end of a pair that the helper has made
 * (door-request.h).
 *
 * The end is outside bytes, and nobody waits for it: who sends nothing or reads nothing
 * has his call until it is cancelled, which costs memory and no time: DOOR_ARGUMENTS_MAX
 * bytes a call, and for results DOOR_MAX_HELD of all calls together.
 */
#ifndef SESSION_DOOR_CALL_H
#define SESSION_DOOR_CALL_H

#include "session/door-request.h"

#include <uv.h>

#define DOOR_MAX_HELD ((size_t)64 << 20) /* a result more is not kept, but an error */

struct audit;
struct door_call;
struct peers;

struct door_call_spec {
    uv_loop_t *loop;
    struct peers *peers;                /* NULL: there are no other servers */
    struct audit *audit;                /* told what was decided; or NULL */
    const struct door_request *request; /* borrowed for the start */
    unsigned timeout_ms;                /* of all of it */
    size_t *held; /* bytes of results that all calls of the helper have to be read */
    int fd;       /* handed over */
};

/* It has been answered, or called off, and is gone; from the loop. */
typedef void door_call_done_fn(void *user, struct door_call *call);

/* NULL: the loop does not take that descriptor. */
struct door_call *door_call_start(
        const struct door_call_spec *spec, door_call_done_fn *done, void *user);

/* `done` will not be called; the other server is told. */
void door_call_cancel(struct door_call *call);

/* Say why nothing is started for it, as far as the other end takes that at once. */
void door_call_refuse(int fd, struct str why);

#endif
