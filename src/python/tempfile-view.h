/*
 * tempfile-view.h - temporary files lie in .pyddock/tmp of the workspace, for everybody.
 */
#ifndef PYTHON_TEMPFILE_VIEW_H
#define PYTHON_TEMPFILE_VIEW_H

#include "python/guard.h"

/* The real module's folder is set, which libraries use.  Once, after it has been loaded.
 * False: an exception is set. */
MUST_CHECK bool tempfile_set_folder(void);

#endif
