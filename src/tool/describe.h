/*
 * describe.h - what the definition of a tool says about this very server.
 *
 * In a description `{commands}` becomes the list of the shell's commands, `{state}` what
 * lasts between calls, `{timeouts}` the time limits of the policy, `{policy}` its
 * [shell.*] sections, `{servers}` its MCP servers that are defined, and `{python}` what
 * it says of Python, as much as fits.  The same policy gives the same bytes, at every
 * start.  Of a server nothing is said that it said itself.
 */
#ifndef TOOL_DESCRIBE_H
#define TOOL_DESCRIBE_H

#include "base/json.h"
#include "peer/definition.h"

#define DESCRIBE_MAX_BYTES 2048 /* of one description; clients cut longer ones */

/* What may be NULL is not asked for by any description. */
struct described {
    const struct policy *policy;
    const struct peer_definitions *servers;
    bool kept; /* tool.h */
};

void describe_fill(json_t *definition, const struct described *what);

/* Append seconds as the replies and descriptions write them: "30.0", "0.25". */
void describe_seconds(double seconds, struct buf *out);

/* So much each may take that all together take `room`: who needs less leaves the rest to
 * the others. */
size_t describe_fair_share(const size_t *needs, size_t count, size_t room);

/* Appends what is to be said of one of `all`, in about `room` bytes. */
typedef void describe_line_fn(
        const void *all, size_t index, size_t room, struct buf *out);

/* A line each, in their order.  Long ones lose parts before others lose their line, but
 * none gets less than `least`; how many are left out is said. */
void describe_lines(describe_line_fn *write, const void *all, size_t count, size_t least,
        size_t room, struct buf *out);

#endif
