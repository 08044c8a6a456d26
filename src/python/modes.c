#include "python/modes.h"

#include <errno.h>

static struct {
    PyObject *copymode, *copystat, *chmod, *utime; /* the libraries' own */
} real;

/* The text of the error, where the kernel has refused; the hook has not. */
#define REASON                                                                       \
    "modes and times of files cannot be changed on this machine: without mounts of " \
    "their own (user namespaces) snippets could change them anywhere; see 'paddock " \
    "doctor'.  The content can be written"

static bool is_kernels(void)
{
    if (!PyErr_ExceptionMatches(PyExc_PermissionError))
        return false;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    auto_ref *number = value ? PyObject_GetAttrString(value, "errno") : NULL;
    bool is = number && PyLong_Check(number) && PyLong_AsLong(number) == EPERM;
    PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return is;
}

/* A copy is one without its mode. */
static PyObject *copy(PyObject *function, PyObject *args, PyObject *names)
{
    PyObject *result = PyObject_Call(function, args, names);
    if (result || !is_kernels())
        return result;
    PyErr_Clear();
    Py_RETURN_NONE;
}

static PyObject *change(PyObject *function, PyObject *args, PyObject *names)
{
    PyObject *result = PyObject_Call(function, args, names);
    if (result || !is_kernels())
        return result;
    PyErr_Clear();
    auto_ref *details = PyTuple_GET_SIZE(args) ? Py_BuildValue("(isO)", EPERM, REASON,
                                                         PyTuple_GET_ITEM(args, 0))
                                               : Py_BuildValue("(is)", EPERM, REASON);
    if (details)
        PyErr_SetObject(PyExc_PermissionError, details);
    return NULL;
}

#define FUNCTION(name, how)                                                            \
    static PyObject *my_##name(PyObject *self UNUSED, PyObject *args, PyObject *names) \
    {                                                                                  \
        return how(real.name, args, names);                                            \
    }
FUNCTION(copymode, copy)
FUNCTION(copystat, copy)
FUNCTION(chmod, change)
FUNCTION(utime, change)

/* A function with keywords has another type than the table has. */
#define METHOD(name)                                                                 \
    {                                                                                \
#name, (PyCFunction)(void (*)(void))my_##name, METH_VARARGS | METH_KEYWORDS, \
                NULL                                                                 \
    }
static PyMethodDef methods[] = { METHOD(copymode), METHOD(copystat), METHOD(chmod),
    METHOD(utime) };

static bool replace(const char *from, PyMethodDef *method, PyObject **was)
{
    auto_ref *module = PyImport_ImportModule(from);
    auto_ref *function = PyCFunction_New(method, NULL);
    *was = module ? PyObject_GetAttrString(module, method->ml_name) : NULL;
    return function && *was && !PyObject_SetAttrString(module, method->ml_name, function);
}

bool modes_are_fixed(void)
{
    return replace("shutil", &methods[0], &real.copymode) &&
           replace("shutil", &methods[1], &real.copystat) &&
           replace("os", &methods[2], &real.chmod) &&
           replace("os", &methods[3], &real.utime);
}
