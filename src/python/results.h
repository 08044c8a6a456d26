/*
 * results.h - pictures: what the last expression of a snippet looks like.
 */
#ifndef PYTHON_RESULTS_H
#define PYTHON_RESULTS_H

#include "python/guard.h"

#include "base/json.h"

#define RESULTS_MAX_IMAGE ((size_t)6 << 20) /* bytes of a PNG; in base64 it is 8 MiB */

/*
 * Add the picture of `value`, if it has one, to `*images`, which is made if need be: what
 * `_repr_png_` of its class returns, or the figure of a matplotlib object (or of one
 * among the first of a list).  What goes wrong is forgotten: it is no part of the run.
 */
void results_add_image(PyObject *value, json_t **images);

#endif
