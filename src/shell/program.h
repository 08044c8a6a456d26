/*
 * program.h - real programs as commands of the shell.
 *
 * The shell starts nothing: somebody else does, who decides each time on the expanded
 * arguments and is reached by a descriptor (in the worker: the server's door).  The
 * program gets real pipes; what is at their other ends goes through the streams of the
 * shell, so that a file among them has passed the gate of the vfs.
 */
#ifndef SHELL_PROGRAM_H
#define SHELL_PROGRAM_H

#include "base/str.h"

enum program_state {
    PROGRAM_ASKED,
    PROGRAM_RUNS,
    PROGRAM_ENDED,   /* `status` */
    PROGRAM_UNKNOWN, /* there is none of that name */
    PROGRAM_REFUSED, /* `text` */
    PROGRAM_FAILED,  /* could not be started: `error` (EAGAIN: too many run), `text` */
    PROGRAM_ALLOWED, /* it was only asked for, and would be started */
};

/* One that was asked for; belongs to who starts it until forget(). */
struct program {
    enum program_state state;
    bool is_answered; /* no longer ASKED */
    bool has_ended;   /* neither ASKED nor RUNS */
    int status;       /* as from waitpid() */
    int error;        /* errno */
    char *text;       /* NULL: nothing to say */
    char *notes;      /* ENDED: lines for its stderr, or NULL */
};

struct program_request {
    int argc;
    char *const *argv;
    struct str cwd;
    char *const *env; /* "NAME=value": beside what it has by itself; empty: without it */
    size_t env_count;
    int streams[3]; /* its stdin, stdout and stderr; copied */
};

struct programs;

struct program_ops {
    /* 0, or an errno: EAGAIN: again when the descriptor is ready, E2BIG: it is too long,
     * EPIPE: nothing is started any more. */
    int (*start)(struct programs *p, const struct program_request *request,
            struct program **out);
    /* Would it be?  Nothing is started, and the request's streams do not matter.  As
     * start(), but it never RUNS; `*out` NULL: it would, as it was before in this call.
     */
    int (*ask)(struct programs *p, const struct program_request *request,
            struct program **out);
    void (*take)(struct programs *p); /* the news that have come */
    void (*signal)(struct programs *p, struct program *program, int number);
    /* Nobody asks for it any more, whether it has ended or not. */
    void (*forget)(struct programs *p, struct program *program);
};

struct programs {
    const struct program_ops *ops;
    int fd;                  /* readable: there are news */
    int null;                /* /dev/null, open */
    const struct str *files; /* where the programs are that are known by their names */
    size_t file_count;
    struct str root; /* a program below it is known by its path from there */
    int64_t stop_ms; /* of the shell: until when it waits for those it stops; 0: none */
};

#endif
