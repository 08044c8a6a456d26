/*
 * confine.h - a process gives up everything but a few folders, for good.
 *
 * confine_self() is called by a helper while it is still trusted and single-threaded,
 * before it reads what it is asked to do (invariant 4).  Afterwards the kernel holds it,
 * whatever code it is made to run: it reads and writes only beneath its roots (Landlock),
 * starts no program and no process, opens no socket, signals and traces nobody (seccomp),
 * and its memory is bounded (rlimits).  Threads, files beneath the roots and the
 * descriptors it already has go on working.
 *
 * A kernel may lack a part of that.  Nothing is dropped silently: the status says for
 * each *property* whether it is held and by what, and canaries try the forbidden things
 * once so that "enforced" is an observation and not a return code.
 *
 * Who writes files in a confined process changes their metadata through an open
 * descriptor only: fchmod (without set-id bits), fchown, futimens, fsetxattr.  The calls
 * that take a path (chmod, chown, utimensat with a name, setxattr) are refused, because
 * Landlock does not look at them and they would reach files outside the roots.  Without
 * a writable root the calls on a descriptor are refused as well.
 *
 * With `network` it is a client of the internet besides: TCP and UDP, as a client
 * (nothing is bound, and nobody is listened to).  If it is no interpreter, it then writes
 * no file at all, and maps no code that it has written.
 *
 * An interpreter runs code that knows nothing of us, so it may do more: pairs of
 * connected sockets with messages and descriptors on them, and the older names of calls.
 * Modes and times it changes by path and by descriptor if
 * mounts keep all read-only that is outside, and else not at all.  No file gets a set-id
 * bit, openat2() does not exist.
 *
 * It runs no code that was written in it or by it: no memory is writable and executable
 * or becomes executable, and what it may write cannot be mapped as code, by mounts if the
 * view has `no_programs`.  Without such mounts it must call confine_seal() when it has
 * loaded the libraries that it needs, before it runs what is not trusted.
 */
#ifndef CONFINE_CONFINE_H
#define CONFINE_CONFINE_H

#include "base/json.h"

struct confine_root {
    int fd; /* of the folder or file, O_PATH is enough; stays open, is the caller's */
    bool writable;
};

struct view_request; /* confine/view.h */

struct confine_request {
    const struct confine_root *roots;
    size_t root_count;
    /* The view that was entered before, or NULL; what it says is tried. */
    const struct view_request *view;
    bool interpreter; /* it may do what libraries of Python expect, see above */
    bool network;     /* a client of the internet, see above */
    /* TCP with `network`: to these ports only, if there are any.  It takes Landlock ABI
     * 4; without it all ports can be reached. */
    const uint16_t *ports;
    size_t port_count;
    /* It sends descriptors on a socket that it has (an interpreter may anyway). */
    bool passes_descriptors;
    bool no_capabilities;   /* not even those that decide about files */
    uint64_t max_memory;    /* bytes of private memory; 0: no limit */
    uint64_t max_file_size; /* no file may grow beyond it (EFBIG); 0: no limit */
    unsigned max_files;     /* open descriptors; 0: leave it as it is */
    int max_landlock;       /* use no newer ABI than this; 0: any.  For tests. */
};

enum confine_property {
    CONFINE_WRITES,  /* nothing outside the writable roots is changed */
    CONFINE_READS,   /* no file or listing outside the roots is read */
    CONFINE_EXEC,    /* no program and no process is started */
    CONFINE_NETWORK, /* no socket of any family, but those that were asked for */
    CONFINE_SIGNALS, /* no other process is signalled, traced or looked into */
    CONFINE_MEMORY,  /* private memory is bounded */
    CONFINE_KILL,    /* the process ends with its parent and leaves none behind */
    /* Only where a view was asked for: */
    CONFINE_PROTECTED, /* nothing read-only below a writable root is changed */
    CONFINE_SECRETS,   /* nothing hidden below a readable root is read */
    /* Only of an interpreter: */
    CONFINE_CODE, /* nothing that was written in it or by it runs as machine code */
    CONFINE_PROPERTIES,
};

struct confine_status {
    int landlock_abi;   /* in use; 0: the kernel has none */
    int landlock_error; /* errno that kept it from being enforced, or 0 */
    int seccomp_error, privileges_error, memory_error, parent_error; /* the same */
    bool wants_view; /* set by the caller, with what view_enter() said: */
    int view_error;
    const char *view_failed; /* the step, or NULL */
    bool no_memory_limit;    /* none was asked for, or the build cannot live with one */
    bool is_independent;     /* set by the caller: it need not end with its parent */
    bool is_interpreter;
    bool needs_seal;   /* confine_seal() is to be called */
    bool no_truncates; /* what Landlock before ABI 3 does not see is refused otherwise */
    unsigned canary_escaped; /* 1 << property: the forbidden thing worked */
    unsigned canary_tried;
};

/*
 * End with the parent: to be called first thing.  False: the parent, `parent_pid`, is
 * gone already.
 */
MUST_CHECK bool confine_follow_parent(int parent_pid, struct confine_status *status);

/*
 * That, for the main() of a helper: its server is who made the pair that `socket` is an
 * end of.  Returns 0, or the status to exit with at once; a person who has started it as
 * `name` by hand is told on stderr.
 */
MUST_CHECK int confine_begin(
        const char *name, int socket, int *server, struct confine_status *status);

/* Close every descriptor above 2 that is not in `keep` (sorted, `count` of them). */
void confine_close_others(const int *keep, size_t count);

/* Give up everything that can be given up, try the canaries, and fill `status` (which
 * confine_follow_parent() may have begun). */
void confine_self(const struct confine_request *request, struct confine_status *status);

/*
 * For a process that only forks others, which then call confine_self(): no privileges, no
 * capabilities but those about files (without `keep_files` not even these), no core.
 */
void confine_before_forks(bool keep_files, struct confine_status *status);

/* From now on nothing at all is mapped as code, in any thread.  Returns 0 or an errno. */
MUST_CHECK int confine_seal(void);

/* "writes", "reads", ... */
const char *confine_property_name(enum confine_property property);

/*
 * Is it held by the kernel?  `by` (may be NULL) gets the mechanisms, "landlock+seccomp",
 * or why it is not.
 */
bool confine_holds(const struct confine_status *status, enum confine_property property,
        struct buf *by);
bool confine_holds_all(const struct confine_status *status);

/*
 * {"landlock_abi": 7,
 *  "properties": {"writes": {"held": true, "by": "landlock+seccomp",
 *                            "trial": "refused"}, ...},
 *  "problems": ["..."]}
 * The trial is a canary: "refused", "got through", or "none".  The problems are lines for
 * the person who runs the server.
 */
json_t *confine_status_json(const struct confine_status *status);

/* Tell the server that this helper is ready, and that. */
MUST_CHECK bool confine_send_ready(
        int socket, const struct confine_status *status, struct error *err);

#endif
