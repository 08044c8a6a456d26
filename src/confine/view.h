/*
 * view.h - what a process sees of the file system: everything read-only but a few
 * folders, some of them hidden, held by mounts of its own.
 *
 * A mount namespace is the only thing in the kernel that says "all of this folder but not
 * that one in it".  view_enter() makes one (with a user namespace where we have no
 * CAP_SYS_ADMIN) in which
 *   - all of / is read-only, without set-id programs,
 *   - each writable folder is itself again, and cannot be renamed away,
 *   - each read-only path below them is read-only, the folders above it are pinned,
 *   - each hidden folder is an empty one, each hidden file a device nobody may open,
 *   - /tmp, /var/tmp and /dev/shm are empty and private if asked for, and so are /run,
 *     where the sockets of the system's services are, and /dev with its disks,
 *   - no device opens anywhere else if /dev is private or hidden.
 * What the request names below a private folder is there, at its place, unless it is
 * hidden.  Nothing is created in the user's tree: what does not exist is not mounted
 * over.
 *
 * A path's rule counts for all below it up to the next rule; what is below a hidden path
 * is hidden.  If a path is named twice, the last rule counts.
 *
 * Where that cannot be had the view says so, and Landlock holds what it can say.  It
 * needs mount_setattr(2), so Linux 5.12.
 */
#ifndef CONFINE_VIEW_H
#define CONFINE_VIEW_H

#include "confine/confine.h"

enum view_rule {
    VIEW_WRITABLE,
    VIEW_READ_ONLY,
    VIEW_HIDDEN,
    VIEW_VISIBLE, /* to be seen, read-only, although it lies in a private folder; says
                     nothing elsewhere, and gives way to any other rule */
};

struct view_path {
    enum view_rule rule;
    const char *path; /* absolute, real; skipped if it is not there any more */
};

struct view_request {
    const struct view_path *paths;
    size_t path_count;
    bool private_tmp;   /* /tmp, /var/tmp and /dev/shm of its own... */
    uint64_t tmp_bytes; /* ...that hold so much each; 0: as the kernel likes */
    bool private_run;   /* /run with nothing but what programs need */
    bool private_dev;   /* /dev with nothing but null, zero, random, terminals */
    bool no_programs;   /* what may be written is not run, nor mapped as code */
    bool no_network;    /* a network namespace without any interface that is up */
    bool new_pids;      /* a PID namespace, System V IPC and /proc of its own */
};

struct view_status {
    int error;          /* errno that kept it from being made, or 0 */
    const char *failed; /* the step: "user namespace", "mount namespace", ... or NULL */
    bool is_partial;    /* it failed half-way, or for one path: nobody should go on */
    size_t hidden, read_only; /* how many paths are held */
    bool has_user;            /* it is in a user namespace */
    bool has_pids, has_network, has_proc;
};

/*
 * Enter the view; the process must have one thread.  On failure it is where it was as far
 * as files are concerned (unless status->is_partial), and the caller decides whether to
 * go on.  `new_pids` is not for this, see below.
 *
 * Descriptors that were opened before still look at the tree as it was: open roots again.
 */
void view_enter(const struct view_request *request, struct view_status *status);

/*
 * The same for a child that is made with clone(): the flags are found out before, and
 * view_build() is called in it, first thing.  A failing user namespace then spoils only
 * the child.
 */
struct view_plan {
    unsigned clone_flags; /* CLONE_NEW... */
    unsigned uid, gid;    /* who we are, before a new user namespace forgets it */
};
void view_plan(const struct view_request *request, struct view_plan *out);
void view_build(const struct view_request *request, const struct view_plan *plan,
        struct view_status *status);

#endif
