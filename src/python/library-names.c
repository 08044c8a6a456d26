#include "python/library-names.h"

#include "python/caller.h"
#include "python/imports.h"
#include "python/module-leaks.h"
#include "python/own-builtins.h"
#include "python/replace.h"

enum { SOURCE, GLOBALS, LOCALS, ARGUMENTS };

static PyCFunction old_eval, old_exec, old_globals, old_locals, old_vars;

/* The library does it, and a snippet has it done. */
static bool is_deputy(void)
{
    return guard.armed && !guard_is_inside() && caller_innermost() == CALLER_LIBRARY &&
           caller_behind() == CALLER_AGENT;
}

/* False: a snippet gave it to the library to call; an exception is set. */
static bool check_given(const char *function)
{
    if (!is_deputy() || !caller_is_snippet(function))
        return true;
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "library-names", NULL);
    buf_addf(&why.what, "%s() called by the library is not permitted", function);
    buf_add(&why.rule, STR("the names of the library are its own"));
    buf_addf(&why.hint, "Call %s() in a function of the snippet.", function);
    guard_refuse(PyExc_PermissionError, &why);
    return false;
}

/* Of a module of the library or of a package: not those of a snippet, or of a file that
 * it has run. */
static bool is_of_module(PyObject *names)
{
    PyObject *name = PyDict_GetItemString(names, "__name__"); /* borrowed */
    PyObject *file = PyDict_GetItemString(names, "__file__");
    if (!name || !PyUnicode_CheckExact(name) ||
            !PyUnicode_CompareWithASCIIString(name, "__main__"))
        return false;
    PyObject *module = PyDict_GetItem(PyImport_GetModuleDict(), name); /* borrowed */
    if (!module || !PyModule_Check(module) || PyModule_GetDict(module) != names)
        return false;
    const char *path = file && PyUnicode_Check(file) ? PyUnicode_AsUTF8(file) : NULL;
    PyErr_Clear();
    return !path || caller_of_file(str_of(path)) != CALLER_AGENT;
}

/* A new reference, or NULL: it is not shown, or an exception is set. */
static PyObject *show(PyObject *value)
{
    if (PyModule_Check(value)) {
        const char *name = PyModule_GetName(value);
        bool shown = name && imports_is_allowed(str_of(name));
        PyErr_Clear();
        return shown ? imports_view(value) : NULL;
    }
    PyObject *plain = module_leaks_function(value);
    return plain || PyErr_Occurred() ? plain : Py_NewRef(value);
}

static bool set_builtins(PyObject *names)
{
    auto_ref *own = own_builtins();
    return own && !PyDict_SetItemString(names, "__builtins__", own);
}

static PyObject *shown_names(PyObject *names)
{
    PyObject *key, *value, *copy = PyDict_New();
    Py_ssize_t at = 0;
    bool fine = copy;
    while (fine && PyDict_Next(names, &at, &key, &value)) {
        auto_ref *shown = show(value);
        fine = shown ? !PyDict_SetItem(copy, key, shown) : !PyErr_Occurred();
    }
    if (!fine || !set_builtins(copy))
        Py_CLEAR(copy);
    return copy;
}

/* The names that text is evaluated with, a new reference. */
static PyObject *names_for(PyObject *given, bool is_globals)
{
    if (!PyDict_Check(given))
        return Py_NewRef(given);
    if (is_of_module(given))
        return shown_names(given);
    bool has_builtins = !is_globals || PyDict_GetItemString(given, "__builtins__");
    return has_builtins || set_builtins(given) ? Py_NewRef(given) : NULL;
}

typedef keyword_function *keyword_pointer;

static PyObject *real_exec(
        PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    return ((keyword_pointer)(void (*)(void))old_exec)(module, args, count, keywords);
}

/* Until 3.12 it takes no keywords. */
#if PY_VERSION_HEX < 0x030d0000
#define EVAL_FLAGS METH_FASTCALL
static PyObject *real_eval(PyObject *module, PyObject *const *args, Py_ssize_t count,
        PyObject *keywords UNUSED)
{
    return ((_PyCFunctionFast)(void (*)(void))old_eval)(module, args, count);
}
#else
#define EVAL_FLAGS METH_FASTCALL | METH_KEYWORDS
static PyObject *real_eval(
        PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    return ((keyword_pointer)(void (*)(void))old_eval)(module, args, count, keywords);
}
#endif

/* The library gives the names by their places. */
static PyObject *run(keyword_function *call, PyObject *module, PyObject *const *args,
        Py_ssize_t count, PyObject *keywords)
{
    bool named = keywords && PyTuple_GET_SIZE(keywords);
    if (count <= GLOBALS || count > ARGUMENTS || named || !is_deputy())
        return call(module, args, count, keywords);
    auto_ref *first = names_for(args[GLOBALS], true);
    auto_ref *second = first && count > LOCALS ? names_for(args[LOCALS], false) : NULL;
    if (!first || (count > LOCALS && !second))
        return NULL;
    PyObject *shown[] = { args[SOURCE], first, second };
    return call(module, shown, count, keywords);
}

static PyObject *eval(
        PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    return check_given("eval") ? run(real_eval, module, args, count, keywords) : NULL;
}

static PyObject *exec(
        PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    return check_given("exec") ? run(real_exec, module, args, count, keywords) : NULL;
}

#if PY_VERSION_HEX < 0x030d0000
static PyObject *eval_fast(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return eval(module, args, count, NULL);
}
#else
#define eval_fast eval
#endif

static PyObject *globals(PyObject *module, PyObject *unused)
{
    return check_given("globals") ? old_globals(module, unused) : NULL;
}

static PyObject *locals(PyObject *module, PyObject *unused)
{
    return check_given("locals") ? old_locals(module, unused) : NULL;
}

static PyObject *vars(PyObject *module, PyObject *args)
{
    bool is_fine = PyTuple_GET_SIZE(args) || check_given("vars");
    return is_fine ? old_vars(module, args) : NULL;
}

#define FUNCTION(name) (PyCFunction)(void (*)(void)) name

bool library_names_init(void)
{
    const struct {
        const char *name;
        int flags;
        PyCFunction with;
        PyCFunction *old;
    } functions[] = {
        { "eval", EVAL_FLAGS, FUNCTION(eval_fast), &old_eval },
        { "exec", METH_FASTCALL | METH_KEYWORDS, FUNCTION(exec), &old_exec },
        { "globals", METH_NOARGS, globals, &old_globals },
        { "locals", METH_NOARGS, locals, &old_locals },
        { "vars", METH_VARARGS, vars, &old_vars },
    };
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (!replace_function("builtins", functions[i].name, functions[i].flags,
                    functions[i].with, functions[i].old))
            return false;
    return true;
}
