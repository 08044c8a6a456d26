/*
 * audit.h - the record of calls and decisions, one JSON object a line.
 *
 * Two files, both appended to by the server alone: the audit log of [audit_log], whole
 * calls with what was decided and written, secrets masked, rotated by size; and the debug
 * log of `serve --debug`, single events with the fields of the seed (t, pid, event,
 * decision, caller, detail).  Nothing here fails a call: a log that cannot be written
 * says so once on stderr.
 */
#ifndef POLICY_AUDIT_H
#define POLICY_AUDIT_H

#include "base/json.h"
#include "policy/policy.h"

struct audit;

/* What can be opened now is opened; ERR_DENIED: the log lies where an agent may write.
 * `debug` turns on the debug log. */
MUST_CHECK bool audit_open(
        const struct policy *policy, bool debug, struct audit **out, struct error *err);
void audit_close(struct audit *a); /* NULL is fine, for all functions here */

bool audit_wants_events(const struct audit *a); /* the debug log is on */

struct audit_call {
    struct str session, tool, trace; /* `trace`: the traceparent of the client, or "" */
    const json_t *args;
    const char *decision; /* "allow", "deny" */
    struct str rule;      /* that decided, or "" */
    bool is_error;
    int exit_status; /* of a command; -1000: there was none */
    uint64_t bytes;  /* of the reply */
    uint64_t duration_us;
    const json_t *writes; /* [{"path", "op", "before", "after"}], or NULL */
};
void audit_call(struct audit *a, const struct audit_call *call);

struct audit_event {
    const char *event;    /* "open", "subprocess.Popen", "os.remove", ... */
    const char *decision; /* "allow", "deny", "observe" */
    const char *caller;   /* "AGENT", "TRUSTED" */
    int pid;
    struct str detail;
};
void audit_event(struct audit *a, const struct audit_event *event);

/* Append `text` with what looks like a secret replaced by "***". */
void audit_mask(struct str text, struct buf *out);

#endif
