#include "python/guard.h"

#include "policy/pyre/pyre.h"

#include <errno.h>

struct guard guard = { .broker = -1, .events = -1 };

static _Thread_local unsigned depth;

static struct buf first_rule = BUF((size_t)1 << 16);

void guard_enter(void)
{
    depth++;
}

void guard_leave(void)
{
    assert(depth);
    depth--;
}

bool guard_is_inside(void)
{
    return depth > 0;
}

void guard_note_text(struct str rule)
{
    if (!first_rule.len)
        buf_add(&first_rule, rule);
}

void guard_note_rule(struct str rule, const struct origin *origin)
{
    if (first_rule.len)
        return;
    buf_add(&first_rule, rule);
    buf_addc(&first_rule, ' ');
    origin_write(origin, &first_rule);
}

struct str guard_first_rule(void)
{
    return buf_str(&first_rule);
}

void guard_forget_rule(void)
{
    buf_clear(&first_rule);
}

/* Not as an argument: str() of the exception stays the text. */
static void set_errno(PyObject *exception)
{
    auto_ref *number = PyLong_FromLong(EACCES);
    if (!number || PyObject_SetAttrString(exception, "errno", number))
        PyErr_Clear();
}

PyObject *guard_refuse(PyObject *type, const struct refusal *why)
{
    auto_buf text = BUF((size_t)1 << 16);
    if (!first_rule.len)
        refusal_write_rule(why, &first_rule);
    refusal_write(why, &text);
    auto_ref *message = PyUnicode_DecodeUTF8(
            text.data ? text.data : "", (Py_ssize_t)text.len, "replace");
    auto_ref *exception = message ? PyObject_CallOneArg(type, message) : NULL;
    if (!exception)
        return NULL;
    if (PyErr_GivenExceptionMatches(type, PyExc_OSError))
        set_errno(exception);
    PyErr_SetObject(type, exception);
    return NULL;
}

struct str guard_message(struct str subject)
{
    const struct policy *policy = guard.setup->policy;
    for (size_t i = 0; i < policy->message_count; i++)
        if (pyre_match(policy->messages[i].regex.pattern, PYRE_SEARCH, subject) ==
                PYRE_YES)
            return policy->messages[i].text;
    return STR("");
}

PyObject *guard_find(const char *module, const char *name)
{
    auto_ref *from = PyImport_ImportModule(module);
    return from ? PyObject_GetAttrString(from, name) : NULL;
}

void guard_unref(PyObject **object)
{
    Py_XDECREF(*object);
}
