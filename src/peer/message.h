/*
 * message.h - what another server sends, line by line: outside bytes.
 *
 * A line is a message of JSON-RPC, or several in an array, or noise: some servers log on
 * stdout.
 */
#ifndef PEER_MESSAGE_H
#define PEER_MESSAGE_H

#include "base/json.h"

enum peer_message_kind {
    PEER_NOISE,
    PEER_RESULT,       /* an answer: `id`, `body` */
    PEER_ERROR,        /* the same; `body` is an object */
    PEER_REQUEST,      /* `id_value`, `method` */
    PEER_NOTIFICATION, /* `method` */
};

/* Looks into the value. */
struct peer_message {
    enum peer_message_kind kind;
    bool has_id;   /* of an answer; errors may have none */
    json_int_t id; /* ours are positive integers */
    struct str method;
    const json_t *id_value; /* a string or an integer */
    const json_t *body;
};

/*
 * The JSON of a line; the caller owns `*out`.  Bytes that are not UTF-8 are replaced.
 * False: there is none, and `err` says why if it looks as if there should be; else
 * err->code is ERR_NONE.
 */
MUST_CHECK bool peer_line_parse(struct str line, json_t **out, struct error *err);

void peer_message_read(const json_t *value, struct peer_message *out);

/* Whether the bytes of a line that cannot be parsed look like the answer to `id`. */
bool peer_line_answers(struct str line, json_int_t id);

/* What becomes of a newline: it stays, it cannot begin a line of its own at the margin,
 * where ours begin, or there is none. */
#define PEER_LINES    "\n"
#define PEER_INDENTED "\n  "
#define PEER_ONE_LINE " "

/*
 * Append outside text as a reader may see it: UTF-8, without control characters other
 * than newline (as above) and tab, and without those that turn the direction of text;
 * `max` bytes at most, and "..." if that was not all.
 */
void peer_add_text(struct str text, size_t max, const char *newline, struct buf *out);

#endif
