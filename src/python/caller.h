/*
 * caller.h - whose code is running?
 *
 * Code is trusted by the file it was loaded from: the standard library, the packages of
 * the environment, the packages of the workspace.  Everything else is the agent's: the
 * snippet, and any code that was made from text, whatever file name it was given.
 *
 * What is promised: a code object bears the name of a trusted file only if it was made
 * from what is in that file, or if trusted code named it.  That is held where code comes
 * into being, see caller_check_*.  What is not promised: that a package does with its
 * rights only what its author had in mind.  A snippet that has a package open a file of
 * its choice, or that lets its own object be torn down while a package runs, is served
 * with the package's rights.  The kernel's bounds know nothing of callers.
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

/* The same, but the import machinery counts as little as the rest of the library: who
 * had it import?  AGENT or TRUSTED. */
enum caller caller_behind(void);

/* The innermost frame but for the import machinery's: AGENT, LIBRARY or TRUSTED. */
enum caller caller_nearest(void);

/*
 * Does the snippet call a function of this name?  Also if it had the library call what it
 * gave it, as `functools.singledispatch(getattr)` does: where the library calls it by
 * itself, the name is in its code.
 */
bool caller_is_snippet(const char *function);

/* What the innermost frame is executing (opcode.h); 0: there is no frame. */
int caller_opcode(void);

/* Whose is a file of code?  AGENT if it is nobody's that we know. */
enum caller caller_of_file(struct str path);

/*
 * Code is about to be made from text or a tree (`source`) under that name.  False: it
 * would pass for a trusted file without being what is in it (an exception is set).
 */
MUST_CHECK bool caller_check_compile(PyObject *source, PyObject *filename);

/* A code object is put together from its parts. */
MUST_CHECK bool caller_check_new_code(PyObject *filename);

/* Code is read from these marshalled bytes; NULL: from a file that is not known. */
MUST_CHECK bool caller_check_marshal(PyObject *bytes);

/* Renaming code is watched too; part of caller_init(). */
MUST_CHECK bool caller_watch_names(void);

/* The folders of trusted files, and what names of frozen modules begin with: the one at
 * `index`, or NULL at the end. */
const struct str *caller_folder(size_t index);

#endif
