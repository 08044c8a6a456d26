#include "python/restrict.h"

#include "python/class-guard.h"
#include "python/import-rules.h"
#include "python/imports.h"
#include "python/plain-function.h"

#include "policy/pyre/pyre.h"

static struct str top_of(struct str name)
{
    return str_cut(&name, '.');
}

const struct policy_restriction *restrict_rule(struct str module)
{
    const struct policy *p = guard.setup->policy;
    for (size_t i = 0; i < p->restriction_count; i++)
        if (str_eq(p->restrictions[i].name, top_of(module)))
            return &p->restrictions[i];
    return NULL;
}

static const struct policy_regex *find(const struct policy_regexes *regexes,
        enum pyre_how how, enum pyre_result if_unsure, struct str name)
{
    for (size_t i = 0; i < regexes->count; i++) {
        enum pyre_result r = pyre_match(regexes->items[i].pattern, how, name);
        if (r == PYRE_YES || (r == PYRE_LIMIT && if_unsure == PYRE_YES))
            return &regexes->items[i];
    }
    return NULL;
}

bool restrict_shows(const struct policy_restriction *rule, struct str name)
{
    return rule->mode == MODE_ALLOW ||
           find(&rule->module_allow, PYRE_FULLMATCH, PYRE_NO, name);
}

/* The part of "boto3.session.x" below the top that the rule does not leave, or "". */
static struct str closed_part(const struct policy_restriction *rule, struct str module)
{
    struct str rest = module, part = str_cut(&rest, '.');
    while (rest.len) {
        part = str_cut(&rest, '.');
        if (!restrict_shows(rule, part) ||
                find(&rule->module_deny, PYRE_MATCH, PYRE_YES, part))
            return part;
    }
    return STR("");
}

bool restrict_shows_module(struct str module)
{
    const struct policy_restriction *rule = restrict_rule(module);
    return !rule || !closed_part(rule, module).len;
}

static void add_patterns(const struct policy_regexes *regexes, struct buf *out)
{
    for (size_t i = 0; i < regexes->count; i++)
        buf_addf(out, "%s%.*s", i ? ", " : "", STR_ARG(regexes->items[i].text));
    if (!regexes->count)
        buf_add(out, STR("none"));
}

static void add_message(struct str module, struct str name, struct buf *out)
{
    auto_buf subject = BUF(4096);
    buf_addf(&subject, "%.*s.%.*s", STR_ARG(module), STR_ARG(name));
    struct str text = guard_message(buf_str(&subject));
    if (text.len)
        buf_addf(out, "%s[%.*s]", out->len ? "\n" : "", STR_ARG(text));
}

/* The rule and what is left, for what mode "deny" does not leave. */
static void explain_hidden(const struct policy_restriction *rule, struct str module,
        struct str name, struct refusal *why)
{
    const struct policy_regexes *allow = &rule->module_allow;
    buf_addf(&why->rule, "[restrictions.%.*s] mode = \"deny\"", STR_ARG(rule->name));
    why->origin = allow->count ? allow->items[0].origin : rule->origin;
    buf_add(&why->hint, STR("Allowed names: "));
    add_patterns(allow, &why->hint);
    add_message(module, name, &why->hint);
}

static void explain_denied(const struct policy_regex *deny, struct str module,
        struct str name, struct refusal *why)
{
    why->origin = deny->origin;
    buf_addf(&why->rule, "[restrictions.%.*s] module_deny '%.*s'",
            STR_ARG(top_of(module)), STR_ARG(deny->text));
    add_message(module, name, &why->hint);
}

PyObject *restrict_hidden(
        const struct policy_restriction *rule, struct str module, struct str name)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "restriction", NULL);
    buf_addf(&why.what, "module '%.*s' has no attribute '%.*s' for snippets",
            STR_ARG(module), STR_ARG(name));
    explain_hidden(rule, module, name, &why);
    return guard_refuse(PyExc_AttributeError, &why);
}

PyObject *restrict_hidden_module(PyObject *type, struct str module)
{
    const struct policy_restriction *rule = restrict_rule(module);
    struct str name = closed_part(rule, module);
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "restriction", NULL);
    buf_addf(&why.what, "'%.*s' is not left of '%.*s' for snippets", STR_ARG(module),
            STR_ARG(rule->name));
    const struct policy_regex *deny =
            find(&rule->module_deny, PYRE_MATCH, PYRE_YES, name);
    if (deny)
        explain_denied(deny, rule->name, name, &why);
    else
        explain_hidden(rule, rule->name, name, &why);
    return guard_refuse(type, &why);
}

static bool is_standard(struct str top)
{
    PyObject *names = PySys_GetObject("stdlib_module_names"); /* borrowed */
    auto_ref *text = PyUnicode_DecodeUTF8(top.data, (Py_ssize_t)top.len, NULL);
    int found = names && text ? PySequence_Contains(names, text) : 0;
    PyErr_Clear();
    return found > 0;
}

/* Whose class is it? */
enum home { HOME_OWN, HOME_BEHIND, HOME_ELSEWHERE };

/* BEHIND is a package that a snippet cannot import, and gets here only. */
static enum home home_of(PyObject *type, struct str package)
{
    auto_ref *home = PyObject_GetAttrString(type, "__module__");
    Py_ssize_t len = 0;
    const char *text =
            home && PyUnicode_Check(home) ? PyUnicode_AsUTF8AndSize(home, &len) : NULL;
    PyErr_Clear();
    if (!text)
        return HOME_ELSEWHERE;
    struct str name = { text, (size_t)len }, top = top_of(name);
    if (str_eq(top, package))
        return HOME_OWN;
    return imports_is_allowed(top) || is_standard(top) ? HOME_ELSEWHERE : HOME_BEHIND;
}

static bool is_exception(PyObject *type)
{
    return PyType_IsSubtype((PyTypeObject *)type, (PyTypeObject *)PyExc_BaseException);
}

static bool guards_classes(const struct policy_restriction *rule)
{
    return rule->mode == MODE_ALLOW ? rule->class_deny.count : rule->class_allow.count;
}

/* The class and those that it is made from, as far as they are the package's. */
static bool guard_type(PyTypeObject *type, const struct policy_restriction *rule)
{
    PyObject *line = type->tp_mro; /* borrowed */
    for (Py_ssize_t i = 0; line && i < PyTuple_GET_SIZE(line); i++) {
        PyObject *one = PyTuple_GET_ITEM(line, i);
        if (PyType_Check(one) && !is_exception(one) &&
                home_of(one, rule->name) != HOME_ELSEWHERE &&
                !class_guard((PyTypeObject *)one, rule))
            return false;
    }
    return true;
}

/* After a call of an allowed function: what it returns may be of a class made just now.
 */
static bool guard_result(PyObject *result, const void *rule)
{
    return guard_type(Py_TYPE(result), rule);
}

static PyObject *refuser(
        const struct policy_regex *deny, struct str module, struct str name)
{
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "restriction", NULL);
    buf_addf(
            &why.what, "'%.*s' is not permitted on %.*s", STR_ARG(name), STR_ARG(module));
    explain_denied(deny, module, name, &why);
    return class_guard_refuser(&why);
}

PyObject *restrict_value(const struct policy_restriction *rule, struct str module,
        struct str name, PyObject *value)
{
    const struct policy_regex *deny =
            find(&rule->module_deny, PYRE_MATCH, PYRE_YES, name);
    if (deny)
        return refuser(deny, module, name);
    if (rule->mode == MODE_ALLOW)
        return Py_NewRef(value);
    if (PyType_Check(value))
        return !guards_classes(rule) || guard_type((PyTypeObject *)value, rule)
                       ? Py_NewRef(value)
                       : NULL;
    if (guards_classes(rule) && !guard_result(value, rule))
        return NULL;
    if (!PyFunction_Check(value) && !PyCFunction_Check(value) && !PyMethod_Check(value))
        return Py_NewRef(value);
    return guards_classes(rule) ? plain_function_watched(value, guard_result, rule)
                                : plain_function(value);
}

static bool guard_classes_of(PyObject *names, const struct policy_restriction *rule)
{
    auto_ref *values = PyDict_Values(names);
    for (Py_ssize_t i = 0; values && i < PyList_GET_SIZE(values); i++) {
        PyObject *value = PyList_GET_ITEM(values, i);
        if (PyType_Check(value) && home_of(value, rule->name) == HOME_OWN &&
                !guard_type((PyTypeObject *)value, rule))
            return false;
    }
    return values;
}

static bool is_in(PyObject *name, struct str package)
{
    Py_ssize_t len = 0;
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, &len) : NULL;
    PyErr_Clear();
    return text && str_eq(top_of((struct str){ text, (size_t)len }), package);
}

bool restrict_classes(const struct policy_restriction *rule)
{
    if (!guards_classes(rule))
        return true;
    auto_ref *items = PyDict_Items(PyImport_GetModuleDict());
    for (Py_ssize_t i = 0; items && i < PyList_GET_SIZE(items); i++) {
        PyObject *item = PyList_GET_ITEM(items, i);
        PyObject *module = PyTuple_GET_ITEM(item, 1);
        if (is_in(PyTuple_GET_ITEM(item, 0), rule->name) && PyModule_Check(module) &&
                !guard_classes_of(PyModule_GetDict(module), rule))
            return false;
    }
    return items;
}
