#include "bridge/confinement.h"

#include <fcntl.h>
#include <unistd.h>

#define DNS_PORT   53
#define MAX_MEMORY ((uint64_t)512 << 20)
#define MAX_FILES  256

/* For getaddrinfo(): its configuration, and libraries that it may want to load.  Whom to
 * trust has been read before. */
static const char *const readable[] = { "/etc/gai.conf", "/etc/host.conf", "/etc/hosts",
    "/etc/ld.so.cache", "/etc/nsswitch.conf", "/etc/resolv.conf", "/etc/services", "/lib",
    "/lib64", "/run/systemd/resolve", "/usr/lib", "/usr/lib64" };

void bridge_confine(const struct bridge_setup *setup, struct confine_status *status)
{
    struct confine_root roots[ARRAY_LEN(readable)];
    const uint16_t ports[] = { setup->url.port, DNS_PORT, setup->proxy.port };
    struct confine_request request = {
        .roots = roots,
        .network = true,
        .ports = ports,
        .port_count = setup->proxy.text ? 3 : 2,
        .no_capabilities = true,
        .max_memory = MAX_MEMORY,
        .max_files = MAX_FILES,
    };
    for (size_t i = 0; i < ARRAY_LEN(readable); i++) {
        int fd = open(readable[i], O_PATH | O_CLOEXEC);
        if (fd >= 0)
            roots[request.root_count++] = (struct confine_root){ .fd = fd };
    }
    confine_self(&request, status);
    for (size_t i = 0; i < request.root_count; i++)
        close_fd(&roots[i].fd);
}
