/*
 * dirwalk.h - every entry of a tree, directories before and after what is in them.
 *
 *   struct dirwalk *w = dirwalk_create(&view, "dir", false, false);
 *   for (struct dirwalk_entry e; dirwalk_next(w, &e);) ...
 *   dirwalk_destroy(w);
 *
 * The stack of open directories is in memory, not in C's stack: depth is bounded by the
 * length of a path alone.  Names in a directory come in byte order.
 *
 * Where the tree comes to a file system whose answers come from elsewhere
 * (vfs_enters_remote()) it is not entered: WALK_UNREADABLE with EREMOTE.  Whoever wants
 * that names it as root.
 */
#ifndef SEARCH_DIRWALK_H
#define SEARCH_DIRWALK_H

#include "base/budget.h"
#include "vfs/vfs.h"

enum dirwalk_step {
    WALK_FILE,       /* anything but a directory */
    WALK_DIR,        /* a directory, before what is in it */
    WALK_DIR_END,    /* the same after it */
    WALK_UNREADABLE, /* a directory that cannot be listed, instead of WALK_DIR_END */
    WALK_FAILED,     /* an entry that cannot be looked at */
};

struct dirwalk_entry {
    enum dirwalk_step step;
    const char *path; /* the root as given, then its entries; valid until the next call */
    const char *name; /* its last component */
    size_t depth;     /* the root: 0 */
    size_t root_len;  /* of the root's part of `path` */
    int errnum;
    struct vfs_stat st;
};

/* What a walk looks at, borrowed. */
struct dirwalk_view {
    struct vfs *vfs;
    struct vpath cwd; /* of the root's path */
    struct budget *budget;
};

struct dirwalk;

/* `follow`: links in the tree are followed (a directory met inside itself is not
 * entered: ELOOP).  `follow_root`: the root alone. */
struct dirwalk *dirwalk_create(
        const struct dirwalk_view *view, const char *root, bool follow_root, bool follow);
void dirwalk_destroy(struct dirwalk *w);

/* Nobody looks at more of `st` than its type (below the root), so that files need no
 * stat. */
void dirwalk_types_only(struct dirwalk *w);

/* False at the end, and when the budget is spent. */
bool dirwalk_next(struct dirwalk *w, struct dirwalk_entry *out);

/* Where it is, below the root ("/a/b", or "a/b" if that ends in a slash); "": the root
 * itself.  For who wants to say how far it came. */
struct str dirwalk_place(const struct dirwalk *w);

/* Right after a WALK_DIR: do not enter it.  It has no WALK_DIR_END then. */
void dirwalk_skip(struct dirwalk *w);

#endif
