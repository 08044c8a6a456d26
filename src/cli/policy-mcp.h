/* policy-mcp.h - `paddock policy test --mcp`: may a tool of another MCP server be called?
 */
#ifndef CLI_POLICY_MCP_H
#define CLI_POLICY_MCP_H

#include "peer/definition.h"

struct policy_mcp_call {
    struct str server, tool;
    struct str arguments; /* JSON: an object */
    bool json;
    const struct policy *policy;
    const struct peer_definitions *servers;
};

/* The exit status: 0 if it would be called, 1 if not. */
int policy_mcp_test(const struct policy_mcp_call *call);

#endif
