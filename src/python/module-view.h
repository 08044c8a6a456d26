/*
 * module-view.h - what a snippet gets when it imports a module: an object of our own type
 * that shows the public names of the module and keeps the module itself out of reach.
 *
 * Public is what __all__ names; what is defined in the module (or its package) under a
 * name without a leading underscore; without __all__ every such name that is no module.
 * Of modules it shows those of the same package, as views.  A package of the workspace is
 * held to more: without __all__ no class of another package, with __all__ nothing else.
 *
 * The view is a module (`types.ModuleType`) with a dictionary of its own.  What a snippet
 * sets is kept there, and the library does not see it, but for the few names by which
 * modules are set up (warnings.showwarning).
 */
#ifndef PYTHON_MODULE_VIEW_H
#define PYTHON_MODULE_VIEW_H

#include "python/guard.h"

MUST_CHECK bool module_view_init(void);

/* The view of what stands in sys.modules under some name, a new reference: always the
 * same one for the same object. */
PyObject *module_view(PyObject *module);

bool module_view_check(PyObject *object);

/* Does the module behind the view have the name without showing it? */
bool module_view_hides(PyObject *view, PyObject *name);

#endif
