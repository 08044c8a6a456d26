#include "transport/http-peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#define PREFIX_BYTES 8
#define MAPPED_BYTES 12 /* before the IPv4 address */

static void write_v6(const struct sockaddr *address, char *out)
{
    struct sockaddr_in6 v6;
    memcpy(&v6, address, sizeof(v6));
    uint8_t *bytes = v6.sin6_addr.s6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&v6.sin6_addr)) {
        inet_ntop(AF_INET, bytes + MAPPED_BYTES, out, HTTP_PEER_MAX);
        return;
    }
    if (!IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr))
        memset(bytes + PREFIX_BYTES, 0, sizeof(v6.sin6_addr) - PREFIX_BYTES);
    inet_ntop(AF_INET6, bytes, out, HTTP_PEER_MAX);
}

void http_peer_write(const struct sockaddr *address, char out[static HTTP_PEER_MAX])
{
    struct sockaddr_in v4;
    out[0] = '\0';
    if (address->sa_family == AF_INET6) {
        write_v6(address, out);
    } else if (address->sa_family == AF_INET) {
        memcpy(&v4, address, sizeof(v4));
        inet_ntop(AF_INET, &v4.sin_addr, out, HTTP_PEER_MAX);
    }
}
