#include "python/imports.h"

#include "python/caller.h"
#include "python/import-rules.h"
#include "python/inner-attributes.h"
#include "python/library-names.h"
#include "python/mcp-module.h"
#include "python/module-leaks.h"
#include "python/module-table.h"
#include "python/module-view.h"
#include "python/overrides.h"
#include "python/own-builtins.h"
#include "python/reflect.h"
#include "python/replace.h"
#include "python/restrict.h"

#include <opcode.h>

/* Modules that a snippet gets something of our own for. */
static const struct stand_in stand_ins[] = {
    { "builtins", own_builtins, NULL },
    { "os", os_view_create, NULL },
    { MCP_MODULE, mcp_view_create, mcp_is_there },
    { "subprocess", subprocess_view_create, NULL },
    { "sys", sys_view_create, NULL },
    { "tempfile", tempfile_view_create, NULL },
};

static PyObject *made_stand_ins; /* name: object */

/* What is there instead of this module, a new reference; NULL without an exception:
 * nothing is. */
static PyObject *stand_in_of(struct str top)
{
    const struct policy_text *override = imports_override(top);
    if (override)
        return overrides_get(override);
    const struct stand_in *s = stand_ins, *end = s + ARRAY_LEN(stand_ins);
    while (s < end && !str_is(top, s->name))
        s++;
    if (s == end || (s->is_there && !s->is_there()))
        return NULL;
    PyObject *made = PyDict_GetItemString(made_stand_ins, s->name); /* borrowed */
    if (made)
        return Py_NewRef(made);
    made = s->create();
    if (made && PyDict_SetItemString(made_stand_ins, s->name, made))
        Py_CLEAR(made);
    return made;
}

static struct str text_of(PyObject *name)
{
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(name, &len);
    return text ? (struct str){ text, (size_t)len } : (struct str){ NULL, 0 };
}

PyObject *imports_view(PyObject *module)
{
    auto_ref *name = PyModule_Check(module) ? PyModule_GetNameObject(module) : NULL;
    PyErr_Clear();
    struct str text = name ? text_of(name) : (struct str){ NULL, 0 };
    if (str_is(text, "__main__"))
        return Py_NewRef(module); /* the snippet's own */
    PyObject *made = text.data ? stand_in_of(text) : NULL;
    return made || PyErr_Occurred() ? made : module_view(module);
}

/* `object.b.c` for "a.b.c": what stands in for `a` has its submodules as attributes. */
static PyObject *walk(PyObject *object, PyObject *name)
{
    auto_ref *dot = PyUnicode_FromString(".");
    auto_ref *parts = dot ? PyUnicode_Split(name, dot, -1) : NULL;
    PyObject *at = Py_NewRef(object);
    for (Py_ssize_t i = 1; parts && i < PyList_GET_SIZE(parts); i++) {
        PyObject *next = PyObject_GetAttr(at, PyList_GET_ITEM(parts, i));
        if (next && !PyModule_Check(next))
            Py_CLEAR(next);
        Py_SETREF(at, next);
        if (!at) {
            PyErr_Clear();
            PyErr_Format(
                    PyExc_ModuleNotFoundError, "No module named '%U' for snippets", name);
            return NULL;
        }
    }
    return at;
}

/* The list of names of `from m import a, b`, as plain strings. */
static PyObject *plain_names(PyObject *fromlist)
{
    if (!fromlist || fromlist == Py_None)
        return PyTuple_New(0);
    auto_ref *list = PySequence_List(fromlist);
    PyObject *names = list ? PyTuple_New(PyList_GET_SIZE(list)) : NULL;
    for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        PyObject *name = PyUnicode_Check(item) ? PyUnicode_FromObject(item) : NULL;
        if (!name && !PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "Item in ``from list'' must be str, not %.200s",
                    Py_TYPE(item)->tp_name);
        if (name)
            PyTuple_SET_ITEM(names, i, name);
        else
            Py_CLEAR(names);
    }
    return names;
}

static PyObject *import_real(PyObject *name, PyObject *names)
{
    PyObject *module = PyImport_ImportModuleLevelObject(name, NULL, NULL, names, 0);
    if (module || !PyErr_ExceptionMatches(PyExc_ModuleNotFoundError))
        return module;
    auto_ref *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    auto_ref *missing = value ? PyObject_GetAttrString(value, "name") : NULL;
    struct str rest = text_of(name), top = str_cut(&rest, '.');
    bool is_it = missing && PyUnicode_Check(missing) && str_eq(text_of(missing), top);
    if (is_it)
        return imports_not_installed(text_of(name));
    PyErr_Restore(TAKE(type), TAKE(value), TAKE(trace));
    return NULL;
}

/* Fails as `from m import name` does, but where a name is hidden it says so. */
static bool check_names(PyObject *module, PyObject *names)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        PyObject *name = PyTuple_GET_ITEM(names, i);
        if (!module_view_check(module) || !module_view_hides(module, name))
            continue;
        auto_ref *value = PyObject_GetAttr(module, name);
        if (value)
            continue; /* the snippet has set one */
        if (!PyErr_ExceptionMatches(PyExc_AttributeError))
            return false;
        auto_ref *type = NULL, *why = NULL, *trace = NULL;
        PyErr_Fetch(&type, &why, &trace);
        PyErr_Format(PyExc_ImportError, "cannot import name '%U': %S", name, why);
        return false;
    }
    return true;
}

/* `import name` (names empty: the package at the top), `from name import names`. */
static PyObject *import_shown(PyObject *name, PyObject *names)
{
    struct str text = text_of(name), rest = text, top = str_cut(&rest, '.');
    if (!text.data || !imports_allowed(text))
        return NULL;
    if (!restrict_shows_module(text))
        return restrict_hidden_module(PyExc_ImportError, text);
    auto_ref *made = stand_in_of(top);
    if (PyErr_Occurred())
        return NULL;
    if (made) {
        auto_ref *last = walk(made, name);
        return last ? Py_NewRef(PyTuple_GET_SIZE(names) ? last : made) : NULL;
    }
    auto_ref *module = import_real(name, names);
    PyObject *view = module ? imports_view(module) : NULL;
    if (view && !check_names(view, names))
        Py_CLEAR(view);
    return view;
}

PyObject *imports_get(PyObject *name)
{
    auto_ref *any = PyUnicode_FromString("__name__");
    auto_ref *names = any ? PyTuple_Pack(1, any) : NULL;
    return names ? import_shown(name, names) : NULL;
}

/*
 * The standard library looks a name up that it was given (logging.config, unittest), or
 * calls __import__ because it was given that.  Its own imports are statements, or have
 * all five arguments in code with the name.
 */
static bool is_on_behalf(Py_ssize_t count, PyObject *keywords, enum caller innermost)
{
    if (innermost != CALLER_LIBRARY || caller_behind() != CALLER_AGENT)
        return false;
    return (count == 1 && !keywords) ||
           (caller_opcode() != IMPORT_NAME && caller_is_snippet("__import__"));
}

/*
 * C code asks for a module by PyImport_Import, which calls __import__ in just this way,
 * drops what that returns and takes the module from sys.modules.  So nothing is returned
 * to who calls in this way, and a snippet that imitates it gets nothing.
 */
static bool is_from_c(PyObject *const *args, Py_ssize_t count, PyObject *keywords)
{
    return count == 5 && !keywords && args[1] == args[2] && PyDict_Check(args[1]) &&
           PyList_CheckExact(args[3]) && !PyList_GET_SIZE(args[3]);
}

enum { NAME, GLOBALS, LOCALS, FROMLIST, LEVEL, ARGUMENTS };

static bool take_arguments(
        PyObject *const *args, Py_ssize_t count, PyObject *keywords, PyObject **out)
{
    static const char *const words[] = { "name", "globals", "locals", "fromlist",
        "level" };
    if (count > ARGUMENTS) {
        PyErr_Format(PyExc_TypeError,
                "__import__() takes at most 5 arguments (%zd given)", count);
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++)
        out[i] = args[i];
    for (Py_ssize_t i = 0; keywords && i < PyTuple_GET_SIZE(keywords); i++) {
        PyObject *word = PyTuple_GET_ITEM(keywords, i);
        size_t at = 0;
        while (at < ARGUMENTS && PyUnicode_CompareWithASCIIString(word, words[at]))
            at++;
        if (at == ARGUMENTS || out[at]) {
            PyErr_Format(PyExc_TypeError, "__import__() got an unexpected argument '%U'",
                    word);
            return false;
        }
        out[at] = args[count + i];
    }
    if (out[NAME] && PyUnicode_Check(out[NAME]))
        return true;
    PyErr_SetString(PyExc_TypeError, "__import__() needs the module's name, a str");
    return false;
}

static PyObject *import_for_snippet(PyObject *const *given, int level)
{
    if (level) {
        PyErr_SetString(PyExc_ImportError,
                "attempted relative import with no known parent package");
        return NULL;
    }
    auto_ref *name = PyUnicode_FromObject(given[NAME]);
    auto_ref *names = name ? plain_names(given[FROMLIST]) : NULL;
    return names ? import_shown(name, names) : NULL;
}

static PyObject *import(PyObject *self UNUSED, PyObject *const *args, Py_ssize_t count,
        PyObject *keywords)
{
    PyObject *given[ARGUMENTS] = { NULL };
    if (!take_arguments(args, count, keywords, given))
        return NULL;
    int level = given[LEVEL] ? _PyLong_AsInt(given[LEVEL]) : 0;
    if (level == -1 && PyErr_Occurred())
        return NULL;
    enum caller innermost = guard.armed ? caller_innermost() : CALLER_LIBRARY;
    bool is_snippet = guard.armed && (innermost == CALLER_AGENT ||
                                             is_on_behalf(count, keywords, innermost));
    bool is_c = is_snippet && is_from_c(args, count, keywords);
    if (is_snippet && !is_c)
        return import_for_snippet(given, level);
    PyObject *module = PyImport_ImportModuleLevelObject(
            given[NAME], given[GLOBALS], given[LOCALS], given[FROMLIST], level);
    if (module && is_c)
        Py_SETREF(module, Py_NewRef(Py_None));
    return module;
}

static PyMethodDef import_method = { "__import__", (PyCFunction)(void (*)(void))import,
    METH_FASTCALL | METH_KEYWORDS,
    "__import__($module, name, globals=None, locals=None, fromlist=(), level=0)\n--\n\n"
    "Import a module. What a snippet may import says [imports]." };

/* The name, so that import statements come here, and the function itself, so that a
 * reference which was taken before does. */
static bool take_over(void)
{
    PyCFunction old;
    if (!replace_function("builtins", "__import__", METH_FASTCALL | METH_KEYWORDS,
                (PyCFunction)(void (*)(void))import, &old))
        return false;
    auto_ref *builtins = PyImport_ImportModule("builtins");
    auto_ref *name = PyUnicode_FromString("builtins");
    auto_ref *function = name ? PyCFunction_NewEx(&import_method, NULL, name) : NULL;
    return builtins && function &&
           !PyObject_SetAttrString(builtins, "__import__", function) &&
           /* Loaders would load what was never imported. */
           !PyObject_SetAttrString(builtins, "__loader__", Py_None) &&
           !PyObject_SetAttrString(builtins, "__spec__", Py_None);
}

/* Before anything is forked, so that no snippet waits for it; but a file of
 * [import_overrides] is not run here. */
static bool make_stand_ins(void)
{
    made_stand_ins = PyDict_New();
    for (size_t i = 0; made_stand_ins && i < ARRAY_LEN(stand_ins); i++) {
        struct str name = str_of(stand_ins[i].name);
        PyObject *made = imports_override(name) ? NULL : stand_in_of(name);
        Py_XDECREF(made); /* it is kept */
        if (PyErr_Occurred())
            return false;
    }
    return made_stand_ins;
}

bool imports_init(void)
{
    return overrides_init() && module_leaks_init() && module_view_init() &&
           module_table_init() && take_over() && reflect_init() &&
           inner_attributes_init() && library_names_init() && make_stand_ins();
}
