/*
 * jobs.h - background commands of one shell: `&`, wait, jobs, kill.
 *
 * A job is a task; it goes on when the shell waits for something, and at the latest at
 * the end of the run, which waits for all.
 */
#ifndef SHELL_JOBS_H
#define SHELL_JOBS_H

#include "shell/state.h"

struct job {
    struct job *next; /* the oldest is first */
    struct turn turn; /* unless it is in another job, which has one */
    int id, pid;
    struct task *task; /* NULL once waited for */
    struct shell *sub; /* NULL once ended */
    const struct node *node;
    struct script *script; /* keeps `node` */
    int status;
};

/* By pid, %id, %% or %+; NULL: no such job. */
struct job *job_find(struct shell *sh, struct str spec);

/* Until it ends; its status. */
int job_wait(struct shell *sh, struct job *job);

bool job_is_running(const struct job *job);

/*
 * A program is about to be started in `sh`: wait until its background job may have some.
 * So many jobs have programs at once; one that has the leave keeps it to its end, and its
 * programs, which may wait for each other, do not wait for those of others.  False: it
 * was cancelled.
 */
#define JOBS_MAX_WITH_PROGRAMS 16
MUST_CHECK bool job_take_turn(struct shell *sh);

/* Send it a signal: its trap runs when a command of it ends; without one it ends soon
 * with 128 + signal. */
void job_cancel(struct job *job, int signal);

#endif
