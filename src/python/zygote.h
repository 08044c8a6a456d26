/*
 * zygote.h - a process with a warm interpreter, which never runs a snippet: it forks a
 * child for each.
 *
 * Descriptor 3 is the socket to the server (base/wire.h).  Each WIRE_FORK brings the four
 * descriptors of a child: its control socket, its broker socket, its stdout and stderr.
 * They are answered in order; WIRE_FORKED brings a pidfd, by which the server ends the
 * child without us.  WIRE_GONE follows when it has been reaped.  WIRE_NOT_STARTED, with
 * the reason as its field, is the last that is heard of a zygote that cannot go on.
 */
#ifndef PYTHON_ZYGOTE_H
#define PYTHON_ZYGOTE_H

#include "base/error.h"
#include "hostview/hostview.h"

enum { CHILD_CONTROL, CHILD_BROKER, CHILD_OUT, CHILD_ERR, CHILD_FDS };

#define CONTROL_FD 3
#define BROKER_FD  4

/* Until the server closes the socket; then all children are killed and reaped.  Returns
 * in the zygote only. */
MUST_CHECK bool zygote_serve(int socket, struct hostview *view,
        const struct confine_status *status, struct error *err);

/* child.c: all that a forked child does; `fds` are the four. */
_Noreturn void child_main(pid_t zygote, const int *fds, struct hostview *view,
        const struct confine_status *status);

#endif
