/*
 * caller.h - whose code is running?
 *
 * Code is trusted by the file it was loaded from: the standard library, the packages of
 * the environment, the packages of the workspace.  Everything else is the agent's: the
 * snippet, and any code that was made from text, whatever file name it was given.
 */
#ifndef PYTHON_CALLER_H
#define PYTHON_CALLER_H

#include "python/guard.h"

enum caller {
    CALLER_AGENT,
    CALLER_LIBRARY, /* the standard library, which does what it is told by anybody */
    CALLER_TRUSTED, /* a package, which acts for itself */
    CALLER_IMPORT,  /* the import machinery, reading modules */
};

const char *caller_name(enum caller caller); /* "AGENT", "TRUSTED", "IMPORT", "OTHER" */

/* Find out where the libraries are; once, after Python has been started. */
MUST_CHECK bool caller_init(void);

/* What the innermost Python frame runs.  AGENT if there is none. */
enum caller caller_innermost(void);

/*
 * Who wants what happens now: the innermost frame that is a package's or the agent's;
 * frames of the standard library do not count.  AGENT if there is none.  IMPORT if the
 * innermost frames are the import machinery reading a module's file.
 */
enum caller caller_responsible(void);

/* Whose is a file of code?  AGENT if it is nobody's that we know. */
enum caller caller_of_file(struct str path);

/*
 * Code was made by `compile`, `marshal` and the like; from the audit hook.  False: the
 * agent gives its code the name of a trusted file (an exception is set).
 */
MUST_CHECK bool caller_check_new_code(PyObject *filename);

#endif
