#include "cli/servers.h"

#include "base/log.h"
#include "broker/spawn.h"

#define BRIDGE "paddock-bridge"

static bool has_url(const struct peer_definitions *all)
{
    for (size_t i = 0; i < all->count; i++)
        if (all->items[i].url)
            return true;
    return false;
}

/* A call of such a server says that it is missing. */
static const char *find_bridge(struct arena *arena)
{
    auto_free char *found = NULL;
    struct error err;
    if (helper_find(BRIDGE, &found, &err))
        return arena_cstr(arena, str_of(found));
    log_line(LOG_WARN, "%s", err.message);
    return NULL;
}

struct peers *servers_open(const struct peers_config *config, struct arena *arena)
{
    struct peers_config whole = *config;
    if (!config->definitions || !config->definitions->count)
        return NULL;
    if (has_url(config->definitions))
        whole.bridge = find_bridge(arena);
    return peers_create(&whole);
}
