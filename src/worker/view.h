/*
 * view.h - the tree of files that a worker shows, and the confinement that fits it.
 */
#ifndef WORKER_VIEW_H
#define WORKER_VIEW_H

#include "confine/confine.h"
#include "policy/setup.h"
#include "vfs/vfs.h"

#define VIEW_MEMORY_ROOT ((uint64_t)512 << 20) /* bytes that a memory root may hold */

struct view {
    struct vfs *vfs;
    struct confine_root roots[SETUP_MAX_ROOTS];
    size_t root_count; /* local ones */
};

/* Mount every root of `setup`; the descriptors belong to the vfs afterwards. */
MUST_CHECK bool view_create(const struct setup *setup, struct arena *arena,
        struct view *out, struct error *err);
void view_finish(struct view *view);

/*
 * Close every descriptor but 0, 1, 2, `also` (-1: none) and the roots, then confine this
 * process to the roots.
 */
void view_confine(const struct view *view, int also, struct confine_status *status);

#endif
