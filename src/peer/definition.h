/*
 * definition.h - the other MCP servers that a policy lets be called, and how each is
 * started: sections [mcp.NAME] of the policy that have a definition in a JSON file.
 *
 * The files say what can be launched, the policy what may be called.  They are read once,
 * at start, before any agent; nothing changes them for the life of the server.  Of a
 * server that is in more than one file the last one counts:
 *
 *     ~/.kiro/settings/mcp.json, ~/.cursor/mcp.json, and in the workspace
 *     .kiro/settings/mcp.json, .vscode/mcp.json, .cursor/mcp.json, .mcp.json,
 *     .pyddock/mcp.json
 *
 * A file is an object with the member "mcpServers" or "servers": an object of servers by
 * name, of each of which "command", "args", "env", or "url", "headers" are read.  One
 * that an agent could write, or whose name it could make lead elsewhere, is not read.
 */
#ifndef PEER_DEFINITION_H
#define PEER_DEFINITION_H

#include "policy/policy.h"

#define DEFINITION_MAX_BYTES ((size_t)1 << 20) /* of one file */

struct peer_definition {
    struct str name;
    const struct policy_mcp *section;
    struct origin origin; /* the file it is from */
    /* A program on this machine, or a URL; the other one is NULL. */
    const char *program;        /* absolute, as resolved at start */
    const char *const *argv;    /* NULL-terminated; argv[0] as it is written */
    const char *const *env;     /* NULL-terminated "NAME=value": all that it is given */
    const char *url;            /* http:// or https:// */
    const char *const *headers; /* NULL-terminated "Name: value"; of a URL */
};

struct peer_file; /* one that was looked for, and what was there */

struct peer_definitions {
    const struct peer_definition *items; /* in the order of the policy's sections */
    size_t count;
    const struct peer_file *files;
    size_t file_count;
};

/*
 * What is found now; all in `arena`.  `home` may be NULL.  `environment` is our own,
 * NULL-terminated.  What is refused or has no effect goes to the policy's warnings; the
 * folders and files that a server is started from become write-protected, so call it
 * before path_policy_create().
 */
void peer_definitions_load(struct policy *policy, const char *home,
        char *const *environment, struct arena *arena, struct peer_definitions *out);

/* NULL: there is none of that name. */
const struct peer_definition *peer_find(
        const struct peer_definitions *all, struct str name);

/* Whether a definition file is another one than at start: then `out` names those that
 * are, by commas.  A handful of stat(). */
bool peer_definitions_changed(const struct peer_definitions *all, struct buf *out);

#endif
