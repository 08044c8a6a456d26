#include "policy/config/internal.h"
#include "policy/protect.h"

#include "default-text.h"

#include <errno.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASE_NAME     ".pyddock/pyddock.toml"
#define OVERLAY_NAME  ".pyddock/pyddock.override.toml"
#define BUILT_IN_NAME "built-in"

#define DEFAULT_TIMEOUT_MS     30000
#define DEFAULT_MAX_TIMEOUT_MS 3600000
#define DEFAULT_LOG_BYTES      ((uint64_t)10 << 20)
#define DEFAULT_LOG_KEEP       5

/* The policy that is built in, as it stands in default.toml. */
static struct str config_default_text(void)
{
    return str_of(text_default);
}

static const struct conf_key sections[] = {
    { "execution", conf_execution, 0 },
    { "imports", conf_imports, 0 },
    { "filesystem", conf_filesystem, 0 },
    { "ast", conf_ast, 0 },
    { "audit", conf_audit, 0 },
    { "restrictions", conf_restrictions, 0 },
    { "import_overrides", conf_import_overrides, 0 },
    { "shell", conf_shells, 0 },
    { "env", conf_env, 0 },
    { "deny_messages", conf_deny_messages, 0 },
    { "mcp", conf_mcp, 0 },
    { "audit_log", conf_audit_log, 0 },
    { "tools", conf_tools, 0 },
};
#define REQUIRED_SECTIONS 5 /* the first ones */

/* Absolute, with "." and ".." taken away by their names. */
static bool find_workspace(struct conf *c, const char *given)
{
    char here[PATH_MAX];
    struct stat st;
    if (given[0] != '/' && !getcwd(here, sizeof(here)))
        return error_errno(c->err, errno, "cannot find the working directory");
    const char *path =
            given[0] == '/' ? given : arena_printf(c->arena, "%s/%s", here, given);
    char *real = realpath(path, NULL);
    if (!real)
        return error_errno(c->err, errno, "cannot use the workspace '%s'", given);
    bool is_folder = stat(real, &st) == 0 && S_ISDIR(st.st_mode);
    c->policy->workspace = arena_str(c->arena, str_of(protect_normal(path, c->arena)));
    c->policy->workspace_real = arena_str(c->arena, str_of(real));
    free(real);
    return is_folder ||
           error_set(c->err, ERR_INVALID, "the workspace '%s' is not a folder", given);
}

static void find_home(struct conf *c, const char *home)
{
    const char *real = home && home[0] == '/' ? protect_resolve(home, c->arena) : NULL;
    c->home = home && home[0] == '/' ? home : NULL;
    c->policy->home = str_of(real ? real : "");
}

static struct policy *create_policy(struct arena *arena)
{
    struct policy *p = arena_zalloc(arena, sizeof(*p));
    p->timeout_ms = DEFAULT_TIMEOUT_MS;
    p->max_timeout_ms = DEFAULT_MAX_TIMEOUT_MS;
    p->env.fallback = ENV_INERT;
    p->audit_log = (struct policy_audit_log){
        .path = STR(""), .max_bytes = DEFAULT_LOG_BYTES, .keep = DEFAULT_LOG_KEEP
    };
    return p;
}

/* Whoever made .pyddock into something else, or a link into a place that is not there
 * now, did not ask for the built-in policy. */
static bool check_folder(struct conf *c)
{
    const char *path =
            arena_printf(c->arena, "%.*s/.pyddock", STR_ARG(c->policy->workspace_real));
    struct stat st;
    if (lstat(path, &st) < 0 && errno == ENOENT)
        return true;
    if (stat(path, &st) < 0)
        return error_errno(c->err, errno, ".pyddock: cannot be looked into");
    return S_ISDIR(st.st_mode) ||
           error_set(c->err, ERR_INVALID, ".pyddock: is not a folder");
}

/* A file of the workspace.  True with `*found` false: there is none, not even a link. */
static bool read_own_file(
        struct conf *c, const char *name, struct toml_value *out, bool *found)
{
    const char *path =
            arena_printf(c->arena, "%.*s/%s", STR_ARG(c->policy->workspace_real), name);
    struct stat st;
    *found = lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
    if (!*found)
        return true;
    c->files[c->file_count++] = path;
    return conf_read_file(path, name, c->arena, out, c->err);
}

static bool read_base(struct conf *c, struct toml_value *out)
{
    bool found;
    c->policy->base = BASE_NAME;
    if (!read_own_file(c, BASE_NAME, out, &found))
        return false;
    if (found)
        return true;
    c->policy->base = BUILT_IN_NAME;
    return toml_parse(config_default_text(), BUILT_IN_NAME, c->arena, out, c->err);
}

static bool read_tree(struct conf *c, const char *file, struct toml_value *out)
{
    struct toml_value base, over;
    bool found;
    if (file) {
        c->policy->base = arena_cstr(c->arena, str_of(file));
        char *real = realpath(file, NULL);
        if (real)
            c->files[c->file_count++] = arena_cstr(c->arena, str_of(real));
        free(real);
        return conf_read_file(file, c->policy->base, c->arena, out, c->err);
    }
    if (!check_folder(c) || !read_base(c, &base) ||
            !read_own_file(c, OVERLAY_NAME, &over, &found))
        return false;
    c->policy->overlay = found ? OVERLAY_NAME : NULL;
    *out = found ? conf_merge(&base, &over, c->arena) : base;
    return true;
}

static bool check_required(struct conf *c, const struct toml_value *root)
{
    auto_buf missing = BUF(256);
    for (size_t i = 0; i < REQUIRED_SECTIONS; i++)
        if (!toml_find(root, str_of(sections[i].name)))
            buf_addf(&missing, "%s[%s]", missing.len ? ", " : "", sections[i].name);
    return !missing.len ||
           error_set(c->err, ERR_INVALID,
                   "%s:1: required and missing: %s (a section may be empty)",
                   c->policy->base, missing.data);
}

static bool read_sections(struct conf *c, const struct toml_value *root)
{
    for (size_t i = 0; i < root->count; i++) {
        const struct toml_item *item = &root->items[i];
        const struct conf_key *section = NULL;
        for (size_t j = 0; j < ARRAY_LEN(sections) && !section; j++)
            if (str_is(item->key, sections[j].name))
                section = &sections[j];
        if (!section)
            return conf_unknown(c, "", item, sections, ARRAY_LEN(sections));
        if (!section->read(c, section->name, item, c->policy))
            return false;
    }
    return check_required(c, root);
}

bool conf_build(struct conf *c, const struct toml_value *root)
{
    c->policy->source = root;
    if (!read_sections(c, root) || !conf_overrides_check(c))
        return false;
    conf_protect(c);
    c->policy->warnings = (struct policy_texts){ c->warnings, c->warning_count };
    return conf_audit_log_check(c);
}

bool conf_begin(struct conf *c, const char *workspace, const char *home)
{
    c->policy = create_policy(c->arena);
    if (!find_workspace(c, workspace))
        return false;
    find_home(c, home);
    return true;
}

bool config_load(const struct config_request *request, struct arena *arena,
        struct policy **out, struct error *err)
{
    struct toml_value *root = arena_zalloc(arena, sizeof(*root));
    struct conf c = { .arena = arena, .err = err };
    if (!conf_begin(&c, request->workspace, request->home) ||
            !read_tree(&c, request->file, root) || !conf_build(&c, root))
        return false;
    *out = c.policy;
    return true;
}
