/*
 * mcp.h - one client that speaks MCP, whatever carries its messages.
 *
 * Messages go in as text and replies come out through `send`, in any order.  Both eras
 * are served at once (era.h).  Tool calls go to the client's dispatch; everything else is
 * answered at once, also while a call runs.
 */
#ifndef PROTOCOL_MCP_H
#define PROTOCOL_MCP_H

#include "protocol/rpc.h"
#include "tool/dispatch.h"

#define MCP_PROGRESS_MS 10000

/* What is the same for all clients; outlives them. */
struct mcp_server {
    uv_loop_t *loop;
    const char *name, *version;
    const char *instructions;
    struct toolset *tools;
    unsigned progress_ms; /* between two notes on a call that runs long */
};

/* Takes one message, a JSON text without newlines, borrowed for the call. */
typedef void mcp_send_fn(void *user, struct str message);

/* Where the replies to one message go that does not share a way with all others. */
struct mcp_sink {
    /* `fault`: the code of the error that it is, or 0. */
    void (*reply)(void *user, struct str message, int fault);
    void (*note)(void *user, struct str message); /* progress; NULL: it is not wanted */
    void (*end)(void *user); /* nothing more comes, answered or not; may be NULL */
    void *user;
    /* A message that stands alone: its id is compared with no other's, and its call has a
     * shell that stays only if it asks for one (`session`, see tool/tool.h).  That is
     * found by who receives the message, and told here: */
    bool alone;
    const struct error *refused; /* why there is none, for the answer; or NULL */
    struct str remark;           /* about it, a line beside the result; or "" */
    struct str session;          /* the name of a new one, for the result; or "" */
};

struct mcp;

/* `send` may be NULL if all messages come with a sink. */
struct mcp *mcp_open(const struct mcp_server *server, struct dispatch *dispatch,
        mcp_send_fn *send, void *user);

/* One that goes on in another process: it has sent `initialize` there, and has been
 * answered with this legacy revision.  False: there is none of that name. */
MUST_CHECK bool mcp_resume(struct mcp *m, struct str revision);

/* The legacy revision that is spoken; NULL: `initialize` has not come. */
const char *mcp_revision(const struct mcp *m);

/* One message, or a batch of them. */
void mcp_receive(struct mcp *m, struct str text);

/* The same, parsed; `text` is what was parsed.  `end` may come before this returns, and
 * does so if the message was refused.  What the sink points to lives until `end`. */
void mcp_receive_json(
        struct mcp *m, const json_t *value, struct str text, const struct mcp_sink *sink);

/* Cancel the calls that came with a sink of this user; its `end` is called. */
void mcp_cancel(struct mcp *m, const void *user);

/* Whether the era has a method; what is answered if not, and to what is no JSON. */
bool mcp_has_method(struct str name, bool modern);
bool mcp_refuse_method(struct str name, struct rpc_fault *fault);
void mcp_fault_of_json(const struct error *err, struct rpc_fault *fault);

/* A message was longer than the transport takes, `max_bytes`; it could not be read. */
void mcp_refuse_long(struct mcp *m, size_t max_bytes);

/* Nothing runs and nothing waits. */
bool mcp_is_idle(const struct mcp *m);

/* Forget all calls and free it.  Nothing is sent any more, and no `end` is called; the
 * dispatch is destroyed next, before the loop turns again. */
void mcp_close(struct mcp *m);

#endif
