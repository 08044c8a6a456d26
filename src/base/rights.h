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

struct msghdr;

/* The descriptors that recvmsg() has put into `message`, added to the `*count` that are
 * in `fds`.  False: there were more than `most`, and those are closed. */
bool rights_take(const struct msghdr *message, int *fds, size_t most, size_t *count);

#endif
