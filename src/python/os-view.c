/* What stands in for `os` and `os.path`. */
#include "python/imports.h"
#include "python/os-environ.h"
#include "python/stand-in.h"

#define FILES   "Use open() and pathlib.Path."
#define PROGRAM "Programs are started with subprocess.run([...]); [shell.*] says which."

static PyObject *environ_dict; /* that of the snippet */

static const char *const names[] = { "DirEntry", "F_OK", "GRND_NONBLOCK", "PathLike",
    "R_OK", "SEEK_CUR", "SEEK_END", "SEEK_SET", "W_OK", "X_OK", "altsep", "confstr",
    "cpu_count", "curdir", "defpath", "devnull", "error", "extsep", "fdatasync",
    "fsdecode", "fsencode", "fspath", "fsync", "get_exec_path", "get_terminal_size",
    "getcwd", "getcwdb", "getegid", "geteuid", "getgid", "getgroups", "getloadavg",
    "getlogin", "getpid", "getppid", "getrandom", "getuid", "isatty", "linesep", "name",
    "pardir", "pathsep", "sched_getaffinity", "sched_yield", "sep", "stat_result",
    "statvfs_result", "strerror", "sysconf", "terminal_size", "times", "times_result",
    "umask", "uname", "uname_result", "urandom", "waitstatus_to_exitcode", NULL };

static const char *const path_functions[] = { "access", "chmod", "fstat", "listdir",
    "lstat", "makedirs", "mkdir", "readlink", "remove", "removedirs", "rename", "renames",
    "replace", "rmdir", "scandir", "stat", "statvfs", "truncate", "unlink", "walk",
    NULL };

static const struct left_out left_out[] = {
    { "popen exec* spawn* posix_spawn* fork* startfile", PROGRAM },
    { "wait* kill killpg pidfd_open", "subprocess.Popen objects have wait(), terminate() "
                                      "and kill()." },
    { "_exit abort", "Use sys.exit()." },
    { "putenv unsetenv environb getenvb",
            "The environment cannot be changed by a snippet; programs get variables with "
            "env= of subprocess.run()." },
    { "chdir fchdir chroot", "Use absolute paths or pathlib.Path(folder) / name; "
                             "subprocess.run() has cwd=." },
    { "symlink link mkfifo mknod", "Snippets make files and folders; copy with open()." },
    { "open fdopen read write close pread pwrite lseek dup dup2 pipe pipe2 ftruncate "
      "sendfile splice copy_file_range memfd_create O_*",
            FILES },
    { "utime", "Path.touch() sets the time to now." },
    { "chown lchown fchown fchmod", "os.chmod() changes permissions." },
    { "fwalk", "Use os.walk()." },
    { "set* initgroups nice sched_set* register_at_fork", "Snippets do without." },
};

static const struct left_out path_left_out[] = {
    { "os sys stat genericpath", "Import it by its own name." },
};

static PyObject *refuse_system(PyObject *self UNUSED, PyObject *args UNUSED)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "system", NULL);
    buf_add(&why.what, STR("os.system() is not permitted"));
    buf_add(&why.rule, STR("there is no shell for snippets"));
    buf_add(&why.hint, STR(PROGRAM));
    return guard_refuse(PyExc_PermissionError, &why);
}

static PyObject *get_env(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    static char key_word[] = "key", default_word[] = "default";
    static char *words[] = { key_word, default_word, NULL };
    PyObject *key, *otherwise = Py_None;
    if (!PyArg_ParseTupleAndKeywords(
                args, keywords, "U|O:getenv", words, &key, &otherwise))
        return NULL;
    PyObject *value = PyDict_GetItemWithError(environ_dict, key); /* borrowed */
    if (!value && PyErr_Occurred())
        return NULL;
    return Py_NewRef(value ? value : otherwise);
}

static PyMethodDef functions[] = {
    { "getenv", (PyCFunction)(void (*)(void))get_env, METH_VARARGS | METH_KEYWORDS,
            "getenv($module, key, default=None)\n--\n\n"
            "Get an environment variable, return None if it doesn't exist." },
    { "system", refuse_system, METH_VARARGS, "Not permitted. " PROGRAM },
    { 0 },
};

/* EX_OK and its like. */
static bool copy_exit_codes(PyObject *view, PyObject *os)
{
    PyObject *all = PyModule_GetDict(os), *name, *value; /* borrowed */
    Py_ssize_t at = 0;
    while (PyDict_Next(all, &at, &name, &value)) {
        const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
        if (text && str_starts(str_of(text), STR("EX_")) && PyLong_CheckExact(value) &&
                !stand_in_set(view, text, Py_NewRef(value)))
            return false;
    }
    return true;
}

static PyObject *create_path(void)
{
    static const struct stand_in_kind kind = { "posixpath", path_left_out,
        ARRAY_LEN(path_left_out), NULL, NULL, NULL };
    static const char *const path_names[] = { "abspath", "altsep", "basename",
        "commonpath", "commonprefix", "curdir", "defpath", "devnull", "dirname", "exists",
        "expanduser", "expandvars", "extsep", "getatime", "getctime", "getmtime",
        "getsize", "isabs", "isdir", "isfile", "islink", "ismount", "join", "lexists",
        "normcase", "normpath", "pardir", "pathsep", "realpath", "relpath", "samefile",
        "sameopenfile", "samestat", "sep", "split", "splitdrive", "splitext",
        "supports_unicode_filenames", NULL };
    auto_ref *real = stand_in_real("posixpath");
    PyObject *view = real ? stand_in_new(&kind, real) : NULL;
    if (view && stand_in_copy_path_functions(view, real, path_names))
        return view;
    Py_XDECREF(view);
    return NULL;
}

PyObject *os_view_create(void)
{
    static const struct stand_in_kind kind = { "os", left_out, ARRAY_LEN(left_out), NULL,
        NULL, NULL };
    auto_ref *os = stand_in_real("os");
    PyObject *view = os ? stand_in_new(&kind, os) : NULL;
    environ_dict = os_environ_create();
    if (view && stand_in_copy(view, os, names) && copy_exit_codes(view, os) &&
            stand_in_copy_path_functions(view, os, path_functions) &&
            stand_in_add_functions(view, functions) &&
            stand_in_set(view, "environ", Py_XNewRef(environ_dict)) &&
            stand_in_set(view, "path", create_path()))
        return view;
    Py_XDECREF(view);
    return NULL;
}
