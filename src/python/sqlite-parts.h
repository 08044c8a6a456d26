/*
 * sqlite-parts.h - `sqlite3` for snippets: databases can be read.
 *
 * The real connections and cursors are held by objects of our own, which have no way to
 * them; each connection is opened read-only and asks an authorizer for every statement.
 */
#ifndef PYTHON_SQLITE_PARTS_H
#define PYTHON_SQLITE_PARTS_H

#include "python/guard.h"

/* sqlite-authorizer.c: let the connection do nothing but read. */
MUST_CHECK bool sqlite_restrain(PyObject *connection);

/* An exception of the module is set: if the authorizer has refused, say what and why.
 * Returns NULL. */
PyObject *sqlite_explain(void);

/* sqlite-objects.c: `connection` is a real one. */
PyObject *sqlite_connection(PyObject *connection);
PyObject *sqlite_connection_type(void); /* new references, or NULL with an exception */
PyObject *sqlite_cursor_type(void);

#endif
