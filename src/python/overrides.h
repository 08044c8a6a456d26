/*
 * overrides.h - [import_overrides]: a module of a narrower kind in the place of one.
 *
 * The text of a file is run as code of the agent's when it is first imported: what it
 * imports is checked, and it does not reach what it replaces.  Without a file there is
 * what is built in (sqlite3), or else nothing: never the real module.
 */
#ifndef PYTHON_OVERRIDES_H
#define PYTHON_OVERRIDES_H

#include "python/guard.h"

MUST_CHECK bool overrides_init(void);

/* What a snippet gets for this name of [import_overrides]; a new reference, or NULL with
 * an ImportError that tells what is wrong with it. */
PyObject *overrides_get(const struct policy_text *name);

/* Built in; a new reference. */
PyObject *sqlite_view_create(void);

#endif
