/*
 * run_shell.h - the tool run_shell: an approved program, started and watched by the
 * server itself.
 *
 * The policy decides on the argument vector (policy/command.h), the broker starts what it
 * allowed (broker/command.h), and the reply is text in sections (report.h).  Whatever
 * kept a program from being run to its end is an error; a program that failed is not.
 */
#ifndef TOOL_RUN_SHELL_H
#define TOOL_RUN_SHELL_H

#include "base/json.h"
#include "policy/command.h"

#include <uv.h>

#define RUN_SHELL_MAX 16 /* commands at once */

struct audit;
struct run_shell;
struct shell_call;

/* Everything is borrowed and outlives it. */
struct run_shell_config {
    uv_loop_t *loop;
    const char *launcher; /* paddock-launch, from helper_find() */
    const struct policy *policy;
    const struct path_policy *paths;
    const struct command_policy *commands;
    struct audit *audit; /* told of each decision; NULL: nobody is */
};

/* How a call ended; borrowed. */
struct shell_outcome {
    bool is_error;
    bool refused; /* by the policy, and nothing was started; `rule` decided */
    struct str rule;
    int exit_status; /* SHELL_NO_STATUS: there was none */
    bool timed_out;
    uint64_t cut_bytes; /* left out of `text` */
    struct str text;
};
#define SHELL_NO_STATUS (-1000)

/* Called once for each call that is not cancelled, from the loop. */
typedef void shell_done_fn(void *user, const struct shell_outcome *outcome);

struct run_shell *run_shell_create(const struct run_shell_config *config);

/*
 * `args` passed the tool's schema.  `*out` is valid until `done` or run_shell_cancel().
 * ERR_LIMIT: too many commands run already.
 */
MUST_CHECK bool run_shell_start(struct run_shell *r, const json_t *args,
        shell_done_fn *done, void *user, struct shell_call **out, struct error *err);

/* `done` will not be called; the tree of processes is ended in the background. */
void run_shell_cancel(struct shell_call *call);

/* Kills what runs. */
void run_shell_destroy(struct run_shell *r);

#endif
