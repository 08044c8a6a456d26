#include "python/results.h"

/* Of a list, and of the lists in it. */
#define MAX_LOOKED_AT 4
#define MAX_DEPTH     2

static bool is_of_matplotlib(PyObject *value)
{
    auto_ref *module = PyObject_GetAttrString((PyObject *)Py_TYPE(value), "__module__");
    const char *name =
            module && PyUnicode_Check(module) ? PyUnicode_AsUTF8(module) : NULL;
    PyErr_Clear();
    return name && str_starts(str_of(name), STR("matplotlib."));
}

/* A new reference: the figure itself, or that which an axes, a line, ... is part of. */
static PyObject *figure_of(PyObject *value)
{
    if (!is_of_matplotlib(value))
        return NULL;
    if (PyObject_HasAttrString(value, "savefig"))
        return Py_NewRef(value);
    PyObject *figure = PyObject_GetAttrString(value, "figure");
    if (figure && is_of_matplotlib(figure) && PyObject_HasAttrString(figure, "savefig"))
        return figure;
    PyErr_Clear();
    Py_XDECREF(figure);
    return NULL;
}

/* What functions that draw return is a list of such, or a tuple with one in it. */
static PyObject *find_figure(PyObject *value, unsigned depth)
{
    PyObject *figure = NULL;
    if (!PyList_Check(value) && !PyTuple_Check(value))
        return figure_of(value);
    for (Py_ssize_t i = 0; !figure && depth && i < MAX_LOOKED_AT; i++) {
        if (i >= PySequence_Fast_GET_SIZE(value))
            break;
        auto_ref *item = Py_NewRef(PySequence_Fast_GET_ITEM(value, i));
        figure = find_figure(item, depth - 1);
    }
    return figure;
}

static PyObject *save_figure(PyObject *figure)
{
    auto_ref *name = PyUnicode_FromString("io");
    auto_ref *io = name ? PyImport_GetModule(name) : NULL;
    auto_ref *file = io ? PyObject_CallMethod(io, "BytesIO", NULL) : NULL;
    auto_ref *save = file ? PyObject_GetAttrString(figure, "savefig") : NULL;
    auto_ref *args = save ? PyTuple_Pack(1, file) : NULL;
    auto_ref *options =
            args ? Py_BuildValue("{ssss}", "format", "png", "bbox_inches", "tight")
                 : NULL;
    auto_ref *done = options ? PyObject_Call(save, args, options) : NULL;
    return done ? PyObject_CallMethod(file, "getvalue", NULL) : NULL;
}

/* A new reference: bytes of a PNG as a rule; NULL: there is no picture. */
static PyObject *picture_of(PyObject *value)
{
    /* Of the class: an instance may say that it has every attribute. */
    if (PyObject_HasAttrString((PyObject *)Py_TYPE(value), "_repr_png_"))
        return PyObject_CallMethod(value, "_repr_png_", NULL);
    auto_ref *figure = find_figure(value, MAX_DEPTH);
    return figure ? save_figure(figure) : NULL;
}

static void add_base64(struct str bytes, struct buf *out)
{
    static const char digits[] =
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < bytes.len; i += 3) {
        size_t left = bytes.len - i;
        const unsigned char *at = (const unsigned char *)bytes.data + i;
        unsigned group = (unsigned)at[0] << 16 | (left > 1 ? (unsigned)at[1] << 8 : 0) |
                         (left > 2 ? at[2] : 0);
        buf_addc(out, digits[group >> 18]);
        buf_addc(out, digits[group >> 12 & 63]);
        buf_addc(out, left > 1 ? digits[group >> 6 & 63] : '=');
        buf_addc(out, left > 2 ? digits[group & 63] : '=');
    }
}

static void say_too_large(size_t size)
{
    PySys_WriteStderr("The picture of the result is left out: it has %zu bytes, and %zu "
                      "are the most. Make it smaller, or save it to a file.\n",
            size, RESULTS_MAX_IMAGE);
}

static void add(struct str png, json_t **images)
{
    if (!str_starts(png, STR("\x89PNG\r\n\x1a\n")))
        return;
    if (png.len > RESULTS_MAX_IMAGE) {
        say_too_large(png.len);
        return;
    }
    auto_buf text = BUF(RESULTS_MAX_IMAGE / 3 * 4 + 8);
    add_base64(png, &text);
    if (!*images)
        *images = json_array();
    json_array_append_new(*images,
            json_pack("{s:s, s:s%}", "mime", "image/png", "data", text.data, text.len));
}

void results_add_image(PyObject *value, json_t **images)
{
    auto_ref *picture = picture_of(value);
    if (picture && PyBytes_Check(picture))
        add((struct str){ PyBytes_AS_STRING(picture), (size_t)PyBytes_GET_SIZE(picture) },
                images);
    PyErr_Clear();
}
