/*
 * seal.h - on a machine without mounts of its own, a run cannot map code any more once
 * what is not trusted runs; so what it will import is loaded before.
 */
#ifndef PYTHON_SEAL_H
#define PYTHON_SEAL_H

#include "python/guard.h"

/*
 * Import every module that the tree imports anywhere, as the snippet would (what is
 * refused or missing is so again later), then call confine_seal().  False: an exception
 * is set, and nothing must be run.
 */
MUST_CHECK bool seal_after_imports(PyObject *tree);

#endif
