/*
 * approved.h - a command that the policy has allowed, carried out by its plan: for
 * run_shell and for what snippets start.
 *
 * What the kernel holds meanwhile comes from plan-view.h.  Where the plan asks first
 * (git: which protected files would be changed?), that is run before, within the same
 * time, and may be the end of it.
 */
#ifndef BROKER_APPROVED_H
#define BROKER_APPROVED_H

#include "broker/command.h"
#include "policy/command.h"

struct approved;
struct audit;

struct approved_spec {
    uv_loop_t *loop;
    const char *launcher; /* paddock-launch, from helper_find() */
    const struct path_policy *paths;
    const struct command_plan *plan; /* this and the next: until the end */
    struct arena *arena;
    unsigned timeout_ms; /* of all of it */
    size_t keep_bytes;   /* of the start of each stream, and as much of its end */
    const int *streams;  /* as those of a command; borrowed for the start */
    command_started_fn *started;
};

/*
 * Once, from the loop, and then it frees itself.  `refusal` is not NULL: the command
 * would have changed protected files and was not started; there is no result then.
 */
typedef void approved_done_fn(
        void *user, const struct command_result *result, const struct refusal *refusal);

/* ERR_NOT_FOUND: there is no such program. */
MUST_CHECK bool approved_start(const struct approved_spec *spec, approved_done_fn *done,
        void *user, struct approved **out, struct error *err);

/* As those of a command. */
void approved_signal(struct approved *a, int signal);
void approved_cancel(struct approved *a);
void approved_kill(struct approved *a);
void approved_destroy(struct approved *a);

/* Append what who asked for the command should know, as lines "[paddock: ...]": what was
 * left running, what its plan says, what has been taken away. */
void approved_notes(const struct command_plan *plan, const struct command_result *result,
        struct buf *out);

/* Tell the debug log what was decided; `caller` is one of audit_event. */
void approved_record(struct audit *audit, const struct command_request *request,
        const char *caller, bool refused);

#endif
