/*
 * http-ticket.h - the names of shells that stay, for a revision that has no sessions:
 * what a client gives as the argument `session`.
 *
 * A ticket is "shell_", the id of a session and its signature, all of one length, so that
 * there is nothing to parse.  The signature (HMAC-SHA256, of which 128 bits are kept) is
 * checked before anything is looked up.  Its key is this server's, or shared by servers
 * that share their sessions, and bound to the bearer token: with another token all
 * tickets are void.  An Mcp-Session-Id is never signed, and so is no ticket.
 */
#ifndef TRANSPORT_HTTP_TICKET_H
#define TRANSPORT_HTTP_TICKET_H

#include "transport/http-sessions.h"

#define HTTP_TICKET_NEW       "new"    /* what is given to get one */
#define HTTP_TICKET_PREFIX    "shell_" /* known to policy/log/mask.c, too */
#define HTTP_TICKET_SIGNATURE 32       /* digits */
#define HTTP_TICKET_LEN \
    (sizeof(HTTP_TICKET_PREFIX) - 1 + HTTP_SESSION_DIGITS + HTTP_TICKET_SIGNATURE)

struct http_ticket_key {
    unsigned char bytes[32];
};

/* A new key.  ERR_IO: the kernel gives no random bytes. */
MUST_CHECK bool http_ticket_make_key(struct http_ticket_key *out, struct error *err);

/* The key for those who gave this token, or none (""). */
struct http_ticket_key http_ticket_bind(
        const struct http_ticket_key *key, struct str token);

/* `id` has HTTP_SESSION_DIGITS. */
void http_ticket_write(
        const struct http_ticket_key *key, const char *id, char out[HTTP_TICKET_LEN + 1]);

/* False: nobody with this key has written it.  `*id` looks into `ticket`. */
MUST_CHECK bool http_ticket_read(
        const struct http_ticket_key *key, struct str ticket, struct str *id);

#endif
