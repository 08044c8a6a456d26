/*
 * reflect.h - block_attributes of [ast] where no one reads the code before it runs: names
 * that are put together, getattr(), attrgetter(), patterns, descriptors.
 *
 * Only what a snippet itself asks for is refused; dataclasses, typing, functools and the
 * like need these attributes.
 */
#ifndef PYTHON_REFLECT_H
#define PYTHON_REFLECT_H

#include "python/guard.h"

/* Once, after the preload. */
MUST_CHECK bool reflect_init(void);

/* Does a snippet get an attribute of this name, or have the library get it?  What the
 * library gets by itself has the name in its code. */
bool reflect_is_for_snippet(PyObject *name);

#endif
