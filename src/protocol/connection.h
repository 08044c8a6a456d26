/*
 * connection.h - what the files of the protocol share about one client.
 *
 * A request carries what it came in: that knows where the reply goes.  A batch is
 * answered in one message when its last call has ended.
 */
#ifndef PROTOCOL_CONNECTION_H
#define PROTOCOL_CONNECTION_H

#include "protocol/mcp.h"
#include "protocol/rpc.h"

/* What came in one piece: a message or a batch. */
struct intake {
    struct mcp_sink sink;
    bool is_batch;
    struct buf replies; /* of a batch */
    size_t open;        /* requests without a reply, and the reading of it */
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
    struct intake *intake;
    const struct rpc_message *message;
    bool modern;
};

/* An empty buffer for one reply. */
struct buf *connection_buf(struct mcp *m);

/* Send what connection_buf() was filled with: a reply (`fault`: its error code, or 0), or
 * a note on something that runs. */
void connection_reply(struct mcp *m, struct intake *intake, int fault);
void connection_note(struct mcp *m, struct intake *intake);

/* One request of it is done with, answered or not. */
void connection_leave(struct intake *intake);

/* call.c: tools/call. */
bool call_start(const struct request *r, struct rpc_fault *fault);
struct call *call_find(const struct mcp *m, struct str id);

/* One that came with a sink of this user, or NULL. */
struct call *call_of(const struct mcp *m, const void *user);
void call_cancel(struct call *c);
void call_drop(struct call *c);    /* the work goes on, but nothing is sent */
void call_silence(struct call *c); /* nothing will be sent, not even its end */

#endif
