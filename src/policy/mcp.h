/*
 * mcp.h - may this tool of another MCP server be called, with these arguments?
 *
 * The section [mcp.SERVER]: its `tools` patterns must match the whole name, every false
 * one is asked before any true one, and what none matches is denied; then the patterns of
 * [mcp.SERVER.arguments] for that tool.
 */
#ifndef POLICY_MCP_H
#define POLICY_MCP_H

#include "base/json.h"
#include "policy/refusal.h"

/* The section, or NULL. */
const struct policy_mcp *mcp_find_section(const struct policy *p, struct str server);

/* The pattern that decides about the name, or NULL: none matches. */
const struct policy_mcp_tool *mcp_find_tool(
        const struct policy_mcp *section, struct str tool);

/* Whether the patterns for names let it be called. */
bool mcp_offers(const struct policy_mcp *section, struct str tool);

/* False: refused, `why` says so.  `arguments`: an object, or NULL for none. */
MUST_CHECK bool mcp_decide(const struct policy *p, struct str server, struct str tool,
        const json_t *arguments, struct refusal *why);

#endif
