/*
 * record.h - what the logs are told about a call that has ended.
 *
 * The caller fills what it knows of an `audit_call`; what was decided and written comes
 * from who did the work.
 */
#ifndef TOOL_RECORD_H
#define TOOL_RECORD_H

#include "policy/log/audit.h"
#include "tool/run_mcp.h"
#include "tool/run_shell.h"

/*
 * A worker's call.  `notes` are outside bytes; what is not as it should be is left out:
 *   {"decision":"deny","rule":"...","writes":[{"path":...}],
 *    "events":[{"event":"open","decision":"allow","detail":"..."}]}
 */
void record_worker_call(struct audit *a, struct audit_call *call, struct str notes);

/* The same with notes that have been parsed, or NULL: a call of run_python. */
void record_noted_call(struct audit *a, struct audit_call *call, const json_t *notes);

/* A use of something by a snippet, as soon as it is told; outside bytes:
 *   {"event":"open","decision":"allow","caller":"AGENT","pid":7,"detail":"..."} */
void record_python_event(struct audit *a, const json_t *event);

/* A call of run_shell. */
void record_shell_call(
        struct audit *a, struct audit_call *call, const struct shell_outcome *outcome);

/* A call of run_mcp. */
void record_mcp_call(
        struct audit *a, struct audit_call *call, const struct mcp_outcome *outcome);

/* A call that nobody was given to do; `rule` is why. */
void record_refused_call(struct audit *a, struct audit_call *call, struct str rule);

/* A call that was given up, whatever it had done until then. */
void record_cancelled_call(struct audit *a, struct audit_call *call);

#endif
