#include "python/module-view.h"

#include "python/import-tools.h"
#include "python/imports.h"
#include "python/module-leaks.h"
#include "python/restrict.h"

/* Behind the fields of a module.  No part in garbage collection: views live as long as
 * the process, and gc.get_referents() would tell the target. */
struct view {
    PyObject *target; /* from sys.modules; a module as a rule */
    PyObject *names;  /* the module's dictionary, borrowed, or NULL */
    PyObject *all;    /* set of the names in __all__, or NULL */
    PyObject *plain;  /* values that have been shown as they are, by name */
    PyObject *name;   /* str */
    struct str top;   /* its first component */
    const struct policy_restriction *rule; /* or NULL */
    bool is_workspace;
};

static PyTypeObject view_type;
static PyObject *views; /* address of the target: view */

static struct view *view_of(PyObject *object)
{
    return (struct view *)((char *)object + PyModule_Type.tp_basicsize);
}

bool module_view_check(PyObject *object)
{
    return Py_IS_TYPE(object, &view_type);
}

static struct str text_of(PyObject *name)
{
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(name, &len);
    if (!text)
        PyErr_Clear(); /* lone surrogates: no name of ours */
    return text ? (struct str){ text, (size_t)len } : STR("");
}

static struct str top_of(struct str name)
{
    return str_cut(&name, '.');
}

static bool is_dunder(PyObject *name)
{
    return PyUnicode_GET_LENGTH(name) > 4 && PyUnicode_READ_CHAR(name, 0) == '_' &&
           PyUnicode_READ_CHAR(name, 1) == '_';
}

static bool is_private(PyObject *name)
{
    return PyUnicode_GET_LENGTH(name) && PyUnicode_READ_CHAR(name, 0) == '_';
}

static bool is_constant(PyObject *value)
{
    return value == Py_None || PyUnicode_CheckExact(value) || PyBytes_CheckExact(value) ||
           PyLong_CheckExact(value) || PyBool_Check(value) || PyFloat_CheckExact(value) ||
           PyTuple_CheckExact(value) || PyFrozenSet_CheckExact(value);
}

/* The module that a value says it is from; NULL: none.  Nothing of the value's own runs
 * but what the library put there. */
static PyObject *home_of(PyObject *value)
{
    bool itself =
            PyType_Check(value) || PyFunction_Check(value) || PyCFunction_Check(value);
    PyObject *who = itself ? value : (PyObject *)Py_TYPE(value);
    PyObject *home = PyObject_GetAttrString(who, "__module__");
    if (!home)
        PyErr_Clear();
    return home;
}

static bool is_own(const struct view *v, PyObject *value)
{
    auto_ref *home = home_of(value);
    return home && PyUnicode_Check(home) && str_eq(top_of(text_of(home)), v->top);
}

static PyObject *name_of_module(PyObject *module)
{
    PyObject *name = PyModule_Check(module) ? PyModule_GetNameObject(module)
                                            : PyObject_GetAttrString(module, "__name__");
    if (name && PyUnicode_CheckExact(name))
        return name;
    PyErr_Clear();
    Py_XDECREF(name);
    return NULL;
}

static bool shows_module(const struct view *v, PyObject *module)
{
    auto_ref *name = name_of_module(module);
    return name && str_eq(top_of(text_of(name)), v->top);
}

static bool is_listed(const struct view *v, PyObject *name)
{
    int is = v->all ? PySet_Contains(v->all, name) : 0;
    if (is < 0)
        PyErr_Clear();
    return is > 0;
}

static bool is_left(const struct view *v, PyObject *name)
{
    return !v->rule || restrict_shows(v->rule, text_of(name));
}

static bool shows(const struct view *v, PyObject *name, PyObject *value)
{
    if (!is_left(v, name) && !(is_dunder(name) && is_constant(value)))
        return false;
    if (PyModule_Check(value))
        return !is_private(name) && shows_module(v, value);
    if (import_tools_hides(text_of(v->name), text_of(name)))
        return false;
    if (is_listed(v, name))
        return true;
    if (is_private(name))
        return is_dunder(name) && is_constant(value);
    if (v->is_workspace)
        return !v->all && (!PyType_Check(value) || is_own(v, value));
    return !v->all || is_constant(value) || is_own(v, value);
}

/* A new reference, or NULL, with an exception only if the module's own code raised one
 * that is no AttributeError. */
static PyObject *find(const struct view *v, PyObject *name)
{
    PyObject *value = v->names ? PyDict_GetItemWithError(v->names, name) : NULL;
    if (value)
        return Py_NewRef(value);
    if (PyErr_Occurred() || is_private(name))
        return NULL;
    value = PyObject_GetAttr(v->target, name);
    if (!value && PyErr_ExceptionMatches(PyExc_AttributeError))
        PyErr_Clear();
    return value;
}

static struct str module_name(PyObject *module)
{
    const char *name = PyModule_GetName(module);
    PyErr_Clear();
    return str_of(name ? name : "?");
}

/* What it shows for a value; functions of our own are made once. */
static PyObject *hand_out(PyObject *self, PyObject *name, PyObject *value)
{
    const struct view *v = view_of(self);
    PyObject *shown;
    if (PyModule_Check(value))
        return v->rule && !restrict_shows_module(module_name(value))
                       ? restrict_hidden_module(PyExc_PermissionError, module_name(value))
                       : imports_view(value);
    if (v->rule)
        shown = restrict_value(v->rule, text_of(v->name), text_of(name), value);
    else if (PyCFunction_Check(value))
        shown = module_leaks_function(value);
    else
        return Py_NewRef(value);
    if (!shown && !PyErr_Occurred())
        shown = Py_NewRef(value);
    if (shown && shown != value && PyDict_SetItem(PyModule_GetDict(self), name, shown))
        Py_CLEAR(shown);
    return shown;
}

static const char *why_hidden(const struct view *v, PyObject *name, PyObject *value)
{
    if (PyModule_Check(value))
        return "a module that it uses; import it by its own name";
    if (is_private(name))
        return "a private name";
    return v->is_workspace && !v->all
                   ? "a class of another package; __all__ would show it"
                   : "not among its public names";
}

/* Raises; `value` is what is hidden, or NULL. */
static PyObject *missing(const struct view *v, PyObject *name, PyObject *value)
{
    if (value && !is_left(v, name))
        restrict_hidden(v->rule, text_of(v->name), text_of(name));
    else if (value)
        PyErr_Format(PyExc_AttributeError,
                "module '%U' has no attribute '%U' for snippets: it is %s", v->name, name,
                why_hidden(v, name, value));
    else
        PyErr_Format(
                PyExc_AttributeError, "module '%U' has no attribute '%U'", v->name, name);
    return NULL;
}

static PyObject *get_target_name(PyObject *self, PyObject *name)
{
    const struct view *v = view_of(self);
    auto_ref *value = find(v, name);
    if (!value || !shows(v, name, value))
        return PyErr_Occurred() ? NULL : missing(v, name, value);
    PyObject *shown = hand_out(self, name, value);
    if (shown == value && PyDict_SetItem(v->plain, name, value))
        Py_CLEAR(shown);
    return shown;
}

/* The value if it is still the one that was shown; borrowed. */
static PyObject *shown_before(const struct view *v, PyObject *name)
{
    PyObject *value = PyDict_GetItemWithError(v->plain, name);
    return value && v->names && PyDict_GetItemWithError(v->names, name) == value ? value
                                                                                 : NULL;
}

static int add_name(PyObject *self, PyObject *name, PyObject *into)
{
    const struct view *v = view_of(self);
    auto_ref *value = PyUnicode_Check(name) ? find(v, name) : NULL;
    if (!value || !shows(v, name, value) || (is_dunder(name) && !is_listed(v, name))) {
        PyErr_Clear();
        return 0;
    }
    auto_ref *shown = hand_out(self, name, value);
    return shown ? PyDict_SetItem(into, name, shown) : -1;
}

static int add_names(PyObject *self, PyObject *names, PyObject *into)
{
    auto_ref *list = names ? PySequence_List(names) : PyList_New(0);
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++)
        if (add_name(self, PyList_GET_ITEM(list, i), into))
            return -1;
    return list ? 0 : -1;
}

/* All that it shows, as a new dictionary. */
static PyObject *all_names(PyObject *self)
{
    const struct view *v = view_of(self);
    PyObject *result = PyDict_New();
    if (result && !add_names(self, v->names, result) &&
            !add_names(self, v->all, result) &&
            !PyDict_Update(result, PyModule_GetDict(self)))
        return result;
    Py_XDECREF(result);
    return NULL;
}

/* __all__ without what is not shown, so that `from m import *` has all of it. */
static PyObject *listed_names(const struct view *v)
{
    PyObject *all = v->names ? PyDict_GetItemString(v->names, "__all__") : NULL;
    auto_ref *given = all ? PySequence_List(all) : NULL;
    PyObject *names = given ? PyList_New(0) : NULL;
    for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(given); i++) {
        PyObject *name = PyList_GET_ITEM(given, i);
        auto_ref *value = PyUnicode_Check(name) ? find(v, name) : NULL;
        PyErr_Clear();
        if ((!value || shows(v, name, value)) && PyList_Append(names, name))
            Py_CLEAR(names);
    }
    return names;
}

static PyObject *get_dunder(PyObject *self, PyObject *name)
{
    if (!PyUnicode_CompareWithASCIIString(name, "__dict__"))
        return all_names(self);
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return value;
    PyErr_Clear();
    if (!PyUnicode_CompareWithASCIIString(name, "__all__") && view_of(self)->all)
        return listed_names(view_of(self));
    return get_target_name(self, name);
}

static PyObject *getattro(PyObject *self, PyObject *name)
{
    if (UNLIKELY(!PyUnicode_CheckExact(name))) {
        auto_ref *plain = PyUnicode_FromObject(name); /* one that compares as it shows */
        return plain ? getattro(self, plain) : NULL;
    }
    PyObject *own = PyDict_GetItemWithError(PyModule_GetDict(self), name);
    if (!own && !PyErr_Occurred())
        own = shown_before(view_of(self), name);
    if (LIKELY(own != NULL))
        return Py_NewRef(own);
    if (PyErr_Occurred())
        return NULL;
    return is_dunder(name) ? get_dunder(self, name) : get_target_name(self, name);
}

/* Settings that are made by assigning to a module; the library looks at its own. */
static bool is_setting(const struct view *v, PyObject *name)
{
    static const char *const settings[] = { "logging.lastResort",
        "logging.logMultiprocessing", "logging.logProcesses", "logging.logThreads",
        "logging.raiseExceptions", "threading.excepthook", "warnings.formatwarning",
        "warnings.showwarning" };
    auto_buf whole = BUF(256);
    buf_addf(&whole, "%.*s.%.*s", STR_ARG(text_of(v->name)), STR_ARG(text_of(name)));
    return v->names && !v->rule &&
           str_which(buf_str(&whole), settings, ARRAY_LEN(settings)) <
                   ARRAY_LEN(settings);
}

static int setattro(PyObject *self, PyObject *name, PyObject *value)
{
    if (!PyUnicode_CompareWithASCIIString(name, "__class__")) {
        PyErr_SetString(PyExc_TypeError, "__class__ of a module cannot be set here");
        return -1;
    }
    if (value && is_setting(view_of(self), name) &&
            PyDict_SetItem(view_of(self)->names, name, value))
        return -1;
    int done = PyObject_GenericSetAttr(self, name, value);
    if (done && !value && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        PyErr_Format(PyExc_AttributeError,
                "'%U' cannot be deleted from module '%U': snippets do not change modules",
                name, view_of(self)->name);
    }
    return done;
}

static PyObject *repr(PyObject *self)
{
    PyObject *own = PyModule_GetDict(self); /* borrowed */
    PyObject *file = PyDict_GetItemString(own, "__file__");
    if (file)
        return PyUnicode_FromFormat("<module %R from %R>", view_of(self)->name, file);
    return PyUnicode_FromFormat("<module %R (built-in)>", view_of(self)->name);
}

static PyObject *dir(PyObject *self, PyObject *unused UNUSED)
{
    auto_ref *names = all_names(self);
    return names ? PyDict_Keys(names) : NULL;
}

static int traverse(PyObject *self, visitproc visit, void *arg)
{
    return PyModule_Type.tp_traverse(self, visit, arg);
}

static void dealloc(PyObject *self)
{
    struct view *v = view_of(self);
    Py_CLEAR(v->target);
    Py_CLEAR(v->all);
    Py_CLEAR(v->plain);
    Py_CLEAR(v->name);
    PyModule_Type.tp_dealloc(self);
}

static PyMethodDef methods[] = {
    { "__dir__", dir, METH_NOARGS, NULL },
    { 0 },
};

static PyTypeObject view_type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "module",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_repr = repr,
    .tp_getattro = getattro,
    .tp_setattro = setattro,
    .tp_methods = methods,
};

bool module_view_init(void)
{
    view_type.tp_base = &PyModule_Type;
    view_type.tp_basicsize = PyModule_Type.tp_basicsize + (Py_ssize_t)sizeof(struct view);
    views = PyDict_New();
    return views && !PyType_Ready(&view_type);
}

/* What is told about the module, as plain values. */
static bool copy_metadata(PyObject *own, const struct view *v)
{
    static const char *const names[] = { "__doc__", "__package__", "__file__" };
    for (size_t i = 0; v->names && i < ARRAY_LEN(names); i++) {
        PyObject *value = PyDict_GetItemString(v->names, names[i]); /* borrowed */
        if (value && (value == Py_None || PyUnicode_CheckExact(value)) &&
                PyDict_SetItemString(own, names[i], value))
            return false;
    }
    PyObject *path = v->names ? PyDict_GetItemString(v->names, "__path__") : NULL;
    auto_ref *list = path ? PySequence_List(path) : NULL;
    return (!path || (list && !PyDict_SetItemString(own, "__path__", list))) &&
           !PyDict_SetItemString(own, "__name__", v->name) &&
           !PyDict_SetItemString(own, "__loader__", Py_None) &&
           !PyDict_SetItemString(own, "__spec__", Py_None);
}

static bool is_of_workspace(struct str top)
{
    const struct policy *p = guard.setup->policy;
    for (size_t i = 0; i < p->import_count; i++)
        if (p->imports[i].kind == IMPORT_PATH && str_eq(p->imports[i].name, top))
            return true;
    return false;
}

static bool fill(struct view *v, PyObject *target)
{
    v->name = name_of_module(target);
    v->plain = PyDict_New();
    if (!v->name || !v->plain) {
        PyErr_SetString(PyExc_ImportError, "a module without a name cannot be shown");
        return false;
    }
    v->target = Py_NewRef(target);
    v->names = PyModule_CheckExact(target) ? PyModule_GetDict(target) : NULL;
    v->top = top_of(text_of(v->name));
    v->is_workspace = is_of_workspace(v->top);
    v->rule = restrict_rule(v->top);
    if (v->names && !module_leaks_close(v->names))
        return false;
    if (v->rule && !restrict_classes(v->rule))
        return false;
    PyObject *all = v->names ? PyDict_GetItemString(v->names, "__all__") : NULL;
    if (!all)
        return true;
    v->all = PySet_New(all);
    PyErr_Clear(); /* it is none then */
    return true;
}

static PyObject *create(PyObject *target)
{
    auto_ref *name = name_of_module(target);
    auto_ref *args = PyTuple_Pack(1, name ? name : Py_None);
    PyObject *self = args ? PyModule_Type.tp_new(&view_type, args, NULL) : NULL;
    if (!self)
        return NULL;
    struct view *v = view_of(self);
    memset(v, 0, sizeof(*v));
    if (!PyModule_Type.tp_init(self, args, NULL) && fill(v, target) &&
            copy_metadata(PyModule_GetDict(self), v) &&
            import_tools_add(text_of(v->name), PyModule_GetDict(self)))
        return self;
    Py_DECREF(self);
    return NULL;
}

PyObject *module_view(PyObject *module)
{
    if (module_view_check(module))
        return Py_NewRef(module);
    auto_ref *key = PyLong_FromVoidPtr(module);
    PyObject *view = key ? PyDict_GetItemWithError(views, key) : NULL; /* borrowed */
    if (view || !key || PyErr_Occurred())
        return Py_XNewRef(view);
    view = create(module);
    if (view && PyDict_SetItem(views, key, view))
        Py_CLEAR(view);
    return view;
}

bool module_view_hides(PyObject *view, PyObject *name)
{
    const struct view *v = view_of(view);
    auto_ref *value = find(v, name);
    PyErr_Clear();
    return value && !shows(v, name, value);
}
