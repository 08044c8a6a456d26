/*
 * http-head.h - the head of an HTTP request, as far as anything is decided by it.
 *
 * All text is borrowed from the request.  A field that may stand there once and came
 * more often keeps its first value and is marked, since two readers might choose
 * differently.
 */
#ifndef TRANSPORT_HTTP_HEAD_H
#define TRANSPORT_HTTP_HEAD_H

#include "base/str.h"

enum http_field {
    HTTP_HOST,
    HTTP_ORIGIN,
    HTTP_AUTHORIZATION,
    HTTP_CONTENT_TYPE,
    HTTP_CONTENT_LENGTH,
    HTTP_TRANSFER_ENCODING,
    HTTP_EXPECT,
    HTTP_SESSION,  /* Mcp-Session-Id */
    HTTP_REVISION, /* MCP-Protocol-Version */
    HTTP_METHOD,   /* Mcp-Method */
    HTTP_NAME,     /* Mcp-Name */
    HTTP_FIELDS
};

/* How well a media type is accepted, by the most exact range that names it. */
struct http_accept {
    unsigned exactness; /* 0: nothing named it */
    bool wanted;
};

#define HTTP_MAX_PARAMS 16

struct http_param {
    struct str name, value; /* what follows "Mcp-Param-"; trimmed */
};

struct http_head {
    struct str peer; /* the address of who sent it, see http_peer_write() */
    struct str method, path;
    struct str fields[HTTP_FIELDS]; /* trimmed; .data NULL: absent */
    unsigned repeated;              /* a set of 1 << field */
    bool has_accept;
    bool malformed; /* a name or a value is none: blanks before the colon, a folded line,
                       control characters */
    struct http_accept json, stream;
    struct http_param params[HTTP_MAX_PARAMS]; /* as they came */
    unsigned param_count;
    bool has_more_params; /* than find room; they are not kept */
};

/* One line of the head; names without regard to case, unknown ones are skipped. */
void http_head_add(struct http_head *head, struct str name, struct str value);

static inline bool http_head_has(const struct http_head *head, enum http_field field)
{
    return head->fields[field].data != NULL;
}

static inline bool http_head_repeats(const struct http_head *head, enum http_field field)
{
    return head->repeated & 1u << field;
}

/* Whether the client takes a reply of application/json, or one of text/event-stream. */
bool http_accepts_json(const struct http_head *head);
bool http_accepts_stream(const struct http_head *head);

/* The words of HTTP: equal without regard to case; without spaces and tabs around. */
bool http_same(struct str a, struct str b);
struct str http_trim(struct str s);

#endif
