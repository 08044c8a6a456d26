/*
 * escape.h - attempts to get out of a worker's confinement, with full native control.
 *
 * Every attempt runs in a process of its own that confined itself as a worker does.  It
 * returns 0 when it got what it wanted, and otherwise the errno that stopped it, which
 * must be the one of the rule that the table names: an attempt that fails for another
 * reason proves nothing.
 *
 * To add one: a function and a line in the table of its file.
 */
#ifndef TESTS_ESCAPE_H
#define TESTS_ESCAPE_H

#include "base/base.h"

#include <errno.h>
#include <limits.h>

/*
 * Where an attempt finds itself.  `inside` is its root, world-writable, with "file",
 * "script" (executable), "dir/" and the links "link-up" and "link-abs" to the secret;
 * `outside`, beside it, is world-writable too, with "secret" and "empty/".  What is
 * refused there is refused by confinement, not by file modes.
 */
struct cage {
    char inside[PATH_MAX], outside[PATH_MAX], secret[PATH_MAX];
    int root;        /* `inside`, O_PATH, as a worker has it */
    int outside_dir; /* left open by mistake: `outside`, O_PATH */
    int socket;      /* one end of a connected stream pair */
    int parent;      /* process id of somebody else */
};

/* What stops it, with the errno that the rule answers with. */
enum rule {
    RULE_READS,    /* Landlock: reading outside the roots (EACCES) */
    RULE_WRITES,   /* Landlock: changing something outside the roots (EACCES) */
    RULE_BOUNDARY, /* Landlock: moving or linking across (EXDEV or EACCES) */
    RULE_CALL,     /* seccomp: the call is refused (EPERM) */
    RULE_ARGUMENT, /* seccomp: refused with these arguments (EPERM) */
    RULE_ABSENT,   /* seccomp: the call does not exist (ENOSYS) */
    RULE_ENTRY,    /* seccomp: another architecture's entry (killed) */
    RULE_OPATH,    /* the kernel: an O_PATH descriptor does nothing (EBADF) */
    RULE_MEMORY,   /* rlimit: memory (ENOMEM) */
    RULE_SET_ID,   /* no CAP_FSETID: set-id bits go with the first write (EPERM here) */
};

struct attempt {
    const char *name;
    enum rule rule;
    int (*run)(const struct cage *cage);
    bool read_only; /* with a root that may only be read */
};

/* Tables end with an empty line. */
extern const struct attempt read_attempts[], write_attempts[], process_attempts[],
        kernel_attempts[], network_attempts[], entry_attempts[];

/* Ordinary work that must go on: `run` returns 0 when it did. */
struct work {
    const char *name;
    int (*run)(const struct cage *cage);
};
extern const struct work works[];

/* 0 for a call that succeeded, else errno; closes a descriptor that it returned. */
static inline int outcome(long result)
{
    return result < 0 ? errno : 0;
}
int outcome_fd(long fd);

/* `cage->outside`/NAME and `cage->inside`/NAME, in static storage. */
const char *outside(const struct cage *cage, const char *name);
const char *inside(const struct cage *cage, const char *name);

#endif
