/*
 * keeper.h - who starts the command and outlives it: the first process of its PID
 * namespace or, where there is none, a subreaper.
 *
 * It does three things: it reaps, it tells the server how the command ended, and it ends
 * everything when the server says so or goes away.
 */
#ifndef LAUNCH_KEEPER_H
#define LAUNCH_KEEPER_H

#include "confine/job.h"

/*
 * Start the command, and stay until all is over.  The descriptors JOB_... are used up.
 * In a PID namespace the caller exits then, which ends what is left in it.
 */
void keeper_run(const struct job *job, const struct view_status *view);

/* Instead of that: tell the server that it cannot be. */
void keeper_refuse(const char *step, int error);

#endif
