/*
 * http-rules.h - what is decided about an HTTP request by its head alone, before a byte
 * of its body counts.
 *
 * The order is that of the header: who may speak to us at all (Host, Origin), then what
 * (path, method), then with which right (token), then in which form (types, length).
 * What fails first is what is answered.
 */
#ifndef TRANSPORT_HTTP_RULES_H
#define TRANSPORT_HTTP_RULES_H

#include "transport/http-head.h"

#define HTTP_ENDPOINT   "/mcp"
#define HTTP_HEALTH     "/healthz"
#define HTTP_METRICS    "/metrics"
#define HTTP_MAX_BODY   ((size_t)4 << 20)
#define HTTP_MAX_UNREAD (4 * HTTP_MAX_BODY) /* a longer body is not even skipped */

/* Everything is borrowed. */
struct http_rules {
    const struct str *hosts; /* names in Host, beside those of the loopback */
    size_t host_count;
    const struct str *origins; /* "https://app.example.com", beside our own */
    size_t origin_count;
    struct str token; /* "": none is asked for */
    bool metrics;     /* they are served */
};

enum http_route {
    HTTP_ROUTE_REFUSED,
    HTTP_ROUTE_HEALTH,
    HTTP_ROUTE_METRICS,
    HTTP_ROUTE_END_SESSION, /* DELETE */
    HTTP_ROUTE_MESSAGE,     /* POST: the body decides */
};

struct http_refusal {
    unsigned status;
    char reason[200];  /* for the body, or "": none */
    const char *allow; /* the methods of a 405, or NULL */
    bool at_once;      /* without reading the body, and the connection is closed */
};

/* HTTP_ROUTE_REFUSED: `refusal` says how; otherwise it is left alone. */
enum http_route http_judge_head(const struct http_rules *rules,
        const struct http_head *head, struct http_refusal *refusal);

/* Whether `host` ("localhost:8000", "[::1]") names this server. */
bool http_host_allowed(const struct http_rules *rules, struct str host);

/* Equal or not, in the same time. */
bool http_same_secret(struct str a, struct str b);

#endif
