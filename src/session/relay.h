/*
 * relay.h - what a helper writes on its stderr, line by line to ours.
 *
 * A worker has a pipe and not our stderr: one that was taken over could read from a
 * terminal or empty a log file.  What it says is bounded, and characters that a terminal
 * would obey are replaced.
 */
#ifndef SESSION_RELAY_H
#define SESSION_RELAY_H

#include "base/base.h"

#include <uv.h>

#define RELAY_MAX_BYTES ((size_t)64 << 10) /* of one worker; the rest is dropped */

struct relay;

/* Takes over `fd`, the reading end, not blocking.  `name` stands before each line, and
 * lives on. */
struct relay *relay_start(uv_loop_t *loop, int fd, const char *name);

/* Pass on what has arrived, then close; NULL is fine. */
void relay_end(struct relay *r);

#endif
