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

/* Make it end soon with 128 + signal. */
void job_cancel(struct job *job, int signal);

#endif
