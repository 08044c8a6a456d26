/*
 * sched.h - the coroutines of a shell, one thread.
 *
 * Each stage of a pipeline (and each process substitution) is a task with a stack of its
 * own; a pipe between two of them switches to the reader when full and to the writer when
 * empty.  The main program is the first task.  Nothing is pre-empted: a switch happens
 * only in sched_wait(), sched_poll(), sched_sleep() and sched_join().
 *
 * When the budget is spent every wait answers false, so that all tasks unwind and end.
 */
#ifndef SHELL_SCHED_H
#define SHELL_SCHED_H

#include "base/budget.h"

struct sched;
struct task;

typedef int task_fn(void *arg); /* returns the stage's status */

/* `budget` is borrowed, and may be changed for each call with sched_set_budget(). */
struct sched *sched_create(struct budget *budget);
void sched_destroy(struct sched *s); /* every task must have been joined */
void sched_set_budget(struct sched *s, struct budget *budget);
struct budget *sched_budget(const struct sched *s); /* of the running task */

/* The running task, and those it starts, wait under this budget (NULL: the common one)
 * from now on; returns what was in force. */
struct budget *sched_swap_budget(struct sched *s, struct budget *budget);

/* Make a task; it runs when somebody waits.  The newest is run first.  NULL: there are
 * too many, and the budget was stopped. */
struct task *sched_spawn(struct sched *s, task_fn *fn, void *arg);

/* The same, but it runs after all others, in the order of the calls: background jobs. */
struct task *sched_spawn_last(struct sched *s, task_fn *fn, void *arg);

/* Run others until the task has ended; returns its status and frees it. */
int sched_join(struct sched *s, struct task *t);

/* Every wait of the task, and of those it started, answers false from now on, so that it
 * ends soon. */
void sched_cancel(struct task *t);

/* Is that so for the running task? */
bool sched_is_cancelled(const struct sched *s);

/* Has it ended?  Then sched_join() does not wait. */
bool sched_has_ended(const struct task *t);

/*
 * Let others run until `*ready` is true.  False: nobody else can run, so it never will be
 * (a deadlock), or the budget is spent.
 */
MUST_CHECK bool sched_wait(struct sched *s, const bool *ready);

/* Let others run for `ns` nanoseconds, or sleep if nobody wants to.  False: budget spent.
 */
MUST_CHECK bool sched_sleep(struct sched *s, int64_t ns);

/*
 * Let others run until the descriptor is ready for one of `events` (poll.h), or `*also`
 * (NULL: nothing else) is true.  Descriptors are looked at when nobody else can run, and
 * now and then.  False: the budget is spent, or the task was cancelled.
 */
MUST_CHECK bool sched_poll(struct sched *s, int fd, short events, const bool *also);

/* Bytes of stack left to the running task: recursion asks before it goes deeper. */
size_t sched_stack_left(const struct sched *s);

#endif
