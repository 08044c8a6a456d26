#include "python/mcp-module.h"

#include "python/mcp-client.h"
#include "python/stand-in.h"
#include "python/to-json.h"

#include <limits.h>

static PyObject *error_type; /* pyddock_mcp.Error */
static PyObject *decode;     /* the library's, for JSON without NaN */

/* Raise `type` with a text that is from outside.  Returns NULL. */
static PyObject *raise_text(PyObject *type, PyObject *text)
{
    if (text && PyUnicode_Check(text))
        PyErr_SetObject(type, text);
    else if (!PyErr_Occurred())
        PyErr_SetString(error_type, "the answer of the server makes no sense");
    return NULL;
}

/* The value at `key` of a dictionary, borrowed; NULL without an exception. */
static PyObject *at(PyObject *dict, const char *key)
{
    return dict && PyDict_Check(dict) ? PyDict_GetItemString(dict, key) : NULL;
}

static bool is_word(PyObject *value, const char *word)
{
    return value && PyUnicode_Check(value) &&
           !PyUnicode_CompareWithASCIIString(value, word);
}

/* A new reference: the text of a part, borrowed from it; NULL: it is no text. */
static PyObject *text_of_part(PyObject *part)
{
    PyObject *text = at(part, "text");
    return is_word(at(part, "type"), "text") && text && PyUnicode_Check(text) ? text
                                                                              : NULL;
}

/* The texts of a list of parts in lines; `*others` says how many are no text. */
static PyObject *join_texts(PyObject *content, size_t *others)
{
    Py_ssize_t count = content && PyList_Check(content) ? PyList_GET_SIZE(content) : 0;
    auto_ref *texts = PyList_New(0);
    auto_ref *newline = PyUnicode_FromString("\n");
    *others = 0;
    for (Py_ssize_t i = 0; texts && i < count; i++) {
        PyObject *text = text_of_part(PyList_GET_ITEM(content, i));
        if (!text)
            ++*others;
        else if (PyList_Append(texts, text))
            return NULL;
    }
    return texts && newline ? PyUnicode_Join(newline, texts) : NULL;
}

static bool begins_as_json(PyObject *text)
{
    Py_ssize_t i = 0, len = PyUnicode_GET_LENGTH(text);
    while (i < len && Py_UNICODE_ISSPACE(PyUnicode_READ_CHAR(text, i)))
        i++;
    Py_UCS4 first = i < len ? PyUnicode_READ_CHAR(text, i) : 0;
    return first == '{' || first == '[';
}

/* What an object or an array as text means, or the text.  Takes over `text`. */
static PyObject *read_text(PyObject *text)
{
    PyObject *value =
            text && begins_as_json(text) ? PyObject_CallOneArg(decode, text) : NULL;
    if (value) {
        Py_DECREF(text);
        return value;
    }
    if (text && PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_ValueError) &&
                !PyErr_ExceptionMatches(PyExc_RecursionError))
            Py_CLEAR(text); /* a signal's handler, most likely */
        else
            PyErr_Clear();
    }
    return text;
}

/* The value of a tool's result. */
static PyObject *value_of(PyObject *result)
{
    size_t others;
    PyObject *structured = at(result, "structuredContent");
    PyObject *content = at(result, "content");
    if (structured && structured != Py_None)
        return Py_NewRef(structured);
    if (!content || !PyList_Check(content) || !PyList_GET_SIZE(content))
        Py_RETURN_NONE;
    PyObject *text = join_texts(content, &others);
    if (!others)
        return read_text(text);
    Py_XDECREF(text);
    return Py_NewRef(content);
}

static PyObject *raise_error(PyObject *result)
{
    size_t others;
    auto_ref *text = join_texts(at(result, "content"), &others);
    if (text && PyUnicode_GET_LENGTH(text))
        return raise_text(error_type, text);
    if (text)
        PyErr_SetString(error_type, "the tool has failed, and does not say why");
    return NULL;
}

static void note_rule(PyObject *rule)
{
    Py_ssize_t len;
    const char *text =
            rule && PyUnicode_Check(rule) ? PyUnicode_AsUTF8AndSize(rule, &len) : NULL;
    if (!text)
        PyErr_Clear();
    guard_note_text(text ? (struct str){ text, (size_t)len } : STR("mcp"));
}

static PyObject *read_answer(PyObject *answer)
{
    PyObject *found;
    if ((found = at(answer, "answered")) && PyDict_Check(found))
        return at(found, "isError") == Py_True ? raise_error(found) : value_of(found);
    if ((found = at(answer, "listed")))
        return Py_NewRef(found);
    if ((found = at(answer, "timed_out")))
        return raise_text(PyExc_TimeoutError, found);
    if ((found = at(answer, "refused"))) {
        note_rule(at(answer, "rule"));
        return raise_text(PyExc_PermissionError, found);
    }
    return raise_text(error_type, at(answer, "failed"));
}

static PyObject *ask(const struct mcp_request *request)
{
    auto_buf answer = BUF(MCP_MAX_ANSWER);
    if (!mcp_ask(request, &answer))
        return NULL;
    auto_ref *text = PyUnicode_DecodeUTF8(
            answer.data ? answer.data : "", (Py_ssize_t)answer.len, "replace");
    buf_finish(&answer);
    auto_ref *value =
            text && PyUnicode_GET_LENGTH(text) ? PyObject_CallOneArg(decode, text) : NULL;
    if (!value && !PyErr_Occurred())
        PyErr_SetString(error_type, "the server has ended the call");
    return value ? read_answer(value) : NULL;
}

static bool read_name(PyObject *name, const char *what, struct str *out)
{
    Py_ssize_t len;
    const char *text = PyUnicode_AsUTF8AndSize(name, &len);
    if (!text)
        return false;
    if (!len)
        PyErr_Format(PyExc_ValueError, "the %s cannot be empty", what);
    *out = (struct str){ text, (size_t)len };
    return len;
}

static bool read_timeout(PyObject *timeout, unsigned *out)
{
    if (timeout == Py_None)
        return true;
    double seconds = PyFloat_AsDouble(timeout);
    if (PyErr_Occurred())
        return false;
    if (!(seconds > 0)) {
        PyErr_SetString(PyExc_ValueError, "timeout is a positive number of seconds");
        return false;
    }
    *out = seconds > INT_MAX / 1000 ? 0 : seconds < 0.001 ? 1 : (unsigned)(seconds * 1e3);
    return true;
}

static PyObject *call(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    static char names[][10] = { "server", "tool", "arguments", "timeout" };
    static char *words[] = { names[0], names[1], names[2], names[3], NULL };
    PyObject *server, *tool, *arguments = Py_None, *timeout = Py_None;
    struct mcp_request request = { 0 };
    auto_buf json = BUF(MCP_MAX_ARGUMENTS);
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "UU|O$O:call", words, &server, &tool,
                &arguments, &timeout) ||
            !read_name(server, "name of a server", &request.server) ||
            !read_name(tool, "name of a tool", &request.tool) ||
            !read_timeout(timeout, &request.timeout_ms))
        return NULL;
    if (arguments != Py_None && !PyDict_Check(arguments)) {
        PyErr_Format(PyExc_TypeError, "arguments is a dict or None, not %.100s",
                Py_TYPE(arguments)->tp_name);
        return NULL;
    }
    if (arguments != Py_None && !to_json(arguments, "arguments", &json))
        return NULL;
    request.arguments = buf_str(&json);
    return ask(&request);
}

static PyObject *tools(PyObject *self UNUSED, PyObject *args, PyObject *keywords)
{
    static char names[][10] = { "server", "timeout" };
    static char *words[] = { names[0], names[1], NULL };
    PyObject *server, *timeout = Py_None;
    struct mcp_request request = { .tool = STR("") };
    if (!PyArg_ParseTupleAndKeywords(
                args, keywords, "U|$O:tools", words, &server, &timeout) ||
            !read_name(server, "name of a server", &request.server) ||
            !read_timeout(timeout, &request.timeout_ms))
        return NULL;
    return ask(&request);
}

static PyObject *refuse_constant(PyObject *self UNUSED, PyObject *word)
{
    PyErr_Format(PyExc_ValueError, "%S is not JSON", word);
    return NULL;
}

#define WITH_KEYWORDS(function) \
    (PyCFunction)(void (*)(void)) function, METH_VARARGS | METH_KEYWORDS

static PyMethodDef functions[] = {
    { "call", WITH_KEYWORDS(call),
            "call($module, server, tool, arguments=None, *, timeout=None)\n--\n\n"
            "Call a tool of another MCP server, if [mcp.SERVER] allows it.\n\n"
            "The value is the structured content of the result; else its text, parsed\n"
            "if it is a JSON object or array; else None. With images or resources it is\n"
            "the list of all parts, as dictionaries. PermissionError: the policy "
            "refuses\n"
            "it; Error: the tool or its server has failed; TimeoutError: after "
            "`timeout`\n"
            "seconds." },
    { "tools", WITH_KEYWORDS(tools),
            "tools($module, server, *, timeout=None)\n--\n\n"
            "The tools of a server that [mcp.SERVER] allows, as a list of dictionaries\n"
            "with their names, descriptions and input schemas." },
    { 0 },
};

static PyMethodDef constant_method = { "constant", refuse_constant, METH_O, NULL };

static PyObject *find_decode(void)
{
    auto_ref *type = guard_find("json", "JSONDecoder");
    auto_ref *refuse = PyCFunction_New(&constant_method, NULL);
    auto_ref *options = refuse ? Py_BuildValue("{s:O}", "parse_constant", refuse) : NULL;
    auto_ref *none = PyTuple_New(0);
    auto_ref *decoder =
            type && options && none ? PyObject_Call(type, none, options) : NULL;
    return decoder ? PyObject_GetAttrString(decoder, "decode") : NULL;
}

/* For trusted code, in sys.modules. */
static PyObject *create_module(void)
{
    PyObject *module = PyModule_New(MCP_MODULE);
    decode = find_decode();
    error_type = PyErr_NewExceptionWithDoc(MCP_MODULE ".Error",
            "A tool of another server, or that server, has failed.", PyExc_RuntimeError,
            NULL);
    if (module && decode && error_type && !PyModule_AddFunctions(module, functions) &&
            !PyModule_AddObjectRef(module, "Error", error_type) &&
            !PyModule_SetDocString(module, "Tools of other MCP servers.") &&
            !PyDict_SetItemString(PyImport_GetModuleDict(), MCP_MODULE, module))
        return module;
    Py_XDECREF(module);
    return NULL;
}

bool mcp_is_there(void)
{
    return guard.setup->mcp;
}

PyObject *mcp_view_create(void)
{
    static const struct stand_in_kind kind = { MCP_MODULE, NULL, 0, NULL, NULL, NULL };
    static const char *const names[] = { "Error", "call", "tools", NULL };
    auto_ref *module = create_module();
    PyObject *view = module ? stand_in_new(&kind, module) : NULL;
    if (view && stand_in_copy(view, module, names))
        return view;
    Py_XDECREF(view);
    return NULL;
}
