/*
 * module-leaks.h - roads from public objects of the library to its modules.
 *
 * A class that keeps a module as an attribute (pathlib's flavours), or a module's own
 * built-in function (logging.Formatter.converter), gives a snippet the view or the plain
 * function instead.  The library finds them unchanged.
 */
#ifndef PYTHON_MODULE_LEAKS_H
#define PYTHON_MODULE_LEAKS_H

#include "python/guard.h"

MUST_CHECK bool module_leaks_init(void);

/* Close those of the classes in a module's dictionary. */
MUST_CHECK bool module_leaks_close(PyObject *names);

/* The plain function for a built-in one that belongs to a module, always the same, a new
 * reference; NULL without an exception: it is no such function. */
PyObject *module_leaks_function(PyObject *value);

#endif
