/*
 * redis.h - one connection to a Redis: commands go out in order, and so come the replies.
 *
 * It is made when a command needs it.  When it is lost, all that waits for a reply has
 * failed - nobody knows whether Redis has done it - and the next command makes a new one.
 * What comes back is outside bytes: a reply is at most `max_reply` long, a list in it has
 * at most REDIS_MAX_LIST parts, none of them a list.
 *
 * Sources: the protocol, https://redis.io/docs/reference/protocol-spec/ (RESP2).
 */
#ifndef SESSION_REDIS_H
#define SESSION_REDIS_H

#include "session/redis-library.h"
#include "session/store-url.h"

#include <uv.h>

#define REDIS_MAX_LIST    8
#define REDIS_MAX_WAITING 10000               /* commands without a reply */
#define REDIS_MAX_BYTES   ((size_t)256 << 20) /* of them */

struct redis;

struct redis_config {
    uv_loop_t *loop;
    struct redis_library library;
    struct store_url address;
    const char *password;          /* or NULL; copied */
    size_t max_reply;              /* bytes */
    unsigned answer_ms;            /* connecting, and each reply, may take so long */
    void (*connected)(void *user); /* what is sent from here goes before all else */
    void *user;
};

struct redis *redis_create(const struct redis_config *config);

/* Not from within a callback.  None comes any more. */
void redis_destroy(struct redis *r);

/* `reply` is borrowed and no error; NULL: `problem` says why there is none. */
typedef void redis_done_fn(void *user, const redisReply *reply, const char *problem);

/* `done` is called once, from the loop.  False: too much waits already. */
MUST_CHECK bool redis_send(struct redis *r, const struct str *words, size_t count,
        redis_done_fn *done, void *user);

#endif
