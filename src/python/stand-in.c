#include "python/stand-in.h"

#include "python/plain-function.h"

/* Behind the fields of a module. */
struct stand_in_part {
    const struct stand_in_kind *kind;
};

static PyTypeObject type;

static const struct stand_in_kind *kind_of(PyObject *self)
{
    char *end = (char *)self + PyModule_Type.tp_basicsize;
    return ((struct stand_in_part *)end)->kind;
}

/* The name if it is live, or NULL. */
static const char *find_live(const struct stand_in_kind *kind, PyObject *name)
{
    for (const char *const *live = kind->live; live && *live; live++)
        if (!PyUnicode_CompareWithASCIIString(name, *live))
            return *live;
    return NULL;
}

static bool names_it(const char *names, struct str name)
{
    struct str rest = str_of(names);
    while (rest.len) {
        struct str word = str_cut(&rest, ' ');
        if (str_ends(word, STR("*")) ? str_starts(name, str_sub(word, 0, word.len - 1))
                                     : str_eq(name, word))
            return true;
    }
    return false;
}

static const char *hint_for(const struct stand_in_kind *kind, PyObject *name)
{
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(name, &len);
    if (!text)
        PyErr_Clear();
    for (size_t i = 0; text && i < kind->left_out_count; i++)
        if (names_it(kind->left_out[i].names, (struct str){ text, (size_t)len }))
            return kind->left_out[i].hint;
    return NULL;
}

static PyObject *missing(const struct stand_in_kind *kind, PyObject *name)
{
    const char *hint = hint_for(kind, name);
    if (hint)
        PyErr_Format(PyExc_AttributeError,
                "module '%s' has no attribute '%U' for snippets. %s", kind->name, name,
                hint);
    else
        PyErr_Format(PyExc_AttributeError, "module '%s' has no attribute '%U'",
                kind->name, name);
    return NULL;
}

static PyObject *getattro(PyObject *self, PyObject *name)
{
    const struct stand_in_kind *kind = kind_of(self);
    PyObject *own = PyDict_GetItemWithError(PyModule_GetDict(self), name); /* borrowed */
    if (LIKELY(own != NULL))
        return Py_NewRef(own);
    if (PyErr_Occurred())
        return NULL;
    const char *live = find_live(kind, name);
    if (live)
        return kind->get(live);
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value || !PyErr_ExceptionMatches(PyExc_AttributeError))
        return value;
    PyErr_Clear();
    return missing(kind, name);
}

static int setattro(PyObject *self, PyObject *name, PyObject *value)
{
    const char *live = find_live(kind_of(self), name);
    return live ? kind_of(self)->set(live, value)
                : PyObject_GenericSetAttr(self, name, value);
}

static PyObject *repr(PyObject *self)
{
    return PyUnicode_FromFormat("<module '%s' (for snippets)>", kind_of(self)->name);
}

static PyObject *dir(PyObject *self, PyObject *unused UNUSED)
{
    PyObject *names = PyDict_Keys(PyModule_GetDict(self));
    for (const char *const *live = kind_of(self)->live; names && live && *live; live++) {
        auto_ref *name = PyUnicode_FromString(*live);
        if (!name || PyList_Append(names, name))
            Py_CLEAR(names);
    }
    return names;
}

static PyMethodDef methods[] = {
    { "__dir__", dir, METH_NOARGS, NULL },
    { 0 },
};

static PyTypeObject type = {
    .ob_base = { PyObject_HEAD_INIT(NULL) 0 },
    .tp_name = "module",
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION |
                Py_TPFLAGS_IMMUTABLETYPE,
    .tp_repr = repr,
    .tp_getattro = getattro,
    .tp_setattro = setattro,
    .tp_methods = methods,
};

static bool prepare_type(void)
{
    if (type.tp_base)
        return true;
    type.tp_base = &PyModule_Type;
    type.tp_basicsize =
            PyModule_Type.tp_basicsize + (Py_ssize_t)sizeof(struct stand_in_part);
    return !PyType_Ready(&type);
}

PyObject *stand_in_real(const char *name)
{
    auto_ref *text = PyUnicode_FromString(name);
    PyObject *module = text ? PyImport_GetModule(text) : NULL;
    if (!module && !PyErr_Occurred())
        PyErr_Format(PyExc_ImportError, "'%s' has not been loaded", name);
    return module;
}

PyObject *stand_in_new(const struct stand_in_kind *kind, PyObject *real)
{
    if (!prepare_type())
        return NULL;
    auto_ref *args = Py_BuildValue("(s)", kind->name);
    PyObject *self = args ? PyModule_Type.tp_new(&type, args, NULL) : NULL;
    if (!self)
        return NULL;
    char *end = (char *)self + PyModule_Type.tp_basicsize;
    ((struct stand_in_part *)end)->kind = kind;
    auto_ref *doc = PyObject_GetAttrString(real, "__doc__");
    if (PyModule_Type.tp_init(self, args, NULL) ||
            (doc && PyObject_SetAttrString(self, "__doc__", doc)))
        Py_CLEAR(self);
    return self;
}

bool stand_in_set(PyObject *stand_in, const char *name, PyObject *value)
{
    auto_ref *own = value;
    return own && !PyDict_SetItemString(PyModule_GetDict(stand_in), name, own);
}

static bool is_function(PyObject *value)
{
    return PyCFunction_Check(value) || PyFunction_Check(value) || PyMethod_Check(value);
}

typedef PyObject *wrap_fn(PyObject *target);

static bool copy(PyObject *to, PyObject *real, const char *const *names, wrap_fn *wrap)
{
    for (; *names; names++) {
        PyObject *value = PyObject_GetAttrString(real, *names);
        if (!value) {
            PyErr_Clear();
            continue;
        }
        if (is_function(value))
            Py_SETREF(value, wrap(value));
        if (!stand_in_set(to, *names, value))
            return false;
    }
    return true;
}

bool stand_in_copy(PyObject *stand_in, PyObject *real, const char *const *names)
{
    return copy(stand_in, real, names, plain_function);
}

bool stand_in_copy_path_functions(
        PyObject *stand_in, PyObject *real, const char *const *names)
{
    return copy(stand_in, real, names, plain_path_function);
}

bool stand_in_add_functions(PyObject *stand_in, PyMethodDef *functions)
{
    auto_ref *module = PyModule_GetNameObject(stand_in);
    for (; module && functions->ml_name; functions++)
        if (!stand_in_set(stand_in, functions->ml_name,
                    PyCFunction_NewEx(functions, NULL, module)))
            return false;
    return module;
}
