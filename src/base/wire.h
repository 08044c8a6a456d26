/*
 * wire.h - messages between the server and its helpers.
 *
 * A message is a kind and a few byte fields; what they mean is said beside the kinds.  On
 * the socket: u32 length of the rest, u8 kind, u8 field count, then each field as u32
 * length and bytes; integers little-endian.  The same bytes come from a helper that may
 * have been taken over, so wire_parse() trusts nothing.
 */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#include "base/str.h"

#define WIRE_MAX_FIELDS  8
#define WIRE_MAX_MESSAGE ((size_t)256 << 20)

enum wire_kind {
    WIRE_SETUP = 1, /* server -> helper, first: configuration (JSON) */
    WIRE_READY,     /* helper -> server: confined; status (JSON) */
    WIRE_CALL,      /* server -> helper: tool name, arguments (JSON) */
    WIRE_REPLY,     /* helper -> server: "0" or "1" (isError), text, notes (JSON or "") */
    WIRE_LAUNCH,    /* these five: see confine/job.h */
    WIRE_STARTED,
    WIRE_NOT_STARTED,
    WIRE_ENDED,
    WIRE_STOP,
    WIRE_FORK,   /* server -> zygote, with four descriptors: see python/zygote.h */
    WIRE_FORKED, /* zygote -> server: pid and a pidfd, or 0 and errno */
    WIRE_GONE,   /* zygote -> server: pid, wait status */
    WIRE_SIGNAL, /* see confine/job.h */
    WIRE_EVENT,  /* child -> server while it runs: an event of the debug log (JSON) */
    WIRE_KINDS,
};

struct wire_message {
    enum wire_kind kind;
    size_t count;
    struct str fields[WIRE_MAX_FIELDS];
};

/* Append the message to `out`, whose ceiling must allow it (check out->full). */
void wire_write(const struct wire_message *m, struct buf *out);

/*
 * Take one message from the front of `*bytes`.  True with *got false: it has not all
 * arrived yet.  The fields look into `bytes`.  ERR_INVALID: not a message; give up on
 * the peer.
 */
MUST_CHECK bool wire_parse(
        struct str *bytes, struct wire_message *out, bool *got, struct error *err);

/* Blocking, for helpers.  ERR_NOT_FOUND: the peer has closed. */
MUST_CHECK bool wire_send(int fd, const struct wire_message *m, struct error *err);

/* `in` keeps the bytes that the fields look into and what came after them. */
struct wire_reader {
    int fd;
    struct buf in;
    size_t used; /* bytes of `in` that the last message took */
};
void wire_reader_init(struct wire_reader *r, int fd);
void wire_reader_finish(struct wire_reader *r);
MUST_CHECK bool wire_receive(
        struct wire_reader *r, struct wire_message *out, struct error *err);

#endif
