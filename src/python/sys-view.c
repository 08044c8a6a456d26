/* What stands in for `sys`. */
#include "python/imports.h"
#include "python/stand-in.h"
#include "python/sys-path.h"

#define MAX_RECURSION 1000000

/* The library reads these: arguments, and the streams of print() and input(). */
static const char *const live[] = { "argv", "stderr", "stdin", "stdout", NULL };

static PyObject *get_live(const char *name)
{
    PyObject *value = PySys_GetObject(name); /* borrowed */
    if (!value)
        PyErr_Format(PyExc_AttributeError, "module 'sys' has no attribute '%s'", name);
    return Py_XNewRef(value);
}

static int set_live(const char *name, PyObject *value)
{
    return PySys_SetObject(name, value);
}

static const char *const names[] = { "abiflags", "api_version", "base_exec_prefix",
    "base_prefix", "builtin_module_names", "byteorder", "copyright",
    "dont_write_bytecode", "exception", "exec_prefix", "executable", "exit", "flags",
    "float_info", "float_repr_style", "get_int_max_str_digits", "getdefaultencoding",
    "getfilesystemencodeerrors", "getfilesystemencoding", "getrecursionlimit",
    "getrefcount", "getsizeof", "getswitchinterval", "hash_info", "hexversion",
    "int_info", "intern", "is_finalizing", "maxsize", "maxunicode", "platform",
    "platlibdir", "prefix", "set_int_max_str_digits", "stdlib_module_names",
    "thread_info", "version", "version_info", NULL };

static const struct left_out left_out[] = {
    { "modules meta_path path_hooks path_importer_cache",
            "Use import statements; try one to find out whether a module is there." },
    { "_getframe _current_frames _current_exceptions",
            "Hand values over as arguments; sys._pyddock_format_tb() tells where an "
            "exception came from." },
    { "settrace gettrace setprofile getprofile monitoring breakpointhook call_tracing",
            "Use print(), and time.perf_counter() to measure." },
    { "last_traceback last_type last_value", "Catch exceptions with try and except." },
    { "__stdout__ __stderr__ __stdin__", "Keep sys.stdout before you set another, or use "
                                         "contextlib.redirect_stdout()." },
    { "excepthook __excepthook__ displayhook __displayhook__ unraisablehook",
            "Catch exceptions with try and except." },
    { "addaudithook audit", "There is one already." },
};

/* As sys.exc_info(), without the traceback, whose frames lead everywhere. */
static PyObject *exc_info(PyObject *self UNUSED, PyObject *unused UNUSED)
{
    auto_ref *type = NULL, *value = NULL, *trace = NULL;
    PyErr_GetExcInfo(&type, &value, &trace);
    return PyTuple_Pack(3, type ? type : Py_None, value ? value : Py_None, Py_None);
}

static PyObject *source_line(PyObject *file, int line)
{
    auto_ref *lines = stand_in_real("linecache");
    auto_ref *text =
            lines ? PyObject_CallMethod(lines, "getline", "Oi", file, line) : NULL;
    PyObject *stripped = text ? PyObject_CallMethod(text, "strip", NULL) : NULL;
    if (stripped)
        return stripped;
    PyErr_Clear();
    return PyUnicode_FromString("");
}

/* (file name, line number, function, text of the line) */
static PyObject *describe(PyTracebackObject *at)
{
    PyCodeObject *code = PyFrame_GetCode(at->tb_frame);
    auto_ref *line = source_line(code->co_filename, at->tb_lineno);
    PyObject *entry = line ? Py_BuildValue("(OiOO)", code->co_filename, at->tb_lineno,
                                     code->co_name, line)
                           : NULL;
    Py_DECREF(code);
    return entry;
}

static PyObject *format_tb(PyObject *self UNUSED, PyObject *unused UNUSED)
{
    auto_ref *type = NULL, *value = NULL, *trace = NULL;
    PyErr_GetExcInfo(&type, &value, &trace);
    PyObject *list = PyList_New(0);
    PyTracebackObject *at =
            trace && PyTraceBack_Check(trace) ? (PyTracebackObject *)trace : NULL;
    for (; list && at; at = at->tb_next) {
        auto_ref *entry = describe(at);
        if (!entry || PyList_Append(list, entry))
            Py_CLEAR(list);
    }
    return list;
}

/* Deeper than that it is the stack that ends, and the process with it. */
static PyObject *set_recursion_limit(PyObject *self UNUSED, PyObject *argument)
{
    long limit = PyLong_AsLong(argument);
    if (limit == -1 && PyErr_Occurred())
        return NULL;
    auto_ref *sys = stand_in_real("sys");
    return sys ? PyObject_CallMethod(sys, "setrecursionlimit", "l",
                         limit > MAX_RECURSION ? MAX_RECURSION : limit)
               : NULL;
}

static PyMethodDef functions[] = {
    { "exc_info", exc_info, METH_NOARGS,
            "exc_info($module, /)\n--\n\n"
            "Return (type, value, None) of the exception that is being handled." },
    { "_pyddock_format_tb", format_tb, METH_NOARGS,
            "_pyddock_format_tb($module, /)\n--\n\n"
            "Return a list of (filename, lineno, name, line), outermost first, for the\n"
            "exception that is being handled." },
    { "setrecursionlimit", set_recursion_limit, METH_O,
            "setrecursionlimit($module, limit, /)\n--\n\n"
            "Set the maximum depth of the interpreter's stack, up to a million." },
    { 0 },
};

/* An object of the same type with the same attributes: the library's stays its own. */
static PyObject *copy_namespace(PyObject *sys, const char *name)
{
    auto_ref *real = PyObject_GetAttrString(sys, name);
    auto_ref *values = real ? PyObject_GetAttrString(real, "__dict__") : NULL;
    auto_ref *none = PyTuple_New(0);
    return values && none ? PyObject_Call((PyObject *)Py_TYPE(real), none, values) : NULL;
}

static PyObject *copy_sequence(
        PyObject *sys, const char *name, PyObject *(*convert)(PyObject *))
{
    auto_ref *real = PyObject_GetAttrString(sys, name);
    return real ? convert(real) : NULL;
}

PyObject *sys_view_create(void)
{
    static const struct stand_in_kind kind = { "sys", left_out, ARRAY_LEN(left_out), live,
        get_live, set_live };
    auto_ref *sys = stand_in_real("sys");
    PyObject *view = sys ? stand_in_new(&kind, sys) : NULL;
    if (view && stand_in_copy(view, sys, names) &&
            stand_in_add_functions(view, functions) &&
            stand_in_set(view, "path", copy_sequence(sys, "path", sys_path_create)) &&
            stand_in_set(view, "warnoptions",
                    copy_sequence(sys, "warnoptions", PySequence_List)) &&
            stand_in_set(view, "implementation", copy_namespace(sys, "implementation")))
        return view;
    Py_XDECREF(view);
    return NULL;
}
