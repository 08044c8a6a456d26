/*
 * tool.h - the tools a client sees: their definitions, and where a call goes.
 *
 * A tool is NAME.json in this folder, built into the program: what tools/list shows, plus
 * four members that are not sent.  "read_only": false hides the tool from a read-only
 * server, an object holds the members that differ there.  "host": an object with the
 * members that differ where the tools see the files of the machine instead of a root of
 * their own.  "kept": those that differ where a shell stays only for the calls that ask
 * for it with the argument `session`, of which the worker never hears.  "needs": an
 * object of the client's capabilities without which a call is refused.  What stands in
 * braces in a description is filled in by describe.h.
 *
 * To add a tool: its file, a line in meson.build, a line in table.c, and the code that
 * answers it: in the worker, or here for one that the server does itself.
 */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include "base/json.h"
#include "peer/definition.h"

/* Who does the work. */
enum tool_place {
    TOOL_IN_SHELL = 1 << 0,   /* the worker with the client's shell; one call at a time */
    TOOL_IN_POOL = 1 << 1,    /* any worker of the pool */
    TOOL_IN_SERVER = 1 << 2,  /* the server, through its broker */
    TOOL_IN_PYTHON = 1 << 3,  /* an interpreter of its own */
    TOOL_IN_PEER = 1 << 4,    /* another MCP server */
    TOOL_IN_PROGRAM = 1 << 5, /* the program itself: an extension */
};

/* One line of the table, which is sorted by name. */
struct tool_source {
    const char *name;
    const char *json;
    enum tool_place place;
};
extern const struct tool_source tool_sources[];
extern const size_t tool_source_count;

/* What a server offers; everything is borrowed for the life of the toolset. */
struct toolset_config {
    unsigned places;     /* of the tools that it knows: a set of TOOL_IN_... */
    const char *without; /* one of them that it has not; or NULL */
    const char *only;    /* "fs_stat,run_shell": of these only those; NULL: all of them */
    bool read_only;
    bool host_view;                         /* the tools see the files of the machine */
    const struct policy *policy;            /* NULL: there is none, and no commands */
    const struct peer_definitions *servers; /* other MCP servers; NULL: none */
    const struct tool_extension *extension; /* more tools (extension.h); NULL: none */
};

struct toolset;

/* ERR_INVALID: `only` names a tool that this server does not have. */
MUST_CHECK bool toolset_create(
        const struct toolset_config *config, struct toolset **out, struct error *err);
void toolset_destroy(struct toolset *t);

/* The array for tools/list, always in the same order; borrowed.  `kept`: for a client
 * whose shell does not stay by itself. */
json_t *toolset_list(struct toolset *t, bool kept);

/* The inputSchema of a tool that is offered, or NULL; borrowed. */
const json_t *toolset_find_schema(struct toolset *t, struct str name, bool kept);

/* The same of a tool some of whose arguments are repeated in the head of a request over
 * HTTP (`x-mcp-header`); NULL for all others. */
const json_t *toolset_find_mirrored(struct toolset *t, struct str name);

/* The capabilities of the client that a tool needs, or NULL; borrowed. */
json_t *toolset_find_needs(struct toolset *t, struct str name);

/* NULL: there is none. */
const struct tool_extension *toolset_extension(const struct toolset *t);

/* Whether a tool of this kind is offered. */
bool toolset_has_place(const struct toolset *t, enum tool_place place);

/* Where the calls of a tool go that is in the table; or 0. */
enum tool_place tool_find_place(struct str name);

#endif
