#include "python/hook-parts.h"

/* How a database may be opened is all in its name. */
static const char *const harmless[] = { "mode=ro", "immutable=1", "immutable=0",
    "cache=private", "cache=shared", "nolock=0", "nolock=1" };

static bool is_read_only(struct str options)
{
    bool read_only = false;
    while (options.len) {
        struct str option = str_cut(&options, '&');
        if (str_which(option, harmless, ARRAY_LEN(harmless)) == ARRAY_LEN(harmless))
            return false;
        read_only |= str_is(option, "mode=ro");
    }
    return read_only;
}

static int hex(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c ? strchr(digits, c | ('A' <= c && c <= 'F' ? 0x20 : 0)) : NULL;
    return at ? (int)(at - digits) : -1;
}

/* The path of "file:PATH", "file:///PATH", "file://localhost/PATH", as SQLite reads it.
 */
static bool take_path(struct str uri, struct buf *out)
{
    struct str text = str_from(uri, sizeof("file:") - 1);
    if (str_starts(text, STR("//"))) {
        struct str rest = str_from(text, 2), host = str_cut(&rest, '/');
        if (host.len && !str_is(host, "localhost"))
            return false;
        text = str_from(text, 2 + host.len);
    }
    for (size_t i = 0; i < text.len; i++) {
        int high = -1, low = -1;
        if (text.data[i] == '%' && i + 2 < text.len) {
            high = hex(text.data[i + 1]);
            low = hex(text.data[i + 2]);
        }
        if (text.data[i] == '%' && (high < 0 || low < 0 || !(high | low)))
            return false;
        buf_addc(out, high < 0 ? text.data[i] : (char)(high << 4 | low));
        i += high < 0 ? 0 : 2;
    }
    return out->len && !out->full;
}

static bool take_uri(struct str uri, struct buf *path)
{
    struct str options = uri;
    return str_starts(uri, STR("file:")) && !memchr(uri.data, '#', uri.len) &&
           !memchr(uri.data, 0, uri.len) && take_path(str_cut(&options, '?'), path) &&
           is_read_only(options);
}

/* Where the name is none of a URI (uri=False), it is that of a file to be made. */
static bool judge(PyObject *name, const struct buf *path)
{
    struct located at;
    bool exempt;
    auto_arena *arena = arena_create();
    auto_ref *bytes = PyBytes_FromStringAndSize(path->data, (Py_ssize_t)path->len);
    return bytes && path_locate(bytes, -1, true, false, arena, &at) &&
           path_judge(at.path, PATH_READ, &exempt) &&
           path_locate(name, -1, true, false, arena, &at) &&
           path_judge(at.path, PATH_WRITE, &exempt);
}

static enum decision refuse(const struct event *e)
{
    auto_refusal why;
    refusal_init(&why);
    event_refuse_begin(e, &why);
    buf_add(&why.hint, STR("A snippet opens databases for reading only: "
                           "sqlite3.connect('file:PATH?mode=ro', uri=True)."));
    guard_refuse(PyExc_PermissionError, &why);
    return DECIDED_DENY;
}

enum decision database_connect(const struct event *e)
{
    if (caller_behind() != CALLER_AGENT)
        return DECIDED_ALLOW;
    PyObject *name = event_arg(e, 0);
    auto_buf path = BUF((size_t)1 << 16);
    Py_ssize_t len = 0;
    const char *text = NULL;
    if (name && PyUnicode_Check(name))
        text = PyUnicode_AsUTF8AndSize(name, &len);
    else if (name && PyBytes_Check(name))
        text = PyBytes_AS_STRING(name), len = PyBytes_GET_SIZE(name);
    PyErr_Clear();
    if (!text || !take_uri((struct str){ text, (size_t)len }, &path))
        return refuse(e);
    return judge(name, &path) ? DECIDED_ALLOW : DECIDED_DENY;
}
