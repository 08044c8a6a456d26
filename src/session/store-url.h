/*
 * store-url.h - where a store is: the URL of `--state`, taken apart.
 *
 *   redis://[USER@]HOST[:PORT][/DATABASE]
 *   redis+unix://[USER@]/PATH/OF/SOCKET
 *
 * A password in it is refused, since everybody on the machine sees command lines; so is
 * whatever else a URL could have.  Nothing is decoded: a byte stands for itself.
 */
#ifndef SESSION_STORE_URL_H
#define SESSION_STORE_URL_H

#include "base/str.h"

#define STORE_URL_MAX      1024 /* bytes */
#define STORE_DEFAULT_PORT 6379
#define STORE_MOST_DB      9999

struct store_url {
    char user[129]; /* or "" */
    char host[254]; /* a name or an address, without brackets; "": it is `path` */
    char path[108]; /* absolute; as long as a socket's can be */
    unsigned port, database;
};

/* ERR_INVALID: `text` is none of these.  The message never shows a password. */
MUST_CHECK bool store_url_parse(
        struct str text, struct store_url *out, struct error *err);

#endif
