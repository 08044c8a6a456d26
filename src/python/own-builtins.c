#include "python/own-builtins.h"

#include "python/stand-in.h"

static PyObject *made;
static PyObject *real; /* its dictionary, borrowed */

static PyObject *leave(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    static char code_word[] = "code";
    static char *words[] = { code_word, NULL };
    PyObject *code = Py_None;
    if (PyArg_ParseTupleAndKeywords(args, keywords, "|O:exit", words, &code))
        PyErr_SetObject(PyExc_SystemExit, code);
    return NULL;
}

static PyObject *help(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    auto_ref *pydoc = PyImport_ImportModule("pydoc");
    auto_ref *call = pydoc ? PyObject_GetAttrString(pydoc, "help") : NULL;
    return call ? PyObject_Call(call, args, keywords) : NULL;
}

#define WITH_KEYWORDS(function) \
    (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyMethodDef functions[] = {
    { "exit", WITH_KEYWORDS(leave),
            "exit($module, code=None)\n--\n\nEnd the snippet, as sys.exit() does." },
    { "quit", WITH_KEYWORDS(leave),
            "quit($module, code=None)\n--\n\nEnd the snippet, as sys.exit() does." },
    { "help", WITH_KEYWORDS(help),
            "help($module, object)\n--\n\nPrint what is known about an object." },
    { 0 },
};

static bool fill(PyObject *module)
{
    auto_ref *builtins = stand_in_real("builtins");
    PyObject *names = PyModule_GetDict(module);
    if (!builtins || PyDict_Update(names, real = PyModule_GetDict(builtins)))
        return false;
    for (PyMethodDef *f = functions; f->ml_name; f++) {
        auto_ref *name = PyUnicode_FromString("builtins");
        auto_ref *function = name ? PyCFunction_NewEx(f, NULL, name) : NULL;
        if (!function || PyDict_SetItemString(names, f->ml_name, function))
            return false;
    }
    return true;
}

PyObject *own_builtins(void)
{
    if (made)
        return Py_NewRef(made);
    made = PyModule_New("builtins");
    if (made && !fill(made))
        Py_CLEAR(made);
    return Py_XNewRef(made);
}

bool own_builtins_is_real(PyObject *names)
{
    return names == real;
}
