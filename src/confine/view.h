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
 *   - each hidden path is an empty file or folder that nobody may open,
 *   - /tmp, /var/tmp and /dev/shm are empty and private if asked for.
 * Nothing is created in the user's tree: what does not exist is not mounted over.
 *
 * Where that cannot be had the view says so, and Landlock holds what it can say.
 */
#ifndef CONFINE_VIEW_H
#define CONFINE_VIEW_H

#include "confine/confine.h"

enum view_rule { VIEW_WRITABLE, VIEW_READ_ONLY, VIEW_HIDDEN };

struct view_path {
    enum view_rule rule;
    const char *path; /* absolute, real; skipped if it is not there any more */
};

struct view_request {
    const struct view_path *paths;
    size_t path_count;
    bool private_tmp;   /* /tmp, /var/tmp and /dev/shm of its own... */
    uint64_t tmp_bytes; /* ...that hold so much */
    bool private_proc;  /* with a new PID namespace: /proc shows only that */
    bool no_network;    /* a network namespace without any interface that is up */
    bool new_pids;      /* children are in a PID namespace of their own */
};

struct view_status {
    int error;                /* errno that kept it from being made, or 0 */
    const char *failed;       /* the step: "user namespace", "mount", ... or NULL */
    size_t hidden, read_only; /* how many paths are held */
    bool has_pids, has_network, has_proc;
};

/*
 * Enter the view; the process must have one thread.  On failure it is where it was as far
 * as files are concerned (status->error), and the caller decides whether to go on.
 */
void view_enter(const struct view_request *request, struct view_status *status);

#endif
