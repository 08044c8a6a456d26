/*
 * servers.h - the other MCP servers of a workspace, for whoever calls their tools.
 */
#ifndef CLI_SERVERS_H
#define CLI_SERVERS_H

#include "peer/peers.h"

/*
 * NULL: there is none.  `config` lacks what is found here: the bridge, should one of them
 * have a URL.  What is found lives in `arena`, which must outlive them.
 */
struct peers *servers_open(const struct peers_config *config, struct arena *arena);

#endif
