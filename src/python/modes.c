#include "python/modes.h"

static struct {
    PyObject *mode, *stat; /* shutil's own */
} real;

/* What it does if it may. */
static PyObject *call(PyObject *function, PyObject *args, PyObject *names)
{
    PyObject *result = PyObject_Call(function, args, names);
    if (result || !PyErr_ExceptionMatches(PyExc_PermissionError))
        return result;
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *copy_mode(PyObject *self UNUSED, PyObject *args, PyObject *names)
{
    return call(real.mode, args, names);
}

static PyObject *copy_stat(PyObject *self UNUSED, PyObject *args, PyObject *names)
{
    return call(real.stat, args, names);
}

/* A function with keywords has another type than the table has. */
#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void))(function)

static PyMethodDef methods[] = {
    { "copymode", WITH_KEYWORDS(copy_mode), METH_VARARGS | METH_KEYWORDS, NULL },
    { "copystat", WITH_KEYWORDS(copy_stat), METH_VARARGS | METH_KEYWORDS, NULL },
};

static bool replace(PyObject *module, PyMethodDef *method, PyObject **was)
{
    auto_ref *function = PyCFunction_New(method, NULL);
    *was = PyObject_GetAttrString(module, method->ml_name);
    return function && *was && !PyObject_SetAttrString(module, method->ml_name, function);
}

bool modes_need_not_be_copied(void)
{
    auto_ref *module = PyImport_ImportModule("shutil");
    return module && replace(module, &methods[0], &real.mode) &&
           replace(module, &methods[1], &real.stat);
}
