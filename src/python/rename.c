#include "python/rename.h"

#include "python/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 16)

static PyCFunction old_rename, old_replace;

/* 0, or an errno. */
static int write_all(int fd, const char *bytes, size_t count)
{
    while (count) {
        ssize_t n = write(fd, bytes, count);
        if (n < 0 && errno != EINTR)
            return errno;
        bytes += n > 0 ? n : 0;
        count -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int copy_content(int from, int to)
{
    auto_free char *block = xmalloc(BLOCK);
    for (;;) {
        ssize_t n = read(from, block, BLOCK);
        if (n < 0 && errno == EINTR)
            continue;
        int error = n < 0 ? errno : write_all(to, block, (size_t)n);
        if (n <= 0 || error)
            return error;
    }
}

/* A new file in the folder of `path`; its name is left in `name`. */
static int create_beside(const char *path, struct buf *name)
{
    uint64_t number;
    const char *slash = strrchr(path, '/');
    if (getrandom(&number, sizeof(number), 0) != sizeof(number))
        return -1;
    buf_add(name, (struct str){ path, slash ? (size_t)(slash - path) + 1 : 0 });
    buf_addf(name, ".moving-%016llx", (unsigned long long)number);
    return open(name->data, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static int fill(int from, int to, const struct stat *st)
{
    const struct timespec times[] = { st->st_atim, st->st_mtim };
    int error = copy_content(from, to);
    if (error)
        return error;
    return fchmod(to, st->st_mode & 0777) || futimens(to, times) ? errno : 0;
}

/* A regular file takes the place of another one, or of nothing: whole or not at all. */
static int move_file(const char *from, const char *to)
{
    struct stat st, other;
    auto_fd int in = open(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (in < 0 || fstat(in, &st) || !S_ISREG(st.st_mode))
        return EXDEV;
    if (!lstat(to, &other) && S_ISDIR(other.st_mode))
        return EISDIR;
    auto_buf name = BUF(PATH_MAX);
    auto_fd int out = create_beside(to, &name);
    if (out < 0)
        return errno;
    int error = fill(in, out, &st);
    if (!error && rename(name.data, to))
        error = errno;
    if (error)
        unlink(name.data);
    else if (unlink(from))
        error = errno;
    return error;
}

static bool is_other_device(void)
{
    if (!PyErr_ExceptionMatches(PyExc_OSError))
        return false;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    auto_ref *number = PyObject_GetAttrString(value, "errno");
    bool is = number && PyLong_Check(number) && PyLong_AsLong(number) == EXDEV;
    PyErr_Restore(type, value, trace); /* and forget what was raised in between */
    return is;
}

static PyObject *move(PyObject *from, PyObject *to)
{
    auto_ref *from_bytes = NULL, *to_bytes = NULL;
    int error;
    PyErr_Clear();
    if (!PyUnicode_FSConverter(from, &from_bytes) ||
            !PyUnicode_FSConverter(to, &to_bytes))
        return NULL;
    Py_BEGIN_ALLOW_THREADS;
    error = move_file(PyBytes_AS_STRING(from_bytes), PyBytes_AS_STRING(to_bytes));
    Py_END_ALLOW_THREADS;
    if (!error)
        Py_RETURN_NONE;
    errno = error;
    return PyErr_SetFromErrnoWithFilenameObjects(PyExc_OSError, from, to);
}

/* A path is asked for once; what is none is for the old function to refuse. */
static PyObject *fix(PyObject *path)
{
    bool is_object = PyObject_HasAttrString((PyObject *)Py_TYPE(path), "__fspath__");
    return is_object ? PyOS_FSPath(path) : Py_NewRef(path);
}

/* The old function asks the rules about both. */
static PyObject *rename_with(PyCFunction old, PyObject *module, PyObject *const *args,
        Py_ssize_t count, PyObject *names)
{
    keyword_function *function = (keyword_function *)(void (*)(void))old;
    if (!guard.armed || count != 2 || names)
        return function(module, args, count, names);
    auto_ref *from = fix(args[0]);
    auto_ref *to = from ? fix(args[1]) : NULL;
    if (!to)
        return NULL;
    PyObject *const fixed[] = { from, to };
    PyObject *result = function(module, fixed, 2, NULL);
    return result || !is_other_device() ? result : move(from, to);
}

static PyObject *posix_rename(
        PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return rename_with(old_rename, module, args, count, names);
}

static PyObject *posix_replace(
        PyObject *module, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    return rename_with(old_replace, module, args, count, names);
}

bool rename_init(void)
{
    int flags = METH_FASTCALL | METH_KEYWORDS;
    return replace_function("posix", "rename", flags,
                   (PyCFunction)(void (*)(void))posix_rename, &old_rename) &&
           replace_function("posix", "replace", flags,
                   (PyCFunction)(void (*)(void))posix_replace, &old_replace);
}
