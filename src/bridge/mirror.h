/*
 * mirror.h - parameters of tools that are repeated in header fields (2026-07-28).
 *
 * The schema of a tool may mark a property with "x-mcp-header": NAME; a call of that tool
 * then carries its value in "Mcp-Param-NAME" too.  What is marked is learnt from the
 * answers to tools/list that pass by.
 */
#ifndef BRIDGE_MIRROR_H
#define BRIDGE_MIRROR_H

#include "bridge/message.h"

#include <curl/curl.h>

#define MIRROR_MAX_TOOLS  1000
#define MIRROR_MAX_FIELDS 32 /* of a tool */

/* The marks of all tools that have any; JSON, {"tool": [["NAME", "key", "key"...]...]}.
 */
struct mirrors {
    json_t *tools; /* NULL until there are some */
};

void mirrors_finish(struct mirrors *m);

/*
 * Learn from a list of tools.  Those whose marks break the rules must not be used: they
 * are taken out of `tools`, which becomes another list then.  The number of these.
 */
size_t mirrors_learn(struct mirrors *m, json_t *tools);

/* Append the fields for this call of a tool. */
struct curl_slist *mirrors_add(const struct mirrors *m, const struct message *message,
        struct curl_slist *fields);

#endif
