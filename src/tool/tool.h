/*
 * tool.h - the tools a client sees: their definitions, and where a call goes.
 *
 * A tool is NAME.json in this folder, built into the program: what tools/list shows, plus
 * "read_only", which is not sent: false hides the tool from a read-only server, an object
 * holds the members that differ there.  `{commands}` in a description becomes the list of
 * the shell's commands.  To add a tool: its file, a line in meson.build, a line in
 * table.c, and in the worker the code that answers it.
 */
#ifndef TOOL_TOOL_H
#define TOOL_TOOL_H

#include "base/json.h"
#include "session/session.h"

/* One line of the table, which is sorted by name. */
struct tool_source {
    const char *name;
    const char *json;
};
extern const struct tool_source tool_sources[];
extern const size_t tool_source_count;

struct toolset;

struct toolset *toolset_create(bool read_only);
void toolset_destroy(struct toolset *t);

/* The array for tools/list, always in the same order; borrowed. */
json_t *toolset_list(struct toolset *t);

/* The inputSchema of a tool that is offered, or NULL; borrowed. */
const json_t *toolset_find_schema(struct toolset *t, struct str name);

#endif
