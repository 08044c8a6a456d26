/*
 * link.h - a server's process and the pipes to it: lines out, lines in.
 *
 * The process is started by paddock-launch and is the root of a tree of its own, all of
 * which ends with the link; or it is paddock-bridge, for a server that has a URL.  What
 * it writes on stderr is kept, a bounded part of it, for the text that tells its end.
 */
#ifndef PEER_LINK_H
#define PEER_LINK_H

#include "base/lines.h"
#include "broker/command.h"
#include "peer/bridge-start.h"

/* Those that are closing keep their processes for some seconds; more than this, and the
 * oldest are killed at once. */
#define LINKS_MAX_CLOSING 32

struct peer_link;

/* All links of a server, those that are closing included. */
struct link_list {
    struct peer_link *first; /* the newest */
};

/* From the loop, until link_close(). */
struct link_events {
    void (*line)(void *user, struct str line);
    void (*too_long)(void *user); /* a line was, and is skipped; once for each */
    void (*too_much)(void *user); /* came since link_expect(), blanks included; once */
    /* It will say nothing more.  `how`: "exited with status 3", and what it wrote last on
     * stderr, cleaned. */
    void (*ended)(void *user, struct str how);
};

/* One of the two. */
struct link_process {
    const struct command_spec *command; /* apart from its streams and its time */
    const struct bridge_spec *bridge;
};

/* `process` is borrowed for the call, `events` for good. */
MUST_CHECK bool link_open(uv_loop_t *loop, struct link_list *list,
        const struct link_process *process, const struct link_events *events, void *user,
        struct peer_link **out, struct error *err);

/* Send `bytes`, which it takes over.  False: the process does not read any more, and not
 * a byte was sent. */
MUST_CHECK bool link_send(struct peer_link *l, struct buf bytes);

/* An answer of so many bytes is expected, with all that comes before it. */
void link_expect(struct peer_link *l, size_t max_bytes);

/* Bytes that it has yet to read. */
size_t link_unsent(const struct peer_link *l);

/* How long a process may take to end when its stdin has. */
#define LINK_PATIENCE_MS 2000
#define LINK_GIVEN_UP_MS 500 /* one that was told to stop, or that does not behave */

/* No event comes any more.  In the background: what was sent arrives and the process ends
 * by itself, within this time; then SIGTERM, 2 s, SIGKILL.  It frees itself. */
void link_close(struct peer_link *l, unsigned patience_ms);

/* How many have a process still. */
size_t links_running(const struct link_list *list);

/* All of the list, at once; waits for that, a second at most. */
void links_destroy(struct link_list *list);

#endif
