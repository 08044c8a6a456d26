/*
 * import-tools.h - importlib, pkgutil and inspect, where a policy allows them: what they
 * do with modules they do with what a snippet may import, and it gets views.
 */
#ifndef PYTHON_IMPORT_TOOLS_H
#define PYTHON_IMPORT_TOOLS_H

#include "python/guard.h"

/* Put functions of ours into the view's dictionary `own`. */
MUST_CHECK bool import_tools_add(struct str module, PyObject *own);

/* Is it one of those that lead to modules, or to what loads them? */
bool import_tools_hides(struct str module, struct str name);

#endif
