/*
 * door-stream.h - which descriptors of a helper a command may get as its
 * streams: pipes, connected pairs, plain files, and the devices that are harmless.
 *
 * A command may do what the helper may not, so it gets nothing that is more than bytes:
 * no folder and nothing that only names a file (O_PATH), no socket with an address, that
 * carries messages or leads to us, no terminal.
 */
#ifndef SESSION_DOOR_STREAM_H
#define SESSION_DOOR_STREAM_H

#include "policy/refusal.h"

/* `name` is what it is to be, for the refusal.  `files`: a plain file may be passed on.
 */
MUST_CHECK bool door_stream_check(
        int fd, const char *name, bool files, struct refusal *why);

/* One end of a stream pair that another process has made. */
bool door_stream_is_pair(int fd);

#endif
