/*
 * interval.h - durations as sleep and timeout take them: 1.5, 10s, 2m, 1h, 1d.
 */
#ifndef SHELL_BUILTIN_INTERVAL_H
#define SHELL_BUILTIN_INTERVAL_H

#include "base/base.h"

/* In seconds, at most INTERVAL_MAX; false: it is none. */
#define INTERVAL_MAX 1e9
MUST_CHECK bool interval_parse(const char *text, double *seconds);

#endif
