/*
 * plain-function.h - a function that can be called, and that tells its name, module, doc
 * and signature.  Nothing else leads to what it calls: no __self__, __globals__ or
 * __closure__.
 *
 * Views of modules show these instead of the modules' own functions.
 */
#ifndef PYTHON_PLAIN_FUNCTION_H
#define PYTHON_PLAIN_FUNCTION_H

#include "python/guard.h"

/* A new reference; calls `target` with what it is called with. */
PyObject *plain_function(PyObject *target);

/* The same for one that takes paths.  A path object is asked for its path once, so that
 * what is checked is what is used; PermissionError: a buffer that can change. */
PyObject *plain_path_function(PyObject *target);

/* The first under another name and as if from another module; `doc` may be NULL. */
PyObject *plain_function_named(
        PyObject *target, const char *name, const char *module, const char *doc);

/* The same as plain_function(); `seen` looks at each result before the caller gets it.
 * False: an exception is set, which is raised instead. */
typedef bool plain_function_seen(PyObject *result, const void *user);
PyObject *plain_function_watched(
        PyObject *target, plain_function_seen *seen, const void *user);

bool plain_function_check(PyObject *object);

#endif
