#include "python/sys-path.h"

static PyObject *refuse(void)
{
    PyErr_SetString(PyExc_AttributeError,
            "sys.path cannot be changed by a snippet: [imports] says what can be "
            "imported. "
            "A package of the workspace is added there by a person as NAME = "
            "\"./FOLDER\"; "
            "code of single files is best put into the snippet.");
    return NULL;
}

static PyObject *refuse_call(
        PyObject *self UNUSED, PyObject *args UNUSED, PyObject *keywords UNUSED)
{
    return refuse();
}

static PyObject *refuse_operator(PyObject *self UNUSED, PyObject *other UNUSED)
{
    return refuse();
}

static int refuse_item(
        PyObject *self UNUSED, PyObject *key UNUSED, PyObject *value UNUSED)
{
    refuse();
    return -1;
}

#define REFUSED(name)                                                                 \
    {                                                                                 \
        name, (PyCFunction)(void (*)(void))refuse_call, METH_VARARGS | METH_KEYWORDS, \
                NULL                                                                  \
    }

static PyMethodDef methods[] = {
    REFUSED("append"),
    REFUSED("extend"),
    REFUSED("insert"),
    REFUSED("remove"),
    REFUSED("pop"),
    REFUSED("clear"),
    { 0 },
};

static PySequenceMethods sequence = { .sq_inplace_concat = refuse_operator };
static PyMappingMethods mapping = { .mp_ass_subscript = refuse_item };

static PyTypeObject type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "tuple",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_IMMUTABLETYPE,
    .tp_as_sequence = &sequence,
    .tp_as_mapping = &mapping,
    .tp_methods = methods,
};

PyObject *sys_path_create(PyObject *real)
{
    type.tp_base = &PyTuple_Type;
    if (PyType_Ready(&type))
        return NULL;
    auto_ref *args = PyTuple_Pack(1, real);
    return args ? PyTuple_Type.tp_new(&type, args, NULL) : NULL;
}
