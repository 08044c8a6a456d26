/*
 * Code that comes into being under a name.  Whoever makes it, the name of a trusted file
 * is for what is in that file: the text, or the bytecode beside it.  Then it does not
 * matter by which road it is made, a loader that the agent has bent included.
 */
#include "python/caller.h"

#include "python/replace.h"

#include "base/file.h"

#define MAX_CODE  ((size_t)64 << 20)
#define PYC_START 16 /* bytes of a .pyc before the code */

/* importlib's own `_compile_bytecode`, which has the names of what it works on. */
static PyCodeObject *reader;

/* The frame of it that reads what is really in the file; told apart, not used. */
static _Thread_local const PyFrameObject *true_reader;

static PyCFunction replaced_fix;

static bool refuse(const char *how, struct str name)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "code-name", NULL);
    buf_addf(&why.what, "%s under the name '", how);
    buf_add_shown(&why.what, name);
    buf_addf(&why.what, "' is not permitted");
    buf_add(&why.rule, STR("the name of a library's file is for the code that is in it"));
    buf_add(&why.hint, STR("Give the code a name of its own, such as '<generated>'."));
    guard_refuse(PyExc_PermissionError, &why);
    return false;
}

static bool name_of(PyObject *filename, struct str *out)
{
    Py_ssize_t len;
    const char *data = NULL;
    if (PyUnicode_Check(filename))
        data = PyUnicode_AsUTF8AndSize(filename, &len);
    if (!data) {
        PyErr_Clear(); /* no file of ours has a name that is no text */
        *out = STR("");
        return true;
    }
    *out = (struct str){ data, (size_t)len };
    return caller_of_file(*out) == CALLER_AGENT;
}

/* Is what is to be compiled the text of that file? */
static bool is_text_of(PyObject *source, struct str path)
{
    Py_buffer view = { 0 };
    struct str given, found;
    Py_ssize_t len;
    if (PyUnicode_Check(source)) {
        given.data = PyUnicode_AsUTF8AndSize(source, &len);
        given.len = (size_t)len;
    } else if (PyObject_CheckBuffer(source) &&
               !PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)) {
        given = (struct str){ view.buf, (size_t)view.len };
    } else {
        given.data = NULL;
    }
    PyErr_Clear();
    auto_arena *arena = arena_create();
    bool same = given.data &&
                !file_read(arena_cstr(arena, path), MAX_CODE, arena, &found) &&
                str_eq(given, found);
    if (view.obj)
        PyBuffer_Release(&view);
    return same;
}

bool caller_check_compile(PyObject *source, PyObject *filename)
{
    struct str name;
    return name_of(filename, &name) || caller_behind() == CALLER_TRUSTED ||
           is_text_of(source, name) || refuse("compiling code", name);
}

bool caller_check_new_code(PyObject *filename)
{
    struct str name;
    return name_of(filename, &name) || caller_behind() == CALLER_TRUSTED ||
           refuse("making code", name);
}

static bool is_in_file(struct str bytes, struct str path)
{
    struct str found;
    auto_arena *arena = arena_create();
    return !file_read(arena_cstr(arena, path), MAX_CODE, arena, &found) &&
           found.len >= PYC_START && str_eq(str_from(found, PYC_START), bytes);
}

static struct str text_of(PyObject *names, const char *key)
{
    Py_ssize_t len;
    auto_ref *value = PyMapping_GetItemString(names, key);
    const char *data =
            value && PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &len) : NULL;
    PyErr_Clear();
    return data ? (struct str){ data, (size_t)len } : STR(""); /* `names` has it */
}

/* Bytecode of a library, read by the import machinery from where it belongs. */
static bool is_true_bytecode(PyFrameObject *frame, struct str bytes)
{
    PyCodeObject *code = PyFrame_GetCode(frame);
    bool is_reader = code == reader;
    Py_DECREF(code);
    auto_ref *names = is_reader ? PyFrame_GetLocals(frame) : NULL;
    if (!names) {
        PyErr_Clear();
        return false;
    }
    struct str path = text_of(names, "bytecode_path");
    struct str source = text_of(names, "source_path");
    enum caller caller = caller_of_file(path);
    return caller != CALLER_AGENT && (!source.len || caller_of_file(source) == caller) &&
           is_in_file(bytes, path);
}

/* In marshalled code a file name stands as it is. */
static bool has_library_name(struct str bytes)
{
    const struct str *folder;
    for (size_t i = 0; (folder = caller_folder(i)); i++)
        if (memmem(bytes.data, bytes.len, folder->data, folder->len))
            return true;
    return false;
}

bool caller_check_marshal(PyObject *bytes)
{
    struct str all = { 0 };
    PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
    bool known = bytes && PyBytes_Check(bytes);
    if (known)
        all = (struct str){ PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes) };
    bool is_true = known && frame && is_true_bytecode(frame, all);
    true_reader = is_true ? frame : NULL;
    Py_XDECREF(frame);
    return is_true || caller_behind() == CALLER_TRUSTED ||
           (known && !has_library_name(all)) ||
           refuse("reading marshalled code", STR("?"));
}

/* `_imp._fix_co_filename(code, name)` names code anew. */
static PyObject *fix_filename(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (guard.armed && count == 2) {
        struct str name;
        PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
        bool is_true = frame && frame == true_reader;
        Py_XDECREF(frame);
        if (!name_of(args[1], &name) && !is_true && !refuse("naming code", name))
            return NULL;
    }
    return ((_PyCFunctionFast)(void (*)(void))replaced_fix)(module, args, count);
}

bool caller_watch_names(void)
{
    auto_ref *importlib = PyImport_ImportModule("_frozen_importlib_external");
    auto_ref *function =
            importlib ? PyObject_GetAttrString(importlib, "_compile_bytecode") : NULL;
    PyObject *code = function ? PyObject_GetAttrString(function, "__code__") : NULL;
    if (!code || !PyCode_Check(code))
        return false;
    reader = (PyCodeObject *)code;
    return replace_function("_imp", "_fix_co_filename", METH_FASTCALL,
            (PyCFunction)(void (*)(void))fix_filename, &replaced_fix);
}
