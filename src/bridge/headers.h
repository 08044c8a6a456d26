/*
 * headers.h - header fields: what may stand in them, and those of a message.
 */
#ifndef BRIDGE_HEADERS_H
#define BRIDGE_HEADERS_H

#include "bridge/message.h"
#include "bridge/setup.h"

#include <curl/curl.h>

#define HEADER_MAX_SESSION ((size_t)4 << 10)
#define HEADER_MAX_VERSION 32

/* A token (RFC 9110). */
bool header_is_name(struct str s);

/* Visible ASCII, with spaces and tabs within it. */
bool header_is_value(struct str s);

/* Without blanks around it, and the end of its line. */
struct str header_trim(struct str s);

/* Append `value` as it is, or as "=?base64?...?=" if it cannot be. */
void header_encode(struct str value, struct buf *out);

/* Is it this media type, with whatever parameters? */
bool header_is_media_type(struct str value, const char *type);

/* What the first messages have settled, for those that follow. */
struct bridge_session {
    char id[HEADER_MAX_SESSION + 1];      /* "": the server has given none */
    char version[HEADER_MAX_VERSION + 1]; /* "": not initialized */
    bool is_lost;                         /* the server says so; it need not be ended */
};

/*
 * The fields of a request: for `message`, or with NULL for one that has none, to which
 * `accept` says what is understood ("" if nothing comes), `last_event` where to go on.
 * A message of 2026-07-28 or later has fields of its own, and no session.
 */
struct curl_slist *headers_of_message(const struct bridge_setup *setup,
        const struct bridge_session *session, const struct message *message);
struct curl_slist *headers_of_request(const struct bridge_setup *setup,
        const struct bridge_session *session, const char *accept, struct str last_event);

#endif
