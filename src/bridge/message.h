/*
 * message.h - a JSON-RPC message, as far as its transport has to know it.
 */
#ifndef BRIDGE_MESSAGE_H
#define BRIDGE_MESSAGE_H

#include "base/json.h"

#define MESSAGE_MAX_NAME ((size_t)4 << 10) /* bytes of a method, a version, a name */

enum message_kind { MESSAGE_REQUEST, MESSAGE_NOTIFICATION, MESSAGE_RESPONSE };

/* The texts look into `json`. */
struct message {
    enum message_kind kind;
    json_t *json;       /* owned */
    json_t *id;         /* a string or an integer; NULL for a notification */
    struct str method;  /* "" for a response */
    struct str version; /* that the message names itself, as of 2026-07-28; or "" */
    struct str name;    /* of the tool, prompt or resource, if it has_name */
    bool has_name;
};

/* ERR_INVALID: no such message.  ERR_LIMIT: a name in it is too long. */
MUST_CHECK bool message_parse(struct str text, struct message *out, struct error *err);

/* The same from JSON that is there already, which it takes over, also when it fails. */
MUST_CHECK bool message_of(json_t *json, struct message *out, struct error *err);

void message_finish(struct message *m);

static inline bool message_is(const struct message *m, const char *method)
{
    return str_is(m->method, method);
}

#endif
