#include "python/imports.h"

#define OVERLAY ".pyddock/pyddock.override.toml"

static const struct policy_import *find_import(struct str name)
{
    const struct policy *policy = guard.setup->policy;
    for (size_t i = 0; i < policy->import_count; i++)
        if (str_eq(policy->imports[i].name, name))
            return &policy->imports[i];
    return NULL;
}

static bool is_overridden(struct str name)
{
    const struct policy_texts *names = &guard.setup->policy->import_overrides;
    for (size_t i = 0; i < names->count; i++)
        if (str_eq(names->items[i].text, name))
            return true;
    return false;
}

static struct str top_of(struct str name)
{
    return str_cut(&name, '.');
}

bool imports_is_allowed(struct str name)
{
    const struct policy_import *import = find_import(top_of(name));
    return (import && import->kind != IMPORT_DENIED) || is_overridden(top_of(name));
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
    for (size_t i = 0; i < count; i++)
        if (!i || !str_eq(names[i], names[i - 1]))
            buf_addf(out, "%s%.*s", i ? ", " : "", STR_ARG(names[i]));
}

static void explain(struct str name, struct refusal *why)
{
    const struct policy_import *import = find_import(top_of(name));
    struct str message = guard_message(name), top = top_of(name);
    refusal_begin(why, "import", import ? &import->origin : NULL);
    buf_addf(&why->what, "'%.*s' is not an allowed import", STR_ARG(name));
    if (import)
        buf_addf(&why->rule, "[imports] %.*s = false", STR_ARG(top));
    if (message.len)
        buf_addf(&why->hint, "%.*s ", STR_ARG(message));
    buf_add(&why->hint, STR("Allowed are: "));
    add_allowed(&why->hint);
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
