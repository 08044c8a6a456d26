#include "python/import-tools.h"

#include "python/imports.h"
#include "python/stand-in.h"

static PyObject *text_argument(const char *function, PyObject *value)
{
    if (value && PyUnicode_Check(value))
        return PyUnicode_FromObject(value);
    PyErr_Format(PyExc_TypeError, "%s() needs the name of a module, a str", function);
    return NULL;
}

static PyObject *call_real(const char *module, const char *function, PyObject *args)
{
    auto_ref *from = PyImport_ImportModule(module);
    auto_ref *name = PyUnicode_FromString(module);
    auto_ref *real = from ? PyImport_GetModule(name) : NULL;
    auto_ref *call = real ? PyObject_GetAttrString(real, function) : NULL;
    return call ? PyObject_CallObject(call, args) : NULL;
}

/* ".b" of the package "a" is "a.b". */
static PyObject *absolute_name(PyObject *name, PyObject *package)
{
    if (!PyUnicode_GET_LENGTH(name) || PyUnicode_READ_CHAR(name, 0) != '.')
        return Py_NewRef(name);
    auto_ref *args = PyTuple_Pack(2, name, package ? package : Py_None);
    return args ? call_real("importlib.util", "resolve_name", args) : NULL;
}

static PyObject *import_module(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    static char texts[][8] = { "name", "package" };
    static char *words[] = { texts[0], texts[1], NULL };
    PyObject *given, *package = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O", words, &given, &package))
        return NULL;
    auto_ref *name = text_argument("import_module", given);
    auto_ref *whole = name ? absolute_name(name, package) : NULL;
    return whole ? imports_get(whole) : NULL;
}

/* A specification without a loader: it says that the module is there, and where. */
static PyObject *find_spec(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    static char texts[][8] = { "name", "package" };
    static char *words[] = { texts[0], texts[1], NULL };
    PyObject *given, *package = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|O", words, &given, &package))
        return NULL;
    auto_ref *name = text_argument("find_spec", given);
    auto_ref *whole = name ? absolute_name(name, package) : NULL;
    const char *text = whole ? PyUnicode_AsUTF8(whole) : NULL;
    if (!text)
        return NULL;
    if (!imports_is_allowed(str_of(text)))
        Py_RETURN_NONE;
    auto_ref *one = PyTuple_Pack(1, whole);
    auto_ref *real = one ? call_real("importlib.util", "find_spec", one) : NULL;
    if (!real || real == Py_None)
        return Py_XNewRef(real);
    auto_ref *origin = PyObject_GetAttrString(real, "origin");
    auto_ref *parts = origin ? PyTuple_Pack(2, whole, Py_None) : NULL;
    PyObject *spec = parts ? call_real("importlib.machinery", "ModuleSpec", parts) : NULL;
    if (spec && PyObject_SetAttrString(spec, "origin", origin))
        Py_CLEAR(spec);
    return spec;
}

static PyObject *get_module(PyObject *self UNUSED, PyObject *args)
{
    auto_ref *module = call_real("inspect", "getmodule", args);
    if (!module || !PyModule_Check(module))
        return Py_XNewRef(module);
    const char *name = PyModule_GetName(module);
    if (name && imports_is_allowed(str_of(name)))
        return imports_view(module);
    PyErr_Clear();
    Py_RETURN_NONE;
}

#define WITH_KEYWORDS(function) (PyCFunction)(void (*)(void)) function

static PyMethodDef import_module_method = { "import_module", WITH_KEYWORDS(import_module),
    METH_VARARGS | METH_KEYWORDS,
    "import_module($module, name, package=None)\n--\n\nImport a module." };
static PyMethodDef find_spec_method = { "find_spec", WITH_KEYWORDS(find_spec),
    METH_VARARGS | METH_KEYWORDS,
    "find_spec($module, name, package=None)\n--\n\n"
    "Is there such a module that may be imported?  Then where; otherwise None." };
static PyMethodDef get_module_method = { "getmodule", get_module, METH_VARARGS,
    "getmodule($module, object, _filename=None)\n--\n\n"
    "The module an object was defined in, or None." };

static const struct {
    const char *module;
    PyMethodDef *method;
} replaced[] = {
    { "importlib", &import_module_method },
    { "importlib.util", &find_spec_method },
    { "inspect", &get_module_method },
};

static const struct {
    const char *module;
    const char *names; /* separated by blanks */
} hidden[] = {
    { "importlib", "find_loader invalidate_caches reload" },
    { "importlib.machinery",
            "BuiltinImporter ExtensionFileLoader FileFinder FrozenImporter PathFinder "
            "WindowsRegistryFinder" },
    { "importlib.util", "LazyLoader module_for_loader set_loader set_package" },
    { "pkgutil",
            "ImpImporter ImpLoader find_loader get_importer get_loader iter_importers "
            "resolve_name" },
};

bool import_tools_add(struct str module, PyObject *own)
{
    auto_ref *builtins = stand_in_real("builtins");
    auto_ref *import = builtins ? PyObject_GetAttrString(builtins, "__import__") : NULL;
    if (!import || (str_is(module, "importlib") &&
                           PyDict_SetItemString(own, "__import__", import)))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(replaced); i++) {
        if (!str_is(module, replaced[i].module))
            continue;
        auto_ref *name = PyUnicode_FromString(replaced[i].module);
        auto_ref *function =
                name ? PyCFunction_NewEx(replaced[i].method, NULL, name) : NULL;
        if (!function || PyDict_SetItemString(own, replaced[i].method->ml_name, function))
            return false;
    }
    return true;
}

bool import_tools_hides(struct str module, struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++) {
        struct str rest = str_of(hidden[i].names);
        if (!str_is(module, hidden[i].module))
            continue;
        while (rest.len)
            if (str_eq(str_cut(&rest, ' '), name))
                return true;
    }
    return false;
}
