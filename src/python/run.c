#include "python/run.h"

#include "python/ending.h"
#include "python/imports.h"
#include "python/own-builtins.h"
#include "python/results.h"
#include "python/rules.h"
#include "python/seal.h"
#include "python/tempfile-view.h"
#include "python/thread-report.h"

#include "base/json.h"

#include <signal.h>
#include <sys/time.h>

#define MAX_RESULT ((size_t)16 << 20) /* bytes of repr(); the reply is cut later */

/* TimeoutError is raised again so often, should it be swallowed. */
#define AGAIN_MS 250

static struct {
    PyObject *compile, *exec, *eval; /* the real ones */
    PyObject *expression;            /* ast.Expression */
    PyObject *print_exception;
    PyObject *line_cache; /* the dictionary */
    bool timed_out;
    unsigned timeout_ms;
} run;

void outcome_init(struct outcome *o)
{
    *o = (struct outcome){ .result = BUF(MAX_RESULT) };
}

void outcome_finish(struct outcome *o)
{
    buf_finish(&o->result);
    json_decref(o->images);
    json_decref(o->modules);
}

/* The line of the snippet that was running, or 0. */
static int snippet_line(PyFrameObject *frame)
{
    int line = 0;
    PyFrameObject *at = frame;
    Py_XINCREF(at);
    while (at && !line) {
        PyCodeObject *code = PyFrame_GetCode(at);
        if (PyUnicode_CompareWithASCIIString(code->co_filename, SNIPPET_NAME) == 0)
            line = PyFrame_GetLineNumber(at);
        Py_DECREF(code);
        PyFrameObject *back = PyFrame_GetBack(at);
        Py_DECREF(at);
        at = back;
    }
    Py_XDECREF(at);
    return line;
}

static PyObject *on_alarm(PyObject *self UNUSED, PyObject *args)
{
    int number;
    PyObject *frame;
    if (!PyArg_ParseTuple(args, "iO", &number, &frame))
        return NULL;
    int line = PyFrame_Check(frame) ? snippet_line((PyFrameObject *)frame) : 0;
    run.timed_out = true;
    auto_buf text = BUF(200);
    buf_addf(&text, "the snippet was stopped after %.1fs", run.timeout_ms / 1e3);
    if (line)
        buf_addf(&text, ", in line %d", line);
    PyErr_SetString(PyExc_TimeoutError, text.data);
    return NULL;
}

static PyMethodDef alarm_method = { "on_alarm", on_alarm, METH_VARARGS, NULL };

static bool watch_alarm(void)
{
    auto_ref *handler = PyCFunction_New(&alarm_method, NULL);
    auto_ref *set = guard_find("_signal", "signal");
    auto_ref *old =
            handler && set ? PyObject_CallFunction(set, "iO", SIGALRM, handler) : NULL;
    return old;
}

static void set_alarm(unsigned ms)
{
    const struct itimerval timer = {
        .it_value = { ms / 1000, (suseconds_t)(ms % 1000) * 1000 },
        .it_interval = { 0, ms ? AGAIN_MS * 1000 : 0 },
    };
    setitimer(ITIMER_REAL, &timer, NULL);
}

bool run_init(void)
{
    run.compile = guard_find("builtins", "compile");
    run.exec = guard_find("builtins", "exec");
    run.eval = guard_find("builtins", "eval");
    run.expression = guard_find("ast", "Expression");
    run.print_exception = guard_find("traceback", "print_exception");
    run.line_cache = guard_find("linecache", "cache");
    return run.compile && run.exec && run.eval && run.expression && run.print_exception &&
           run.line_cache && ending_init() && rules_init() && tempfile_set_folder() &&
           thread_report_init() && watch_alarm();
}

static PyObject *parse(PyObject *source)
{
    guard_enter();
    PyObject *tree = PyObject_CallFunction(
            run.compile, "OssiO", source, SNIPPET_NAME, "exec", PyCF_ONLY_AST, Py_True);
    guard_leave();
    return tree;
}

static PyObject *compile_tree(PyObject *tree, const char *mode, int flags)
{
    guard_enter();
    PyObject *code = PyObject_CallFunction(
            run.compile, "OssiO", tree, SNIPPET_NAME, mode, flags, Py_True);
    guard_leave();
    return code;
}

/* Tracebacks show lines of it. */
static bool remember_lines(PyObject *source)
{
    auto_ref *lines = PyObject_CallMethod(source, "splitlines", "O", Py_True);
    auto_ref *entry = lines ? Py_BuildValue("(nOOs)", PyUnicode_GetLength(source),
                                      Py_None, lines, SNIPPET_NAME)
                            : NULL;
    return entry && !PyDict_SetItemString(run.line_cache, SNIPPET_NAME, entry);
}

/* Take the last statement off if it is an expression; NULL: it is none. */
static PyObject *take_expression(PyObject *tree)
{
    auto_ref *body = PyObject_GetAttrString(tree, "body");
    Py_ssize_t count = body && PyList_Check(body) ? PyList_GET_SIZE(body) : 0;
    if (!count)
        return NULL;
    PyObject *last = PyList_GET_ITEM(body, count - 1); /* borrowed */
    if (strcmp(Py_TYPE(last)->tp_name, "ast.Expr") &&
            strcmp(Py_TYPE(last)->tp_name, "Expr"))
        return NULL;
    auto_ref *value = PyObject_GetAttrString(last, "value");
    PyObject *whole = value ? PyObject_CallOneArg(run.expression, value) : NULL;
    if (whole && PyList_SetSlice(body, count - 1, count, NULL))
        Py_CLEAR(whole);
    return whole;
}

struct program {
    PyObject *body, *last; /* code; `last` may be NULL */
};

static void program_finish(struct program *p)
{
    Py_CLEAR(p->body);
    Py_CLEAR(p->last);
}

static bool compile_program(PyObject *tree, struct program *out)
{
    auto_ref *expression = take_expression(tree);
    if (PyErr_Occurred())
        return false;
    out->body = compile_tree(tree, "exec", 0);
    if (!out->body || !expression)
        return out->body;
    int flags = ((PyCodeObject *)out->body)->co_flags & PyCF_MASK;
    out->last = compile_tree(expression, "eval", flags);
    return out->last;
}

static PyObject *make_namespace(void)
{
    PyObject *module = PyImport_AddModule("__main__"); /* borrowed */
    PyObject *names = module ? PyModule_GetDict(module) : NULL;
    auto_ref *builtins = own_builtins();
    auto_ref *file = PyUnicode_FromString(SNIPPET_NAME);
    if (!names || !builtins || !file)
        return NULL;
    PyDict_Clear(names);
    auto_ref *own = PyUnicode_FromString("__main__");
    const struct {
        const char *name;
        PyObject *value;
    } first[] = { { "__name__", own }, { "__doc__", Py_None }, { "__package__", Py_None },
        { "__loader__", Py_None }, { "__spec__", Py_None }, { "__file__", file },
        { "__builtins__", builtins } };
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        if (!own || PyDict_SetItemString(names, first[i].name, first[i].value))
            return NULL;
    return names;
}

static bool keep_result(PyObject *value, struct outcome *out)
{
    if (value == Py_None)
        return true;
    auto_ref *text = PyObject_Repr(value);
    auto_ref *bytes =
            text ? PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace") : NULL;
    if (!bytes)
        return false;
    buf_add(&out->result,
            (struct str){ PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes) });
    results_add_image(value, &out->images);
    return out->has_result = true;
}

static bool execute(const struct program *program, struct outcome *out)
{
    PyObject *names = make_namespace(); /* borrowed */
    auto_ref *done = names ? PyEval_EvalCode(program->body, names, names) : NULL;
    if (!done || !program->last)
        return done;
    auto_ref *value = PyEval_EvalCode(program->last, names, names);
    return value && keep_result(value, out);
}

static void say(const char *text, size_t len)
{
    PyObject *stream = PySys_GetObject("stderr"); /* borrowed */
    auto_ref *line = PyUnicode_DecodeUTF8(text, (Py_ssize_t)len, "replace");
    if (!line || !stream || PyFile_WriteObject(line, stream, Py_PRINT_RAW) ||
            PyFile_WriteString("\n", stream))
        PyErr_Clear();
}

static int exit_code_of(PyObject *value)
{
    auto_ref *code = PyObject_GetAttrString(value, "code");
    if (!code)
        PyErr_Clear();
    if (!code || code == Py_None)
        return 0;
    if (PyLong_Check(code))
        return (int)(PyLong_AsUnsignedLongMask(code) & 0xff);
    auto_ref *text = PyObject_Str(code);
    Py_ssize_t len = 0;
    const char *bytes = text ? PyUnicode_AsUTF8AndSize(text, &len) : NULL;
    if (bytes)
        say(bytes, (size_t)len);
    PyErr_Clear();
    return 1;
}

/* A name that an earlier call has made, most likely: those are gone. */
static void explain_name(PyObject *type)
{
    static const char text[] = "Every call is a fresh process, which keeps no names of "
                               "earlier calls: define "
                               "them again, or keep values in files of the workspace.";
    if (type == PyExc_NameError)
        say(text, strlen(text));
}

/* What is raised is told as Python tells it. */
static int tell_exception(void)
{
    auto_ref *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace)
        PyException_SetTraceback(value, trace);
    if (PyErr_GivenExceptionMatches(type, PyExc_SystemExit))
        return exit_code_of(value);
    auto_ref *done = PyObject_CallFunctionObjArgs(run.print_exception, value, NULL);
    if (!done)
        PyErr_Print();
    explain_name(type);
    return 1;
}

static void flush(const char *name)
{
    PyObject *stream = PySys_GetObject(name); /* borrowed */
    auto_ref *done = stream && stream != Py_None
                             ? PyObject_CallMethod(stream, "flush", NULL)
                             : NULL;
    if (!done)
        PyErr_Clear();
}

static bool set_argv(const json_t *argv)
{
    auto_ref *list = PyList_New(0);
    auto_ref *first = PyUnicode_FromString(SNIPPET_NAME);
    if (!list || !first || PyList_Append(list, first))
        return false;
    for (size_t i = 0; i < json_array_size(argv); i++) {
        struct str text = json_str(json_array_get(argv, i));
        auto_ref *word =
                PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "surrogateescape");
        if (!word || PyList_Append(list, word))
            return false;
    }
    return !PySys_SetObject("argv", list);
}

static bool start(const struct snippet *s, struct outcome *out)
{
    auto_buf violations = BUF((size_t)1 << 20);
    AUTO(program_finish) struct program program = { 0 };
    auto_ref *source =
            PyUnicode_DecodeUTF8(s->code.data, (Py_ssize_t)s->code.len, "surrogatepass");
    auto_ref *tree =
            source && set_argv(s->argv) && remember_lines(source) ? parse(source) : NULL;
    if (!tree)
        return false;
    if (guard.armed && !rules_check(tree, &violations)) {
        if (violations.len)
            say(violations.data, violations.len);
        out->exit_code = 1;
        return violations.len;
    }
    out->modules = json_array();
    if (guard.armed && !guard.setup->network && rules_needs_network(tree, out->modules)) {
        out->retry_network = true;
        return true;
    }
    return compile_program(tree, &program) && (!s->seals || seal_after_imports(tree)) &&
           execute(&program, out);
}

void run_snippet(const struct snippet *s, struct outcome *out)
{
    run.timed_out = false;
    run.timeout_ms = s->timeout_ms;
    set_alarm(s->timeout_ms);
    if (!start(s, out))
        out->exit_code = tell_exception();
    if (!s->is_rehearsal && !ending_run())
        out->exit_code = tell_exception();
    set_alarm(0);
    flush("stdout");
    flush("stderr");
    out->timed_out = run.timed_out;
    if (out->timed_out || out->exit_code) {
        out->has_result = false;
        json_decref(out->images);
        out->images = NULL;
    }
}
