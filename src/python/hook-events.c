/* Events as `serve --debug` logs them: one message each, while the snippet runs. */
#include "python/hook-parts.h"

#include "base/json.h"
#include "base/wire.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

/* Many that are harmless do not hide what was refused. */
enum {
    MAX_EVENTS = 20000,
    MAX_REFUSED = 2 * MAX_EVENTS,
    MAX_DETAIL = 300,
    MAX_DEPTH = 3
};

#define PATIENCE_MS 1000

static const char *const decision_names[] = { "allow", "observe", "import-exempt",
    "deny" };

static void add_text(PyObject *text, struct buf *out)
{
    auto_ref *start = PyUnicode_Substring(text, 0, MAX_DETAIL);
    auto_ref *bytes =
            start ? PyUnicode_AsEncodedString(start, "utf-8", "backslashreplace") : NULL;
    if (bytes)
        buf_add(out, (struct str){
                             PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes) });
    PyErr_Clear();
}

/* No method of the object is called: it may be the snippet's own. */
static void add_value(PyObject *value, unsigned depth, struct buf *out);

static void add_items(PyObject *items, unsigned depth, struct buf *out)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    bool is_tuple = PyTuple_Check(items);
    buf_addc(out, is_tuple ? '(' : '[');
    for (Py_ssize_t i = 0; i < count && !out->full; i++) {
        if (i)
            buf_add(out, STR(", "));
        add_value(PySequence_Fast_GET_ITEM(items, i), depth + 1, out);
    }
    buf_addc(out, is_tuple ? ')' : ']');
}

static void add_value(PyObject *value, unsigned depth, struct buf *out)
{
    if (PyUnicode_Check(value)) {
        if (depth)
            buf_addc(out, '\'');
        add_text(value, out);
        if (depth)
            buf_addc(out, '\'');
    } else if (PyBytes_Check(value)) {
        buf_add(out, STR("b'"));
        struct str all = { PyBytes_AS_STRING(value), (size_t)PyBytes_GET_SIZE(value) };
        buf_add_shown(out, str_sub(all, 0, MAX_DETAIL));
        buf_addc(out, '\'');
    } else if (PyBool_Check(value) || value == Py_None) {
        buf_add(out, str_of(value == Py_True    ? "True"
                             : value == Py_None ? "None"
                                                : "False"));
    } else if (PyLong_Check(value)) {
        int overflow;
        buf_addf(out, "%lld", PyLong_AsLongLongAndOverflow(value, &overflow));
    } else if (depth < MAX_DEPTH && (PyTuple_Check(value) || PyList_Check(value))) {
        add_items(value, depth, out);
    } else {
        buf_addf(out, "<%.100s>", Py_TYPE(value)->tp_name);
    }
}

static void add_arg(const struct event *e, Py_ssize_t index, unsigned depth,
        const char *before, struct buf *out)
{
    PyObject *value = event_arg(e, index);
    if (!value)
        return;
    buf_add(out, str_of(before));
    add_value(value, depth, out);
}

static void write_detail(const struct event *e, struct buf *out)
{
    struct str name = str_of(e->name);
    if (str_is(name, "open")) {
        add_arg(e, 0, 0, "", out);
        add_arg(e, 1, 1, " mode=", out);
    } else if (str_starts(name, STR("socket."))) {
        add_arg(e, PyTuple_GET_SIZE(e->args) - 1, 1, "addr=", out);
    } else if (str_is(name, "subprocess.Popen")) {
        add_arg(e, 0, 0, "exe=", out);
        add_arg(e, 1, 1, " args=", out);
    } else if (str_is(name, "os.system")) {
        add_arg(e, 0, 0, "cmd=", out);
    } else {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(e->args); i++)
            add_arg(e, i, 0, i ? " | " : "", out);
    }
}

/* Nothing of a message, or all of it.  False: the server does not read. */
static bool send_patiently(int fd, struct str bytes)
{
    struct str rest = bytes;
    while (rest.len) {
        ssize_t n = send(fd, rest.data, rest.len, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n >= 0) {
            rest = str_from(rest, (size_t)n);
            continue;
        }
        if (errno != EAGAIN && errno != EINTR)
            return false;
        struct pollfd ready = { .fd = fd, .events = POLLOUT };
        if (errno == EAGAIN && !poll(&ready, 1, PATIENCE_MS) && rest.len == bytes.len)
            return false;
    }
    return true;
}

static void tell(const char *name, const char *decision, const char *caller,
        const struct buf *detail)
{
    auto_buf text = BUF((size_t)16 << 10), message = BUF((size_t)17 << 10);
    json_auto_t *object = json_pack("{s:s, s:s, s:s, s:i, s:o}", "event", name,
            "decision", decision, "caller", caller, "pid", getpid(), "detail",
            json_text(str_sub(buf_str(detail), 0, MAX_DETAIL)));
    json_write(object, &text);
    const struct wire_message m = { WIRE_EVENT, 1, { buf_str(&text) } };
    wire_write(&m, &message);
    if (text.full || message.full)
        return;
    if (!send_patiently(guard.events, buf_str(&message)))
        guard.events = -1;
}

/* Callers hold the GIL, so one is told after the other. */
void events_tell(const struct event *e, enum decision decision)
{
    static unsigned told;
    if (guard.events < 0 || !guard.setup->events || told > MAX_REFUSED ||
            (told > MAX_EVENTS && decision != DECIDED_DENY))
        return;
    auto_ref *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    auto_buf detail = BUF((size_t)16 << 10);
    if (told++ == MAX_EVENTS)
        buf_add(&detail, STR("more events are left out"));
    else
        write_detail(e, &detail);
    tell(e->name, decision_names[decision], caller_name(caller_responsible()), &detail);
    PyErr_Restore(TAKE(type), TAKE(value), TAKE(trace));
}
