/*
 * imports.h - what code may import, and what it then gets.
 *
 * `builtins.__import__` is ours.  Trusted code gets what it asks for.  A snippet gets
 * what [imports] allows, as a view: an object of our own type that shows the module's
 * public names and keeps the module itself out of reach.
 */
#ifndef PYTHON_IMPORTS_H
#define PYTHON_IMPORTS_H

#include "python/guard.h"

/* Take over __import__; once, after the preload.  False: an exception is set. */
MUST_CHECK bool imports_init(void);

/* May a snippet import this (dotted) name?  False: an ImportError with the rule, and the
 * line of configuration that would allow it, is set. */
MUST_CHECK bool imports_allowed(struct str name);

/* The same question without an exception. */
bool imports_is_allowed(struct str name);

/* Import it for a snippet, if that may: what it gets for just this (dotted) name, a new
 * reference, or NULL with an exception. */
PyObject *imports_get(PyObject *name);

/* What a snippet gets for a module: its view, or what stands in for it.  A new reference;
 * always the same object for the same module. */
PyObject *imports_view(PyObject *module);

/*
 * What stands in for a module: made before the first snippet.  Each *_view_create
 * returns a new reference to a module-like object, or NULL with an exception.
 */
struct stand_in {
    const char *name;
    PyObject *(*create)(void);
    bool (*is_there)(void); /* NULL: always */
};

PyObject *sys_view_create(void);
PyObject *os_view_create(void);
PyObject *subprocess_view_create(void);
PyObject *tempfile_view_create(void);

#endif
