/* `sqlite3` for snippets: the module, and how a database is opened. */
#include "python/hook.h"
#include "python/overrides.h"
#include "python/sqlite-parts.h"
#include "python/stand-in.h"

static const char *const names[] = { "Binary", "DataError", "DatabaseError", "Date",
    "DateFromTicks", "Error", "IntegrityError", "InterfaceError", "InternalError",
    "NotSupportedError", "OperationalError", "PARSE_COLNAMES", "PARSE_DECLTYPES",
    "ProgrammingError", "Row", "Time", "TimeFromTicks", "Timestamp", "TimestampFromTicks",
    "Warning", "apilevel", "complete_statement", "paramstyle", "sqlite_version",
    "sqlite_version_info", "threadsafety", "version", "version_info", NULL };

static PyObject *refuse(const char *what)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "sqlite", NULL);
    buf_addf(&why.what, "sqlite3.connect(): %s", what);
    buf_add(&why.rule, STR("a snippet opens files of databases, for reading"));
    buf_add(&why.hint, STR("Use sqlite3.connect('PATH'). For working data, use dict, "
                           "list, collections and itertools."));
    return guard_refuse(PyExc_PermissionError, &why);
}

static bool is_plain(unsigned char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '/' ||
           c == '-' || c == '.' || c == '_' || c == '~';
}

/* "file:PATH?mode=ro", with everything in PATH that means something in a URI escaped. */
static PyObject *read_only_uri(PyObject *bytes)
{
    auto_buf uri = BUF((size_t)1 << 16);
    struct str path = { PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes) };
    buf_add(&uri, STR("file:"));
    while (str_starts(path, STR("//"))) /* no name of a host */
        path = str_from(path, 1);
    for (size_t i = 0; i < path.len; i++) {
        if (is_plain((unsigned char)path.data[i])) {
            buf_addc(&uri, path.data[i]);
        } else {
            buf_addc(&uri, '%');
            buf_add_hex(&uri, path.data + i, 1);
        }
    }
    buf_add(&uri, STR("?mode=ro"));
    if (!uri.full)
        return PyUnicode_FromStringAndSize(uri.data, (Py_ssize_t)uri.len);
    PyErr_SetString(PyExc_ValueError, "the path of the database is too long");
    return NULL;
}

/* The path of `database`; of a URI if it says no more than that it is only read. */
static PyObject *take_path(PyObject *database, int is_uri)
{
    auto_ref *path = PyOS_FSPath(database);
    auto_ref *bytes = NULL;
    if (!path || !PyUnicode_FSConverter(path, &bytes))
        return NULL;
    struct str text = { PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes) };
    struct str rest = text, name = str_cut(&rest, '?');
    if (is_uri && str_starts(text, STR("file:"))) {
        bool simple = str_is(rest, "mode=ro") && !memchr(name.data, '%', name.len) &&
                      !memchr(name.data, '#', name.len);
        name = str_from(name, sizeof("file:") - 1);
        if (!simple)
            return refuse("of URIs only 'file:PATH?mode=ro' is understood");
        text = name;
    }
    if (!text.len || str_is(text, ":memory:"))
        return refuse("a database in memory could not be filled");
    return PyBytes_FromStringAndSize(text.data, (Py_ssize_t)text.len);
}

/* What of the arguments is the real one's: all but the database, `uri` and `factory`. */
static PyObject *open_real(PyObject *uri, PyObject *options)
{
    auto_ref *sqlite = stand_in_real("sqlite3");
    auto_ref *connect = sqlite ? PyObject_GetAttrString(sqlite, "connect") : NULL;
    auto_ref *args = PyTuple_Pack(1, uri);
    if (!connect || !args || PyDict_SetItemString(options, "uri", Py_True))
        return NULL;
    return PyObject_Call(connect, args, options);
}

static PyObject *take_options(PyObject *args, PyObject *keywords)
{
    static const char *const words[] = { "timeout", "detect_types", "isolation_level",
        "check_same_thread", "factory", "cached_statements", "uri" };
    PyObject *options = keywords ? PyDict_Copy(keywords) : PyDict_New();
    for (Py_ssize_t i = 1; options && i < PyTuple_GET_SIZE(args); i++) {
        if (i > (Py_ssize_t)ARRAY_LEN(words)) {
            PyErr_SetString(PyExc_TypeError, "connect() takes at most 8 arguments");
            Py_CLEAR(options);
        } else if (PyDict_SetItemString(
                           options, words[i - 1], PyTuple_GET_ITEM(args, i))) {
            Py_CLEAR(options);
        }
    }
    return options;
}

static PyObject *take_database(PyObject *args, PyObject *options)
{
    PyObject *database = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : NULL;
    PyObject *named = PyDict_GetItemString(options, "database");
    PyObject *uri = PyDict_GetItemString(options, "uri");
    if (!database && !named) {
        PyErr_SetString(PyExc_TypeError, "connect() needs a database");
        return NULL;
    }
    int is_uri = uri ? PyObject_IsTrue(uri) : 0;
    PyObject *path = is_uri < 0 ? NULL : take_path(database ? database : named, is_uri);
    if (path && named && PyDict_DelItemString(options, "database"))
        Py_CLEAR(path);
    return path;
}

static PyObject *connect(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    auto_ref *options = take_options(args, keywords);
    if (!options)
        return NULL;
    if (PyDict_GetItemString(options, "factory"))
        return refuse("there is no factory of connections");
    auto_ref *path = take_database(args, options);
    auto_ref *uri =
            path && !hook_check_path(path, -1, PATH_READ) ? read_only_uri(path) : NULL;
    auto_ref *real = uri ? open_real(uri, options) : NULL;
    return real && sqlite_restrain(real) ? sqlite_connection(real) : NULL;
}

static PyMethodDef functions[] = {
    { "connect", (PyCFunction)(void (*)(void))connect, METH_VARARGS | METH_KEYWORDS,
            "connect($module, database, timeout=5.0, detect_types=0, "
            "isolation_level='', check_same_thread=True, cached_statements=128, "
            "uri=False)\n--\n\n"
            "Open the file of a database for reading." },
    { 0 },
};

static const struct left_out left_out[] = {
    { "dbapi2 dump", "Everything is in sqlite3 itself." },
    { "Blob register_adapter register_converter adapt PrepareProtocol enable_* adapters "
      "converters SQLITE_*",
            "Databases can be read: connect(), execute(), fetchall()." },
};

PyObject *sqlite_view_create(void)
{
    static const struct stand_in_kind kind = { "sqlite3", left_out, ARRAY_LEN(left_out),
        NULL, NULL, NULL };
    auto_ref *sqlite = PyImport_ImportModule("sqlite3");
    auto_ref *word = PyUnicode_FromString("sqlite3");
    auto_ref *real = sqlite && word ? PyImport_GetModule(word) : NULL;
    PyObject *view = real ? stand_in_new(&kind, real) : NULL;
    if (view && stand_in_copy(view, real, names) &&
            stand_in_add_functions(view, functions) &&
            stand_in_set(view, "Connection", sqlite_connection_type()) &&
            stand_in_set(view, "Cursor", sqlite_cursor_type()))
        return view;
    Py_XDECREF(view);
    return NULL;
}
