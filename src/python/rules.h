/*
 * rules.h - [ast] and [imports], decided on the syntax tree before anything runs.
 */
#ifndef PYTHON_RULES_H
#define PYTHON_RULES_H

#include "python/guard.h"

/*
 * Append one text for each violation, separated by newlines, in the order of a walk
 * breadth first.  True: there is none.  False with nothing appended: an exception is set.
 */
MUST_CHECK bool rules_check(PyObject *tree, struct buf *violations);

#endif
