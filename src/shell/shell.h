/*
 * shell.h - a bash over a vfs: what the worker creates once and hands commands to.
 *
 * State (cwd, variables, functions, options, $?) stays from one shell_run() to the next.
 * A run parses the whole text first; if it does not parse, or names a construct that this
 * build cannot run, nothing of it runs: status 2 and one line on stderr.  When the budget
 * ends, everything unwinds and one line names the limit; status 124 for time, 130 when
 * cancelled, 126 for the others.
 */
#ifndef SHELL_SHELL_H
#define SHELL_SHELL_H

#include "base/budget.h"
#include "shell/stream.h"
#include "vfs/vfs.h"

struct programs;
struct shell;

struct shell_options {
    struct vfs *vfs;  /* borrowed, as are `env` and `programs` */
    const char *name; /* $0, and what stands before messages: "mcpath" */
    struct vpath cwd;
    const char *const *env;    /* "NAME=value", NULL-terminated; exported; NULL: none */
    struct programs *programs; /* program.h, borrowed; NULL: no program is a command... */
    const char *elsewhere;     /* ...and what starts programs, for messages; or NULL */
};

struct shell_limits {
    uint64_t max_steps;  /* loop turns and commands; default 500 million */
    uint64_t max_memory; /* of one value, in bytes; default 256 MiB */
    unsigned max_depth;  /* default 1000 */
    unsigned timeout_ms; /* for the message only */
};

#define SHELL_LIMITS                                \
    ((struct shell_limits){ .max_steps = 500000000, \
            .max_memory = (uint64_t)256 << 20,      \
            .max_depth = 1000,                      \
            .timeout_ms = 55000 })

struct shell *shell_create(const struct shell_options *options);
void shell_destroy(struct shell *sh);

/*
 * Run `text` with these streams (borrowed).  `alarm` is set by a signal handler to an
 * enum budget_stop (or NULL).  Returns the exit status, 0..255.  `*exited`: the script
 * called exit; the state lives on, it is up to the caller what that means.
 */
int shell_run(struct shell *sh, struct str text, const struct shell_limits *limits,
        volatile sig_atomic_t *alarm, struct stream *in, struct stream *out,
        struct stream *err, bool *exited);

struct vpath shell_cwd(const struct shell *sh);

/* Set $1.. (paddock shell FILE ARGS). */
void shell_set_args(struct shell *sh, const char *name, int argc, char *const *argv);

#endif
