/*
 * ending.h - how a run ends: as a Python program does, but for the interpreter itself,
 * which is not taken down.
 */
#ifndef PYTHON_ENDING_H
#define PYTHON_ENDING_H

#include "python/guard.h"

/* Once, after the interpreter has started.  False: an exception is set. */
MUST_CHECK bool ending_init(void);

/*
 * Wait for threads, run what was registered with atexit, let go of the snippet's names
 * and of what was left in cycles, so that files are written and finalizers run.
 * False: an exception is set (of a thread that could not be waited for).
 */
MUST_CHECK bool ending_run(void);

#endif
