/*
 * spawn.h - starting a helper program; nobody else in the server starts anything.
 *
 * A helper gets what is named here and nothing else: its environment is built from
 * scratch, stdin is /dev/null, stdout and stderr are a pipe to us or, for a helper that
 * never reads what an agent sent, our stderr; descriptor 3 is a socket to the server, 4
 * and up are what the caller passes on.  Everything else is closed.  It runs in a session
 * of its own, in "/".
 *
 * A helper that outlives the server sees its socket close; that it also dies with the
 * server at once is its own business (PR_SET_PDEATHSIG).
 */
#ifndef BROKER_SPAWN_H
#define BROKER_SPAWN_H

#include "base/str.h"

#include <sys/types.h>

#define HELPER_SOCKET_FD 3
#define HELPER_FIRST_FD  4

struct helper {
    pid_t pid;  /* 0: not running, or reaped */
    int socket; /* our end; not blocking */
    int errors; /* what it writes on stderr, not blocking; -1: it writes on ours */
};

#define HELPER_NONE ((struct helper){ .pid = 0, .socket = -1, .errors = -1 })

struct helper_spec {
    const char *path;       /* absolute, from helper_find() */
    const char *const *env; /* NULL-terminated */
    const int *fds;         /* become 4, 5, ... in the helper; stay open here */
    size_t fd_count;
    bool pipe_stderr; /* a terminal or a log file of ours would be more than it needs */
};

/*
 * Where the helper `name` is: in ../libexec/paddock of an installed program, or beside it
 * in a build tree.  The caller frees `*out`.  ERR_NOT_FOUND: in neither place.
 */
MUST_CHECK bool helper_find(const char *name, char **out, struct error *err);

MUST_CHECK bool helper_spawn(
        const struct helper_spec *spec, struct helper *out, struct error *err);

/* Send a signal if it still runs. */
void helper_signal(const struct helper *h, int signal);

/* It has not ended, reaped or not. */
bool helper_lives(const struct helper *h);

/* True once it has ended; then it is reaped and `*status` is as from waitpid(). */
bool helper_reap(struct helper *h, int *status);

/* A descriptor that becomes readable when it ends, or -1 (an old kernel). */
int helper_pidfd(const struct helper *h);

/* Kill it if it runs, wait for its end (a second at most), close what was ours of it. */
void helper_finish(struct helper *h);

/* "killed by signal SEGV", "exited with status 3". */
void helper_describe_status(int status, char *text, size_t size);

#endif
