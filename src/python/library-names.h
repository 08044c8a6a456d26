/*
 * library-names.h - the global names of the library, which lead to its modules.
 *
 * Text of a snippet that the library evaluates (annotations, by typing and dataclasses)
 * gets what a snippet may have of them, and globals(), eval() and the like that the
 * library was given to call are refused.
 */
#ifndef PYTHON_LIBRARY_NAMES_H
#define PYTHON_LIBRARY_NAMES_H

#include "python/guard.h"

/* Once, after the preload. */
MUST_CHECK bool library_names_init(void);

#endif
