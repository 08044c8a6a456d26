#include "python/seal.h"

#include "confine/confine.h"

#include <errno.h>

static void load(const char *name)
{
    auto_ref *module = PyImport_ImportModule(name);
    if (!module)
        PyErr_Clear(); /* the import itself will say so */
}

static const char *text_of(PyObject *node, const char *field, PyObject **keep)
{
    *keep = PyObject_GetAttrString(node, field);
    const char *text = *keep && PyUnicode_Check(*keep) ? PyUnicode_AsUTF8(*keep) : NULL;
    PyErr_Clear();
    return text;
}

/* `from a import b`: b may be a module of a. */
static void load_names(PyObject *node, const char *package)
{
    auto_ref *names = PyObject_GetAttrString(node, "names");
    for (Py_ssize_t i = 0; names && PyList_Check(names) && i < PyList_GET_SIZE(names);
            i++) {
        auto_ref *keep = NULL;
        const char *name = text_of(PyList_GET_ITEM(names, i), "name", &keep);
        auto_buf full = BUF(4096);
        if (name)
            buf_addf(&full, "%s%s%s", package, *package ? "." : "", name);
        if (full.len && !full.full)
            load(full.data);
    }
    PyErr_Clear();
}

static bool is_node(PyObject *object, const char *name)
{
    const char *type = Py_TYPE(object)->tp_name;
    const char *dot = strrchr(type, '.');
    return !strcmp(dot ? dot + 1 : type, name);
}

static void load_imported(PyObject *node)
{
    if (is_node(node, "Import")) {
        load_names(node, "");
    } else if (is_node(node, "ImportFrom")) {
        auto_ref *keep = NULL;
        const char *package = text_of(node, "module", &keep);
        if (package) {
            load(package);
            load_names(node, package);
        }
    }
}

static bool add_value(PyObject *nodes, PyObject *value)
{
    if (!PyList_Check(value))
        return !PyList_Append(nodes, value);
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++)
        if (PyList_Append(nodes, PyList_GET_ITEM(value, i)))
            return false;
    return true;
}

/* Strings, numbers and None are leaves: they have no fields. */
static bool add_children(PyObject *nodes, PyObject *node)
{
    auto_ref *fields = PyObject_GetAttrString(node, "_fields");
    if (!fields || !PyTuple_Check(fields)) {
        PyErr_Clear();
        return true;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(fields); i++) {
        auto_ref *value = PyObject_GetAttr(node, PyTuple_GET_ITEM(fields, i));
        if (!value)
            PyErr_Clear(); /* an optional one */
        else if (!add_value(nodes, value))
            return false;
    }
    return true;
}

/* What a package loads when it is used for the first time. */
static void load_late_parts(void)
{
    static const struct {
        const char *module, *part;
    } parts[] = {
        { "matplotlib.figure", "matplotlib.backends.backend_agg" },
        { "PIL.Image", "PIL.PngImagePlugin" },
    };
    PyObject *loaded = PyImport_GetModuleDict(); /* borrowed */
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (PyDict_GetItemString(loaded, parts[i].module))
            load(parts[i].part);
}

bool seal_after_imports(PyObject *tree)
{
    auto_ref *nodes = PyList_New(0);
    if (!nodes || PyList_Append(nodes, tree))
        return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes); i++) {
        PyObject *node = PyList_GET_ITEM(nodes, i);
        load_imported(node);
        if (!add_children(nodes, node))
            return false;
    }
    load_late_parts();
    int error = confine_seal();
    if (!error)
        return true;
    errno = error;
    PyErr_SetFromErrno(PyExc_OSError);
    return false;
}
