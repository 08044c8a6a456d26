/* The sections about snippets: [execution], [imports], [import_overrides], [ast],
 * [audit], [restrictions]. */
#include "policy/config/internal.h"

#include <math.h>

#define MAX_SECONDS 2000000 /* fits into 32 bits as milliseconds */

static bool read_seconds(struct conf *c, const char *section,
        const struct toml_item *item, unsigned *ms, struct origin *origin)
{
    const struct toml_value *v = &item->value;
    if (v->type != TOML_INTEGER && v->type != TOML_REAL)
        return conf_fail_item(c, section, item, "must be a number of seconds, not %s",
                toml_type_name(v->type));
    if (!(v->real > 0) || v->real > MAX_SECONDS)
        return conf_fail_item(c, section, item,
                "must be a number of seconds above 0 and at most %d, not %g", MAX_SECONDS,
                v->real);
    *ms = (unsigned)ceil(v->real * 1000);
    *origin = item->origin;
    return true;
}

static bool read_timeout(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    return read_seconds(c, section, item, &p->timeout_ms, &p->timeout_origin);
}

static bool read_max_timeout(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    return read_seconds(c, section, item, &p->max_timeout_ms, &p->max_timeout_origin);
}

bool conf_execution(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    static const struct conf_key keys[] = {
        { "timeout", read_timeout, 0 },
        { "max_timeout", read_max_timeout, 0 },
    };
    struct policy *p = to;
    p->timeout_origin = p->max_timeout_origin = item->origin;
    return conf_section(c, section, item, keys, ARRAY_LEN(keys), p);
}

/* A module's name is an identifier; bytes of other scripts are taken as letters. */
static bool is_identifier(struct str name)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char b = (unsigned char)name.data[i];
        bool letter = b == '_' || b >= 128 || ((b | 32) >= 'a' && (b | 32) <= 'z');
        if (!letter && (!i || b < '0' || b > '9'))
            return false;
    }
    return name.len > 0;
}

static bool check_module(
        struct conf *c, const char *section, const struct toml_item *item)
{
    struct str rest = item->key, top = str_cut(&rest, '.');
    if (is_identifier(item->key))
        return true;
    if (is_identifier(top))
        return conf_fail_item(c, section, item,
                "only whole modules are named here; write '%.*s'", STR_ARG(top));
    return conf_fail_item(c, section, item, "is no name of a module");
}

static bool is_path(struct str text)
{
    return text.len && (text.data[0] == '.' || memchr(text.data, '/', text.len) ||
                               memchr(text.data, '\\', text.len));
}

/* What is given to pip: a name, extras and a version perhaps, but no option. */
static bool check_distribution(
        struct conf *c, const char *section, const struct toml_item *item)
{
    struct str name = item->value.text;
    bool good = name.data[0] != '-';
    for (size_t i = 0; i < name.len; i++)
        good = good && (unsigned char)name.data[i] > ' ' && name.data[i] != 127;
    return good ||
           conf_fail_item(c, section, item,
                   "'%.*s' is no name of a distribution, nor a path", STR_ARG(name));
}

static bool read_import(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy_import *out = to;
    const struct toml_value *v = &item->value;
    *out = (struct policy_import){
        .name = item->key, .value = STR(""), .origin = item->origin
    };
    if (!check_module(c, section, item))
        return false;
    if (v->type == TOML_BOOL) {
        out->kind = v->truth ? IMPORT_ALLOWED : IMPORT_DENIED;
        return true;
    }
    if (v->type != TOML_STRING)
        return conf_fail_item(c, section, item,
                "must be true, false, a distribution's name or a path, not %s",
                toml_type_name(v->type));
    out->value = v->text;
    out->kind = !v->text.len       ? IMPORT_DENIED
                : is_path(v->text) ? IMPORT_PATH
                                   : IMPORT_PIP;
    if (out->kind == IMPORT_PATH && memchr(v->text.data, 0, v->text.len))
        return conf_fail_item(c, section, item, "a path contains no NUL");
    return out->kind != IMPORT_PIP || check_distribution(c, section, item);
}

bool conf_imports(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    return conf_each(c, section, item, read_import, sizeof(*p->imports), &p->imports,
            &p->import_count);
}

bool conf_import_overrides(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    if (item->value.type != TOML_TABLE)
        return conf_section(c, section, item, NULL, 0, NULL);
    struct policy_text *out =
            arena_alloc(c->arena, (item->value.count + 1) * sizeof(*out));
    size_t count = 0;
    for (size_t i = 0; i < item->value.count; i++) {
        const struct toml_item *one = &item->value.items[i];
        bool on;
        if (!check_module(c, section, one) || !conf_bool(c, section, one, &on))
            return false;
        if (on)
            out[count++] = (struct policy_text){ one->key, one->origin };
    }
    p->import_overrides = (struct policy_texts){ out, count };
    return true;
}

static struct policy_import *find_import(const struct policy *p, struct str name)
{
    for (size_t i = 0; i < p->import_count; i++)
        if (str_eq(p->imports[i].name, name))
            return &p->imports[i];
    return NULL;
}

/* An overridden module may be imported, whatever [imports] says. */
static void allow_import(struct conf *c, const struct policy_text *override)
{
    struct policy *p = c->policy;
    struct policy_import *import = find_import(p, override->text);
    if (!import) {
        struct policy_import *more =
                arena_alloc(c->arena, (p->import_count + 1) * sizeof(*more));
        if (p->import_count)
            memcpy(more, p->imports, p->import_count * sizeof(*more));
        p->imports = more;
        import = &more[p->import_count++];
    }
    *import = (struct policy_import){ .name = override->text,
        .kind = IMPORT_ALLOWED,
        .value = STR(""),
        .origin = override->origin };
}

static void drop_restriction(struct conf *c, const struct policy_text *override)
{
    struct policy *p = c->policy;
    for (size_t i = 0; i < p->restriction_count; i++) {
        if (!str_eq(p->restrictions[i].name, override->text))
            continue;
        conf_warn(c, p->restrictions[i].origin,
                "[restrictions.%.*s] has no effect, since [import_overrides] replaces "
                "the "
                "module (%s:%u)",
                STR_ARG(override->text), override->origin.file, override->origin.line);
        memmove(&p->restrictions[i], &p->restrictions[i + 1],
                (p->restriction_count - i - 1) * sizeof(*p->restrictions));
        p->restriction_count--;
        return;
    }
}

/* These would reach the real module behind the one that replaces it. */
static bool check_importers(struct conf *c, const struct policy_text *override)
{
    static const char *const importers[] = { "importlib", "pkgutil" };
    for (size_t i = 0; i < ARRAY_LEN(importers); i++) {
        struct policy_import *import = find_import(c->policy, str_of(importers[i]));
        if (import && import->kind != IMPORT_DENIED)
            return conf_fail(c, import->origin, "imports", import->name,
                    "must be false while [import_overrides] %.*s is on (%s:%u)",
                    STR_ARG(override->text), override->origin.file,
                    override->origin.line);
    }
    return true;
}

bool conf_overrides_check(struct conf *c)
{
    const struct policy_texts *overrides = &c->policy->import_overrides;
    for (size_t i = 0; i < overrides->count; i++) {
        if (!check_importers(c, &overrides->items[i]))
            return false;
        allow_import(c, &overrides->items[i]);
        drop_restriction(c, &overrides->items[i]);
    }
    return true;
}

bool conf_ast(struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    static const struct conf_key keys[] = {
        { "block_calls", conf_texts, offsetof(struct policy, block_calls) },
        { "block_attributes", conf_texts, offsetof(struct policy, block_attributes) },
    };
    return conf_section(c, section, item, keys, ARRAY_LEN(keys), to);
}

static bool read_audit(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    static const char *const words[] = {
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
    struct policy_audit *out = to;
    unsigned word;
    const char *star = item->key.len ? memchr(item->key.data, '*', item->key.len) : NULL;
    if (!item->key.len || (star && star != item->key.data + item->key.len - 1))
        return conf_fail_item(c, section, item,
                "must be the name of an event, or its beginning and a '*' at the end");
    if (!conf_word(c, section, item, words, ARRAY_LEN(words), &word))
        return false;
    *out = (struct policy_audit){ item->key, (enum audit_disposition)word, item->origin };
    return true;
}

bool conf_audit(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    return conf_each(
            c, section, item, read_audit, sizeof(*p->audit), &p->audit, &p->audit_count);
}

static bool read_restriction(
        struct conf *c, const char *parent, const struct toml_item *item, void *to)
{
    static const struct conf_key keys[] = {
        { "mode", conf_mode, offsetof(struct policy_restriction, mode) },
        { "module_allow", conf_regexes,
                offsetof(struct policy_restriction, module_allow) },
        { "module_deny", conf_regexes, offsetof(struct policy_restriction, module_deny) },
        { "class_allow", conf_regexes, offsetof(struct policy_restriction, class_allow) },
        { "class_deny", conf_regexes, offsetof(struct policy_restriction, class_deny) },
    };
    struct policy_restriction *out = to;
    *out = (struct policy_restriction){ .name = item->key, .origin = item->origin };
    const char *section = conf_name(c, parent, item->key);
    return conf_section(c, section, item, keys, ARRAY_LEN(keys), out) &&
           conf_has_mode(c, section, item);
}

bool conf_restrictions(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    return conf_each(c, section, item, read_restriction, sizeof(*p->restrictions),
            &p->restrictions, &p->restriction_count);
}
