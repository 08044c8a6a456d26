/*
 * lookalike.h - names that a reader takes for the same: other blanks, other letter case,
 * invisible characters, accents as characters of their own.
 */
#ifndef EDIT_LOOKALIKE_H
#define EDIT_LOOKALIKE_H

#include "vfs/vfs.h"

enum { LOOKALIKES_MAX = 3 };

struct lookalikes {
    bool same; /* they look the same; else `names` is the nearest one */
    size_t count;
    struct str names[LOOKALIKES_MAX];
};

/* Which entries may be meant by `name`, which is none of them. */
struct lookalikes lookalikes_find(
        struct str name, const struct vfs_entry *entries, size_t count);

/*
 * Append a line on what may be meant by a path that is not there; none if there is
 * nothing to say.  Paths in `base` (or "") are shown relative to it.  False: what looks
 * the same is not there, at most what is spelled nearly so.
 */
bool lookalikes_tell(struct vfs *vfs, struct vpath path, struct str base,
        struct arena *arena, struct buf *out);

#endif
