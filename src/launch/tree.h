/*
 * tree.h - all that descends from this process, found in /proc: for where there is no PID
 * namespace that would end it all at once.
 *
 * The process must be a subreaper, so that whoever loses its parent becomes its child.
 */
#ifndef LAUNCH_TREE_H
#define LAUNCH_TREE_H

#include "base/base.h"

/* How many there are, zombies not counted. */
unsigned tree_count(void);

/* Signal each of them, and nobody else even if numbers are used again meanwhile. */
void tree_signal(int signal);

/* Kill until none is left or `timeout_ms` is over: whoever forks faster than we look is
 * stopped first. */
void tree_kill(unsigned timeout_ms);

#endif
