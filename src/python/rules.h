/*
 * rules.h - [ast] and [imports], decided on the syntax tree before anything runs.
 */
#ifndef PYTHON_RULES_H
#define PYTHON_RULES_H

#include "base/json.h"
#include "python/guard.h"

/* Once, after the `ast` module has been loaded.  False: an exception is set. */
MUST_CHECK bool rules_init(void);

/*
 * Append one line for each violation, separated by newlines, in the order of a walk
 * breadth first; after the first of them it says how many more there are.  True: there
 * is none.  False with nothing appended: an exception is set.
 */
MUST_CHECK bool rules_check(PyObject *tree, struct buf *violations);

/* Does it import what may use sockets: a package, or one of the standard library's
 * modules about the network?  `modules`, a JSON array, gets the first names of what is
 * not of that library. */
bool rules_needs_network(PyObject *tree, json_t *modules);

#endif
