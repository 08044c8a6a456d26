/*
 * rights.h - a message over a Unix socket, together with descriptors.
 */
#ifndef BASE_RIGHTS_H
#define BASE_RIGHTS_H

#include "base/str.h"

#include <sys/types.h>

#define RIGHTS_MAX 8 /* descriptors of one message */

/* As sendmsg() with these flags and MSG_NOSIGNAL, again after a signal.  The descriptors
 * stay the caller's; none: `count` is 0. */
ssize_t rights_send(
        int socket, struct str bytes, const int *fds, size_t count, int flags);

#endif
