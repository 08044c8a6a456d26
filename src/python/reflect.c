#include "python/reflect.h"

#include "python/caller.h"
#include "python/class-guard.h"
#include "python/replace.h"

typedef PyObject *fast_function(
        PyObject *module, PyObject *const *args, Py_ssize_t count);

static struct {
    PyObject *names; /* {name: index in block_attributes} */
    PyCFunction getattr, setattr, delattr, hasattr, dir;
    newfunc new_attrgetter;
} real;

/* Functions of the library that get attributes by names that they are given: these say
 * so.  The others pass over what has no value. */
static const struct {
    const char *file; /* the end of its path */
    const char *except;
} deputies[] = {
    { "/argparse.py", NULL },
    { "/logging/config.py", NULL },
    { "/string.py", NULL },
    { "/unittest/mock.py", "_mock_add_spec" },
};

enum asker { ASKER_LIBRARY, ASKER_SNIPPET, ASKER_LISTING };

static bool holds(PyObject *tuple, PyObject *name)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        PyObject *item = PyTuple_GET_ITEM(tuple, i);
        if (PyUnicode_Check(item) ? !PyUnicode_Compare(item, name)
                                  : PyTuple_Check(item) && holds(item, name))
            return true;
    }
    return false;
}

/* Then it asks for just this by itself, and is not told to. */
static bool mentions(PyCodeObject *code, PyObject *name)
{
    static const char has_subclasses[] = "<frozen abc>"; /* in C */
    return holds(code->co_names, name) || holds(code->co_consts, name) ||
           (!PyUnicode_CompareWithASCIIString(code->co_filename, has_subclasses) &&
                   !PyUnicode_CompareWithASCIIString(name, "__subclasses__"));
}

static enum asker asker_of(PyCodeObject *code, PyObject *name)
{
    if (mentions(code, name))
        return ASKER_LIBRARY;
    const char *file = PyUnicode_AsUTF8(code->co_filename);
    for (size_t i = 0; file && i < ARRAY_LEN(deputies); i++)
        if (str_ends(str_of(file), str_of(deputies[i].file)) &&
                (!deputies[i].except || PyUnicode_CompareWithASCIIString(
                                                code->co_name, deputies[i].except)))
            return ASKER_SNIPPET;
    PyErr_Clear();
    return ASKER_LISTING;
}

/* A snippet asks, or has the library ask, or had it call what it gave it.  `function` is
 * NULL where an attribute is named. */
static enum asker who_asks(const char *function, PyObject *name)
{
    if (!guard.armed || guard_is_inside())
        return ASKER_LIBRARY;
    enum caller innermost = caller_innermost();
    if (innermost == CALLER_AGENT)
        return ASKER_SNIPPET;
    if (innermost != CALLER_LIBRARY || caller_behind() != CALLER_AGENT)
        return ASKER_LIBRARY;
    if (function && caller_is_snippet(function))
        return ASKER_SNIPPET;
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    PyCodeObject *code = frame ? PyFrame_GetCode(frame) : NULL;
    enum asker asker = code ? asker_of(code, name) : ASKER_LIBRARY;
    Py_XDECREF(code);
    return asker;
}

bool reflect_is_for_snippet(PyObject *name)
{
    return who_asks(NULL, name) != ASKER_LIBRARY;
}

static void refuse(const char *function, const struct policy_text *blocked)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "attribute", &blocked->origin);
    buf_addf(&why.what, "%s%saccess to '%.*s' is not permitted", function ? function : "",
            function ? " " : "", STR_ARG(blocked->text));
    buf_addf(&why.rule, "[ast] block_attributes '%.*s'", STR_ARG(blocked->text));
    buf_add(&why.hint,
            STR("type(), isinstance(), issubclass(), dir() and vars() may be used."));
    guard_refuse(PyExc_PermissionError, &why);
}

/* Of an exact str. */
static const struct policy_text *find(PyObject *name)
{
    PyObject *index = PyDict_GetItemWithError(real.names, name); /* borrowed */
    if (!index)
        return NULL;
    return &guard.setup->policy->block_attributes.items[PyLong_AsSize_t(index)];
}

/* False: an exception is set. */
static bool check(const char *function, PyObject *name)
{
    const struct policy_text *blocked = find(name);
    if (LIKELY(!blocked))
        return !PyErr_Occurred();
    enum asker asker = who_asks(function, name);
    if (asker == ASKER_SNIPPET)
        refuse(function, blocked);
    else if (asker == ASKER_LISTING)
        PyErr_SetObject(PyExc_AttributeError, name);
    return asker == ASKER_LIBRARY;
}

/*
 * getattr(), setattr() and delattr() with the name checked.  What only claims to be a str
 * could compare equal to another name than the one it shows.
 */
static PyObject *call_checked(PyCFunction real_one, const char *function,
        PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    fast_function *call = (fast_function *)(void (*)(void))real_one;
    if (count < 2 || count > 3 || !PyUnicode_Check(args[1]))
        return call(module, args, count);
    if (LIKELY(PyUnicode_CheckExact(args[1])))
        return check(function, args[1]) ? call(module, args, count) : NULL;
    auto_ref *name = PyUnicode_FromObject(args[1]);
    PyObject *plain[3] = { args[0], name, count == 3 ? args[2] : NULL };
    return name && check(function, name) ? call(module, plain, count) : NULL;
}

static PyObject *get(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *value = call_checked(real.getattr, "getattr", module, args, count);
    if (value || count != 3 || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return value;
    PyErr_Clear(); /* what is not listed */
    return Py_NewRef(args[2]);
}

static PyObject *set(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return call_checked(real.setattr, "setattr", module, args, count);
}

static PyObject *delete (PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return call_checked(real.delattr, "delattr", module, args, count);
}

static bool check_dotted(PyObject *dotted)
{
    auto_ref *plain = PyUnicode_FromObject(dotted);
    auto_ref *dot = PyUnicode_FromString(".");
    auto_ref *parts = plain && dot ? PyUnicode_Split(plain, dot, -1) : NULL;
    for (Py_ssize_t i = 0; parts && i < PyList_GET_SIZE(parts); i++)
        if (!check("attrgetter", PyList_GET_ITEM(parts, i)))
            return false;
    return parts;
}

static PyObject *new_attrgetter(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++)
        if (PyUnicode_Check(PyTuple_GET_ITEM(args, i)) &&
                !check_dotted(PyTuple_GET_ITEM(args, i)))
            return NULL;
    return real.new_attrgetter(type, args, keywords);
}

/* In the place of what gives an attribute of functions, frames and the like. */
struct blocked {
    PyObject_HEAD PyObject *real, *name;
};

static bool permits(const struct blocked *b)
{
    return check(NULL, b->name);
}

static PyObject *blocked_get(PyObject *self, PyObject *object, PyObject *type)
{
    const struct blocked *b = (struct blocked *)self;
    if (!object || object == Py_None) /* of the class itself: the descriptor */
        return Py_NewRef(self);
    return permits(b) ? Py_TYPE(b->real)->tp_descr_get(b->real, object, type) : NULL;
}

static int blocked_set(PyObject *self, PyObject *object, PyObject *value)
{
    const struct blocked *b = (struct blocked *)self;
    return permits(b) ? Py_TYPE(b->real)->tp_descr_set(b->real, object, value) : -1;
}

static PyObject *blocked_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    const struct blocked *b = (struct blocked *)self;
    return permits(b) ? PyObject_Call(b->real, args, keywords) : NULL;
}

static void blocked_dealloc(PyObject *self)
{
    Py_XDECREF(((struct blocked *)self)->real);
    Py_XDECREF(((struct blocked *)self)->name);
    PyObject_Free(self);
}

static PyTypeObject blocked_type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "paddock.attribute",
    .tp_basicsize = sizeof(struct blocked),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_IMMUTABLETYPE,
    .tp_descr_get = blocked_get,
    .tp_descr_set = blocked_set,
    .tp_dealloc = blocked_dealloc,
};

/* Of a method: there is nothing to set. */
static PyTypeObject blocked_method_type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "paddock.method",
    .tp_basicsize = sizeof(struct blocked),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_IMMUTABLETYPE,
    .tp_call = blocked_call,
    .tp_descr_get = blocked_get,
    .tp_dealloc = blocked_dealloc,
};

/*
 * Only attributes that the interpreter itself never asks for by name: isinstance() and
 * dir() use __bases__ on behalf of whoever calls them.
 */
static const struct {
    PyTypeObject *type;
    const char *name;
} attributes[] = {
    { &PyFunction_Type, "__globals__" },
    { &PyFunction_Type, "__closure__" },
    { &PyFunction_Type, "__code__" },
    { &PyFrame_Type, "f_globals" },
    { &PyFrame_Type, "f_locals" },
    { &PyFrame_Type, "f_back" },
    { &PyFrame_Type, "f_builtins" },
    { &PyTraceBack_Type, "tb_frame" },
    { &PyGen_Type, "gi_frame" },
    { &PyCoro_Type, "cr_frame" },
    { &PyAsyncGen_Type, "ag_frame" },
    { &PyType_Type, "__subclasses__" },
};

static bool block(PyTypeObject *type, const char *text)
{
    auto_ref *name = PyUnicode_InternFromString(text);
    PyObject *descriptor = name ? PyDict_GetItemWithError(type->tp_dict, name) : NULL;
    if (!descriptor || !find(name))
        return !PyErr_Occurred(); /* not there, or not in the list */
    struct blocked *b = PyObject_New(struct blocked,
            Py_TYPE(descriptor)->tp_descr_set ? &blocked_type : &blocked_method_type);
    if (!b)
        return false;
    b->real = Py_NewRef(descriptor);
    b->name = Py_NewRef(name);
    bool fine = !PyDict_SetItem(type->tp_dict, name, (PyObject *)b);
    Py_DECREF(b);
    PyType_Modified(type);
    return fine;
}

static bool collect_names(void)
{
    const struct policy_texts *texts = &guard.setup->policy->block_attributes;
    real.names = PyDict_New();
    for (size_t i = 0; real.names && i < texts->count; i++) {
        struct str text = texts->items[i].text;
        auto_ref *name = PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, NULL);
        auto_ref *index = PyLong_FromSize_t(i);
        if (!name || !index || !PyDict_SetDefault(real.names, name, index))
            return false;
    }
    return real.names;
}

static bool replace_attrgetter(void)
{
    auto_ref *operators = PyImport_ImportModule("_operator");
    auto_ref *type = operators ? PyObject_GetAttrString(operators, "attrgetter") : NULL;
    if (!type || !PyType_Check(type))
        return false;
    real.new_attrgetter = ((PyTypeObject *)type)->tp_new;
    ((PyTypeObject *)type)->tp_new = new_attrgetter;
    return true;
}

/* What a snippet may not use of an object, the object does not have. */
static PyObject *has(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count == 2 && !class_guard_permits(args[0], args[1]))
        Py_RETURN_FALSE;
    return ((fast_function *)(void (*)(void))real.hasattr)(module, args, count);
}

static PyObject *list(PyObject *module, PyObject *args)
{
    PyObject *names = PyTuple_GET_SIZE(args) == 1
                              ? class_guard_list(PyTuple_GET_ITEM(args, 0))
                              : NULL;
    return names || PyErr_Occurred() ? names : real.dir(module, args);
}

bool reflect_init(void)
{
    static const struct {
        const char *name;
        fast_function *with;
        PyCFunction *old;
    } functions[] = { { "getattr", get, &real.getattr },
        { "setattr", set, &real.setattr }, { "delattr", delete, &real.delattr },
        { "hasattr", has, &real.hasattr } };
    if (!collect_names() || PyType_Ready(&blocked_type) ||
            PyType_Ready(&blocked_method_type))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (!replace_function("builtins", functions[i].name, METH_FASTCALL,
                    (PyCFunction)(void (*)(void))functions[i].with, functions[i].old))
            return false;
    for (size_t i = 0; i < ARRAY_LEN(attributes); i++)
        if (!block(attributes[i].type, attributes[i].name))
            return false;
    return replace_function("builtins", "dir", METH_VARARGS, list, &real.dir) &&
           replace_attrgetter();
}
