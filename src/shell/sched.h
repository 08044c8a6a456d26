/*
 * sched.h - the coroutines of a shell, one thread.
 *
 * Each stage of a pipeline (and each process substitution) is a coroutine with a stack of
 * its own; a ring between two of them switches to the reader when full and to the writer
 * when empty.  The main program is the first coroutine.  Nothing is pre-empted: a switch
 * happens only in sched_wait() and sched_join().
 */
#ifndef SHELL_SCHED_H
#define SHELL_SCHED_H

#include "base/budget.h"

struct sched;
struct task;

typedef int task_fn(void *arg); /* returns the stage's status */

/* `budget` is borrowed, and may be changed for each call with sched_set_budget(). */
struct sched *sched_create(struct budget *budget);
void sched_destroy(struct sched *s); /* no task may be running */
void sched_set_budget(struct sched *s, struct budget *budget);
struct budget *sched_budget(const struct sched *s);

/* Make a task; it runs when somebody waits.  The newest is run first. */
struct task *sched_spawn(struct sched *s, task_fn *fn, void *arg);

/* Run others until the task has ended; returns its status and frees it. */
int sched_join(struct sched *s, struct task *t);

/*
 * Let others run until `*ready` may have become true.  False: nobody else can run, so it
 * never will (a deadlock), or the budget is spent.
 */
bool sched_wait(struct sched *s, const bool *ready);

/* Bytes of stack left to the running task: recursion asks before it goes deeper. */
size_t sched_stack_left(const struct sched *s);

#endif
