/*
 * era.h - which MCP a message speaks.
 *
 * Legacy revisions (2024-11-05 to 2025-11-25) open with `initialize`; from 2026-07-28 on
 * every request says in its _meta what it speaks.  Both are served on one connection, so
 * the era is chosen for each message.
 */
#ifndef PROTOCOL_ERA_H
#define PROTOCOL_ERA_H

#include "protocol/rpc.h"

#define ERA_NEWEST_LEGACY  "2025-11-25"
#define ERA_BATCH_REVISION "2025-03-26" /* the only one with arrays of messages */

bool era_is_modern(const struct rpc_message *m);

/* What a modern request must have in its _meta, in the order that the spec checks it:
 * the envelope, from which the version comes, and that this is served. */
MUST_CHECK bool era_check_envelope(
        const struct rpc_message *m, struct str *version, struct rpc_fault *fault);
MUST_CHECK bool era_check_served(struct str version, struct rpc_fault *fault);
MUST_CHECK bool era_check_modern(const struct rpc_message *m, struct rpc_fault *fault);

/* That the client has declared all capabilities of the object `needs`. */
MUST_CHECK bool era_check_capabilities(
        const struct rpc_message *m, json_t *needs, struct rpc_fault *fault);

bool era_is_legacy_revision(struct str revision);

/* The revision to answer `initialize` with: the one asked for, if it is a legacy one. */
const char *era_legacy_revision(struct str asked);

/* All revisions served, newest first. */
json_t *era_supported(void);

#endif
