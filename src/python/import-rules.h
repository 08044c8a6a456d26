/*
 * import-rules.h - what [imports] says about a module, and why it may not be there.
 */
#ifndef PYTHON_IMPORT_RULES_H
#define PYTHON_IMPORT_RULES_H

#include "python/guard.h"

/* The line of [imports] that a (dotted) name falls under, or NULL. */
const struct policy_import *imports_rule(struct str name);

/* The line of [import_overrides] that replaces it, or NULL. */
const struct policy_text *imports_override(struct str name);

/* In place of the ModuleNotFoundError that is set: the list allows it, but it is not
 * there.  Returns NULL. */
PyObject *imports_not_installed(struct str name);

#endif
