#include "python/caller.h"

#include "base/path.h"

#define MAX_FOLDERS 64

struct code_folder {
    struct str path;
    enum caller caller;
};

/* Longest first where one lies in another. */
static struct {
    struct code_folder folders[MAX_FOLDERS];
    size_t count;
    struct str library;
} known;

const char *caller_name(enum caller caller)
{
    static const char *const names[] = { "AGENT", "OTHER", "TRUSTED", "IMPORT" };
    return names[caller];
}

static bool add(struct str path, enum caller caller)
{
    if (!path_is_normal(path) || known.count == MAX_FOLDERS)
        return false;
    known.folders[known.count++] = (struct code_folder){ path, caller };
    return true;
}

static bool add_packages(const struct str *paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!add(paths[i], CALLER_TRUSTED)) {
            PyErr_Format(PyExc_RuntimeError, "'%.200s' is no folder of packages",
                    arena_cstr(guard.arena, paths[i]));
            return false;
        }
    return true;
}

bool caller_init(void)
{
    const struct python_setup *s = guard.setup;
    static const char *const system[] = { SYSTEM_PACKAGES };
    PyObject *library = PySys_GetObject("_stdlib_dir"); /* borrowed */
    const char *path = library ? PyUnicode_AsUTF8(library) : NULL;
    known.count = 0;
    if (!add_packages(s->trusted, s->trusted_count) ||
            !add_packages(s->sys_path, s->sys_path_count))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(system); i++)
        if (!add(str_of(system[i]), CALLER_TRUSTED))
            return false;
    if (!path ||
            !add(known.library = arena_str(guard.arena, str_of(path)), CALLER_LIBRARY)) {
        PyErr_SetString(PyExc_RuntimeError, "where is the standard library?");
        return false;
    }
    return caller_watch_names();
}

const struct str *caller_folder(size_t index)
{
    static const struct str frozen = { "<frozen ", sizeof("<frozen ") - 1 };
    if (index < known.count)
        return &known.folders[index].path;
    return index == known.count ? &frozen : NULL;
}

/* Packages that lie in the library's folder and are none of it. */
static bool is_foreign(struct str path)
{
    struct str rest = str_from(path, known.library.len + 1);
    struct str first = str_cut(&rest, '/');
    return str_is(first, "dist-packages") || str_is(first, "site-packages");
}

static enum caller caller_of_frozen(struct str name)
{
    bool import = str_starts(name, STR("<frozen importlib._bootstrap")) ||
                  str_is(name, "<frozen zipimport>");
    return import ? CALLER_IMPORT : CALLER_LIBRARY;
}

enum caller caller_of_file(struct str path)
{
    if (str_starts(path, STR("<frozen ")))
        return caller_of_frozen(path);
    if (!path.len || path.data[0] != '/' || !path_is_normal(path))
        return CALLER_AGENT;
    for (size_t i = 0; i < known.count; i++)
        if (path_is_beneath(path, known.folders[i].path))
            return known.folders[i].caller == CALLER_LIBRARY && is_foreign(path)
                           ? CALLER_AGENT
                           : known.folders[i].caller;
    return CALLER_AGENT;
}

static enum caller caller_of_code(PyCodeObject *code)
{
    Py_ssize_t len;
    const char *name = PyUnicode_AsUTF8AndSize(code->co_filename, &len);
    if (name)
        return caller_of_file((struct str){ name, (size_t)len });
    PyErr_Clear();
    return CALLER_AGENT;
}

static enum caller caller_of_frame(PyFrameObject *frame)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    enum caller caller = caller_of_code(code);
    Py_DECREF(code);
    return caller;
}

/* From the inside out, the first frame whose caller is none of `skipped` (a bit each). */
static enum caller find(unsigned skipped)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    enum caller found = CALLER_AGENT;
    while (frame) {
        found = caller_of_frame(frame);
        if (!(skipped & 1u << found))
            break;
        found = CALLER_AGENT;
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return found;
}

static bool has_name(PyObject *names, const char *name)
{
    for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++)
        if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name))
            return true;
    return false;
}

/* Among the globals and attributes that it uses, or its variables (`getattr=getattr`). */
static bool code_names(PyCodeObject *code, const char *name)
{
    if (has_name(code->co_names, name))
        return true;
    auto_ref *variables = PyCode_GetVarnames(code);
    PyErr_Clear();
    return has_name(variables, name);
}

int caller_opcode(void)
{
    PyFrameObject *frame = PyEval_GetFrame(); /* borrowed */
    if (!frame)
        return 0;
    int at = PyFrame_GetLasti(frame), opcode = 0;
    PyCodeObject *code = PyFrame_GetCode(frame);
    auto_ref *bytes = PyCode_GetCode(code);
    Py_DECREF(code);
    if (bytes && at >= 0 && at < PyBytes_GET_SIZE(bytes))
        opcode = (unsigned char)PyBytes_AS_STRING(bytes)[at];
    PyErr_Clear();
    return opcode;
}

static bool frame_names(PyFrameObject *frame, const char *name)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    bool names = code_names(code, name);
    Py_DECREF(code);
    return names;
}

bool caller_is_snippet(const char *function)
{
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    enum caller caller = CALLER_AGENT;
    bool is_first = true, names = false;
    while (frame && !names) {
        caller = caller_of_frame(frame);
        if (caller != CALLER_LIBRARY && !(caller == CALLER_IMPORT && !is_first))
            break;
        names = caller == CALLER_LIBRARY && frame_names(frame, function);
        is_first = false;
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    bool is_snippet = !names && (!frame || caller == CALLER_AGENT);
    Py_XDECREF(frame);
    return is_snippet;
}

enum caller caller_innermost(void)
{
    return find(0);
}

enum caller caller_nearest(void)
{
    return find(1u << CALLER_IMPORT);
}

enum caller caller_behind(void)
{
    return find(1u << CALLER_IMPORT | 1u << CALLER_LIBRARY);
}

enum caller caller_responsible(void)
{
    return find(0) == CALLER_IMPORT ? CALLER_IMPORT : caller_behind();
}
