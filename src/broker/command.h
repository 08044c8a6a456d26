/*
 * command.h - running one approved command and collecting what it says.
 *
 * The command is started by paddock-launch, which confines itself first and stays as its
 * keeper: all that it starts, however detached, is gone when the call ends.  Its stdin,
 * stdout and stderr are descriptors of the caller's, or /dev/null and two pipes: these
 * are read as they come; what is kept of each is bounded (first and last part), the rest
 * is counted and dropped, so that nothing blocks.
 *
 * The end is the end of the command itself: what it left running gets 200 ms to finish
 * and is then killed.  On timeout and cancellation: SIGTERM to all of it, 2 s,
 * SIGKILL.  If the server ends, however, all of it ends at once.
 *
 * In its view /tmp, /var/tmp, /dev and /run are its own.  If they lie in a temporary
 * folder, these are visible nevertheless: the folder of the program, the working
 * directory and the $HOME that it is given.  What `paths` names is visible anywhere.
 */
#ifndef BROKER_COMMAND_H
#define BROKER_COMMAND_H

#include "broker/spawn.h"
#include "broker/stray.h"
#include "confine/view.h"

#include <uv.h>

/* It runs; from the loop, at most once and before its end. */
typedef void command_started_fn(void *user);

/* How it is to be run; borrowed for the start only. */
struct command_spec {
    const char *launcher;    /* paddock-launch, from helper_find() */
    const char *program;     /* absolute */
    const char *const *argv; /* NULL-terminated */
    const char *const *env;  /* NULL-terminated */
    const char *cwd;         /* absolute */
    bool sandboxed;          /* false: only limits, process tree and stdin */
    bool network;
    const struct view_path *paths; /* absolute; what is not writable is read-only */
    size_t path_count;
    unsigned timeout_ms;
    const int *streams;     /* its stdin, stdout and stderr; NULL: they are collected */
    size_t keep_bytes;      /* of each stream: so much from its start... */
    size_t keep_tail_bytes; /* ...and from its end */
    /* Paths, absolute and without links, that are protected but do not exist, so that
     * nothing could be mounted there: should one have appeared when the command is over,
     * it is moved into the folder `quarantine` (made then), or removed.  NULL: none; else
     * NULL-terminated.
     */
    const char *const *must_not_appear;
    const char *quarantine;
    command_started_fn *started; /* NULL: nobody waits for that */
    unsigned max_processes;      /* of an ordinary user, 0: COMMAND_MAX_PROCESSES */
    uint64_t tmp_bytes; /* in its /tmp, 0: COMMAND_TMP_BYTES or 1/4 of the memory */
    int max_landlock;   /* use no newer ABI than this; 0: any.  For tests. */
};

#define COMMAND_MAX_PROCESSES 4096
#define COMMAND_TMP_BYTES     ((uint64_t)4 << 30)

struct command_stream {
    struct str head, tail;  /* `tail` is what came last, if more came than is kept */
    uint64_t dropped;       /* bytes between them */
    uint64_t dropped_lines; /* newlines among those */
};

enum command_end {
    COMMAND_EXITED, /* `status` as from waitpid() */
    COMMAND_TIMED_OUT,
    COMMAND_NOT_STARTED, /* `error` says why: no such program, not executable, ... */
    COMMAND_LOST,        /* its keeper went away; `error` says how */
};

struct command_result {
    enum command_end end;
    int status;
    int error_number; /* NOT_STARTED: the errno behind `error`, or 0 */
    struct error error;
    struct command_stream out, err;
    unsigned
            left_running; /* processes that were still there at the end and were killed */
    uint64_t duration_ms;
    struct str confinement; /* JSON: what the kernel held, see launch/report.h; "" if it
                               was not started */
    const struct stray *strays; /* of `must_not_appear` */
    size_t stray_count;
};

struct command;

/* Called once from the loop, after everything of the command is gone; the result is
 * borrowed.  The command frees itself then: forget the pointer. */
typedef void command_done_fn(void *user, const struct command_result *result);

MUST_CHECK bool command_start(uv_loop_t *loop, const struct command_spec *spec,
        command_done_fn *done, void *user, struct command **out, struct error *err);

/* As if its time were over: `done` follows when all of it is gone. */
void command_stop(struct command *c);

/* `done` is not called any more; the tree is killed and freed in the background. */
void command_cancel(struct command *c);

/* A signal for the command itself, not for what it has started; nothing happens if it
 * does not run yet or any more. */
void command_signal(struct command *c, int signal);

/* `done` is not called any more; all of it is killed at once, and freed in the
 * background. */
void command_kill(struct command *c);

/* Kill at once and wait (a second at most); for the end of the server.  The loop must run
 * on until its handles are closed. */
void command_destroy(struct command *c);

#endif
