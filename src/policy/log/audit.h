/*
 * audit.h - the record of calls and decisions, one JSON object a line.
 *
 * Two files, both appended to by the server alone.  The audit log of [audit_log]: whole
 * calls with what was decided and written, secrets masked, rotated by size.
 *
 *   {"t":"2026-01-31T09:00:00.123456Z","session":"1","tool":"fs_append",
 *    "arguments":{"path":"a","content":{"bytes":3,"sha256":"..."}},"decision":"allow",
 *    "is_error":false,"bytes":120,"duration_us":310,
 *    "writes":[{"path":"/srv/a","op":"write","before":"...","after":"..."}]}
 *
 * "rule", "exit", "cancelled", "writes", "writes_left_out" (how many more there were) and
 * "trace" are there when there is something to say, and "lost": N when the N records
 * before this one could not be written.
 *
 * The debug log of `serve --debug`, WORKSPACE/.pyddock/tmp/audit.jsonl: single events
 * with the fields of the seed (t, pid, event, decision, caller, detail), those that the
 * table [audit] names.
 *
 * A call is recorded when it has been answered, before the next message of a client is
 * read: nobody waits for the log, and a server that is killed just then loses that
 * record.
 *
 * Nothing here fails a call: a log that cannot be written says so once on stderr.
 */
#ifndef POLICY_AUDIT_H
#define POLICY_AUDIT_H

#include "base/json.h"
#include "policy/policy.h"

#define AUDIT_DEBUG_LOG "/tmp/audit.jsonl" /* below .pyddock */

struct audit;

/*
 * Open what there is to write to.  ERR_DENIED: the log lies where an agent may write, or
 * something is in its place.  `*out` may become NULL: there is nothing to record.
 */
MUST_CHECK bool audit_open(
        const struct policy *policy, bool debug, struct audit **out, struct error *err);
void audit_close(struct audit *a); /* NULL is fine, for all functions here */

bool audit_wants_events(const struct audit *a); /* the debug log is on */

/* How many calls could not be written to the audit log since it was opened. */
uint64_t audit_failures(const struct audit *a);

#define AUDIT_NO_EXIT (-1000)

struct audit_call {
    struct str session, tool, trace; /* `trace`: the traceparent of the client, or "" */
    const json_t *args;              /* an object, or NULL */
    const char *decision;            /* "allow", "deny" */
    struct str rule;                 /* that decided, or "" */
    bool is_error;
    bool cancelled;  /* by the client, before it had answered */
    int exit_status; /* of a command; AUDIT_NO_EXIT: there was none */
    uint64_t bytes;  /* of the reply */
    uint64_t duration_us;
    const json_t *writes; /* [{"path", "op", "before", "after"}], or NULL */
    uint64_t writes_left_out;
};
void audit_call(struct audit *a, const struct audit_call *call);

struct audit_event {
    const char *event;    /* "open", "subprocess.Popen", "os.remove", ... */
    const char *decision; /* "allow", "deny", "import-exempt" */
    const char *caller;   /* "AGENT", "TRUSTED", "IMPORT", "OTHER" */
    int pid;
    struct str detail;
    bool always; /* also where no line of [audit] is for it */
};
void audit_event(struct audit *a, const struct audit_event *event);

#endif
