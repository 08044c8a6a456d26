/*
 * What stands in for `subprocess`: the library's own, behind checks that say at once what
 * no command can be given.  What they let pass is copied, once, to what nobody can change
 * any more; the broker decides about it (commands.h).
 */
#include "python/imports.h"
#include "python/plain-function.h"
#include "python/stand-in.h"

static const char *const names[] = { "CalledProcessError", "CompletedProcess", "DEVNULL",
    "PIPE", "STDOUT", "SubprocessError", "TimeoutExpired", "list2cmdline", NULL };

/* The parameters of Popen that may be given by position. */
static const char *const positional[] = { "args", "bufsize", "executable", "stdin",
    "stdout", "stderr", "preexec_fn", "close_fds", "shell", "cwd", "env",
    "universal_newlines", "startupinfo", "creationflags", "restore_signals",
    "start_new_session", "pass_fds" };

/* The library's, and its Popen.__init__. */
static PyObject *real_module, *real_init;

static PyObject *refuse(const char *hint, const char *what)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "subprocess", NULL);
    buf_add(&why.what, str_of(what));
    buf_add(&why.rule, STR("a command is a program and its arguments, and no shell "
                           "reads it"));
    buf_add(&why.hint, str_of(hint));
    return guard_refuse(PyExc_PermissionError, &why);
}

static PyObject *refuse_shell(void)
{
    return refuse("Pass a list, [\"git\", \"log\", \"-3\"]. Python does what a shell "
                  "would: stdout=PIPE for pipes, open files for redirection, glob for "
                  "patterns.",
            "shell=True is not permitted");
}

/* Exactly str or bytes, a new reference; no subclass that could be something else later.
 */
static PyObject *freeze(PyObject *value)
{
    auto_ref *path = PyOS_FSPath(value);
    if (!path)
        return NULL;
    if (PyUnicode_Check(path))
        return PyUnicode_FromObject(path);
    return PyBytes_FromStringAndSize(PyBytes_AS_STRING(path), PyBytes_GET_SIZE(path));
}

static PyObject *freeze_argv(PyObject *args)
{
    if (PyUnicode_Check(args) || PyBytes_Check(args) ||
            PyObject_HasAttrString((PyObject *)Py_TYPE(args), "__fspath__"))
        return refuse("Pass a list of the program and its arguments: "
                      "subprocess.run([\"git\", \"status\"]).",
                "a command has to be a list, not a string");
    PyObject *list = PySequence_List(args);
    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
        PyObject *word = freeze(PyList_GET_ITEM(list, i));
        if (!word || PyList_SetItem(list, i, word))
            Py_CLEAR(list);
    }
    if (list && !PyList_GET_SIZE(list)) {
        Py_CLEAR(list);
        return refuse("Pass a list of the program and its arguments.",
                "an empty list is no command");
    }
    return list;
}

/* None removes a variable, as "" does. */
static bool freeze_variable(PyObject *pair, PyObject *env)
{
    if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "env has to be a mapping");
        return false;
    }
    PyObject *given = PyTuple_GET_ITEM(pair, 1);
    auto_ref *name = freeze(PyTuple_GET_ITEM(pair, 0));
    auto_ref *value = !name              ? NULL
                      : given == Py_None ? PyUnicode_FromString("")
                                         : freeze(given);
    return value && !PyDict_SetItem(env, name, value);
}

static PyObject *freeze_env(PyObject *mapping)
{
    auto_ref *given = PyMapping_Items(mapping);
    auto_ref *items = given ? PySequence_Tuple(given) : NULL;
    PyObject *env = items ? PyDict_New() : NULL;
    for (Py_ssize_t i = 0; env && i < PyTuple_GET_SIZE(items); i++)
        if (!freeze_variable(PyTuple_GET_ITEM(items, i), env))
            Py_CLEAR(env);
    return env;
}

/* Replace the option, if it is given and not None, by what `convert` makes of it. */
static bool replace(PyObject *options, const char *name, PyObject *(*convert)(PyObject *))
{
    PyObject *value = PyDict_GetItemString(options, name); /* borrowed */
    if (!value || value == Py_None)
        return true;
    auto_ref *kept = Py_NewRef(value);
    auto_ref *converted = convert(kept);
    return converted && !PyDict_SetItemString(options, name, converted);
}

/* A new reference to the option, which is taken out, or NULL. */
static PyObject *take(PyObject *options, const char *name)
{
    PyObject *value = PyDict_GetItemString(options, name); /* borrowed */
    Py_XINCREF(value);
    if (value && PyDict_DelItemString(options, name))
        Py_CLEAR(value);
    return value;
}

static bool check_shell(PyObject *options)
{
    auto_ref *shell = take(options, "shell");
    int is_true = shell ? PyObject_IsTrue(shell) : 0;
    if (is_true > 0)
        refuse_shell();
    return !is_true;
}

static bool check_executable(PyObject *options, PyObject *argv)
{
    auto_ref *given = take(options, "executable");
    if (!given || given == Py_None)
        return !PyErr_Occurred();
    auto_ref *path = NULL, *command = NULL;
    if (!PyUnicode_FSConverter(given, (void *)&path) ||
            !PyUnicode_FSConverter(PyList_GET_ITEM(argv, 0), (void *)&command))
        return false;
    if (PyBytes_GET_SIZE(path) == PyBytes_GET_SIZE(command) &&
            !memcmp(PyBytes_AS_STRING(path), PyBytes_AS_STRING(command),
                    (size_t)PyBytes_GET_SIZE(path)))
        return true;
    refuse("Leave executable= out, and name the program as the first argument.",
            "executable= does not match the command, args[0]");
    return false;
}

static bool check_preexec(PyObject *options)
{
    auto_ref *function = take(options, "preexec_fn");
    if (!function || function == Py_None)
        return !PyErr_Occurred();
    refuse("start_new_session= and cwd= do what it is mostly used for.",
            "preexec_fn= is not permitted: no code of a snippet runs in a command");
    return false;
}

/* Names that are nothing but text: what is looked for is what is found. */
static bool copy_options(PyObject *given, PyObject *options)
{
    Py_ssize_t at = 0;
    PyObject *name, *value; /* borrowed */
    while (given && PyDict_Next(given, &at, &name, &value)) {
        auto_ref *plain = PyUnicode_FromObject(name);
        if (!plain || PyDict_SetItem(options, plain, value))
            return false;
    }
    return true;
}

static bool name_positional(PyObject *args, PyObject *options, const char *function)
{
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    if (count > (Py_ssize_t)ARRAY_LEN(positional)) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most %zu positional arguments",
                function, ARRAY_LEN(positional));
        return false;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if (PyDict_GetItemString(options, positional[i])) {
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%s'",
                    function, positional[i]);
            return false;
        }
        if (PyDict_SetItemString(options, positional[i], PyTuple_GET_ITEM(args, i)))
            return false;
    }
    return true;
}

/* What the library is called with: the command, and options that are safe to hand on.
 * New references; `*argv` is NULL if false. */
static bool prepare(const char *function, PyObject *args, PyObject *keywords,
        PyObject **argv, PyObject **options)
{
    auto_ref *all = PyDict_New();
    if (!all || !copy_options(keywords, all) || !name_positional(args, all, function))
        return false;
    auto_ref *command = take(all, "args");
    if (!command) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "%s() missing the command, a list", function);
        return false;
    }
    if (!check_shell(all) || !check_preexec(all))
        return false;
    auto_ref *list = freeze_argv(command);
    if (!list || !check_executable(all, list) || !replace(all, "cwd", freeze) ||
            !replace(all, "env", freeze_env))
        return false;
    *argv = TAKE(list);
    *options = TAKE(all);
    return true;
}

static PyObject *call_real(const char *function, PyObject *args, PyObject *keywords)
{
    auto_ref *argv = NULL, *options = NULL;
    if (!prepare(function, args, keywords, &argv, &options))
        return NULL;
    auto_ref *real = PyObject_GetAttrString(real_module, function);
    auto_ref *packed = real ? PyTuple_Pack(1, argv) : NULL;
    return packed ? PyObject_Call(real, packed, options) : NULL;
}

static PyObject *run(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    return call_real("run", args, keywords);
}

static PyObject *call(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    return call_real("call", args, keywords);
}

static PyObject *check_call(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    return call_real("check_call", args, keywords);
}

static PyObject *check_output(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    return call_real("check_output", args, keywords);
}

/* These are for shells alone. */
static PyObject *refuse_call(
        PyObject *self UNUSED, PyObject *args UNUSED, PyObject *keywords UNUSED)
{
    return refuse_shell();
}

#define FUNCTION(name, fn, doc)                                                    \
    {                                                                              \
        name, (PyCFunction)(void (*)(void))(fn), METH_VARARGS | METH_KEYWORDS, doc \
    }

static PyMethodDef functions[] = {
    FUNCTION("run", run,
            "run(args, *, input=None, capture_output=False, timeout=None, check=False,\n"
            "    cwd=None, env=None, text=None, ...) -> CompletedProcess\n\n"
            "Run a command that a [shell.*] section allows, and wait for it. `args` is\n"
            "a list; no shell reads it. `env` are changes to the environment."),
    FUNCTION("call", call,
            "call(args, *, timeout=None, ...) -> int\n\nRun a command; its exit code."),
    FUNCTION("check_call", check_call,
            "check_call(args, *, timeout=None, ...) -> 0\n\n"
            "Run a command; CalledProcessError unless it exits with 0."),
    FUNCTION("check_output", check_output,
            "check_output(args, *, timeout=None, ...) -> bytes or str\n\n"
            "Run a command; its stdout, or CalledProcessError."),
    FUNCTION("getoutput", refuse_call, "Not permitted; use run()."),
    FUNCTION("getstatusoutput", refuse_call, "Not permitted; use run()."),
    { 0 },
};

static int popen_init(PyObject *self, PyObject *args, PyObject *keywords)
{
    auto_ref *argv = NULL, *options = NULL;
    if (!prepare("Popen", args, keywords, &argv, &options))
        return -1;
    auto_ref *packed = PyTuple_Pack(2, self, argv);
    auto_ref *done = packed ? PyObject_Call(real_init, packed, options) : NULL;
    return done ? 0 : -1;
}

/* A class of its own, for which the library's is a base: all its methods are there. */
static PyObject *create_popen(void)
{
    static char doc[] = "Popen(args, *, stdin=None, stdout=None, stderr=None, cwd=None, "
                        "env=None, text=None, ...)\n\n"
                        "Start a command that a [shell.*] section allows. `args` is a "
                        "list; no\nshell reads it. `env` are changes to the environment.";
    static PyType_Slot slots[] = { { Py_tp_init, popen_init }, { Py_tp_doc, doc },
        { 0, NULL } };
    static PyType_Spec spec = { .name = "subprocess.Popen",
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
        .slots = slots };
    auto_ref *base = PyObject_GetAttrString(real_module, "Popen");
    real_init = base ? PyObject_GetAttrString(base, "__init__") : NULL;
    return real_init ? PyType_FromSpecWithBases(&spec, base) : NULL;
}

PyObject *subprocess_view_create(void)
{
    static const struct left_out left_out[] = {
        { "os sys signal threading select selectors io errno time warnings",
                "Import it by itself." },
    };
    static const struct stand_in_kind kind = { "subprocess", left_out,
        ARRAY_LEN(left_out), NULL, NULL, NULL };
    real_module = stand_in_real("subprocess"); /* for good */
    PyObject *view = real_module ? stand_in_new(&kind, real_module) : NULL;
    if (view && stand_in_copy(view, real_module, names) &&
            stand_in_add_functions(view, functions) &&
            stand_in_set(view, "Popen", create_popen()))
        return view;
    Py_XDECREF(view);
    return NULL;
}
