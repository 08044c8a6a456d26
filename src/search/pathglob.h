/*
 * pathglob.h - globs over whole paths, matched on the way down a tree.
 *
 * The meaning is that of Python's glob.translate(recursive=True, include_hidden=True):
 * `*`, `?` and `[...]` stay within a component, `**` as a component spans any number of
 * them, both ends are anchored.  A set of states says how much of the glob a directory's
 * path has used up, so that a walk knows before it enters whether anything below can
 * match.
 */
#ifndef SEARCH_PATHGLOB_H
#define SEARCH_PATHGLOB_H

#include "base/arena.h"
#include "base/str.h"

#define PATHGLOB_MAX_PARTS 63

struct pathglob {
    struct str parts[PATHGLOB_MAX_PARTS];
    uint64_t deep; /* bit i: part i is `**` */
    size_t count;
    bool fold;
};

/* Bit i: the next component is to match part i; bit `count`: all of it has matched. */
typedef uint64_t pathglob_states;

/* In `arena`.  ERR_LIMIT: too many parts. */
MUST_CHECK bool pathglob_parse(struct str text, bool fold, struct arena *arena,
        struct pathglob *out, struct error *err);

/* The same for another notation: `component` writes one part of it as policy/deny.h's
 * glob_component_match() reads one. */
typedef struct str pathglob_component_fn(struct str part, struct arena *arena);
MUST_CHECK bool pathglob_parse_as(struct str text, pathglob_component_fn *component,
        struct arena *arena, struct pathglob *out, struct error *err);

/* Before the first component. */
pathglob_states pathglob_start(const struct pathglob *g);
pathglob_states pathglob_step(
        const struct pathglob *g, pathglob_states states, struct str component);

static inline bool pathglob_accepts(const struct pathglob *g, pathglob_states states)
{
    return states >> g->count & 1;
}

/* May a longer path match? */
static inline bool pathglob_goes_on(const struct pathglob *g, pathglob_states states)
{
    return states & (((pathglob_states)1 << g->count) - 1);
}

/* The whole path at once. */
bool pathglob_match(const struct pathglob *g, struct str path);

#endif
