/*
 * class-guard.h - a class whose attributes are not all for snippets.
 *
 * The class stays the same object with the same names; code of libraries sees no
 * difference.  A snippet's access is asked for first, wherever the object comes from.
 */
#ifndef PYTHON_CLASS_GUARD_H
#define PYTHON_CLASS_GUARD_H

#include "python/guard.h"

/*
 * Guard one class by a rule: class_deny (mode "allow"), class_allow (mode "deny").  Names
 * with two underscores at both ends are left alone, but for those that show an object's
 * inside.  Once is enough; again does no harm.
 */
MUST_CHECK bool class_guard(PyTypeObject *type, const struct policy_restriction *rule);

/*
 * What dir() says to a snippet: the names of the object's classes that it may use, a new
 * list.  NULL without an exception: the object is of no guarded class, or another asks.
 */
PyObject *class_guard_list(PyObject *object);

/* Whether a snippet may use the name of an object; true if its class is not guarded. */
bool class_guard_permits(PyObject *object, PyObject *name);

/* Which raises PermissionError with this text when it is called. */
PyObject *class_guard_refuser(const struct refusal *why);

#endif
