/* The sections about programs: [shell.*], [env], [deny_messages]. */
#include "policy/config/internal.h"

static bool read_env_default(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    static const char *const words[] = { "inert", "snapshot" };
    unsigned i;
    if (!conf_word(c, section, item, words, ARRAY_LEN(words), &i))
        return false;
    struct policy_env *env = to;
    env->fallback = i ? ENV_SNAPSHOT : ENV_INERT;
    env->fallback_origin = item->origin;
    return true;
}

static bool read_env(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    static const struct conf_key keys[] = {
        { "default", read_env_default, 0 },
        { "deny", conf_regexes_fold, offsetof(struct policy_env, deny) },
        { "pass", conf_regexes_fold, offsetof(struct policy_env, pass) },
    };
    return conf_section(c, section, item, keys, ARRAY_LEN(keys), to);
}

bool conf_env(struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    return read_env(c, section, item, &((struct policy *)to)->env);
}

static bool read_command(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy_shell *shell = to;
    struct str text;
    if (!conf_text(c, section, item, &text) ||
            !conf_regex(c, section, item, text, 0, &shell->command))
        return false;
    shell->command_given = true;
    return text.len || conf_fail_item(c, section, item, "an empty pattern matches all");
}

static bool read_arg_paths(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    static const char *const words[] = {
        [ARG_PATHS_WORKSPACE] = "workspace",
        [ARG_PATHS_PROTECTED] = "protected",
        [ARG_PATHS_NONE] = "none",
    };
    unsigned i;
    if (!conf_word(c, section, item, words, ARRAY_LEN(words), &i))
        return false;
    *(enum arg_paths *)to = (enum arg_paths)i;
    return true;
}

static bool read_shell_env(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    return read_env(c, conf_name(c, section, item->key), item, to);
}

bool conf_sandbox(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    static const char *const words[] = {
        [SANDBOX_WORKSPACE] = "workspace",
        [SANDBOX_NONE] = "none",
    };
    unsigned i;
    if (!conf_word(c, section, item, words, ARRAY_LEN(words), &i))
        return false;
    *(enum policy_sandbox *)to = (enum policy_sandbox)i;
    return true;
}

static bool read_writable(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy_shell *shell = to;
    return conf_paths(c, section, item, &shell->writable, &shell->writable_count);
}

/* Without `command`: the command that is called as the section is. */
static bool default_command(struct conf *c, const char *section,
        const struct toml_item *item, struct policy_shell *shell)
{
    const char *text = arena_printf(c->arena, "^%.*s$", STR_ARG(item->key));
    struct error why;
    struct pyre *pattern;
    if (!item->key.len || memchr(item->key.data, 0, item->key.len) ||
            !pyre_create(str_of(text), 0, &pattern, &why))
        return conf_fail(c, item->origin, section, STR("command"),
                "is missing, and the name of the section is no pattern");
    pyre_destroy(pattern);
    return conf_regex(c, section, item, str_of(text), 0, &shell->command);
}

static void warn_useless(struct conf *c, const struct policy_shell *shell)
{
    if (shell->mode == MODE_ALLOW && shell->allow.count)
        conf_warn(c, shell->allow.items[0].origin,
                "[shell.%.*s] allow: has no effect with mode = \"allow\"",
                STR_ARG(shell->name));
    if (shell->mode == MODE_DENY && !shell->allow.count)
        conf_warn(c, shell->origin,
                "[shell.%.*s] allow: is empty, so that no call of it is permitted",
                STR_ARG(shell->name));
}

bool conf_network(struct conf *c, const char *section, struct origin at, bool network,
        enum policy_sandbox sandbox)
{
    if (network || sandbox != SANDBOX_NONE)
        return true;
    return conf_fail(c, at, section, STR("network"),
            "false needs sandbox = \"workspace\", which holds it");
}

static bool read_shell(
        struct conf *c, const char *parent, const struct toml_item *item, void *to)
{
    static const struct conf_key keys[] = {
        { "command", read_command, 0 },
        { "mode", conf_mode, offsetof(struct policy_shell, mode) },
        { "allow", conf_regexes, offsetof(struct policy_shell, allow) },
        { "deny", conf_regexes, offsetof(struct policy_shell, deny) },
        { "arg_paths", read_arg_paths, offsetof(struct policy_shell, arg_paths) },
        { "env", read_shell_env, offsetof(struct policy_shell, env) },
        { "sandbox", conf_sandbox, offsetof(struct policy_shell, sandbox) },
        { "network", conf_bool, offsetof(struct policy_shell, network) },
        { "writable_paths", read_writable, 0 },
    };
    struct policy_shell *shell = to;
    const char *section = conf_name(c, parent, item->key);
    *shell = (struct policy_shell){ .name = item->key,
        .arg_paths = ARG_PATHS_WORKSPACE,
        .env = { .fallback = ENV_INHERIT },
        .sandbox = SANDBOX_WORKSPACE,
        .network = true,
        .origin = item->origin };
    if (!conf_section(c, section, item, keys, ARRAY_LEN(keys), shell) ||
            !conf_has_mode(c, section, item) ||
            !conf_network(c, section, item->origin, shell->network, shell->sandbox))
        return false;
    warn_useless(c, shell);
    return shell->command_given || default_command(c, section, item, shell);
}

bool conf_shells(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    if (!conf_each(c, section, item, read_shell, sizeof(*p->shells), &p->shells,
                &p->shell_count))
        return false;
    p->has_shell = p->shell_count > 0;
    return true;
}

static bool read_message(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy_message *out = to;
    return conf_text(c, section, item, &out->text) &&
           conf_regex(c, section, item, item->key, 0, &out->regex);
}

bool conf_deny_messages(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    struct policy *p = to;
    return conf_each(c, section, item, read_message, sizeof(*p->messages), &p->messages,
            &p->message_count);
}
