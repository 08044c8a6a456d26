#include "python/hook-parts.h"

PyObject *event_arg(const struct event *e, Py_ssize_t index)
{
    return index < PyTuple_GET_SIZE(e->args) ? PyTuple_GET_ITEM(e->args, index) : NULL;
}

static const char *const disposition_names[] = {
    [AUDIT_FS] = "fs",
    [AUDIT_FS_WRITE] = "fs-write",
    [AUDIT_FS_WRITE_PAIR] = "fs-write-pair",
    [AUDIT_AGENT_DENY] = "agent-deny",
    [AUDIT_NETWORK] = "network",
    [AUDIT_SHELL] = "shell",
    [AUDIT_OBSERVE] = "observe",
    [AUDIT_ALLOW] = "allow",
    [AUDIT_SQLITE_CONNECT] = "sqlite-connect",
};

void event_refuse_begin(const struct event *e, struct refusal *why)
{
    const char *name = disposition_names[e->rule->disposition];
    refusal_begin(why, "audit", &e->rule->origin);
    buf_addf(&why->what, "%s is not permitted (audit policy: %s)", e->name, name);
    buf_addf(&why->rule, "[audit] \"%.*s\" = \"%s\"", STR_ARG(e->rule->event), name);
}

static enum decision refuse(const struct event *e, const char *hint)
{
    auto_refusal why;
    refusal_init(&why);
    event_refuse_begin(e, &why);
    buf_add(&why.hint, str_of(hint));
    guard_refuse(PyExc_PermissionError, &why);
    return DECIDED_DENY;
}

static bool matches(struct str pattern, struct str name)
{
    return str_ends(pattern, STR("*"))
                   ? str_starts(name, str_sub(pattern, 0, pattern.len - 1))
                   : str_eq(pattern, name);
}

static const struct policy_audit *find_rule(struct str name)
{
    const struct policy *policy = guard.setup->policy;
    const struct policy_audit *found = NULL;
    for (size_t i = 0; i < policy->audit_count; i++) {
        const struct policy_audit *rule = &policy->audit[i];
        if (!matches(rule->event, name))
            continue;
        if (str_eq(rule->event, name))
            return rule;
        found = found ? found : rule;
    }
    return found;
}

/* Events of the same kind of change as another that the table knows. */
static const struct policy_audit *find_akin(struct str name)
{
    static const char *const akin[] = { "os.utime", "os.setxattr", "os.removexattr",
        "os.chflags" };
    return str_which(name, akin, ARRAY_LEN(akin)) < ARRAY_LEN(akin)
                   ? find_rule(STR("os.chmod"))
                   : NULL;
}

/*
 * Not what a library does for itself: whoever wants it has to be trusted, and to have the
 * library do it is to want it.
 */
static bool is_never_internal(struct str name)
{
    static const char *const names[] = { "os.exec", "os.fork", "os.forkpty",
        "os.posix_spawn", "os.spawn", "os.system", "pty.spawn" };
    return str_starts(name, STR("ctypes.")) ||
           str_which(name, names, ARRAY_LEN(names)) < ARRAY_LEN(names);
}

/* The words of code that raises an event by itself, beside those in the event's name. */
static const char *const other_words[] = { "audit", "load", "loads", "Unpickler",
    "replace", "CodeType", "FunctionType" };

/*
 * Did the snippet give the library what it calls, `mmap.mmap` for a thread to call?  Code
 * of the library that does it by itself has a part of the event's name in it.
 */
static bool is_given(struct str event)
{
    if (caller_innermost() != CALLER_LIBRARY)
        return false;
    for (struct str rest = event; rest.len;) {
        auto_free char *word = str_copy(str_cut(&rest, '.'));
        if (!caller_is_snippet(word))
            return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(other_words); i++)
        if (!caller_is_snippet(other_words[i]))
            return false;
    return true;
}

static enum decision deny_agent(const struct event *e)
{
    struct str name = str_of(e->name);
    enum caller caller = is_never_internal(name) ? caller_behind() : caller_nearest();
    if (caller != CALLER_AGENT && !is_given(name))
        return DECIDED_ALLOW;
    /* The import machinery reads bytecode; that it is a library's is known by now. */
    if (caller_innermost() == CALLER_IMPORT && str_starts(name, STR("marshal.")))
        return DECIDED_EXEMPT;
    return refuse(e, "Libraries may do it; a snippet does without.");
}

static enum decision decide_network(const struct event *e)
{
    if (caller_behind() != CALLER_AGENT)
        return DECIDED_ALLOW;
    return refuse(e, "A package of [imports] may use the network; a snippet's own code "
                     "and the standard library on its behalf may not.");
}

static enum decision decide(const struct event *e)
{
    switch (e->rule->disposition) {
    case AUDIT_FS:
        return files_open(e);
    case AUDIT_FS_WRITE:
        return files_write(e, false);
    case AUDIT_FS_WRITE_PAIR:
        return files_write(e, true);
    case AUDIT_AGENT_DENY:
        return deny_agent(e);
    case AUDIT_NETWORK:
        return decide_network(e);
    case AUDIT_SQLITE_CONNECT:
        return database_connect(e);
    case AUDIT_SHELL: /* what is started is decided where it is started */
    case AUDIT_OBSERVE:
    case AUDIT_ALLOW:
        break;
    }
    return DECIDED_OBSERVE;
}

/* Whose code it is has to stay true under any policy. */
static bool check_code(const char *name, PyObject *args)
{
    PyObject *first = PyTuple_GET_SIZE(args) > 0 ? PyTuple_GET_ITEM(args, 0) : NULL;
    PyObject *second = PyTuple_GET_SIZE(args) > 1 ? PyTuple_GET_ITEM(args, 1) : NULL;
    if (!strcmp(name, "compile"))
        return first && second && caller_check_compile(first, second);
    if (!strcmp(name, "code.__new__"))
        return second && caller_check_new_code(second);
    if (!strcmp(name, "marshal.loads") || !strcmp(name, "marshal.load"))
        return caller_check_marshal(first);
    return true;
}

/* Who decides what is started, in the server, tells of it as well. */
static bool is_silent(const struct event *e)
{
    enum audit_disposition disposition = e->rule->disposition;
    bool is_told = guard.broker >= 0 && !strcmp(e->name, "subprocess.Popen");
    return disposition == AUDIT_ALLOW ||
           (is_told && (disposition == AUDIT_SHELL || disposition == AUDIT_OBSERVE));
}

static int on_event(const char *name, PyObject *args, void *user UNUSED)
{
    if (!guard.armed || guard_is_inside())
        return 0;
    struct event e = { .name = name, .args = args };
    enum decision decision = DECIDED_DENY;
    bool is_ours = check_code(name, args);
    e.rule = find_rule(str_of(name));
    if (!e.rule)
        e.rule = find_akin(str_of(name));
    if (is_ours && (!e.rule || is_silent(&e)))
        return 0;
    if (is_ours)
        decision = decide(&e);
    events_tell(&e, decision);
    if (decision != DECIDED_DENY)
        return 0;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_PermissionError,
                "%s is not permitted: it could not be decided", name);
    return -1;
}

bool hook_install(void)
{
    return !PySys_AddAuditHook(on_event, NULL);
}
