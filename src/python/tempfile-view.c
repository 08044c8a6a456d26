/* What stands in for `tempfile`. */
#include "python/tempfile-view.h"
#include "python/imports.h"
#include "python/stand-in.h"

static const char *const names[] = { "NamedTemporaryFile", "SpooledTemporaryFile",
    "TMP_MAX", "TemporaryDirectory", "TemporaryFile", "gettempdir", "gettempdirb",
    "gettempprefix", "gettempprefixb", "tempdir", NULL };

static PyObject *folder(void)
{
    struct str workspace = path_policy_workspace(guard.setup->paths);
    auto_buf path = BUF((size_t)1 << 16);
    buf_addf(&path, "%.*s/.pyddock/tmp", STR_ARG(workspace));
    return PyUnicode_DecodeFSDefaultAndSize(path.data, (Py_ssize_t)path.len);
}

bool tempfile_set_folder(void)
{
    auto_ref *tempfile = stand_in_real("tempfile");
    auto_ref *path = folder();
    return tempfile && path && !PyObject_SetAttrString(tempfile, "tempdir", path);
}

static PyObject *refuse(const char *name)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "tempfile", NULL);
    buf_addf(&why.what, "tempfile.%s() is not permitted", name);
    buf_add(&why.rule, STR("what a snippet makes for a while is removed again"));
    buf_add(&why.hint, STR("Use tempfile.NamedTemporaryFile() for a file and "
                           "tempfile.TemporaryDirectory() for a folder."));
    return guard_refuse(PyExc_PermissionError, &why);
}

static PyObject *refuse_mkstemp(
        PyObject *self UNUSED, PyObject *args UNUSED, PyObject *keywords UNUSED)
{
    return refuse("mkstemp");
}

static PyObject *refuse_mkdtemp(
        PyObject *self UNUSED, PyObject *args UNUSED, PyObject *keywords UNUSED)
{
    return refuse("mkdtemp");
}

static PyObject *refuse_mktemp(
        PyObject *self UNUSED, PyObject *args UNUSED, PyObject *keywords UNUSED)
{
    return refuse("mktemp");
}

static PyMethodDef functions[] = {
    { "mkstemp", (PyCFunction)(void (*)(void))refuse_mkstemp,
            METH_VARARGS | METH_KEYWORDS, "Not permitted; use NamedTemporaryFile()." },
    { "mkdtemp", (PyCFunction)(void (*)(void))refuse_mkdtemp,
            METH_VARARGS | METH_KEYWORDS, "Not permitted; use TemporaryDirectory()." },
    { "mktemp", (PyCFunction)(void (*)(void))refuse_mktemp, METH_VARARGS | METH_KEYWORDS,
            "Not permitted; use NamedTemporaryFile()." },
    { 0 },
};

PyObject *tempfile_view_create(void)
{
    static const struct stand_in_kind kind = { "tempfile", NULL, 0, NULL, NULL, NULL };
    auto_ref *tempfile = stand_in_real("tempfile");
    PyObject *view = tempfile ? stand_in_new(&kind, tempfile) : NULL;
    if (view && stand_in_copy(view, tempfile, names) &&
            stand_in_add_functions(view, functions))
        return view;
    Py_XDECREF(view);
    return NULL;
}
