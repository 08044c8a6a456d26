/* definition-world.h - a workspace with a policy and definitions of MCP servers. */
#ifndef TESTS_DEFINITION_WORLD_H
#define TESTS_DEFINITION_WORLD_H

#include "config-world.h"
#include "peer/definition.h"

struct definitions {
    struct world world;
    struct policy *policy;
    struct peer_definitions all;
};

/* Makes the world, with a program "bin/tool", which PATH finds. */
void open_definitions(struct definitions *d);
void close_definitions(struct definitions *d);

/* Reads policy and definitions again; the text is laid over the built-in policy. */
void load_definitions(struct definitions *d, const char *overlay);

/* The same; false: the policy cannot be read, and there are no definitions. */
bool try_definitions(struct definitions *d, const char *overlay);

/* A program in the world. */
void put_program(const struct world *w, const char *name);

/* Whether a warning has all of `text`. */
bool is_warned(const struct definitions *d, const char *text);

/* What is protected for a server there, or NULL. */
const struct policy_protected *find_server_place(
        const struct definitions *d, const char *name);

/* A section [mcp.box] that allows everything. */
#define BOX "[mcp.box.tools]\n'.*' = true\n"

#endif
