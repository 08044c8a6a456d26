/*
 * bridge-start.h - a paddock-bridge that runs, for a server that has a URL
 * (bridge/bridge.h).
 *
 * It reads and writes lines of JSON-RPC as a server with stdin and stdout does, so it is
 * ended like one: by the end of its input, after which it has some time to say goodbye to
 * the other server.
 */
#ifndef PEER_BRIDGE_START_H
#define PEER_BRIDGE_START_H

#include "broker/spawn.h"
#include "peer/definition.h"

#include <uv.h>

struct peer_bridge;

/* What is to be started. */
struct bridge_spec {
    const char *program; /* from helper_find("paddock-bridge") */
    const struct peer_definition *definition;
};

/* It has ended by itself or after peer_bridge_stop(), and is freed: forget the pointer.
 */
typedef void peer_bridge_done_fn(void *user, int status); /* as from waitpid() */

/*
 * For the URL of the definition, with its headers, which no other process gets to see.
 * Of the definition's variables (NULL: none) it is told SSL_CERT_FILE, whom to trust, and
 * HTTPS_PROXY for https, HTTP_PROXY for http, in capitals; its own environment it does
 * not get them in.  `spec` is borrowed for the call, `input` and `output` stay open here,
 * `*errors` is yours: what it says to people.
 */
MUST_CHECK bool peer_bridge_start(uv_loop_t *loop, const struct bridge_spec *spec,
        int input, int output, peer_bridge_done_fn *done, void *user,
        struct peer_bridge **out, int *errors, struct error *err);

/* `done` follows soon. */
void peer_bridge_stop(struct peer_bridge *b);

/* It is killed, and `done` is not called any more.  Waits for its end, a second at most;
 * freed in the background.  NULL is fine. */
void peer_bridge_destroy(struct peer_bridge *b);

#endif
