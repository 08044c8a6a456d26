/*
 * view.h - the tree of files that a worker shows, and the confinement that fits it.
 *
 * Either the roots of the setup are all there is, or, with a path policy, it is the whole
 * machine, and what the policy says is held twice: by the gate of the vfs for each call,
 * and by the kernel (mounts and Landlock) as far as it can be said to it.
 */
#ifndef WORKER_VIEW_H
#define WORKER_VIEW_H

#include "confine/confine.h"
#include "hostview/hostview.h"
#include "policy/setup.h"
#include "vfs/vfs.h"

#define VIEW_MEMORY_ROOT ((uint64_t)512 << 20) /* bytes that a memory root may hold */

struct view {
    struct vfs *vfs;
    const struct setup *setup;
    struct confine_root *roots; /* of the machine, in the arena */
    size_t root_count;
    struct hostview host; /* with a path policy */
};

/* Mount every root of `setup`; the descriptors belong to the vfs afterwards.  Everything
 * else lives in `arena`. */
MUST_CHECK bool view_create(const struct setup *setup, struct arena *arena,
        struct view *out, struct error *err);
void view_finish(struct view *view);

/*
 * Close every descriptor but 0, 1, 2, those in `also` (NULL: none) and the roots, then
 * confine this process to the roots.  `server`: our parent, or 0.  False: what was begun
 * could not be finished, and nothing must be done here.
 */
#define VIEW_MAX_ALSO 3
struct view_also {
    int fds[VIEW_MAX_ALSO];
    size_t count;
    bool passes_descriptors; /* on a socket among them */
};
MUST_CHECK bool view_confine(struct view *view, const struct view_also *also, int server,
        struct arena *arena, struct confine_status *status, struct error *err);

/* Where the shell begins, and its environment: "NAME=value", NULL-terminated. */
struct vpath view_cwd(const struct view *view, struct arena *arena);
const char *const *view_env(const struct view *view, struct arena *arena);

/* host.c: the view of the whole machine. */
void host_prepare(struct view *view, struct arena *arena);
MUST_CHECK bool host_enter(struct view *view, int server, struct arena *arena,
        struct confine_status *status, struct error *err);

#endif
