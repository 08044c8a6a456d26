#include "python/inner-attributes.h"

#include "python/imports.h"
#include "python/own-builtins.h"
#include "python/reflect.h"

/* In the place of what gives the attribute. */
struct inner {
    PyObject_HEAD PyObject *real, *name;
};

/* Takes over `value`. */
static PyObject *show_module(PyObject *value, PyObject *attribute)
{
    auto_ref *module = value;
    const char *name = PyModule_GetName(module);
    if (name && (!strcmp(name, "builtins") || imports_is_allowed(str_of(name))))
        return imports_view(module);
    PyErr_Clear();
    PyErr_Format(PyExc_AttributeError, "'%U' is a module, and not shown to snippets",
            attribute);
    return NULL;
}

static PyObject *show_builtins(void)
{
    auto_ref *own = own_builtins();
    return own ? Py_NewRef(PyModule_GetDict(own)) : NULL;
}

static PyObject *get(PyObject *self, PyObject *object, PyObject *type)
{
    const struct inner *i = (struct inner *)self;
    if (!object || object == Py_None) /* of the class itself: the descriptor */
        return Py_NewRef(self);
    PyObject *value = Py_TYPE(i->real)->tp_descr_get(i->real, object, type);
    if (!value || !reflect_is_for_snippet(i->name))
        return value;
    if (PyModule_Check(value))
        return show_module(value, i->name);
    if (!own_builtins_is_real(value))
        return value;
    Py_DECREF(value);
    return show_builtins();
}

static int set(PyObject *self, PyObject *object, PyObject *value)
{
    const struct inner *i = (struct inner *)self;
    return Py_TYPE(i->real)->tp_descr_set(i->real, object, value);
}

static void dealloc(PyObject *self)
{
    Py_XDECREF(((struct inner *)self)->real);
    Py_XDECREF(((struct inner *)self)->name);
    PyObject_Free(self);
}

static PyTypeObject inner_type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "paddock.attribute",
    .tp_basicsize = sizeof(struct inner),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_IMMUTABLETYPE,
    .tp_descr_get = get,
    .tp_descr_set = set,
    .tp_dealloc = dealloc,
};

static bool watch(PyTypeObject *type, const char *text)
{
    auto_ref *name = PyUnicode_InternFromString(text);
    PyObject *real = name ? PyDict_GetItemWithError(type->tp_dict, name) : NULL;
    if (!real || !Py_TYPE(real)->tp_descr_get || !Py_TYPE(real)->tp_descr_set) {
        if (!PyErr_Occurred())
            PyErr_Format(
                    PyExc_RuntimeError, "%s.%s is there otherwise", type->tp_name, text);
        return false;
    }
    struct inner *i = PyObject_New(struct inner, &inner_type);
    if (!i)
        return false;
    i->real = Py_NewRef(real);
    i->name = Py_NewRef(name);
    bool fine = !PyDict_SetItem(type->tp_dict, name, (PyObject *)i);
    Py_DECREF(i);
    PyType_Modified(type);
    return fine;
}

bool inner_attributes_init(void)
{
    return !PyType_Ready(&inner_type) && watch(&PyCFunction_Type, "__self__") &&
           watch(&PyFunction_Type, "__builtins__") &&
           watch((PyTypeObject *)PyExc_AttributeError, "obj");
}
