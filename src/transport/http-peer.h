/*
 * http-peer.h - which clients are one, by the address that their connections come from.
 */
#ifndef TRANSPORT_HTTP_PEER_H
#define TRANSPORT_HTTP_PEER_H

#include "base/base.h"

struct sockaddr;

#define HTTP_PEER_MAX 48 /* bytes, the NUL included */

/* "192.0.2.7", also if it came mapped into IPv6; of IPv6 the first 64 bits,
 * "2001:db8:0:1::", since whoever has one such address has all with this beginning; of
 * other families "". */
void http_peer_write(const struct sockaddr *address, char out[static HTTP_PEER_MAX]);

#endif
