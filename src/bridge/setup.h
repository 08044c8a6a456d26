/*
 * setup.h - what the server says first (bridge.h), read and checked.
 */
#ifndef BRIDGE_SETUP_H
#define BRIDGE_SETUP_H

#include "bridge/url.h"

#define BRIDGE_MAX_HEADERS 64
#define BRIDGE_MIN_SECRET  6 /* a shorter text may stand in a message by chance */

struct bridge_setup {
    struct url url;
    const char *headers[BRIDGE_MAX_HEADERS]; /* as curl wants them */
    size_t header_count;
    const char *ca_file; /* NULL: the system's */
    struct url proxy;    /* text NULL: none */
    /* What must not appear in a message: values of headers, and the words in them. */
    struct str secrets[2 * BRIDGE_MAX_HEADERS + 1];
    size_t secret_count;
};

/*
 * ERR_INVALID: it is no such setup, or has a header that cannot be sent or that only the
 * transport sets.  The message never has a value in it.  Lives in `arena`.
 */
MUST_CHECK bool bridge_setup_parse(struct str json, struct arena *arena,
        struct bridge_setup *out, struct error *err);

/* Append `text` with "***" in place of every secret. */
void bridge_hide_secrets(
        const struct bridge_setup *setup, struct str text, struct buf *out);

#endif
