/*
 * own-builtins.h - the builtins of snippets: a module of their own with what is in the
 * real one, so that what a snippet puts there meets no code of a library.  Beyond that it
 * has exit(), quit() and help(), which come with the module `site` elsewhere.
 */
#ifndef PYTHON_OWN_BUILTINS_H
#define PYTHON_OWN_BUILTINS_H

#include "python/guard.h"

/* A new reference to the module; NULL: an exception is set.  It is made the first time,
 * when everything in the real one has been taken over. */
PyObject *own_builtins(void);

/* Is it the dictionary of the real one? */
bool own_builtins_is_real(PyObject *names);

#endif
