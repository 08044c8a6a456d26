#include "python/sqlite-parts.h"

/* They hold the real ones.  No part in garbage collection: gc.get_referents() would tell
 * them. */
struct connection {
    PyObject_HEAD PyObject *real;
    PyObject *weak;
};

struct cursor {
    PyObject_HEAD PyObject *real;
    PyObject *weak;
    PyObject *connection; /* ours */
};

static PyTypeObject connection_type, cursor_type;

static PyObject *real_of(PyObject *self)
{
    return ((struct connection *)self)->real; /* the same place in both */
}

/* A real cursor becomes one of ours. */
static PyObject *wrap_cursor(PyObject *connection, PyObject *real)
{
    struct cursor *c = real ? PyObject_New(struct cursor, &cursor_type) : NULL;
    if (!c) {
        Py_XDECREF(real);
        return NULL;
    }
    c->real = real;
    c->weak = NULL;
    c->connection = Py_NewRef(connection);
    return (PyObject *)c;
}

static PyObject *forward(PyObject *self, const char *name, PyObject *const *args,
        Py_ssize_t count, PyObject *keywords)
{
    auto_ref *method = PyObject_GetAttrString(real_of(self), name);
    PyObject *result =
            method ? PyObject_Vectorcall(method, args, (size_t)count, keywords) : NULL;
    return result ? result : sqlite_explain();
}

/* Methods that hand over to the real one's of the same name. */
#define PLAIN(name)                                                                      \
    static PyObject *name##_plain(                                                       \
            PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) \
    {                                                                                    \
        return forward(self, #name, args, count, keywords);                              \
    }

/* The same; the real one returns a cursor. */
#define MAKES_CURSOR(name)                                                               \
    static PyObject *name##_made(                                                        \
            PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) \
    {                                                                                    \
        return wrap_cursor(self, forward(self, #name, args, count, keywords));           \
    }

/* The same; the real one returns itself. */
#define RETURNS_SELF(name)                                                               \
    static PyObject *name##_self(                                                        \
            PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) \
    {                                                                                    \
        auto_ref *done = forward(self, #name, args, count, keywords);                    \
        return done ? Py_NewRef(self) : NULL;                                            \
    }

#define METHOD(name, kind)                                 \
    {                                                      \
#name, (PyCFunction)(void (*)(void))name##_##kind, \
                METH_FASTCALL | METH_KEYWORDS, NULL        \
    }

PLAIN(close)
PLAIN(commit)
PLAIN(create_aggregate)
PLAIN(create_collation)
PLAIN(create_function)
PLAIN(create_window_function)
PLAIN(fetchall)
PLAIN(fetchmany)
PLAIN(fetchone)
PLAIN(interrupt)
PLAIN(rollback)
PLAIN(set_progress_handler)
PLAIN(setinputsizes)
PLAIN(setoutputsize)
MAKES_CURSOR(execute)
MAKES_CURSOR(executemany)
MAKES_CURSOR(executescript)
RETURNS_SELF(execute)
RETURNS_SELF(executemany)
RETURNS_SELF(executescript)

static PyObject *new_cursor(PyObject *self, PyObject *args, PyObject *keywords)
{
    if (PyTuple_GET_SIZE(args) || (keywords && PyDict_GET_SIZE(keywords))) {
        PyErr_SetString(PyExc_TypeError,
                "cursor() takes no factory for snippets; use sqlite3.Row as row_factory "
                "for rows with names");
        return NULL;
    }
    return wrap_cursor(self, PyObject_CallMethod(real_of(self), "cursor", NULL));
}

static PyObject *enter(PyObject *self, PyObject *unused UNUSED)
{
    return Py_NewRef(self);
}

static PyObject *leave(PyObject *self, PyObject *args)
{
    auto_ref *method = PyObject_GetAttrString(real_of(self), "__exit__");
    return method ? PyObject_Call(method, args, NULL) : NULL;
}

/* The dump is made from this object, so it sees what this shows. */
static PyObject *iterdump(PyObject *self, PyObject *unused UNUSED)
{
    auto_ref *dump = PyImport_ImportModule("sqlite3.dump");
    return dump ? PyObject_CallMethod(dump, "_iterdump", "O", self) : NULL;
}

static PyObject *get(PyObject *self, void *name)
{
    return PyObject_GetAttrString(real_of(self), name);
}

static int set(PyObject *self, PyObject *value, void *name)
{
    return PyObject_SetAttrString(real_of(self), name, value);
}

/* A function would be called with the real cursor. */
static int set_row_factory(PyObject *self, PyObject *value, void *name)
{
    auto_ref *word = PyUnicode_FromString("sqlite3");
    auto_ref *sqlite = word ? PyImport_GetModule(word) : NULL;
    auto_ref *row = sqlite ? PyObject_GetAttrString(sqlite, "Row") : NULL;
    if (!row)
        return -1;
    if (value == Py_None || value == row)
        return set(self, value, name);
    PyErr_SetString(PyExc_PermissionError, "row_factory is None or sqlite3.Row for "
                                           "snippets. For other rows, use a loop: "
                                           "[make(row) for row in cursor]");
    return -1;
}

static PyObject *get_connection(PyObject *self, void *unused UNUSED)
{
    return Py_NewRef(((struct cursor *)self)->connection);
}

static PyObject *next_row(PyObject *self)
{
    PyObject *row = Py_TYPE(real_of(self))->tp_iternext(real_of(self));
    return row || !PyErr_Occurred() ? row : sqlite_explain();
}

static void dealloc(PyObject *self)
{
    if (((struct connection *)self)->weak)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(real_of(self));
    if (Py_IS_TYPE(self, &cursor_type))
        Py_XDECREF(((struct cursor *)self)->connection);
    PyObject_Free(self);
}

static PyMethodDef connection_methods[] = { METHOD(close, plain), METHOD(commit, plain),
    METHOD(create_aggregate, plain), METHOD(create_collation, plain),
    METHOD(create_function, plain), METHOD(create_window_function, plain),
    METHOD(execute, made), METHOD(executemany, made), METHOD(executescript, made),
    METHOD(interrupt, plain), METHOD(rollback, plain),
    METHOD(set_progress_handler, plain),
    { "cursor", (PyCFunction)(void (*)(void))new_cursor, METH_VARARGS | METH_KEYWORDS,
            NULL },
    { "iterdump", iterdump, METH_NOARGS, NULL },
    { "__enter__", enter, METH_NOARGS, NULL }, { "__exit__", leave, METH_VARARGS, NULL },
    { 0 } };

static PyMethodDef cursor_methods[] = { METHOD(close, plain), METHOD(execute, self),
    METHOD(executemany, self), METHOD(executescript, self), METHOD(fetchall, plain),
    METHOD(fetchmany, plain), METHOD(fetchone, plain), METHOD(setinputsizes, plain),
    METHOD(setoutputsize, plain), { 0 } };

static char row_factory[] = "row_factory", in_transaction[] = "in_transaction",
            isolation_level[] = "isolation_level", text_factory[] = "text_factory",
            total_changes[] = "total_changes", arraysize[] = "arraysize",
            description[] = "description", lastrowid[] = "lastrowid",
            rowcount[] = "rowcount";

static PyGetSetDef connection_properties[] = {
    { in_transaction, get, NULL, NULL, in_transaction },
    { isolation_level, get, set, NULL, isolation_level },
    { row_factory, get, set_row_factory, NULL, row_factory },
    { text_factory, get, set, NULL, text_factory },
    { total_changes, get, NULL, NULL, total_changes },
    { 0 },
};

static PyGetSetDef cursor_properties[] = {
    { arraysize, get, set, NULL, arraysize },
    { "connection", get_connection, NULL, NULL, NULL },
    { description, get, NULL, NULL, description },
    { lastrowid, get, NULL, NULL, lastrowid },
    { row_factory, get, set_row_factory, NULL, row_factory },
    { rowcount, get, NULL, NULL, rowcount },
    { 0 },
};

static PyTypeObject connection_type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "sqlite3.Connection",
    .tp_basicsize = sizeof(struct connection),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_IMMUTABLETYPE,
    .tp_weaklistoffset = offsetof(struct connection, weak),
    .tp_methods = connection_methods,
    .tp_getset = connection_properties,
    .tp_dealloc = dealloc,
};

static PyTypeObject cursor_type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "sqlite3.Cursor",
    .tp_basicsize = sizeof(struct cursor),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_IMMUTABLETYPE,
    .tp_weaklistoffset = offsetof(struct cursor, weak),
    .tp_iter = PyObject_SelfIter,
    .tp_iternext = next_row,
    .tp_methods = cursor_methods,
    .tp_getset = cursor_properties,
    .tp_dealloc = dealloc,
};

/* The exceptions are attributes of a connection too (PEP 249). */
static bool add_exceptions(void)
{
    static const char *const names[] = { "DataError", "DatabaseError", "Error",
        "IntegrityError", "InterfaceError", "InternalError", "NotSupportedError",
        "OperationalError", "ProgrammingError", "Warning" };
    auto_ref *word = PyUnicode_FromString("sqlite3");
    auto_ref *sqlite = word ? PyImport_GetModule(word) : NULL;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        auto_ref *value = sqlite ? PyObject_GetAttrString(sqlite, names[i]) : NULL;
        if (!value || PyDict_SetItemString(connection_type.tp_dict, names[i], value))
            return false;
    }
    PyType_Modified(&connection_type);
    return true;
}

PyObject *sqlite_connection_type(void)
{
    if (PyType_Ready(&connection_type) || PyType_Ready(&cursor_type) || !add_exceptions())
        return NULL;
    return Py_NewRef((PyObject *)&connection_type);
}

PyObject *sqlite_cursor_type(void)
{
    if (PyType_Ready(&cursor_type))
        return NULL;
    return Py_NewRef((PyObject *)&cursor_type);
}

PyObject *sqlite_connection(PyObject *connection)
{
    struct connection *c = PyObject_New(struct connection, &connection_type);
    if (!c)
        return NULL;
    c->real = Py_NewRef(connection);
    c->weak = NULL;
    return (PyObject *)c;
}
