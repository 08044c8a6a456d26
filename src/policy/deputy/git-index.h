/*
 * git-index.h - which repositories a git index has in its tree (submodules, gitlinks).
 */
#ifndef POLICY_GIT_INDEX_H
#define POLICY_GIT_INDEX_H

#include "base/arena.h"

#define GIT_INDEX_MAX_BYTES ((size_t)1 << 28)
#define GIT_INDEX_MAX_LINKS 512

struct git_links {
    struct str paths[GIT_INDEX_MAX_LINKS]; /* relative to the work tree */
    size_t count;
    struct str shared; /* the name of the file with the rest of a split index, or "" */
};

/* `hash_bytes`: 20 or 32.  False: not an index that is understood, or too many. */
MUST_CHECK bool git_index_links(
        struct str index, size_t hash_bytes, struct arena *arena, struct git_links *out);

#endif
