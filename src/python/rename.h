/*
 * rename.h - os.rename and os.replace between parts of the workspace that are mounts of
 * their own, such as .pyddock/tmp: for the agent they are one file system.
 */
#ifndef PYTHON_RENAME_H
#define PYTHON_RENAME_H

#include "python/guard.h"

/* Once, after the start.  False: an exception is set. */
MUST_CHECK bool rename_init(void);

#endif
