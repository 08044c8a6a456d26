/*
 * rpc.h - the JSON-RPC 2.0 envelope: one message in, one reply out.
 *
 * An id is kept as the text that came ("struct str id" is raw JSON, a string or an
 * integer) and goes back as that.  Where no id can be given, the reply has none: MCP
 * forbids null there.
 */
#ifndef PROTOCOL_RPC_H
#define PROTOCOL_RPC_H

#include "base/json.h"

enum rpc_code {
    RPC_PARSE_ERROR = -32700,
    RPC_INVALID_REQUEST = -32600,
    RPC_METHOD_NOT_FOUND = -32601,
    RPC_INVALID_PARAMS = -32602,
    RPC_INTERNAL_ERROR = -32603,
    /* MCP 2026-07-28 */
    RPC_HEADER_MISMATCH = -32020,
    RPC_MISSING_CAPABILITY = -32021,
    RPC_UNSUPPORTED_VERSION = -32022,
    /* Ours, outside of what JSON-RPC and MCP keep for themselves: no room at present. */
    RPC_BUSY = -31503,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE };

struct rpc_message {
    enum rpc_kind kind;
    struct str id;        /* requests: raw JSON */
    struct str method;    /* not of responses */
    const json_t *params; /* an object, or NULL */
    struct str raw_params;
};

/* What goes back instead of a result. */
struct rpc_fault {
    enum rpc_code code;
    char message[256];
    json_t *data; /* NULL: none; the fault owns it, rpc_write_fault() drops it */
};

/* Fill `fault`; returns false. */
bool rpc_fault(struct rpc_fault *fault, enum rpc_code code, const char *fmt, ...)
        PRINTF(3, 4);

/*
 * Read the envelope of `value`, whose text is `raw`; the message looks into both.  False:
 * it is none, `fault` says why, and out->id is its id if that could be read.
 */
MUST_CHECK bool rpc_parse(const json_t *value, struct str raw, struct rpc_message *out,
        struct rpc_fault *fault);

/* Whether raw JSON is a string or an integer, as ids and progress tokens are. */
bool rpc_is_id(struct str raw);

/* Whether two raw ids are the same value, however they are spelled. */
bool rpc_same_id(struct str a, struct str b);

/* Append `{"jsonrpc":"2.0","id":...,"result":`, for a result that is written as text;
 * the caller adds it and the closing brace. */
void rpc_open_result(struct str id, struct buf *out);

/* Append a whole reply; takes over `result`. */
void rpc_write_result(struct str id, json_t *result, struct buf *out);

/* Append an error reply; `id` may be empty. */
void rpc_write_fault(struct str id, struct rpc_fault *fault, struct buf *out);

#endif
