/*
 * alarm.h - what can stop a running call from outside: the clock and the server.
 *
 * Both are signals whose handler sets one flag that every loop looks at (base/budget.h):
 * SIGALRM when the time is up, SIGUSR1 when the client cancelled.
 */
#ifndef WORKER_ALARM_H
#define WORKER_ALARM_H

#include "base/budget.h"

/* Install the handlers; the flag to give to shell_run(). */
volatile sig_atomic_t *alarm_install(void);

/* Ctrl-C cancels too (on a terminal), instead of ending the process. */
void alarm_catch_interrupt(void);

/* Clear the flag and start the clock; 0: no limit. */
void alarm_start(unsigned timeout_ms);
void alarm_stop(void);

#endif
