/*
 * time-limit.h - the parameter `timeout` of run_shell and run_python, and what is said
 * when the time is up.
 */
#ifndef TOOL_TIME_LIMIT_H
#define TOOL_TIME_LIMIT_H

#include "base/json.h"
#include "policy/policy.h"

/* The limit of a call with these arguments; false: `why` says what is wrong with it. */
MUST_CHECK bool time_limit_read(const struct policy *policy, const json_t *args,
        unsigned *timeout_ms, struct buf *why);

/* Append a line: the time of the `what` ("command", "snippet") was up. */
void time_limit_tell(const struct policy *policy, const char *what, unsigned timeout_ms,
        struct buf *out);

#endif
