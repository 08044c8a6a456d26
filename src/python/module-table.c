#include "python/module-table.h"

#include "python/caller.h"
#include "python/import-rules.h"
#include "python/imports.h"
#include "python/restrict.h"

#include <opcode.h>

/* "X.y" is; what is looked up on the way to a view is not. */
static bool is_dotted(PyObject *key)
{
    return PyUnicode_Check(key) &&
           PyUnicode_FindChar(key, '.', 0, PyUnicode_GET_LENGTH(key), 1) > 0;
}

/* Could a snippet import it by this name? */
static bool is_open(PyObject *key)
{
    Py_ssize_t len = 0;
    const char *text = PyUnicode_Check(key) ? PyUnicode_AsUTF8AndSize(key, &len) : NULL;
    PyErr_Clear();
    struct str name = { text, (size_t)len };
    return text && imports_is_allowed(name) && !imports_override(name) &&
           restrict_shows_module(name);
}

static PyObject *subscript(PyObject *self, PyObject *key)
{
    PyObject *value = PyDict_GetItemWithError(self, key); /* borrowed */
    if (!value) {
        if (!PyErr_Occurred())
            PyErr_SetObject(PyExc_KeyError, key);
        return NULL;
    }
    if (!guard.armed || !is_dotted(key) || caller_innermost() != CALLER_AGENT ||
            caller_opcode() != IMPORT_FROM)
        return Py_NewRef(value);
    auto_ref *real = Py_NewRef(value);
    if (is_open(key))
        return imports_view(real);
    PyErr_SetObject(PyExc_KeyError, key);
    return NULL;
}

static PyMappingMethods mapping;

/* The same memory as a dictionary, so that an existing one becomes one of these. */
static PyTypeObject table_type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "dict",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .tp_as_mapping = &mapping,
};

bool module_table_init(void)
{
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    if (!PyDict_CheckExact(modules))
        return Py_IS_TYPE(modules, &table_type);
    mapping = *PyDict_Type.tp_as_mapping;
    mapping.mp_subscript = subscript;
    table_type.tp_base = &PyDict_Type;
    table_type.tp_traverse = PyDict_Type.tp_traverse;
    table_type.tp_clear = PyDict_Type.tp_clear;
    if (PyType_Ready(&table_type))
        return false;
    assert(table_type.tp_basicsize == PyDict_Type.tp_basicsize &&
            table_type.tp_itemsize == PyDict_Type.tp_itemsize);
    Py_SET_TYPE(modules, &table_type);
    return true;
}
