/*
 * url.h - what is asked of a URL: whether we speak to it, and whose it is.
 *
 * The origin is scheme, host and port.  Headers of a definition may be secrets of one
 * origin, so nothing that a server says takes them to another.
 */
#ifndef BRIDGE_URL_H
#define BRIDGE_URL_H

#include "base/arena.h"
#include "base/str.h"

struct url {
    const char *text;   /* whole, without a fragment */
    const char *origin; /* "https://example.org:8443", to be shown; no default port */
    struct str query;   /* "" if there is none */
    uint16_t port;
    bool is_tls;
};

/*
 * `text` as a URL of http or https, made of `base` if that is not NULL and `text` does
 * not say everything.  ERR_INVALID: it is none, or has a user name or password in it.
 * Lives in `arena`.
 */
MUST_CHECK bool url_parse(const char *text, const struct url *base, struct arena *arena,
        struct url *out, struct error *err);

bool url_same_origin(const struct url *a, const struct url *b);

/* Is it this machine by name: localhost, 127.0.0.0/8 or ::1? */
bool url_is_local(const struct url *url);

#endif
