#include "python/replace.h"

#include "python/hook.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static PyMethodDef *find_definition(const char *module, const char *name)
{
    auto_ref *from = PyImport_ImportModule(module);
    auto_ref *function = from ? PyObject_GetAttrString(from, name) : NULL;
    if (!function)
        return NULL;
    if (PyCFunction_CheckExact(function)) /* the module's dictionary keeps it alive */
        return ((PyCFunctionObject *)function)->m_ml;
    PyErr_Format(PyExc_RuntimeError, "%s.%s is no built-in function", module, name);
    return NULL;
}

bool replace_function(const char *module, const char *name, int flags, PyCFunction with,
        PyCFunction *old)
{
    PyMethodDef *definition = find_definition(module, name);
    if (!definition)
        return false;
    if (definition->ml_flags != flags) {
        PyErr_Format(PyExc_RuntimeError, "%s.%s is called otherwise", module, name);
        return false;
    }
    *old = definition->ml_meth;
    definition->ml_meth = with;
    return true;
}

static PyCFunction old_open, old_utime, old_mkfifo, old_mknod;

static keyword_function *keywords(PyCFunction function)
{
    return (keyword_function *)(void (*)(void))function;
}

/* Of the arguments that were given by name; borrowed, NULL if it is none of them. */
static PyObject *find_named(
        PyObject *const *args, Py_ssize_t count, PyObject *names, const char *name)
{
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0)
            return args[count + i];
    return NULL;
}

static PyObject *positional(PyObject *const *args, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    for (Py_ssize_t i = 0; tuple && i < count; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    return tuple;
}

static PyObject *named(PyObject *const *args, PyObject *names)
{
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict && names && i < PyTuple_GET_SIZE(names); i++)
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(names, i), args[i]))
            Py_CLEAR(dict);
    return dict;
}

/* Signals are handled between the attempts, as everywhere in Python. */
static int open_now(int dir_fd, const char *path, int flags, mode_t mode)
{
    int fd;
    do {
        Py_BEGIN_ALLOW_THREADS;
        fd = openat(dir_fd, path, flags | O_CLOEXEC, mode);
        Py_END_ALLOW_THREADS;
    } while (fd < 0 && errno == EINTR && !PyErr_CheckSignals());
    return fd;
}

static PyObject *open_below(PyObject *path, int dir_fd, int flags, int mode)
{
    auto_buf whole = BUF((size_t)1 << 16);
    auto_ref *bytes = NULL;
    if (!PyUnicode_FSConverter(path, &bytes) || hook_resolve(path, dir_fd, &whole))
        return NULL;
    auto_ref *name = PyUnicode_DecodeFSDefaultAndSize(whole.data, (Py_ssize_t)whole.len);
    if (!name || PySys_Audit("open", "OOi", name, Py_None, flags))
        return NULL;
    int fd = open_now(dir_fd, PyBytes_AS_STRING(bytes), flags, (mode_t)mode);
    if (fd >= 0)
        return PyLong_FromLong(fd);
    return PyErr_Occurred() ? NULL
                            : PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path);
}

/* The event of `open` does not tell the folder that a path is relative to. */
static PyObject *posix_open(
        PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    static char texts[][8] = { "path", "flags", "mode", "dir_fd" };
    static char *words[] = { texts[0], texts[1], texts[2], texts[3], NULL };
    PyObject *folder = find_named(args, count, names, "dir_fd");
    if (!guard.armed || !folder || folder == Py_None)
        return keywords(old_open)(module, args, count, names);
    PyObject *path;
    int flags, mode = 0777, dir_fd;
    auto_ref *tuple = positional(args, count);
    auto_ref *dict = named(args + count, names);
    if (!tuple || !dict ||
            !PyArg_ParseTupleAndKeywords(
                    tuple, dict, "Oi|i$i:open", words, &path, &flags, &mode, &dir_fd))
        return NULL;
    auto_ref *fixed = PyOS_FSPath(path);
    return fixed ? open_below(fixed, dir_fd, flags, mode) : NULL;
}

static _Thread_local bool times_of_link;

bool replace_times_of_link(void)
{
    return times_of_link;
}

/* Its event does not tell whether the times of a link are meant. */
static PyObject *posix_utime(
        PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    bool before = times_of_link;
    times_of_link = find_named(args, count, names, "follow_symlinks") == Py_False;
    PyObject *result = keywords(old_utime)(module, args, count, names);
    times_of_link = before;
    return result;
}

/* They have no events. */
static PyObject *refuse_special(const char *what)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "special-file", NULL);
    buf_addf(&why.what, "%s is not permitted", what);
    buf_add(&why.rule, STR("only files, folders and links are made"));
    buf_add(&why.hint, STR("os.pipe() and queue.Queue join parts of a snippet."));
    return guard_refuse(PyExc_PermissionError, &why);
}

static PyObject *posix_mkfifo(
        PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return guard.armed ? refuse_special("os.mkfifo()")
                       : keywords(old_mkfifo)(module, args, count, names);
}

static PyObject *posix_mknod(
        PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return guard.armed ? refuse_special("os.mknod()")
                       : keywords(old_mknod)(module, args, count, names);
}

static initproc old_file_init;

/*
 * FileIO(path) tells the object that it was given and opens what that says its path is:
 * it is asked once, here.
 */
static int file_init(PyObject *self, PyObject *args, PyObject *names)
{
    PyObject *path = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : NULL;
    if (!path && names)
        path = PyDict_GetItemString(names, "file");
    if (!path || PyUnicode_Check(path) || PyBytes_Check(path) || PyLong_Check(path) ||
            !PyObject_HasAttrString((PyObject *)Py_TYPE(path), "__fspath__"))
        return old_file_init(self, args, names);
    auto_ref *fixed = PyOS_FSPath(path);
    auto_ref *tuple = PySequence_List(args);
    auto_ref *dict = names ? PyDict_Copy(names) : NULL;
    if (!fixed || !tuple || (names && !dict))
        return -1;
    int failed = PyTuple_GET_SIZE(args) ? PyList_SetItem(tuple, 0, Py_NewRef(fixed))
                                        : PyDict_SetItemString(dict, "file", fixed);
    auto_ref *all = failed ? NULL : PyList_AsTuple(tuple);
    return all ? old_file_init(self, all, dict) : -1;
}

static bool replace_file_init(void)
{
    auto_ref *io = PyImport_ImportModule("_io");
    auto_ref *type = io ? PyObject_GetAttrString(io, "FileIO") : NULL;
    auto_ref *init = type ? PyObject_GetAttrString(type, "__init__") : NULL;
    if (!init)
        return false;
    if (!PyType_Check(type) || strcmp(Py_TYPE(init)->tp_name, "wrapper_descriptor")) {
        PyErr_SetString(PyExc_RuntimeError, "io.FileIO is made otherwise");
        return false;
    }
    old_file_init = ((PyTypeObject *)type)->tp_init;
    ((PyTypeObject *)type)->tp_init = file_init;
    ((PyWrapperDescrObject *)init)->d_wrapped = (void *)(uintptr_t)file_init;
    return true;
}

bool replace_init(void)
{
    const struct {
        const char *name;
        keyword_function *with;
        PyCFunction *old;
    } functions[] = { { "open", posix_open, &old_open },
        { "utime", posix_utime, &old_utime }, { "mkfifo", posix_mkfifo, &old_mkfifo },
        { "mknod", posix_mknod, &old_mknod } };
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (!replace_function("posix", functions[i].name, METH_FASTCALL | METH_KEYWORDS,
                    (PyCFunction)(void (*)(void))functions[i].with, functions[i].old))
            return false;
    return replace_file_init();
}
