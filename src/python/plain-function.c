#include "python/plain-function.h"

#include <structmember.h>

/* No part in garbage collection: gc.get_referents() would tell the target. */
struct plain_function {
    PyObject_HEAD vectorcallfunc call;
    PyObject *target;
    plain_function_seen *seen; /* or NULL */
    const void *user;
    PyObject *name, *qualname, *module, *doc;
    PyObject *weak;
};

static PyObject *call(
        PyObject *self, PyObject *const *args, size_t count, PyObject *keywords)
{
    return PyObject_Vectorcall(
            ((struct plain_function *)self)->target, args, count, keywords);
}

/* A new reference to what the function gets for this argument. */
static PyObject *freeze(PyObject *argument)
{
    if (PyUnicode_Check(argument))
        return PyUnicode_FromObject(argument); /* exactly str */
    if (PyBytes_Check(argument) && !PyBytes_CheckExact(argument))
        return PyBytes_FromStringAndSize(
                PyBytes_AS_STRING(argument), PyBytes_GET_SIZE(argument));
    if (PyByteArray_Check(argument) || PyMemoryView_Check(argument)) {
        PyErr_SetString(PyExc_PermissionError,
                "a mutable buffer is no path: it could change after it was checked. "
                "Use str, bytes, or pathlib.Path.");
        return NULL;
    }
    if (!PyObject_HasAttrString((PyObject *)Py_TYPE(argument), "__fspath__"))
        return Py_NewRef(argument);
    return PyOS_FSPath(argument);
}

static bool is_plain(PyObject *argument)
{
    return PyUnicode_CheckExact(argument) || PyBytes_CheckExact(argument) ||
           PyLong_CheckExact(argument);
}

static PyObject *call_with_paths(
        PyObject *self, PyObject *const *args, size_t count, PyObject *keywords)
{
    Py_ssize_t given = PyVectorcall_NARGS(count), all = given, plain = 0;
    all += keywords ? PyTuple_GET_SIZE(keywords) : 0;
    while (plain < all && is_plain(args[plain]))
        plain++;
    if (plain == all)
        return call(self, args, count, keywords);
    auto_ref *frozen = PyTuple_New(all);
    for (Py_ssize_t i = 0; frozen && i < all; i++) {
        PyObject *value = freeze(args[i]);
        if (!value)
            return NULL;
        PyTuple_SET_ITEM(frozen, i, value);
    }
    return frozen ? PyObject_Vectorcall(((struct plain_function *)self)->target,
                            &PyTuple_GET_ITEM(frozen, 0), (size_t)given, keywords)
                  : NULL;
}

static PyObject *call_watched(
        PyObject *self, PyObject *const *args, size_t count, PyObject *keywords)
{
    const struct plain_function *f = (struct plain_function *)self;
    PyObject *result = PyObject_Vectorcall(f->target, args, count, keywords);
    if (result && !f->seen(result, f->user))
        Py_CLEAR(result);
    return result;
}

static void dealloc(PyObject *self)
{
    struct plain_function *f = (struct plain_function *)self;
    if (f->weak)
        PyObject_ClearWeakRefs(self);
    Py_XDECREF(f->target);
    Py_XDECREF(f->name);
    Py_XDECREF(f->qualname);
    Py_XDECREF(f->module);
    Py_XDECREF(f->doc);
    PyObject_Free(self);
}

static PyObject *repr(PyObject *self)
{
    struct plain_function *f = (struct plain_function *)self;
    if (f->module == Py_None)
        return PyUnicode_FromFormat("<function %S>", f->qualname);
    return PyUnicode_FromFormat("<function %S.%S>", f->module, f->qualname);
}

/* Copies and deep copies of it are itself. */
static PyObject *reduce(PyObject *self, PyObject *unused UNUSED)
{
    return Py_NewRef(((struct plain_function *)self)->qualname);
}

static PyObject *get_signature(PyObject *self, void *unused UNUSED)
{
    auto_ref *name = PyUnicode_FromString("inspect");
    auto_ref *inspect = name ? PyImport_GetModule(name) : NULL; /* not by __import__ */
    PyObject *signature = inspect ? PyObject_CallMethod(inspect, "signature", "O",
                                            ((struct plain_function *)self)->target)
                                  : NULL;
    if (!signature)
        PyErr_SetString(PyExc_AttributeError, "__signature__");
    return signature;
}

static PyMethodDef methods[] = {
    { "__reduce__", reduce, METH_NOARGS, NULL },
    { 0 },
};

static PyMemberDef members[] = {
    { "__name__", T_OBJECT, offsetof(struct plain_function, name), READONLY, NULL },
    { "__qualname__", T_OBJECT, offsetof(struct plain_function, qualname), READONLY,
            NULL },
    { "__module__", T_OBJECT, offsetof(struct plain_function, module), READONLY, NULL },
    { "__doc__", T_OBJECT, offsetof(struct plain_function, doc), READONLY, NULL },
    { 0 },
};

static PyGetSetDef properties[] = {
    { "__signature__", get_signature, NULL, NULL, NULL },
    { 0 },
};

static PyTypeObject type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "paddock.function",
    .tp_basicsize = sizeof(struct plain_function),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .tp_vectorcall_offset = offsetof(struct plain_function, call),
    .tp_weaklistoffset = offsetof(struct plain_function, weak),
    .tp_call = PyVectorcall_Call,
    .tp_dealloc = dealloc,
    .tp_repr = repr,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = properties,
};

bool plain_function_check(PyObject *object)
{
    return Py_IS_TYPE(object, &type);
}

/* The text of an attribute, or None. */
static PyObject *text_of(PyObject *target, const char *attribute)
{
    PyObject *text = PyObject_GetAttrString(target, attribute);
    if (text && PyUnicode_CheckExact(text))
        return text;
    PyErr_Clear();
    Py_XDECREF(text);
    return Py_NewRef(Py_None);
}

static struct plain_function *create(PyObject *target)
{
    if (PyType_Ready(&type))
        return NULL;
    struct plain_function *f = PyObject_New(struct plain_function, &type);
    if (!f)
        return NULL;
    f->call = call;
    f->target = Py_NewRef(target);
    f->seen = NULL;
    f->user = NULL;
    f->name = f->qualname = f->module = f->doc = f->weak = NULL;
    return f;
}

PyObject *plain_function(PyObject *target)
{
    struct plain_function *f = create(target);
    if (!f)
        return NULL;
    f->name = text_of(target, "__name__");
    f->qualname = text_of(target, "__qualname__");
    f->module = text_of(target, "__module__");
    f->doc = text_of(target, "__doc__");
    return (PyObject *)f;
}

PyObject *plain_path_function(PyObject *target)
{
    PyObject *made = plain_function(target);
    if (made)
        ((struct plain_function *)made)->call = call_with_paths;
    return made;
}

PyObject *plain_function_watched(
        PyObject *target, plain_function_seen *seen, const void *user)
{
    struct plain_function *f = (struct plain_function *)plain_function(target);
    if (!f)
        return NULL;
    f->call = call_watched;
    f->seen = seen;
    f->user = user;
    return (PyObject *)f;
}

PyObject *plain_function_named(
        PyObject *target, const char *name, const char *module, const char *doc)
{
    struct plain_function *f = create(target);
    if (!f)
        return NULL;
    f->name = PyUnicode_InternFromString(name);
    f->qualname = Py_XNewRef(f->name);
    f->module = PyUnicode_InternFromString(module);
    f->doc = doc ? PyUnicode_FromString(doc) : Py_NewRef(Py_None);
    if (f->name && f->module && f->doc)
        return (PyObject *)f;
    Py_DECREF(f);
    return NULL;
}
