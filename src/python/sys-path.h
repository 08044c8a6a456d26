/*
 * sys-path.h - sys.path of a snippet: a tuple whose methods of a list say that it does
 * not change, and what to do instead.
 */
#ifndef PYTHON_SYS_PATH_H
#define PYTHON_SYS_PATH_H

#include "python/guard.h"

/* A new reference; `real` is the list. */
PyObject *sys_path_create(PyObject *real);

#endif
