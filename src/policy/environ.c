#include "policy/environ.h"

#include "policy/log/mask.h"
#include "policy/place.h"
#include "policy/pyre/pyre.h"

#include <ctype.h>

#define LOOKUPS 20000 /* in the file system, for one environment */

static struct str name_of(const char *variable)
{
    return (struct str){ variable, strcspn(variable, "=") };
}

static struct str value_of(const char *variable)
{
    size_t name = strcspn(variable, "=");
    return str_of(variable + name + (variable[name] == '='));
}

bool env_is_secret(struct str name, struct str value)
{
    return mask_is_secret_name(name) || mask_has_secret(value);
}

/* `fullmatch`, whatever the case of the letters: the patterns were made so. */
static const struct policy_regex *find_regex(
        const struct policy_regexes *list, struct str name, enum pyre_result in_doubt)
{
    for (size_t i = 0; i < list->count; i++) {
        enum pyre_result result =
                pyre_match(list->items[i].pattern, PYRE_FULLMATCH, name);
        if (result == PYRE_LIMIT)
            result = in_doubt;
        if (result == PYRE_YES)
            return &list->items[i];
    }
    return NULL;
}

static bool is_passed(
        const struct policy *policy, const struct policy_shell *section, struct str name)
{
    return find_regex(&policy->env.pass, name, PYRE_NO) ||
           (section && find_regex(&section->env.pass, name, PYRE_NO));
}

/* Made anew for each command, or the business of this program alone. */
static bool is_ours(struct str name)
{
    static const char *const names[] = { "OLDPWD", "PATH", "PWD", "PYTHONIOENCODING",
        "PYTHONPATH", "TEMP", "TEMPDIR", "TMP", "TMPDIR", "VIRTUAL_ENV",
        "VIRTUAL_ENV_PROMPT", "_" };
    return str_starts(name, STR("PADDOCK_")) ||
           str_which(name, names, ARRAY_LEN(names)) < ARRAY_LEN(names);
}

/* Relative, or where an agent may write. */
static bool may_be_planted(const struct policy *policy, struct str path,
        struct arena *arena, unsigned *budget)
{
    struct place place;
    if (!path.len || path.data[0] != '/' ||
            !place_find(STR("/"), path, PLACE_FOLLOW, arena, budget, &place))
        return true;
    return place_may_be_planted(policy, place.path);
}

/* Variables whose files are loaded into, or run by, whatever is started. */
static bool loads_code(struct str name)
{
    static const char *const names[] = { "BASH_ENV", "ENV", "LD_AUDIT", "LD_LIBRARY_PATH",
        "LD_PRELOAD" };
    return str_which(name, names, ARRAY_LEN(names)) < ARRAY_LEN(names);
}

static bool loads_planted(const struct policy *policy, const char *variable,
        struct arena *arena, unsigned *budget)
{
    struct str rest = value_of(variable);
    if (!loads_code(name_of(variable)))
        return false;
    while (rest.len) {
        size_t len = 0;
        while (len < rest.len && !strchr(": ", rest.data[len]))
            len++;
        struct str path = str_sub(rest, 0, len);
        /* A library without a slash is looked for in the system's folders. */
        bool is_path = memchr(path.data, '/', path.len) != NULL;
        if (is_path && may_be_planted(policy, path, arena, budget))
            return true;
        rest = str_from(rest, len + 1);
    }
    return false;
}

static const char *clean_path(
        const struct policy *policy, struct str path, struct arena *arena)
{
    auto_buf out = BUF(path.len + sizeof("PATH="));
    unsigned budget = LOOKUPS;
    buf_add(&out, STR("PATH="));
    bool any = false;
    while (path.len) {
        struct str entry = str_cut(&path, ':');
        if (may_be_planted(policy, entry, arena, &budget))
            continue;
        if (any)
            buf_addc(&out, ':');
        buf_add(&out, entry);
        any = true;
    }
    return arena_str(arena, buf_str(&out)).data;
}

/* Sandboxed commands have a /tmp of their own. */
static const char *temporary(const struct policy *policy,
        const struct policy_shell *section, struct arena *arena)
{
    if (!section || section->sandbox == SANDBOX_WORKSPACE)
        return "TMPDIR=/tmp";
    return arena_printf(
            arena, "TMPDIR=%.*s/.pyddock/tmp", STR_ARG(policy->workspace_real));
}

static size_t find_name(const char *const *env, size_t count, struct str name)
{
    size_t i = 0;
    while (i < count && !str_eq(name_of(env[i]), name))
        i++;
    return i;
}

struct str env_path(char *const *environment)
{
    for (; environment && *environment; environment++)
        if (str_is(name_of(*environment), "PATH") && value_of(*environment).len)
            return value_of(*environment);
    return STR("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
}

const char **env_snapshot(const struct policy *policy, const struct policy_shell *section,
        char *const *environment, struct arena *arena)
{
    size_t most = 0, count = 0;
    while (environment[most])
        most++;
    const char **env = arena_zalloc(arena, (most + 4) * sizeof(*env));
    unsigned budget = LOOKUPS;
    for (size_t i = 0; i < most; i++) {
        struct str name = name_of(environment[i]), value = value_of(environment[i]);
        bool broken = !name.len || name.len == strlen(environment[i]);
        if (broken || is_ours(name) || find_name(env, count, name) < count)
            continue;
        if (env_is_secret(name, value) && !is_passed(policy, section, name))
            continue;
        if (!loads_planted(policy, environment[i], arena, &budget))
            env[count++] = arena_str(arena, str_of(environment[i])).data;
    }
    env[count++] = clean_path(policy, env_path(environment), arena);
    env[count++] = "PYTHONIOENCODING=utf-8";
    env[count++] = temporary(policy, section, arena);
    return env;
}

struct check {
    const struct policy *policy;
    const struct policy_shell *section; /* may be NULL */
    struct str cwd;
    struct arena *arena;
    unsigned budget;
};

/* Could it name a file or a resource?  Then a harmless looking variable may do harm. */
static bool looks_like_path(struct check *c, struct str value)
{
    if (memchr(value.data, '/', value.len) || memchr(value.data, '\\', value.len))
        return true;
    if (strchr(".~", value.data[0]))
        return true;
    if (value.len > 1 && isalpha((unsigned char)value.data[0]) && value.data[1] == ':')
        return true;
    struct str bases[] = { c->policy->workspace_real, c->cwd };
    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        struct place place;
        if (!bases[i].len)
            continue;
        if (!place_find(bases[i], value, PLACE_BY_NAME, c->arena, &c->budget, &place) ||
                place.exists)
            return true;
    }
    return false;
}

static bool refuse(const struct env_override *override, const char *what,
        const struct origin *origin, struct refusal *why)
{
    refusal_begin(why, "environment", origin);
    buf_addf(&why->what, "setting the variable '%.*s' is not permitted: %s",
            STR_ARG(override->name), what);
    return false;
}

static bool refuse_locked(const struct check *c, const struct env_override *override,
        const struct policy_regex *by, bool by_section, struct refusal *why)
{
    refuse(override, "it is locked", &by->origin, why);
    struct str name = by_section ? c->section->name : STR("");
    buf_addf(&why->rule, "[%s%.*s%senv] deny has '%.*s'", by_section ? "shell." : "",
            STR_ARG(name), by_section ? "." : "", STR_ARG(by->text));
    buf_add(&why->hint,
            STR("Leave the variable out; the command has the server's own. An "
                "empty value removes it."));
    return false;
}

static bool check_name(const struct env_override *override, struct refusal *why)
{
    struct str name = override->name;
    bool bad =
            !name.len || memchr(name.data, '=', name.len) ||
            memchr(name.data, 0, name.len) ||
            (override->value.len && memchr(override->value.data, 0, override->value.len));
    if (!bad)
        return true;
    refuse(override, "it is no variable", NULL, why);
    buf_add(&why->rule, STR("a name is not empty and has no '=', and neither it nor the "
                            "value has a NUL byte"));
    return false;
}

/* The section's rule for variables that nothing names, or the general one. */
static bool is_sections_own(const struct check *c)
{
    return c->section && c->section->env.fallback != ENV_INHERIT;
}

static bool check_locks(
        struct check *c, const struct env_override *override, struct refusal *why)
{
    const struct policy_regex *by =
            find_regex(&c->policy->env.deny, override->name, PYRE_YES);
    if (by)
        return refuse_locked(c, override, by, false, why);
    if (c->section)
        by = find_regex(&c->section->env.deny, override->name, PYRE_YES);
    if (by)
        return refuse_locked(c, override, by, true, why);
    if (!str_starts(override->name, STR("PADDOCK_")))
        return true;
    refuse(override, "it is locked", NULL, why);
    buf_add(&why->rule, STR("PADDOCK_* belongs to this program"));
    return false;
}

static bool check_override(
        struct check *c, const struct env_override *override, struct refusal *why)
{
    if (!check_locks(c, override, why))
        return false;
    bool own = is_sections_own(c);
    const struct policy_env *env = own ? &c->section->env : &c->policy->env;
    bool fixed = env->fallback == ENV_SNAPSHOT;
    if (!fixed && !looks_like_path(c, override->value))
        return true;
    refuse(override, fixed ? "it is not to be set" : "its value is not inert",
            &env->fallback_origin, why);
    buf_addf(&why->rule, "[%s%.*s%senv] default = \"%s\"", own ? "shell." : "",
            own ? (int)c->section->name.len : 0, own ? c->section->name.data : "",
            own ? "." : "", fixed ? "snapshot" : "inert");
    buf_add(&why->hint,
            fixed ? STR("The command has the variables of the server and no others.")
                  : STR("A value that may be a path or a URL goes in as an argument, "
                        "where paths are checked."));
    return false;
}

/* Set or, with an empty value, remove. */
static void apply(const char **env, size_t *count, const struct env_override *override,
        struct arena *arena)
{
    size_t at = find_name(env, *count, override->name);
    if (override->value.len) {
        env[at] = arena_printf(
                arena, "%.*s=%.*s", STR_ARG(override->name), STR_ARG(override->value));
        *count += at == *count;
    } else if (at < *count) {
        env[at] = env[--*count];
    }
    env[*count] = NULL;
}

bool env_build(const struct policy *policy, const struct policy_shell *section,
        const char **snapshot, const struct env_override *overrides, size_t count,
        struct str cwd, struct arena *arena, const char ***out, struct refusal *why)
{
    struct check check = { policy, section, cwd, arena, LOOKUPS };
    size_t had = 0;
    while (snapshot[had])
        had++;
    const char **env = arena_zalloc(arena, (had + count + 2) * sizeof(*env));
    memcpy(env, snapshot, had * sizeof(*env));
    size_t used = had;
    env[used++] = arena_printf(arena, "PWD=%.*s", STR_ARG(cwd));
    for (size_t i = 0; i < count; i++) {
        const struct env_override *override = &overrides[i];
        if (!check_name(override, why))
            return false;
        size_t at = find_name(snapshot, had, override->name);
        bool same = at < had && str_eq(value_of(snapshot[at]), override->value);
        if (override->value.len && !same && !check_override(&check, override, why))
            return false;
        apply(env, &used, override, arena);
    }
    *out = env;
    return true;
}
