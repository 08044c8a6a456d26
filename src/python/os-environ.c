#include "python/os-environ.h"

static void refuse(void)
{
    PyErr_SetString(PyExc_TypeError,
            "os.environ cannot be changed by a snippet. Programs get variables with "
            "subprocess.run([...], env={**os.environ, 'NAME': 'value'}).");
}

static PyObject *refuse_call(
        PyObject *self UNUSED, PyObject *args UNUSED, PyObject *keywords UNUSED)
{
    refuse();
    return NULL;
}

static int refuse_item(
        PyObject *self UNUSED, PyObject *key UNUSED, PyObject *value UNUSED)
{
    refuse();
    return -1;
}

static PyObject *refuse_operator(PyObject *self UNUSED, PyObject *other UNUSED)
{
    refuse();
    return NULL;
}

/* A copy is an ordinary dictionary. */
static PyObject *reduce(PyObject *self, PyObject *unused UNUSED)
{
    return Py_BuildValue("(O(N))", &PyDict_Type, PyDict_Copy(self));
}

static PyObject *repr(PyObject *self)
{
    auto_ref *text = PyDict_Type.tp_repr(self);
    return text ? PyUnicode_FromFormat("environ(%U)", text) : NULL;
}

#define REFUSED(name)                                                                 \
    {                                                                                 \
        name, (PyCFunction)(void (*)(void))refuse_call, METH_VARARGS | METH_KEYWORDS, \
                NULL                                                                  \
    }

static PyMethodDef methods[] = {
    REFUSED("update"),
    REFUSED("setdefault"),
    REFUSED("pop"),
    REFUSED("popitem"),
    REFUSED("clear"),
    { "__reduce__", reduce, METH_NOARGS, NULL },
    { 0 },
};

static PyMappingMethods mapping = { .mp_ass_subscript = refuse_item };
static PyNumberMethods operators = { .nb_inplace_or = refuse_operator };

static PyTypeObject type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "environ",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_IMMUTABLETYPE,
    .tp_as_mapping = &mapping,
    .tp_as_number = &operators,
    .tp_repr = repr,
    .tp_methods = methods,
};

static bool add(PyObject *names, const char *entry)
{
    const char *value = strchr(entry, '=');
    if (!value)
        return true;
    auto_ref *name = PyUnicode_DecodeFSDefaultAndSize(entry, value - entry);
    auto_ref *text = PyUnicode_DecodeFSDefault(value + 1);
    return name && text && !PyDict_SetItem(names, name, text);
}

PyObject *os_environ_create(void)
{
    type.tp_base = &PyDict_Type;
    if (PyType_Ready(&type))
        return NULL;
    auto_ref *none = PyTuple_New(0);
    PyObject *names = none ? PyDict_Type.tp_new(&type, none, NULL) : NULL;
    for (const char *const *entry = guard.setup->env; names && *entry; entry++)
        if (!add(names, *entry))
            Py_CLEAR(names);
    return names;
}
