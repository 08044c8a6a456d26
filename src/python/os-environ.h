/*
 * os-environ.h - os.environ of a snippet: a dictionary that says no to changes.
 */
#ifndef PYTHON_OS_ENVIRON_H
#define PYTHON_OS_ENVIRON_H

#include "python/guard.h"

/* A new reference; what it has is the setup's environment. */
PyObject *os_environ_create(void);

#endif
