#include "python/overrides.h"

#include "python/imports.h"
#include "python/own-builtins.h"

#define FOLDER "/.pyddock/import-overrides/"

static const struct stand_in built_in[] = {
    { "sqlite3", sqlite_view_create, NULL },
};

static PyObject *made;    /* name: module */
static PyObject *running; /* names of those that are being run */

bool overrides_init(void)
{
    made = PyDict_New();
    running = PySet_New(NULL);
    return made && running;
}

static const struct python_shim *find_shim(struct str name)
{
    const struct python_setup *s = guard.setup;
    for (size_t i = 0; i < s->shim_count; i++)
        if (str_eq(s->shims[i].name, name))
            return &s->shims[i];
    return NULL;
}

static const struct stand_in *find_built_in(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(built_in); i++)
        if (str_is(name, built_in[i].name))
            return &built_in[i];
    return NULL;
}

static PyObject *decode(struct str text)
{
    return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "strict");
}

static PyObject *raise_import(
        const struct policy_text *name, const struct buf *what, const char *hint)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "import-override", &name->origin);
    buf_add(&why.what, buf_str(what));
    buf_addf(&why.rule, "[import_overrides] %.*s = true", STR_ARG(name->text));
    buf_add(&why.hint, str_of(hint));
    return guard_refuse(PyExc_ImportError, &why);
}

static PyObject *refuse_missing(const struct policy_text *name)
{
    const struct policy *p = guard.setup->policy;
    auto_buf what = BUF((size_t)1 << 14);
    buf_addf(&what,
            "'%.*s' is replaced by a file that is not there: looked for %.*s" FOLDER
            "%.*s.py",
            STR_ARG(name->text), STR_ARG(p->workspace), STR_ARG(name->text));
    if (p->home.len)
        buf_addf(&what, " and %.*s" FOLDER "%.*s.py", STR_ARG(p->home),
                STR_ARG(name->text));
    return raise_import(name, &what,
            "It has to be one file with this name; a person may add it, or switch the "
            "override off and allow the real module in [imports].");
}

static PyObject *refuse_circular(const struct policy_text *name)
{
    auto_buf what = BUF(1024);
    buf_addf(&what, "the override of '%.*s' imports itself", STR_ARG(name->text));
    return raise_import(name, &what,
            "What it replaces is out of its reach, as it is for all snippets.");
}

/* The exception that is set becomes the cause of an ImportError. */
static void tell_failed(const struct policy_text *name, const struct python_shim *shim)
{
    auto_ref *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (!PyErr_GivenExceptionMatches(type, PyExc_Exception)) {
        PyErr_Restore(TAKE(type), TAKE(value), TAKE(trace));
        return; /* SystemExit, TimeoutError of ours, ... */
    }
    if (trace)
        PyException_SetTraceback(value, trace);
    auto_buf what = BUF((size_t)1 << 14);
    buf_addf(&what, "the override of '%.*s' (%.*s) has failed", STR_ARG(name->text),
            STR_ARG(shim->path));
    raise_import(name, &what, "The real module is not used instead.");
    auto_ref *type2 = NULL, *value2 = NULL, *trace2 = NULL;
    PyErr_Fetch(&type2, &value2, &trace2);
    PyErr_NormalizeException(&type2, &value2, &trace2);
    if (value2)
        PyException_SetCause(value2, TAKE(value));
    PyErr_Restore(TAKE(type2), TAKE(value2), TAKE(trace2));
}

static PyObject *compile_shim(const struct python_shim *shim, PyObject *file)
{
    auto_ref *path = PyUnicode_EncodeFSDefault(file);
    auto_free char *text = str_copy(shim->text);
    if (!path)
        return NULL;
    guard_enter();
    PyObject *code = Py_CompileString(text, PyBytes_AS_STRING(path), Py_file_input);
    guard_leave();
    return code;
}

/* A module as the import machinery makes one, but without a loader. */
static PyObject *new_module(PyObject *name, PyObject *file)
{
    PyObject *module = PyModule_NewObject(name);
    auto_ref *builtins = own_builtins();
    if (module && builtins &&
            !PyDict_SetItemString(PyModule_GetDict(module), "__builtins__", builtins) &&
            !PyDict_SetItemString(PyModule_GetDict(module), "__file__", file))
        return module;
    Py_XDECREF(module);
    return NULL;
}

static PyObject *run_shim(const struct python_shim *shim, PyObject *name)
{
    auto_ref *file = PyUnicode_FromFormat("<import-override %U>", name);
    auto_ref *code = file ? compile_shim(shim, file) : NULL;
    PyObject *module = code ? new_module(name, file) : NULL;
    PyObject *names = module ? PyModule_GetDict(module) : NULL; /* borrowed */
    auto_ref *done = names ? PyEval_EvalCode(code, names, names) : NULL;
    if (!done)
        Py_CLEAR(module);
    return module;
}

static PyObject *create(const struct policy_text *text, PyObject *name)
{
    const struct python_shim *shim = find_shim(text->text);
    const struct stand_in *own = find_built_in(text->text);
    if (!shim)
        return own ? own->create() : refuse_missing(text);
    int is_running = PySet_Contains(running, name);
    if (is_running)
        return is_running > 0 ? refuse_circular(text) : NULL;
    if (PySet_Add(running, name))
        return NULL;
    PyObject *module = run_shim(shim, name);
    if (!module)
        tell_failed(text, shim);
    if (PySet_Discard(running, name) < 0)
        Py_CLEAR(module);
    return module;
}

PyObject *overrides_get(const struct policy_text *text)
{
    auto_ref *name = decode(text->text);
    PyObject *module = name ? PyDict_GetItemWithError(made, name) : NULL; /* borrowed */
    if (module || !name || PyErr_Occurred())
        return Py_XNewRef(module);
    module = create(text, name);
    if (module && PyDict_SetItem(made, name, module))
        Py_CLEAR(module);
    return module;
}
