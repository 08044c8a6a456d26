/*
 * script.h - a snippet that is read from a file: by the child itself, so that it may read
 * what the snippet could have read.
 */
#ifndef PYTHON_SCRIPT_H
#define PYTHON_SCRIPT_H

#include "python/guard.h"

#include <jansson.h>

#define SCRIPT_MAX_BYTES ((size_t)16 << 20)

/*
 * Append the text of the file `path`, relative to the current folder, which must be a
 * regular file named *.py, in UTF-8.  False: `why` says so; a refusal of the policy is
 * noted in `notes` ("decision", "rule") as well.
 */
MUST_CHECK bool script_read(
        struct str path, struct buf *text, struct buf *why, json_t *notes);

#endif
