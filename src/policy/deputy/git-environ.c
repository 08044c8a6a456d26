#include "policy/deputy/git-parts.h"

static bool is_dropped(struct str name)
{
    static const char *const kept[] = { "GIT_AUTHOR_DATE", "GIT_AUTHOR_EMAIL",
        "GIT_AUTHOR_NAME", "GIT_COMMITTER_DATE", "GIT_COMMITTER_EMAIL",
        "GIT_COMMITTER_NAME", "GIT_GLOB_PATHSPECS", "GIT_ICASE_PATHSPECS",
        "GIT_LITERAL_PATHSPECS", "GIT_NOGLOB_PATHSPECS" };
    static const char *const dropped[] = { "BROWSER", "EDITOR", "LV", "PAGER", "VISUAL",
        "XDG_CONFIG_DIRS" };
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        if (str_is(name, kept[i]))
            return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(dropped); i++) {
        if (str_is(name, dropped[i]))
            return true;
    }
    return str_starts(name, STR("GIT_")) || str_starts(name, STR("LESS")) ||
           str_starts(name, STR("SSH_ASKPASS")) || str_starts(name, STR("SSH_SK_"));
}

/* May an agent write this file? */
static bool agent_writes(const struct git_call *call, const char *path)
{
    struct str canonical;
    return !deputy_resolve(&call->base, str_of(path), &canonical) ||
           path_allowed(call->base.paths, canonical, PATH_WRITE, NULL);
}

/* May an agent write this configuration, or what it includes? */
static bool is_suspicious(
        const struct git_call *call, const char *folder, const char *name)
{
    struct git_repo user = { 0 };
    const char *path = arena_printf(call->base.arena, "%s/%s", folder, name);
    if (agent_writes(call, path))
        return true;
    bool is_fine = git_repo_load_file(&call->base, &user, path);
    refusal_clear(call->base.why);
    return !is_fine;
}

/* The user's own configuration is the user's, as long as it is. */
static void settle_home(const struct git_call *call)
{
    const struct deputy_call *base = &call->base;
    if (base->policy->home.len)
        deputy_env_set(base, "HOME", arena_cstr(base->arena, base->policy->home));
    const char *home = deputy_env_get(base, "HOME");
    const char *xdg = deputy_env_get(base, "XDG_CONFIG_HOME");
    bool suspicious = home && (is_suspicious(call, home, ".gitconfig") ||
                                      is_suspicious(call, home, ".config/git/config"));
    suspicious = suspicious || (xdg && *xdg && is_suspicious(call, xdg, "git/config"));
    if (!suspicious)
        return;
    deputy_env_set(base, "GIT_CONFIG_GLOBAL", "/dev/null");
    deputy_note(base,
            "the user's configuration of git is not used: an agent may write it, "
            "or it cannot be read");
}

/* Certificates that the user trusts, if no agent may write them. */
static void keep_certificates(
        const struct git_call *call, const char *name, const char *value)
{
    if (value && *value && !agent_writes(call, value))
        deputy_env_set(&call->base, name, value);
}

void git_environment(const struct git_call *call, const char **overrides, size_t count)
{
    const struct deputy_call *base = &call->base;
    bool writes = call->flags & GIT_WRITES, talks = call->flags & GIT_NETWORK;
    const char *file = deputy_env_get(base, "GIT_SSL_CAINFO");
    const char *folder = deputy_env_get(base, "GIT_SSL_CAPATH");
    deputy_env_drop(base, is_dropped);
    keep_certificates(call, "GIT_SSL_CAINFO", file);
    keep_certificates(call, "GIT_SSL_CAPATH", folder);
    settle_home(call);
    deputy_env_set(base, "PAGER", "cat");
    deputy_env_set(base, "GIT_PAGER", "cat");
    deputy_env_set(base, "GIT_EDITOR", ":");
    deputy_env_set(base, "GIT_SEQUENCE_EDITOR", ":");
    deputy_env_set(base, "GIT_ASKPASS", "");
    deputy_env_set(base, "SSH_ASKPASS_REQUIRE", "never");
    deputy_env_set(base, "GIT_TERMINAL_PROMPT", "0");
    /* In a sandbox the workspace is a mount; its repository may begin above. */
    deputy_env_set(base, "GIT_DISCOVERY_ACROSS_FILESYSTEM", "1");
    deputy_env_set(base, "GIT_PROXY_COMMAND", "");
    deputy_env_set(base, "GIT_ALLOW_PROTOCOL",
            !talks             ? ""
            : call->allow_file ? "file:git:http:https:ssh"
                               : "git:http:https:ssh");
    deputy_env_set(
            base, "GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oPermitLocalCommand=no");
    if (!writes)
        deputy_env_set(base, "GIT_OPTIONAL_LOCKS", "0");
    /* What serves a local repository does not see what overrides its configuration. */
    if (!talks || call->allow_file)
        deputy_env_set(base, "GIT_NO_LAZY_FETCH", "1");
    if (!count)
        return;
    deputy_env_set(base, "GIT_CONFIG_COUNT", arena_printf(base->arena, "%zu", count));
    deputy_env_append(base, overrides, 2 * count);
}
