/*
 * hostile.h - a program that tries what a command must not do.
 *
 *   hostile OUTSIDE SERVER PORT ABSTRACT SOCKET
 *
 * It is run in the workspace of a scene (launching.h) and tries everything, one line for
 * each: "refused" or "through", the property that is to hold it (launch/report.h;
 * "always" if nothing may be missing), what it was.  What works is undone or does no
 * harm, so that the tries do not meet each other.
 */
#ifndef TESTS_HOSTILE_H
#define TESTS_HOSTILE_H

#include "base/base.h"

struct prey {
    const char *outside;       /* a folder beside the workspace */
    int server;                /* process id */
    int port;                  /* where the server listens on 127.0.0.1, TCP and UDP */
    const char *abstract_name; /* where it listens as well, without the NUL before */
    const char *socket_path;   /* and there */
};

struct attempt {
    const char *property, *what;
    bool (*got_through)(const struct prey *prey);
};

extern const struct attempt file_attempts[], kernel_attempts[], process_attempts[];

/* "OUTSIDE/name" or "OUTSIDE" for "". */
const char *outside(const struct prey *prey, const char *name);

/* Whether it could be opened; closes it again. */
bool can_open(const char *path, int flags);

#endif
