/*
 * reply.h - what is said to who started us: messages that came, or why none comes.
 */
#ifndef BRIDGE_REPLY_H
#define BRIDGE_REPLY_H

#include "bridge/exchange.h"

/*
 * A message that came for it, or several in an array: passed on, unless it answers what
 * nobody asked here.  False: it is no JSON-RPC; the exchange has the problem.
 */
MUST_CHECK bool reply_take(struct exchange *x, struct str text);

/* It is not going to be answered: an error for a request, else a line on stderr. */
void reply_fail(struct exchange *x, enum failure failure, const char *fmt, ...)
        PRINTF(3, 4);

/*
 * The same for a status that is no success.  If the content is an error in JSON-RPC, the
 * server's words are passed on.
 */
void reply_fail_status(struct exchange *x);

/* For a request that never became an exchange. */
void reply_refuse(struct bridge *b, json_t *id, const char *text);

/* Append the start of what came, on one line, without secrets. */
void reply_excerpt(const struct exchange *x, struct buf *out);

#endif
