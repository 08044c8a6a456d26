/*
 * bridge-start.h - paddock-bridge, for a server that has a URL (bridge/bridge.h).
 *
 * It reads and writes lines of JSON-RPC as a server with stdin and stdout does, so who
 * has started it treats it like one: closes its input to end it, and gives it time to say
 * goodbye to the other server (BRIDGE_END_MS).
 */
#ifndef PEER_BRIDGE_START_H
#define PEER_BRIDGE_START_H

#include "broker/spawn.h"
#include "peer/definition.h"

#define BRIDGE_END_MS 2000

/*
 * Start `program` (from helper_find("paddock-bridge")) for the URL of `definition`, with
 * its headers.  Of the definition's variables (NULL: none) it knows SSL_CERT_FILE, whom
 * to trust, and HTTPS_PROXY for https, HTTP_PROXY for http; its own environment it does
 * not get them in.  `input` and `output` are its ends of two pipes, or both the one of a
 * socket pair; they stay open here, so close them after.  What it says to people comes
 * from out->errors; out->socket is to be closed with helper_finish(), which ends it at
 * once.
 */
MUST_CHECK bool peer_bridge_start(const char *program,
        const struct peer_definition *definition, int input, int output,
        struct helper *out, struct error *err);

#endif
