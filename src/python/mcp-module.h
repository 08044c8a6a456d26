/*
 * mcp-module.h - `pyddock_mcp`, by which Python code calls tools of other MCP servers.
 *
 * It is there if one can be called; what may be, the server decides each time.  Trusted
 * packages find it in sys.modules; a snippet gets a module of its own (stand-in.h).
 */
#ifndef PYTHON_MCP_MODULE_H
#define PYTHON_MCP_MODULE_H

#include "python/guard.h"

#define MCP_MODULE "pyddock_mcp"

bool mcp_is_there(void);

/* What stands in for it; a new reference, or NULL with an exception. */
PyObject *mcp_view_create(void);

#endif
