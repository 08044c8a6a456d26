/*
 * stand-in.h - a module made of parts of a real one, which it does not lead to.
 *
 * It is a module (`types.ModuleType`) with a dictionary of its own: what a snippet sets
 * there stays there.  A name that is left out is an AttributeError that says what to use
 * instead.
 */
#ifndef PYTHON_STAND_IN_H
#define PYTHON_STAND_IN_H

#include "python/guard.h"

/* What is left out, and why it need not be there. */
struct left_out {
    const char *names; /* separated by blanks; one that ends in '*' is a beginning */
    const char *hint;  /* a sentence */
};

struct stand_in_kind {
    const char *name; /* of the module */
    const struct left_out *left_out;
    size_t left_out_count;
    /* Names whose value is asked for, and set, each time; NULL-terminated, or NULL. */
    const char *const *live;
    PyObject *(*get)(const char *name);            /* as an attribute's getter */
    int (*set)(const char *name, PyObject *value); /* NULL: it is deleted */
};

/* A new reference; `real` gives the text of its documentation. */
PyObject *stand_in_new(const struct stand_in_kind *kind, PyObject *real);

/* Show these names (NULL-terminated) of the real module, those that it has: functions as
 * plain functions, everything else as it is. */
MUST_CHECK bool stand_in_copy(
        PyObject *stand_in, PyObject *real, const char *const *names);

/* The same for functions that take paths: what a path object says it is, it says once;
 * buffers that can change are refused. */
MUST_CHECK bool stand_in_copy_path_functions(
        PyObject *stand_in, PyObject *real, const char *const *names);

/* Takes over `value`, which may be NULL with an exception set. */
MUST_CHECK bool stand_in_set(PyObject *stand_in, const char *name, PyObject *value);

/* Functions written in C; the array ends with an empty one. */
MUST_CHECK bool stand_in_add_functions(PyObject *stand_in, PyMethodDef *functions);

/* A module that has been loaded already, without asking __import__; a new reference. */
PyObject *stand_in_real(const char *name);

#endif
