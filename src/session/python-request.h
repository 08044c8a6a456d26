/*
 * python-request.h - what a snippet's process asks of the broker, one JSON object a
 * message:
 *
 *   {"spawn":1,"argv":["git","log"],"cwd":"sub","env":[["LANG","C"],["TERM",""]],
 *    "caller":"AGENT"}                with the descriptors of stdin, stdout and stderr
 *   {"signal":1,"number":9}           for the command that was spawned as 1
 *
 * and what it is told, in any order between different ids:
 *
 *   {"id":1,"started":true}           its answer to a spawn, or one of these two:
 *   {"id":1,"refused":"..."}          the text of a refusal
 *   {"id":1,"errno":2,"text":"..."}   why it could not be started
 *   {"id":1,"ended":256,"notes":""}   later: its status as from waitpid()
 *
 * An id is larger than all before it.  A variable that is "" is removed.  A string that
 * is not UTF-8 is {"hex":"ff00"}.  Requests are outside bytes.
 */
#ifndef SESSION_PYTHON_REQUEST_H
#define SESSION_PYTHON_REQUEST_H

#include "base/json.h"
#include "policy/command.h"

#define PYTHON_REQUEST_MAX     ((size_t)128 << 10) /* bytes of a message, either way */
#define PYTHON_REQUEST_STREAMS 3

enum python_request_kind { PYTHON_SPAWN, PYTHON_SIGNAL };

struct python_broker_request {
    enum python_request_kind kind;
    int64_t id;                     /* 1 and up */
    struct command_request command; /* PYTHON_SPAWN: no NUL in any of it */
    const char *caller;             /* PYTHON_SPAWN: as it says, one of audit_event's */
    int number;                     /* PYTHON_SIGNAL: of a signal */
};

/* ERR_INVALID: not this format.  What `out` holds lives in `arena`. */
MUST_CHECK bool python_request_parse(struct str json, struct arena *arena,
        struct python_broker_request *out, struct error *err);

#endif
