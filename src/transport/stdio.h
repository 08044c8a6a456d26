/*
 * stdio.h - one JSON message a line, on stdin and stdout.
 *
 * The two descriptors are moved out of the way at the start: 0 becomes /dev/null and 1
 * becomes stderr, so that no library and no child can write into the protocol or eat from
 * it.  Only this file knows where they are (invariant 3).
 *
 * They may be pipes, sockets, terminals or files.  When the client does not read its
 * replies, they queue up to a mark, and then nothing more is read from it.
 */
#ifndef TRANSPORT_STDIO_H
#define TRANSPORT_STDIO_H

#include "base/str.h"

#include <uv.h>

#define STDIO_MAX_LINE ((size_t)16 << 20)

enum stdio_end {
    STDIO_HANGUP, /* the client is gone: nobody waits for what still runs */
    STDIO_EOF,    /* stdin was a file and has been read to its end */
};

struct stdio_events {
    void (*line)(void *user, struct str line);
    void (*too_long)(void *user);
    void (*end)(void *user, enum stdio_end end); /* once; no line comes after it */
};

struct stdio;

/* Take over the descriptors and start to read.  ERR_IO: one of them is not open. */
MUST_CHECK bool stdio_open(uv_loop_t *loop, const struct stdio_events *events, void *user,
        struct stdio **out, struct error *err);

/* One message; the newline is added here. */
void stdio_send(struct stdio *s, struct str message);

/* Read nothing more, give what is queued `grace_ms` to leave, then close and free. */
void stdio_close(struct stdio *s, unsigned grace_ms);

#endif
