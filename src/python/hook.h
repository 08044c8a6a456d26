/*
 * hook.h - the audit hook (PEP 578): beneath every name that Python code can bind.
 *
 * It is added before the interpreter starts, looks each event up in the table [audit] and
 * enforces what that says.  It fails closed: if it cannot decide, the event is refused.
 */
#ifndef PYTHON_HOOK_H
#define PYTHON_HOOK_H

#include "python/guard.h"

#include <jansson.h>

/* Before Py_Initialize. */
MUST_CHECK bool hook_install(void);

/* For code that does what has no event of its own, or not with all that matters: may
 * `path` (str, bytes, PathLike; relative to `dir_fd`, or to the current folder if that is
 * -1) be read or written?  0, or -1 with an exception. */
MUST_CHECK int hook_check_path(PyObject *path, int dir_fd, enum path_use use);

/* The path with dir_fd taken in, absolute, as bytes in `out`.  0, or -1 with an
 * exception. */
MUST_CHECK int hook_resolve(PyObject *path, int dir_fd, struct buf *out);

/* What was allowed to be written, and what was refused first: the members "writes",
 * "writes_left_out", "decision" and "rule" of a reply's notes (tool/record.h). */
void hook_take_notes(json_t *out);

#endif
