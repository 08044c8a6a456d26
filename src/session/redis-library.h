/*
 * redis-library.h - hiredis, loaded when it is asked for: only who has a store waits for
 * it, and a machine without it can do everything else.
 *
 * What is used of it is how commands are written and replies are read.  The sockets are
 * libuv's, since hiredis would look up names while everybody waits.
 */
#ifndef SESSION_REDIS_LIBRARY_H
#define SESSION_REDIS_LIBRARY_H

#include "base/error.h"

#include <hiredis/hiredis.h>

#define REDIS_FUNCTIONS(F)    \
    F(freeReplyObject)        \
    F(redisFormatCommandArgv) \
    F(redisFreeCommand)       \
    F(redisReaderCreate)      \
    F(redisReaderFeed)        \
    F(redisReaderFree)        \
    F(redisReaderGetReply)

struct redis_library {
#define REDIS_DECLARE(name) __typeof__(name) *name;
    REDIS_FUNCTIONS(REDIS_DECLARE)
#undef REDIS_DECLARE
};

/* ERR_UNSUPPORTED: it is not installed.  It stays loaded until the process ends. */
MUST_CHECK bool redis_library_load(struct redis_library *out, struct error *err);

#endif
