/*
 * plan-view.h - what the kernel is to hold while an approved command runs, and how else
 * the broker runs it.
 */
#ifndef BROKER_PLAN_VIEW_H
#define BROKER_PLAN_VIEW_H

#include "broker/command.h"
#include "policy/command.h"

/*
 * The rules of the workspace as they stand now, and what the plan makes different for
 * this command: folders that it may write although they are protected, and what stays
 * read-only in them.  In `arena`.
 */
const struct view_path *plan_view(const struct path_policy *paths,
        const struct command_plan *plan, struct arena *arena, size_t *count);

/* What must not be there afterwards, because it is not there now and cannot be held by a
 * mount; NULL-terminated. */
const char *const *plan_absent(const struct path_policy *paths,
        const struct command_plan *plan, struct arena *arena);

/*
 * How the command of a plan is run, in `arena`; its times, its streams and what is kept
 * of them are for the caller to say.  The plan must have a program.
 */
struct command_spec plan_spec(const char *launcher, const struct path_policy *paths,
        const struct command_plan *plan, struct arena *arena);

#endif
