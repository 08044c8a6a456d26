#include "python/guard.h"

#include "policy/pyre/pyre.h"

struct guard guard = { .broker = -1, .events = -1 };

static _Thread_local unsigned depth;

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

PyObject *guard_refuse(PyObject *type, const struct refusal *why)
{
    auto_buf text = BUF((size_t)1 << 16);
    refusal_write(why, &text);
    auto_ref *message = PyUnicode_DecodeUTF8(
            text.data ? text.data : "", (Py_ssize_t)text.len, "replace");
    if (message)
        PyErr_SetObject(type, message);
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

void guard_unref(PyObject **object)
{
    Py_XDECREF(*object);
}
