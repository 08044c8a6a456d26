#include "python/ending.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_FD 3 /* those below are the standard streams */

static struct {
    PyObject *end_threads, *end_exits, *get_objects;
    PyObject *file_types; /* tuple: what keeps back what was written */
} ending;

bool ending_init(void)
{
    ending.end_threads = guard_find("threading", "_shutdown");
    ending.end_exits = guard_find("atexit", "_run_exitfuncs");
    ending.get_objects = guard_find("gc", "get_objects");
    auto_ref *text = guard_find("_io", "TextIOWrapper");
    auto_ref *writer = guard_find("_io", "BufferedWriter");
    auto_ref *random = guard_find("_io", "BufferedRandom");
    if (!text || !writer || !random)
        return false;
    ending.file_types = PyTuple_Pack(3, text, writer, random);
    return ending.end_threads && ending.end_exits && ending.get_objects &&
           ending.file_types;
}

static bool is_private(PyObject *key)
{
    const char *name = PyUnicode_Check(key) ? PyUnicode_AsUTF8(key) : NULL;
    return name && name[0] == '_' && name[1] != '_';
}

static bool is_builtins(PyObject *key)
{
    return PyUnicode_Check(key) && !PyUnicode_CompareWithASCIIString(key, "__builtins__");
}

/* In the order in which Python clears a module: names with one underscore first. */
static void clear_names(bool privately)
{
    PyObject *module = PyImport_AddModule("__main__"); /* borrowed */
    PyObject *names = module ? PyModule_GetDict(module) : NULL;
    auto_ref *keys = names ? PyDict_Keys(names) : NULL;
    Py_ssize_t count = keys ? PyList_GET_SIZE(keys) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *key = PyList_GET_ITEM(keys, i);
        if (is_builtins(key) || (privately && !is_private(key)))
            continue;
        if (PyDict_SetItem(names, key, Py_None))
            PyErr_Clear();
    }
    PyErr_Clear();
}

static bool is_written(int fd)
{
    struct stat st;
    int flags = fd >= FIRST_FD ? fcntl(fd, F_GETFL) : -1;
    return flags >= 0 && (flags & O_ACCMODE) != O_RDONLY && !fstat(fd, &st) &&
           S_ISREG(st.st_mode);
}

/* Is a file still open for writing that a library holds, or a thread that goes on? */
static bool has_open_file(void)
{
    DIR *dir = opendir("/proc/self/fd");
    const struct dirent *entry;
    bool found = !dir;
    while (!found && (entry = readdir(dir)))
        found = is_written(atoi(entry->d_name));
    if (dir)
        closedir(dir);
    return found;
}

static bool is_file(PyObject *object)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ending.file_types); i++) {
        PyObject *type = PyTuple_GET_ITEM(ending.file_types, i);
        if (PyType_IsSubtype(Py_TYPE(object), (PyTypeObject *)type))
            return true;
    }
    return false;
}

/* Of a file in a cycle the collector may close the lower layer first. */
static void flush_files(void)
{
    if (!has_open_file())
        return;
    auto_ref *objects = PyObject_CallNoArgs(ending.get_objects);
    Py_ssize_t count = objects ? PyList_GET_SIZE(objects) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *object = PyList_GET_ITEM(objects, i);
        if (!is_file(object))
            continue;
        auto_ref *done = PyObject_CallMethod(object, "flush", NULL);
        if (!done)
            PyErr_Clear(); /* it was closed */
    }
    PyErr_Clear();
}

bool ending_run(void)
{
    auto_ref *threads = PyObject_CallNoArgs(ending.end_threads);
    if (!threads)
        return false;
    auto_ref *exits = PyObject_CallNoArgs(ending.end_exits);
    if (!exits)
        PyErr_Clear(); /* it has told what each of them raised */
    flush_files();
    clear_names(true);
    clear_names(false);
    PyGC_Collect();
    flush_files(); /* what finalizers wrote */
    return true;
}
