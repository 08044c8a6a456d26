/*
 * connection.h - what the files of the protocol share about one client.
 *
 * A request carries where its reply goes: straight to the client, or into the batch that
 * it came in.  A batch is answered in one message when its last call has ended.
 */
#ifndef PROTOCOL_CONNECTION_H
#define PROTOCOL_CONNECTION_H

#include "protocol/mcp.h"
#include "protocol/rpc.h"

struct batch {
    struct buf replies;
    size_t open; /* requests without a reply, and the reading of it */
};

struct call;

struct mcp {
    const struct mcp_server *server;
    struct dispatch *dispatch;
    mcp_send_fn *send;
    void *user;
    const char *revision; /* of the last `initialize`; NULL before */
    struct call *calls;   /* running or waiting */
    struct buf out;       /* the reply being written */
};

struct request {
    struct mcp *mcp;
    struct batch *batch; /* NULL: the reply stands alone */
    const struct rpc_message *message;
    bool modern;
};

/* An empty buffer for one reply. */
struct buf *connection_buf(struct mcp *m);

/* Send what connection_buf() was filled with. */
void connection_reply(struct mcp *m, struct batch *batch);

/* One request of the batch is done with, answered or not.  NULL is fine. */
void connection_leave_batch(struct mcp *m, struct batch *batch);

/* call.c: tools/call. */
bool call_start(const struct request *r, struct rpc_fault *fault);
struct call *call_find(const struct mcp *m, struct str id);
void call_cancel(struct call *c);
void call_drop(struct call *c); /* the work goes on, but nothing is sent */

#endif
