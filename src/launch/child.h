/*
 * child.h - from a copy of the launcher to the command: gives up everything it must not
 * have, step by step, and becomes the program.
 */
#ifndef LAUNCH_CHILD_H
#define LAUNCH_CHILD_H

#include "confine/job.h"

/* What it gave up: 0 or the errno that stopped it. */
struct child_held {
    int landlock_abi; /* in use */
    int landlock_error, seccomp_error, privileges_error, limits_error;
};

/* What it writes into the report pipe: once before it becomes the program, and a second
 * time if that failed. */
struct child_report {
    const char *failed; /* the step, a literal of the launcher; NULL: none */
    int error;
    struct child_held held;
};

/* Does not return.  `report` is closed by becoming the program. */
NORETURN void child_run(
        const struct job *job, const struct view_status *view, int report);

#endif
