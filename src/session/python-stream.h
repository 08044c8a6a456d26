/*
 * python-stream.h - which descriptors of a snippet's process a command may get as its
 * streams: pipes, connected pairs, plain files, and the devices that are harmless.
 *
 * A command may do what the snippet may not, so it gets nothing that is more than bytes:
 * no folder and nothing that only names a file (O_PATH), no socket with an address, that
 * carries messages or leads to us, no terminal.
 */
#ifndef SESSION_PYTHON_STREAM_H
#define SESSION_PYTHON_STREAM_H

#include "policy/refusal.h"

/* `name` is what it is to be, for the refusal. */
MUST_CHECK bool python_stream_check(int fd, const char *name, struct refusal *why);

#endif
