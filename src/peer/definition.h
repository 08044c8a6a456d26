/*
 * definition.h - the other MCP servers that a policy lets be called, and how each is
 * started: sections [mcp.NAME] of the policy that have a definition in a JSON file.
 *
 * The files say what can be launched, the policy what may be called.  They are read once,
 * at start, before any agent; nothing changes them for the life of the server.
 */
#ifndef PEER_DEFINITION_H
#define PEER_DEFINITION_H

#include "policy/policy.h"

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

struct peer_definitions {
    const struct peer_definition *items; /* in the order of the policy's sections */
    size_t count;
};

/* NULL: there is none of that name. */
const struct peer_definition *peer_find(
        const struct peer_definitions *all, struct str name);

#endif
