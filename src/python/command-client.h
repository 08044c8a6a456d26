/*
 * command-client.h - talking to the broker; used by commands.c.
 *
 * Any thread may call any of this, holding the GIL, which is released while it waits.
 * Signals are seen to meanwhile, so that what a handler raises ends the waiting.
 */
#ifndef PYTHON_COMMAND_CLIENT_H
#define PYTHON_COMMAND_CLIENT_H

#include "python/guard.h"

struct json_t;

/*
 * Send a request together with descriptors.  The server takes nothing while it has
 * replies for us, so these are taken meanwhile.  0, an errno (EPIPE: it listens no more),
 * or -1 with an exception that a signal's handler has raised.
 */
int client_send(const struct json_t *request, const int *fds, size_t count);

/*
 * Ask for a command, with the streams that it is to have; takes over `request`, an object
 * without an id.  0: an exception is set (PermissionError with the text of a refusal, or
 * an OSError about `program`).
 */
int64_t client_spawn(struct json_t *request, const int *streams, PyObject *program);

enum client_state { CLIENT_RUNS, CLIENT_ENDED, CLIENT_UNKNOWN, CLIENT_FAILED };

/* How is it?  Once it has ended, `*status` is as from waitpid(), and it is forgotten.
 * FAILED: an exception was raised by a signal's handler. */
enum client_state client_wait(int64_t id, bool blocks, int *status);

/* False: no such command runs. */
bool client_signal(int64_t id, int number);

#endif
