/*
 * job.h - what paddock-launch is told; the server writes it and the launcher parses it,
 * both with this file.
 *
 *   WIRE_LAUNCH       server -> launcher: options (JSON), program, working directory,
 *                     arguments, environment, paths
 *   WIRE_STARTED      launcher -> server: it runs; what holds it (JSON, launch/report.h)
 *   WIRE_NOT_STARTED  launcher -> server, instead: the step, the errno
 *   WIRE_ENDED        launcher -> server: its status as from waitpid(), how many
 *                     processes it left running
 *   WIRE_STOP         server -> launcher: SIGTERM to everything, SIGKILL 2 s later
 *   WIRE_SIGNAL       server -> launcher: a signal's number, for the command alone
 *
 * Closing the socket kills everything at once.  Arguments, environment and paths are
 * bytes, each string with a NUL behind it; a path has its rule before it: "w" writable,
 * "r" read-only, "h" hidden, "v" visible.
 */
#ifndef CONFINE_JOB_H
#define CONFINE_JOB_H

#include "base/arena.h"
#include "base/wire.h"
#include "confine/view.h"

/* Descriptors of the launcher. */
#define JOB_SOCKET 3
#define JOB_STDIN  4
#define JOB_STDOUT 5
#define JOB_STDERR 6

struct job {
    const char *program;     /* absolute */
    const char *cwd;         /* absolute */
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* NULL-terminated */
    const struct view_path *paths;
    size_t path_count;
    bool sandboxed;         /* false: only limits, process tree and stdin */
    bool network;           /* may be used */
    unsigned max_processes; /* of the user in the view; root has no limit */
    uint64_t tmp_bytes;     /* that each private temporary folder holds */
    int max_landlock;       /* use no newer ABI than this; 0: any.  For tests. */
};

/* Append the message. */
void job_write(const struct job *job, struct buf *out);

/* ERR_INVALID: not this format.  What `out` holds lives in `arena`. */
MUST_CHECK bool job_parse(const struct wire_message *m, struct arena *arena,
        struct job *out, struct error *err);

#endif
