#include "python/to-json.h"

#include "base/json.h"

/* A way from the value to a part of it. */
struct step {
    PyObject *key; /* borrowed; NULL: `index` of a list */
    Py_ssize_t index;
};

struct writer {
    struct buf *out;
    const char *name;
    size_t values, depth;
    struct step steps[TO_JSON_MAX_DEPTH];
};

static bool write_value(struct writer *w, PyObject *value);

/* Raise `type` with "NAME['key'][2] is ...", taking over the rest of the sentence. */
static bool fail(const struct writer *w, PyObject *type, PyObject *what)
{
    auto_ref *rest = what;
    auto_ref *place = PyUnicode_FromString(w->name);
    for (size_t i = 0; place && rest && i < w->depth; i++) {
        const struct step *s = &w->steps[i];
        auto_ref *key = s->key ? PyUnicode_FromObject(s->key) : NULL;
        PyObject *longer = key ? PyUnicode_FromFormat("%U[%R]", place, key)
                               : PyUnicode_FromFormat("%U[%zd]", place, s->index);
        Py_SETREF(place, longer);
    }
    if (place && rest)
        PyErr_Format(type, "%U %U", place, rest);
    return false;
}

static bool fail_with(const struct writer *w, PyObject *type, const char *what)
{
    return fail(w, type, PyUnicode_FromString(what));
}

static bool write_text(struct writer *w, PyObject *text)
{
    Py_ssize_t len;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &len);
    if (!bytes && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        PyErr_Clear();
        return fail_with(
                w, PyExc_ValueError, "has a lone surrogate, which no JSON text can have");
    }
    if (bytes)
        json_write_text((struct str){ bytes, (size_t)len }, w->out);
    return bytes;
}

static bool write_int(struct writer *w, PyObject *value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow)
        return fail_with(w, PyExc_ValueError,
                "is an integer beyond 64 bits, which would arrive as another number; "
                "pass it as a string");
    buf_addf(w->out, "%lld", number);
    return true;
}

static bool write_float(struct writer *w, PyObject *value)
{
    double number = PyFloat_AS_DOUBLE(value);
    if (!Py_IS_FINITE(number))
        return fail_with(w, PyExc_ValueError, "is a number that JSON does not have");
    char *text = PyOS_double_to_string(number, 'r', 0, Py_DTSF_ADD_DOT_0, NULL);
    if (text)
        buf_add(w->out, str_of(text));
    PyMem_Free(text);
    return text;
}

static bool enter(struct writer *w)
{
    if (w->depth < TO_JSON_MAX_DEPTH)
        return true;
    PyErr_Format(PyExc_ValueError, "%s is nested deeper than %d, or contains itself",
            w->name, TO_JSON_MAX_DEPTH);
    return false;
}

static bool write_list(struct writer *w, PyObject *const *items, Py_ssize_t count)
{
    if (!enter(w))
        return false;
    struct step *step = &w->steps[w->depth++];
    buf_addc(w->out, '[');
    for (Py_ssize_t i = 0; i < count; i++) {
        *step = (struct step){ .index = i };
        if (i)
            buf_addc(w->out, ',');
        if (!write_value(w, items[i]))
            return false;
    }
    buf_addc(w->out, ']');
    w->depth--;
    return true;
}

static bool write_dict(struct writer *w, PyObject *dict)
{
    Py_ssize_t at = 0;
    PyObject *key, *value; /* borrowed */
    if (!enter(w))
        return false;
    struct step *step = &w->steps[w->depth];
    buf_addc(w->out, '{');
    for (bool first = true; PyDict_Next(dict, &at, &key, &value); first = false) {
        if (!PyUnicode_Check(key))
            return fail(w, PyExc_TypeError,
                    PyUnicode_FromFormat("has a key of type %.100s; keys have to be str",
                            Py_TYPE(key)->tp_name));
        if (!first)
            buf_addc(w->out, ',');
        if (!write_text(w, key))
            return false;
        buf_addc(w->out, ':');
        *step = (struct step){ .key = key };
        w->depth++;
        if (!write_value(w, value))
            return false;
        w->depth--;
    }
    buf_addc(w->out, '}');
    return true;
}

static bool refuse(const struct writer *w, PyObject *value)
{
    bool bytes = PyBytes_Check(value) || PyByteArray_Check(value);
    return fail(w, PyExc_TypeError,
            PyUnicode_FromFormat("is of type %.100s, which JSON does not have; %s",
                    Py_TYPE(value)->tp_name,
                    bytes ? "decode it, or encode it with base64"
                          : "pass None, bool, int, float, str, list, tuple or dict"));
}

static bool write_any(struct writer *w, PyObject *value)
{
    if (PyUnicode_Check(value))
        return write_text(w, value);
    if (value == Py_None || PyBool_Check(value)) {
        buf_add(w->out, value == Py_None   ? STR("null")
                        : value == Py_True ? STR("true")
                                           : STR("false"));
        return true;
    }
    if (PyLong_Check(value))
        return write_int(w, value);
    if (PyFloat_Check(value))
        return write_float(w, value);
    if (PyDict_Check(value))
        return write_dict(w, value);
    if (PyList_Check(value) || PyTuple_Check(value))
        return write_list(
                w, PySequence_Fast_ITEMS(value), PySequence_Fast_GET_SIZE(value));
    return refuse(w, value);
}

static bool write_value(struct writer *w, PyObject *value)
{
    if (w->out->full || ++w->values > TO_JSON_MAX_VALUES) {
        PyErr_Format(PyExc_ValueError, "%s: more than %zu bytes of JSON, or %zu values",
                w->name, w->out->max, TO_JSON_MAX_VALUES);
        return false;
    }
    return write_any(w, value);
}

bool to_json(PyObject *value, const char *name, struct buf *out)
{
    struct writer w = { .out = out, .name = name };
    if (!write_value(&w, value))
        return false;
    if (out->full)
        PyErr_Format(PyExc_ValueError, "%s: more than %zu bytes of JSON", name, out->max);
    return !out->full;
}
