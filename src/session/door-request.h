/*
 * door-request.h - what a helper asks at the door (door.h), one JSON object a message:
 *
 *   {"spawn":1,"argv":["git","log"],"cwd":"sub","env":[["LANG","C"],["TERM",""]],
 *    "caller":"AGENT"}                with the descriptors of stdin, stdout and stderr
 *   {"signal":1,"number":9}           for the command that was spawned as 1
 *   {"call":"box","tool":"get_item","bytes":12,"timeout_ms":5000,"caller":"AGENT"}
 *                                     with one end of a pair (door-call.h)
 *   {"ask":2,"argv":["git","push"]}   as a spawn, but nothing is started and no
 * descriptor comes with it: would it be?
 *
 * and what it is told, in any order between different ids:
 *
 *   {"id":1,"started":true}           its answer to a spawn, or one of these two:
 *   {"id":1,"refused":"...","rule":"..."}   the text of a refusal, and the rule with its
 *                                     place; with "unknown":true if no section of the
 *                                     policy is for that name
 *   {"id":1,"errno":2,"text":"..."}   why it could not be started
 *   {"id":1,"ended":256,"notes":""}   later: its status as from waitpid()
 *   {"id":2,"allowed":true}           the answer to an ask, or a refusal as above; a
 *                                     spawn is decided again all the same
 *
 * An id is larger than all before it.  A variable that is "" is removed.  A string that
 * is not UTF-8 is {"hex":"ff00"}.  Requests are outside bytes.
 *
 * "call" asks for a tool of another MCP server, or with "tool":"" for the list of those
 * that may be called.  Through the pair go the arguments, "bytes" of JSON, and back comes
 * one JSON object, to the end of the stream:
 *
 *   {"answered":{...}}                the tool's result, as the server gave it
 *   {"listed":[...]}                  the tools
 *   {"refused":"...","rule":"..."}    by the policy
 *   {"failed":"..."}                  how
 *   {"timed_out":"..."}
 *
 * Who closes his end before that calls it off.
 */
#ifndef SESSION_DOOR_REQUEST_H
#define SESSION_DOOR_REQUEST_H

#include "base/json.h"
#include "policy/command.h"

#define DOOR_REQUEST_MAX     ((size_t)192 << 10) /* bytes; a socket takes 208 KiB */
#define DOOR_REPLY_MAX       ((size_t)128 << 10)
#define DOOR_REQUEST_STREAMS 3
#define DOOR_ARGUMENTS_MAX   ((size_t)4 << 20)  /* bytes, of a call */
#define DOOR_ANSWER_MAX      ((size_t)24 << 20) /* a result of 10 MiB, written once more */

enum door_request_kind { DOOR_SPAWN, DOOR_SIGNAL, DOOR_CALL, DOOR_ASK };

struct door_request {
    enum door_request_kind kind;
    int64_t id;                     /* 1 and up; not of DOOR_CALL */
    struct command_request command; /* SPAWN, ASK: no NUL in any of it */
    const char *caller;             /* as it says, one of audit_event's */
    int number;                     /* DOOR_SIGNAL: of a signal */
    struct str server, tool;        /* DOOR_CALL */
    size_t argument_bytes; /* DOOR_CALL: to be read, DOOR_ARGUMENTS_MAX at most */
    unsigned timeout_ms;   /* DOOR_CALL: 0: as long as there is time */
};

/* ERR_INVALID: not this format.  What `out` holds lives in `arena`. */
MUST_CHECK bool door_request_parse(struct str json, struct arena *arena,
        struct door_request *out, struct error *err);

#endif
