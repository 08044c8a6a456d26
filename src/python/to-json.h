/*
 * to-json.h - Python values as JSON text: None, bool, int, float, str, list, tuple and
 * dict, and what is derived from them.
 */
#ifndef PYTHON_TO_JSON_H
#define PYTHON_TO_JSON_H

#include "python/guard.h"

#define TO_JSON_MAX_DEPTH  100
#define TO_JSON_MAX_VALUES ((size_t)200000)

/*
 * Append the value; nothing of its own code runs.  False, with an exception that says
 * where in `name` it is: TypeError (bytes, a set, a key that is no str), ValueError (NaN,
 * an integer beyond 64 bits, which would not arrive as it is, a lone surrogate, nested
 * too deep or in itself, too many values, more than `out` takes).
 */
MUST_CHECK bool to_json(PyObject *value, const char *name, struct buf *out);

#endif
