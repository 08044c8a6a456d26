/*
 * record.h - what the logs and the counters are told about a call that has ended.
 *
 * The caller fills what it knows of an `audit_call`; what was decided and written comes
 * from who did the work.
 */
#ifndef TOOL_RECORD_H
#define TOOL_RECORD_H

#include "policy/log/audit.h"
#include "tool/metrics.h"
#include "tool/run_mcp.h"
#include "tool/run_python.h"
#include "tool/run_shell.h"

/* Who is told; each may be NULL. */
struct recorder {
    struct audit *audit;
    struct metrics *metrics;
};

/*
 * A worker's call.  `notes` are outside bytes; what is not as it should be is left out:
 *   {"decision":"deny","rule":"...","writes":[{"path":...}],
 *    "events":[{"event":"open","decision":"allow","detail":"..."}],
 *    "cut":1200,"timed_out":true}
 */
void record_worker_call(
        const struct recorder *to, struct audit_call *call, struct str notes);

/* A call of run_python; its notes are of the same kind. */
void record_snippet_call(const struct recorder *to, struct audit_call *call,
        const struct snippet_outcome *outcome);

/* A use of something by a snippet, as soon as it is told; outside bytes:
 *   {"event":"open","decision":"allow","caller":"AGENT","pid":7,"detail":"..."} */
void record_python_event(struct audit *a, const json_t *event);

/* A call of run_shell. */
void record_shell_call(const struct recorder *to, struct audit_call *call,
        const struct shell_outcome *outcome);

/* A call of run_mcp. */
void record_mcp_call(const struct recorder *to, struct audit_call *call,
        const struct mcp_outcome *outcome);

/* A call that nobody was given to do; `why` is what its client is told. */
void record_refused_call(
        const struct recorder *to, struct audit_call *call, struct str why);

/* A call that was given up, whatever it had done until then. */
void record_cancelled_call(const struct recorder *to, struct audit_call *call);

#endif
