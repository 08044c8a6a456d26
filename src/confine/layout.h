/*
 * layout.h - in which order which mounts make a view; used inside confine/ and by tests.
 *
 * The rules of a request come in any order and say more than is needed.  The layout is
 * the list of what is to be mounted: sorted, so that what is above comes before what is
 * below it, without what holds already, and with the *pins*: the folders between a
 * writable one and something protected in it, mounted onto themselves so that they cannot
 * be renamed away together with what they hold.
 */
#ifndef CONFINE_LAYOUT_H
#define CONFINE_LAYOUT_H

#include "base/arena.h"
#include "confine/view.h"

enum layout_kind {
    LAYOUT_PIN,
    LAYOUT_VISIBLE,
    LAYOUT_PRIVATE,   /* a folder in memory */
    LAYOUT_DEVICE,    /* stays as it is in a private /dev */
    LAYOUT_TERMINALS, /* pseudo-terminals of its own */
    LAYOUT_WRITABLE,
    LAYOUT_READ_ONLY,
    LAYOUT_HIDDEN,
};

struct layout_item {
    enum layout_kind kind;
    const char *path;
    unsigned mode;           /* of a private folder... */
    uint64_t bytes;          /* ...and its size; 0: as the request says */
    unsigned order;          /* of two with one path, the one added last counts */
    struct layout_item *top; /* the private folder in which its mount point is to be made,
                                or NULL: it is there */
};

struct layout {
    struct layout_item *items;
    size_t count;
    bool all_writable; /* "/" is a writable folder */
    bool is_malformed; /* a path is not written as it has to be: no view at all */
};

/* Everything lives in `arena`, but the paths, which are the request's. */
void layout_make(
        const struct view_request *request, struct arena *arena, struct layout *out);

#endif
