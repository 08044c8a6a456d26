#include "python/rules.h"

#include "python/imports.h"
#include "python/mcp-module.h"

#define MAX_SHOWN 50 /* violations; the others are counted */

enum kind {
    KIND_OTHER,
    KIND_IMPORT,
    KIND_IMPORT_FROM,
    KIND_CALL,
    KIND_ATTRIBUTE,
    KIND_SUBSCRIPT,
    KIND_MATCH_CLASS,
    KIND_MATCH_MAPPING,
    KIND_COUNT,
};

enum field {
    FIELD_ARGS,
    FIELD_ATTR,
    FIELD_FUNC,
    FIELD_ID,
    FIELD_KEYS,
    FIELD_KWD_ATTRS,
    FIELD_LEVEL,
    FIELD_LINENO,
    FIELD_MODULE,
    FIELD_NAME,
    FIELD_NAMES,
    FIELD_SLICE,
    FIELD_VALUE,
    FIELD_COUNT,
};

static const char *const field_names[FIELD_COUNT] = { "args", "attr", "func", "id",
    "keys", "kwd_attrs", "level", "lineno", "module", "name", "names", "slice", "value" };

static struct {
    PyTypeObject *node, *expression, *context, *name, *constant; /* ast.AST, ... */
    PyTypeObject *kinds[KIND_COUNT];
    PyObject *fields[FIELD_COUNT];
    PyObject *calls, *attributes; /* {name: index in the policy's list} */
} rules;

/* The nodes that have been found; those from `next` on have not been looked at. */
struct walk {
    PyObject **items; /* borrowed from the tree */
    size_t count, cap, next;
    bool statements_only;
};

struct check {
    struct buf *out;
    size_t count;
    PyObject *node; /* that is looked at */
    bool told_imports;
    bool failed; /* an exception is set */
};

static PyTypeObject *find_type(PyObject *ast, const char *name)
{
    PyObject *found = PyObject_GetAttrString(ast, name);
    if (found && PyType_Check(found))
        return (PyTypeObject *)found;
    Py_XDECREF(found);
    return NULL;
}

static PyObject *index_of(const struct policy_texts *texts)
{
    PyObject *index = PyDict_New();
    for (size_t i = 0; index && i < texts->count; i++) {
        struct str text = texts->items[i].text;
        auto_ref *name = PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, NULL);
        auto_ref *number = PyLong_FromSize_t(i);
        if (!name || !number || !PyDict_SetDefault(index, name, number))
            Py_CLEAR(index);
    }
    return index;
}

bool rules_init(void)
{
    static const char *const names[KIND_COUNT] = { NULL, "Import", "ImportFrom", "Call",
        "Attribute", "Subscript", "MatchClass", "MatchMapping" };
    auto_ref *ast = PyImport_ImportModule("ast");
    if (!ast)
        return false;
    rules.node = find_type(ast, "AST");
    rules.expression = find_type(ast, "expr");
    rules.context = find_type(ast, "expr_context");
    rules.name = find_type(ast, "Name");
    rules.constant = find_type(ast, "Constant");
    for (size_t i = 1; i < KIND_COUNT; i++)
        if (!(rules.kinds[i] = find_type(ast, names[i])))
            return false;
    rules.calls = index_of(&guard.setup->policy->block_calls);
    rules.attributes = index_of(&guard.setup->policy->block_attributes);
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (!(rules.fields[i] = PyUnicode_InternFromString(field_names[i])))
            return false;
    return rules.node && rules.expression && rules.context && rules.name &&
           rules.constant && rules.calls && rules.attributes;
}

static void add_node(struct walk *w, PyObject *object)
{
    if (!PyObject_TypeCheck(object, rules.node) ||
            Py_TYPE(object)->tp_base == rules.context)
        return;
    if (w->statements_only && PyObject_TypeCheck(object, rules.expression))
        return;
    GROW(w->items, w->count, w->cap);
    w->items[w->count++] = object;
}

/* The parser has put the fields of a node into its dictionary, in the grammar's order. */
static bool add_children(struct walk *w, PyObject *node)
{
    auto_ref *fields = PyObject_GenericGetDict(node, NULL);
    PyObject *value;
    Py_ssize_t at = 0;
    if (!fields)
        return false;
    while (PyDict_Next(fields, &at, NULL, &value)) {
        if (!PyList_CheckExact(value)) {
            add_node(w, value);
            continue;
        }
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++)
            add_node(w, PyList_GET_ITEM(value, i));
    }
    return true;
}

static void walk_finish(struct walk *w)
{
    free(w->items);
}

/* NULL: no more, or an exception is set. */
static PyObject *walk_next(struct walk *w)
{
    if (w->next == w->count)
        return NULL;
    PyObject *node = w->items[w->next++];
    return add_children(w, node) ? node : NULL;
}

static enum kind kind_of(PyObject *node)
{
    for (size_t i = 1; i < KIND_COUNT; i++)
        if (Py_IS_TYPE(node, rules.kinds[i]))
            return (enum kind)i;
    return KIND_OTHER;
}

/* A field of a node, or NULL; a new reference. */
static PyObject *field(PyObject *node, enum field which)
{
    PyObject *value = PyObject_GetAttr(node, rules.fields[which]);
    if (!value)
        PyErr_Clear();
    return value;
}

static struct str text_of(PyObject *string)
{
    Py_ssize_t len = 0;
    const char *data = string && PyUnicode_Check(string)
                               ? PyUnicode_AsUTF8AndSize(string, &len)
                               : NULL;
    if (!data)
        PyErr_Clear();
    return (struct str){ data ? data : "", (size_t)len };
}

/* The list's entry for this name, or NULL. */
static const struct policy_text *find(
        PyObject *index, const struct policy_texts *texts, PyObject *name)
{
    PyObject *number = PyUnicode_CheckExact(name) ? PyDict_GetItem(index, name) : NULL;
    return number ? &texts->items[PyLong_AsSize_t(number)] : NULL;
}

static const struct policy_text *find_attribute(PyObject *name)
{
    return find(rules.attributes, &guard.setup->policy->block_attributes, name);
}

/* Of an expression: the text of a constant; a new reference or NULL. */
static PyObject *constant_text(PyObject *node)
{
    PyObject *value = Py_IS_TYPE(node, rules.constant) ? field(node, FIELD_VALUE) : NULL;
    if (value && PyUnicode_CheckExact(value))
        return value;
    Py_XDECREF(value);
    return NULL;
}

static unsigned line_of(PyObject *node)
{
    auto_ref *line = field(node, FIELD_LINENO);
    return line && PyLong_Check(line) ? (unsigned)PyLong_AsUnsignedLongMask(line) : 0;
}

/* True: it is to be shown, and the line has been begun. */
static bool begin(struct check *c)
{
    if (c->count++ >= MAX_SHOWN)
        return false;
    if (c->count > 1)
        buf_addc(c->out, '\n');
    return true;
}

/* `what` ends before the name, `after` begins behind it. */
static void violation(struct check *c, const char *what,
        const struct policy_text *blocked, const char *after, const char *key,
        const char *hint)
{
    auto_buf rule = BUF(256);
    buf_addf(&rule, "[ast] %s '%.*s'", key, STR_ARG(blocked->text));
    guard_note_rule(buf_str(&rule), &blocked->origin);
    if (!begin(c))
        return;
    buf_add(c->out, STR("SecurityError: "));
    buf_addf(c->out, "%s'%.*s%s' is not permitted, in line %u. Rule: [ast] %s ", what,
            STR_ARG(blocked->text), after, line_of(c->node), key);
    origin_write(&blocked->origin, c->out);
    buf_addf(c->out, ". %s", hint);
}

static const char *hint_for_call(struct str name)
{
    if (str_is(name, "eval"))
        return "Use ast.literal_eval() for literals and json.loads() for data.";
    if (str_is(name, "exec") || str_is(name, "compile"))
        return "Write the code itself into the snippet.";
    if (str_is(name, "__import__"))
        return "Use an import statement.";
    if (str_is(name, "breakpoint"))
        return "Use print() to see values.";
    return "Do without it.";
}

static const char *hint_for_attribute(struct str name)
{
    if (str_is(name, "tb_frame") || str_starts(name, STR("f_")))
        return "sys._pyddock_format_tb() tells where an exception came from.";
    if (str_is(name, "__getattr__") || str_is(name, "__getattribute__"))
        return "Use getattr().";
    if (str_is(name, "__globals__") || str_is(name, "__closure__"))
        return "Hand values over as arguments.";
    return "type(), isinstance(), issubclass(), dir() and vars() may be used.";
}

static void attribute_violation(
        struct check *c, const char *what, const struct policy_text *blocked)
{
    violation(
            c, what, blocked, "", "block_attributes", hint_for_attribute(blocked->text));
}

static void check_attribute_name(struct check *c, PyObject *name)
{
    const struct policy_text *blocked = name ? find_attribute(name) : NULL;
    if (blocked)
        attribute_violation(c, "Access to ", blocked);
}

static void check_key(struct check *c, PyObject *node)
{
    auto_ref *text = node ? constant_text(node) : NULL;
    const struct policy_text *blocked = text ? find_attribute(text) : NULL;
    if (blocked)
        attribute_violation(c, "Subscript access to ", blocked);
}

static bool is_reflective(PyObject *name)
{
    return name && PyUnicode_CheckExact(name) &&
           (!PyUnicode_CompareWithASCIIString(name, "getattr") ||
                   !PyUnicode_CompareWithASCIIString(name, "__getattribute__") ||
                   !PyUnicode_CompareWithASCIIString(name, "__getattr__"));
}

static void check_arguments(struct check *c, PyObject *call)
{
    auto_ref *args = field(call, FIELD_ARGS);
    Py_ssize_t count = args && PyList_CheckExact(args) ? PyList_GET_SIZE(args) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        auto_ref *text = constant_text(PyList_GET_ITEM(args, i));
        const struct policy_text *blocked = text ? find_attribute(text) : NULL;
        if (blocked)
            attribute_violation(c, "Reflective access to ", blocked);
    }
}

static void check_call(struct check *c, PyObject *node)
{
    auto_ref *callee = field(node, FIELD_FUNC);
    if (!callee)
        return;
    bool is_name = Py_IS_TYPE(callee, rules.name);
    if (!is_name && !Py_IS_TYPE(callee, rules.kinds[KIND_ATTRIBUTE]))
        return;
    auto_ref *name = field(callee, is_name ? FIELD_ID : FIELD_ATTR);
    const struct policy_text *blocked =
            is_name && name ? find(rules.calls, &guard.setup->policy->block_calls, name)
                            : NULL;
    if (blocked)
        violation(c, "", blocked, "()", "block_calls", hint_for_call(blocked->text));
    if (is_reflective(name))
        check_arguments(c, node);
}

static void add_sentence(struct buf *out, struct str text)
{
    const char *stop = str_ends(buf_str(out), STR(".")) ? "" : ".";
    if (text.len)
        buf_addf(out, "%s %.*s", stop, STR_ARG(text));
}

/* The exception that the import would raise, as one line.  What is allowed instead is
 * told once. */
static void import_violation(struct check *c, struct str name)
{
    auto_ref *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (!PyErr_GivenExceptionMatches(type, PyExc_ImportError)) {
        PyErr_Restore(TAKE(type), TAKE(value), TAKE(trace));
        c->failed = true;
        return;
    }
    if (!begin(c))
        return;
    auto_ref *message = PyObject_Str(value);
    struct str rest = text_of(message), first = str_cut(&rest, '\n');
    bool told = c->told_imports;
    c->told_imports = true;
    buf_addf(c->out, "ImportError: %.*s, in line %u", STR_ARG(first), line_of(c->node));
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        if (!told || str_starts(line, STR("Rule:")))
            add_sentence(c->out, line);
    }
    if (told)
        add_sentence(c->out, guard_message(name));
}

static void check_import_of(struct check *c, struct str name)
{
    struct str rest = name, top = str_cut(&rest, '.');
    if (!c->failed && !str_is(top, "__future__") && !imports_allowed(name))
        import_violation(c, name);
}

static void check_import(struct check *c, PyObject *node)
{
    auto_ref *names = field(node, FIELD_NAMES);
    Py_ssize_t count = names && PyList_CheckExact(names) ? PyList_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        auto_ref *name = field(PyList_GET_ITEM(names, i), FIELD_NAME);
        check_import_of(c, text_of(name));
    }
}

static bool is_relative(PyObject *import_from)
{
    auto_ref *level = field(import_from, FIELD_LEVEL);
    return level && PyLong_Check(level) && PyLong_AsLong(level) > 0;
}

/* One that is relative has no package to begin in, which Python says itself. */
static void check_import_from(struct check *c, PyObject *node)
{
    auto_ref *module = field(node, FIELD_MODULE);
    if (!is_relative(node))
        check_import_of(c, text_of(module));
}

static void check_match_class(struct check *c, PyObject *node)
{
    auto_ref *names = field(node, FIELD_KWD_ATTRS);
    Py_ssize_t count = names && PyList_CheckExact(names) ? PyList_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < count; i++)
        check_attribute_name(c, PyList_GET_ITEM(names, i));
}

static void check_match_mapping(struct check *c, PyObject *node)
{
    auto_ref *keys = field(node, FIELD_KEYS);
    Py_ssize_t count = keys && PyList_CheckExact(keys) ? PyList_GET_SIZE(keys) : 0;
    for (Py_ssize_t i = 0; i < count; i++)
        check_key(c, PyList_GET_ITEM(keys, i));
}

static void check_node(struct check *c, PyObject *node)
{
    enum kind kind = kind_of(node);
    if (kind == KIND_OTHER)
        return;
    c->node = node;
    if (kind == KIND_IMPORT) {
        check_import(c, node);
    } else if (kind == KIND_IMPORT_FROM) {
        check_import_from(c, node);
    } else if (kind == KIND_CALL) {
        check_call(c, node);
    } else if (kind == KIND_ATTRIBUTE) {
        auto_ref *name = field(node, FIELD_ATTR);
        check_attribute_name(c, name);
    } else if (kind == KIND_SUBSCRIPT) {
        auto_ref *key = field(node, FIELD_SLICE);
        check_key(c, key);
    } else if (kind == KIND_MATCH_CLASS) {
        check_match_class(c, node);
    } else {
        check_match_mapping(c, node);
    }
}

bool rules_check(PyObject *tree, struct buf *violations)
{
    AUTO(walk_finish) struct walk walk = { 0 };
    struct check check = { .out = violations };
    add_node(&walk, tree);
    for (PyObject *node; !check.failed && (node = walk_next(&walk));)
        check_node(&check, node);
    if (check.failed || walk.next != walk.count) {
        buf_clear(violations);
        return false;
    }
    if (check.count > MAX_SHOWN)
        buf_addf(violations, "\n... and %zu more", check.count - MAX_SHOWN);
    return !check.count;
}

static bool is_network_module(struct str name)
{
    static const char *const modules[] = { "ftplib", "http.client", "http.server",
        "imaplib", "logging.handlers", "nntplib", "poplib", "smtpd", "smtplib", "socket",
        "socketserver", "ssl", "telnetlib", "urllib.request", "xmlrpc" };
    for (size_t i = 0; i < ARRAY_LEN(modules); i++) {
        struct str module = str_of(modules[i]);
        if (str_starts(name, module) &&
                (name.len == module.len || name.data[module.len] == '.'))
            return true;
    }
    return false;
}

static bool is_standard(struct str name)
{
    struct str rest = name, top = str_cut(&rest, '.');
    PyObject *names = PySys_GetObject("stdlib_module_names"); /* borrowed */
    auto_ref *text = PyUnicode_DecodeUTF8(top.data, (Py_ssize_t)top.len, NULL);
    int found = names && text ? PySequence_Contains(names, text) : 0;
    PyErr_Clear();
    return found > 0;
}

/* What is not of the library is noted, once. */
static bool may_use_sockets(struct str name, json_t *modules)
{
    struct str rest = name, top = str_cut(&rest, '.');
    if (!name.len || is_standard(name))
        return is_network_module(name);
    if (str_is(top, MCP_MODULE))
        return false;
    for (size_t i = 0; i < json_array_size(modules); i++)
        if (str_eq(json_str(json_array_get(modules, i)), top))
            return true;
    json_array_append_new(modules, json_text(top));
    return true;
}

static bool import_may_use_sockets(PyObject *node, struct str from, json_t *modules)
{
    bool found = false;
    auto_ref *names = field(node, FIELD_NAMES);
    Py_ssize_t count = names && PyList_CheckExact(names) ? PyList_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        auto_ref *name = field(PyList_GET_ITEM(names, i), FIELD_NAME);
        auto_buf whole = BUF((size_t)1 << 16);
        if (from.len)
            buf_addf(&whole, "%.*s.", STR_ARG(from));
        buf_add(&whole, text_of(name));
        found = may_use_sockets(buf_str(&whole), modules) || found;
    }
    return found;
}

bool rules_needs_network(PyObject *tree, json_t *modules)
{
    bool found = false;
    AUTO(walk_finish) struct walk walk = { .statements_only = true };
    add_node(&walk, tree);
    for (PyObject *node; (node = walk_next(&walk));) {
        enum kind kind = kind_of(node);
        if (kind != KIND_IMPORT && kind != KIND_IMPORT_FROM)
            continue;
        auto_ref *module = kind == KIND_IMPORT_FROM ? field(node, FIELD_MODULE) : NULL;
        struct str from = text_of(module);
        found = may_use_sockets(from, modules) || found;
        found = import_may_use_sockets(node, from, modules) || found;
    }
    PyErr_Clear();
    return found;
}
