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

/* How `there` differs from `name`: ": it has U+202F (narrow no-break space) where ...".
 */
void lookalike_explain(struct str name, struct str there, struct buf *out);

#endif
