#include "python/module-leaks.h"

#include "python/caller.h"
#include "python/imports.h"
#include "python/plain-function.h"

static PyObject *functions; /* real one: plain one */

/* In a class, in the place of the attribute. */
struct shown {
    PyObject_HEAD PyObject *real, *name;
};

static bool is_function_of_module(PyObject *value)
{
    PyObject *self = PyCFunction_Check(value) ? PyCFunction_GET_SELF(value) : NULL;
    return self && PyModule_Check(self);
}

PyObject *module_leaks_function(PyObject *value)
{
    if (!is_function_of_module(value))
        return NULL;
    PyObject *made = PyDict_GetItemWithError(functions, value); /* borrowed */
    if (made || PyErr_Occurred())
        return Py_XNewRef(made);
    made = plain_function(value);
    if (made && PyDict_SetItem(functions, value, made))
        Py_CLEAR(made);
    return made;
}

static PyObject *show(const struct shown *s)
{
    if (!PyModule_Check(s->real))
        return module_leaks_function(s->real);
    const char *name = PyModule_GetName(s->real);
    if (name && imports_is_allowed(str_of(name)))
        return imports_view(s->real);
    PyErr_Clear();
    PyErr_Format(
            PyExc_AttributeError, "'%U' is a module, and not shown to snippets", s->name);
    return NULL;
}

static PyObject *get(PyObject *self, PyObject *object UNUSED, PyObject *type UNUSED)
{
    const struct shown *s = (struct shown *)self;
    if (!guard.armed || guard_is_inside() || caller_innermost() != CALLER_AGENT)
        return Py_NewRef(s->real);
    return show(s);
}

static void dealloc(PyObject *self)
{
    Py_XDECREF(((struct shown *)self)->real);
    Py_XDECREF(((struct shown *)self)->name);
    PyObject_Free(self);
}

static PyTypeObject shown_type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "paddock.attribute",
    .tp_basicsize = sizeof(struct shown),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_IMMUTABLETYPE,
    .tp_descr_get = get,
    .tp_dealloc = dealloc,
};

static bool close_one(PyTypeObject *type, PyObject *name, PyObject *value)
{
    struct shown *s = PyObject_New(struct shown, &shown_type);
    if (!s)
        return false;
    s->real = Py_NewRef(value);
    s->name = Py_NewRef(name);
    bool fine = !PyDict_SetItem(type->tp_dict, name, (PyObject *)s);
    Py_DECREF(s);
    PyType_Modified(type);
    return fine;
}

static bool close_class(PyTypeObject *type)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(type->tp_dict, &at, &name, &value)) /* keys stay the same */
        if ((PyModule_Check(value) || is_function_of_module(value)) &&
                PyUnicode_Check(name) && !close_one(type, name, value))
            return false;
    return true;
}

bool module_leaks_close(PyObject *names)
{
    PyObject *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(names, &at, NULL, &value)) {
        if (!PyType_Check(value) ||
                !PyType_HasFeature((PyTypeObject *)value, Py_TPFLAGS_HEAPTYPE))
            continue;
        if (!close_class((PyTypeObject *)value))
            return false;
    }
    return true;
}

/* Its __self__ is the module `io`. */
static bool close_open(void)
{
    auto_ref *builtins = PyImport_ImportModule("builtins");
    auto_ref *open = builtins ? PyObject_GetAttrString(builtins, "open") : NULL;
    auto_ref *plain = open ? module_leaks_function(open) : NULL;
    return plain && !PyObject_SetAttrString(builtins, "open", plain);
}

bool module_leaks_init(void)
{
    functions = PyDict_New();
    return functions && !PyType_Ready(&shown_type) && close_open();
}
