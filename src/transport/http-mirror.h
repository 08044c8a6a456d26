/*
 * http-mirror.h - what the head of a request of the stateless era repeats of its body.
 *
 * Who forwards a request chooses by its head, and we act on its body: the two have to say
 * the same.  The head has the revision, the method, the name of what is called, and those
 * arguments of a tool whose schema asks for it with `x-mcp-header: X`, each as
 * `Mcp-Param-X`.
 */
#ifndef TRANSPORT_HTTP_MIRROR_H
#define TRANSPORT_HTTP_MIRROR_H

#include "protocol/rpc.h"
#include "transport/http-head.h"

/* "Header mismatch: NAME WHAT"; returns false. */
bool http_mismatch(struct rpc_fault *fault, const char *name, const char *what);

MUST_CHECK bool http_mirror_revision(
        const struct http_head *head, struct str version, struct rpc_fault *fault);

/*
 * Method and name; and with the inputSchema of the tool that is called, its arguments:
 * one that is in the body must be in the head with the same value, one that is not, or is
 * null, must not.  `schema` NULL: none is looked for.
 */
MUST_CHECK bool http_mirror_call(const struct http_head *head,
        const struct rpc_message *m, const json_t *schema, struct rpc_fault *fault);

#endif
