/*
 * inner-attributes.h - attributes of the interpreter's own types that lead from a
 * function or an exception to modules and to the names that libraries use: a snippet gets
 * what it may have of them, libraries find them unchanged.
 */
#ifndef PYTHON_INNER_ATTRIBUTES_H
#define PYTHON_INNER_ATTRIBUTES_H

#include "python/guard.h"

/* Once, after the preload. */
MUST_CHECK bool inner_attributes_init(void);

#endif
