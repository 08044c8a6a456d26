/*
 * replace.h - functions of CPython's own modules that do something else here.
 *
 * What is replaced is not the name in a module but what the function *is*: its entry in
 * the module's method table.  Every reference to it does the new thing then, those that
 * were taken before and those of a module that is made anew among them.
 */
#ifndef PYTHON_REPLACE_H
#define PYTHON_REPLACE_H

#include "python/guard.h"

/* What METH_FASTCALL | METH_KEYWORDS calls. */
typedef PyObject *keyword_function(
        PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names);

/*
 * `flags` must be those that it has (METH_FASTCALL | METH_KEYWORDS, ...), so that it is
 * called alike.  `*old` is what it was.  False: an exception is set.
 */
MUST_CHECK bool replace_function(const char *module, const char *name, int flags,
        PyCFunction with, PyCFunction *old);

/* posix.open, posix.utime, io.FileIO and the like; once, after the start. */
MUST_CHECK bool replace_init(void);

/* During the event of posix.utime: are the times of a link itself to be set? */
bool replace_times_of_link(void);

#endif
