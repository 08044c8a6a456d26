#include "python/import-rules.h"

#include "python/imports.h"
#include "python/mcp-module.h"

#define OVERLAY ".pyddock/pyddock.override.toml"

#define MAX_LIST 4000 /* bytes of names in a message */

static struct str top_of(struct str name)
{
    return str_cut(&name, '.');
}

const struct policy_import *imports_rule(struct str name)
{
    const struct policy *policy = guard.setup->policy;
    struct str top = top_of(name);
    for (size_t i = 0; i < policy->import_count; i++)
        if (str_eq(policy->imports[i].name, top))
            return &policy->imports[i];
    return NULL;
}

const struct policy_text *imports_override(struct str name)
{
    const struct policy_texts *names = &guard.setup->policy->import_overrides;
    struct str top = top_of(name);
    for (size_t i = 0; i < names->count; i++)
        if (str_eq(names->items[i].text, top))
            return &names->items[i];
    return NULL;
}

/* No line of [imports] is for it. */
static bool is_mcp(struct str name)
{
    return str_is(top_of(name), MCP_MODULE);
}

bool imports_is_allowed(struct str name)
{
    const struct policy_import *import = imports_rule(name);
    if (is_mcp(name))
        return mcp_is_there();
    return (import && import->kind != IMPORT_DENIED) || imports_override(name) ||
           str_is(top_of(name), "__future__") || str_is(name, "__main__");
}

static int compare(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static void add_allowed(struct buf *out)
{
    const struct policy *policy = guard.setup->policy;
    size_t count = 0;
    auto_free struct str *names = xcalloc(
            policy->import_count + policy->import_overrides.count + 1, sizeof(*names));
    for (size_t i = 0; i < policy->import_count; i++)
        if (policy->imports[i].kind != IMPORT_DENIED)
            names[count++] = policy->imports[i].name;
    for (size_t i = 0; i < policy->import_overrides.count; i++)
        names[count++] = policy->import_overrides.items[i].text;
    qsort(names, count, sizeof(*names), compare);
    size_t start = out->len;
    for (size_t i = 0; i < count && out->len - start < MAX_LIST; i++)
        if (!i || !str_eq(names[i], names[i - 1]))
            buf_addf(out, "%s%.*s", i ? ", " : "", STR_ARG(names[i]));
    if (out->len - start >= MAX_LIST)
        buf_add(out, STR(", ..."));
    if (!count)
        buf_add(out, STR("none"));
}

static void explain(struct str name, struct refusal *why)
{
    const struct policy_import *import = imports_rule(name);
    struct str message = guard_message(name), top = top_of(name);
    refusal_begin(why, "import", import ? &import->origin : NULL);
    buf_addf(&why->what, "'%.*s' is not an allowed import", STR_ARG(name));
    if (is_mcp(name)) {
        buf_add(&why->rule, STR("tools of other MCP servers are called as sections "
                                "[mcp.NAME] allow, and none has a server"));
        buf_add(&why->hint,
                STR("A person may add a section [mcp.NAME] with the tools that may be "
                    "called to " OVERLAY ", and say in .pyddock/mcp.json how that server "
                    "is started."));
        return;
    }
    if (import)
        buf_addf(&why->rule, "[imports] %.*s = false", STR_ARG(top));
    if (message.len)
        buf_addf(&why->hint, "%.*s ", STR_ARG(message));
    buf_add(&why->hint, STR("Allowed are: "));
    add_allowed(&why->hint);
    if (!import)
        buf_addf(&why->hint, ". No line of [imports] has '%.*s'", STR_ARG(top));
    buf_addf(&why->hint, ". A person may add '%.*s = true' to [imports] in " OVERLAY ".",
            STR_ARG(top));
}

bool imports_allowed(struct str name)
{
    if (imports_is_allowed(name))
        return true;
    auto_refusal why;
    refusal_init(&why);
    explain(name, &why);
    guard_refuse(PyExc_ImportError, &why);
    return false;
}

/* What [imports] says about it beside its name. */
static void add_source(const struct policy_import *rule, struct buf *out)
{
    if (rule->kind == IMPORT_PIP)
        buf_addf(out, " (its distribution is '%.*s')", STR_ARG(rule->value));
    if (rule->kind == IMPORT_PATH)
        buf_addf(out, " (the package of the workspace in '%.*s')", STR_ARG(rule->value));
}

PyObject *imports_not_installed(struct str name)
{
    const struct policy_import *rule = imports_rule(name);
    struct str top = top_of(name);
    auto_buf text = BUF((size_t)1 << 14);
    PyErr_Clear();
    buf_addf(&text, "'%.*s' is allowed, but it is not installed in this environment",
            STR_ARG(top));
    if (rule) {
        add_source(rule, &text);
        buf_addf(&text, "\nRule: [imports] %.*s ", STR_ARG(top));
        origin_write(&rule->origin, &text);
    }
    buf_add(&text,
            STR("\nA snippet cannot install it. The server installs what [imports] names "
                "when it starts; its stderr says what became of it."));
    auto_ref *message = PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "replace");
    auto_ref *object = PyUnicode_DecodeUTF8(name.data, (Py_ssize_t)name.len, "replace");
    if (!message || !object)
        return NULL;
    return PyErr_SetImportErrorSubclass(PyExc_ModuleNotFoundError, message, object, NULL);
}
