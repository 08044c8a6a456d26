#include "policy/deputy/git-parts.h"

/* The environment of a command has room for more, but no repository needs it. */
#define MAX_OVERRIDES 2000

/* Set whatever the configuration says: the strongest place, that of -c. */
static const struct override {
    const char *name, *value;
} always[] = {
    { "core.fsmonitor", "false" },
    { "core.hooksPath", "/dev/null" },
    { "core.pager", "cat" },
    { "core.askPass", "" },
    { "safe.bareRepository", "explicit" },
    { "interactive.diffFilter", "cat" },
    { "gpg.program", "false" },
    { "gpg.openpgp.program", "false" },
    { "gpg.x509.program", "false" },
    { "gpg.ssh.program", "false" },
    { "gpg.ssh.defaultKeyCommand", "false" },
    { "commit.gpgSign", "false" },
    { "tag.gpgSign", "false" },
    { "tag.forceSignAnnotated", "false" },
    { "push.gpgSign", "false" },
    { "log.showSignature", "false" },
    { "merge.verifySignatures", "false" },
    { "submodule.recurse", "false" },
    { "fetch.recurseSubmodules", "false" },
    { "push.recurseSubmodules", "no" },
    { "diff.submodule", "short" },
    { "diff.ignoreSubmodules", "dirty" },
    { "status.submoduleSummary", "false" },
    { "gc.auto", "0" },
    { "maintenance.auto", "false" },
    /* .git/config stays as it is, so no branch can get an upstream. */
    { "branch.autoSetupMerge", "false" },
};

/* Set where a repository names a program, to something with the same meaning or none.
 * NULL: is overridden above or in the environment, and is only told. */
static const struct named {
    const char *section, *key, *value;
    unsigned told_to; /* commands with one of these flags; 0: all */
} named[] = {
    { "core", "alternaterefscommand", "true", 0 },
    { "core", "fsmonitor", NULL, 0 },
    { "core", "gitproxy", NULL, GIT_NETWORK },
    { "core", "sshcommand", NULL, GIT_NETWORK },
    { "diff", "command", "false", GIT_DIFFS },
    { "diff", "external", "false", GIT_DIFFS },
    { "diff", "textconv", "cat", GIT_DIFFS | GIT_TEXTCONV },
    { "gc", "recentobjectshook", "true", GIT_WRITES },
    { "gpg", "defaultkeycommand", "false", GIT_WRITES },
    { "gpg", "program", "false", GIT_WRITES },
    { "lfs", "args", "", GIT_NETWORK },
    { "lfs", "clean", "cat", 0 },
    { "lfs", "path", "false", 0 },
    { "lfs", "smudge", "cat", 0 },
    { "lfs", "standalonetransferagent", "", GIT_NETWORK },
    { "merge", "driver",
            "git merge-file -L ours -L base -L theirs --marker-size=%L "
            "%A %O %B",
            GIT_CHECKS_OUT },
    { "pull", "octopus", "octopus", GIT_CHECKS_OUT },
    { "pull", "twohead", "recursive", GIT_CHECKS_OUT },
    { "submodule", "ignore", "dirty", GIT_NETWORK },
    { "submodule", "update", "none", GIT_NETWORK },
    { "tar", "command", "cat", 0 },
    { "trailer", "cmd", "true", GIT_WRITES },
    { "trailer", "command", "true", GIT_WRITES },
};

struct overrides {
    const struct deputy_call *call;
    const char **lines; /* of the environment: a key and a value for each */
    size_t count;
};

static bool add(struct overrides *o, const char *name, const char *value)
{
    if (o->count == MAX_OVERRIDES)
        return false;
    o->lines[2 * o->count] =
            arena_printf(o->call->arena, "GIT_CONFIG_KEY_%zu=%s", o->count, name);
    o->lines[2 * o->count + 1] =
            arena_printf(o->call->arena, "GIT_CONFIG_VALUE_%zu=%s", o->count, value);
    o->count++;
    return true;
}

static const char *full_name(
        const struct git_call *call, const struct git_setting *s, const char *key)
{
    if (!s->has_subsection)
        return arena_printf(call->base.arena, "%.*s.%s", STR_ARG(s->section), key);
    return arena_printf(call->base.arena, "%.*s.%.*s.%s", STR_ARG(s->section),
            STR_ARG(s->subsection), key);
}

static void tell(const struct git_call *call, const struct git_setting *s)
{
    const char *name = full_name(call, s, s->key.data);
    if (call->base.plan->notes.len < 1000)
        deputy_note(&call->base, "%s of the repository is not run (%s:%u)", name, s->file,
                s->line);
}

static bool override_named(
        const struct git_call *call, const struct git_setting *s, struct overrides *o)
{
    for (size_t i = 0; i < ARRAY_LEN(named); i++) {
        const struct named *n = &named[i];
        if (!git_setting_is(s, n->section, n->key))
            continue;
        bool harmless =
                n->value ? git_strategy_is_builtin(s->value) : git_setting_is_boolean(s);
        if (!harmless && (!n->told_to || call->flags & n->told_to))
            tell(call, s);
        return !n->value || add(o, full_name(call, s, n->key), n->value);
    }
    return true;
}

/* The lines that `git lfs install` writes: that program is the user's, and the programs
 * that its own settings name are overridden like others. */
static bool is_lfs_line(const struct git_setting *s)
{
    static const char *const lines[] = { "git-lfs clean -- %f", "git-lfs smudge -- %f",
        "git-lfs smudge --skip -- %f", "git-lfs filter-process",
        "git-lfs filter-process --skip" };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        if (str_is(s->value, lines[i]))
            return true;
    }
    return false;
}

static bool is_filter_program(const struct git_setting *s)
{
    return git_setting_is(s, "filter", "clean") ||
           git_setting_is(s, "filter", "smudge") ||
           git_setting_is(s, "filter", "process");
}

/*
 * A filter that is not run must not be left out silently where its result would be
 * stored: what git-crypt would have encrypted would be committed as it is.  So there it
 * fails, and git with it, for the files that have it.  Elsewhere files stay as they are.
 */
static bool override_filter(
        const struct git_call *call, const struct git_setting *s, struct overrides *o)
{
    if (!is_filter_program(s) || is_lfs_line(s))
        return true;
    if (str_is(s->key, "smudge"))
        return add(o, full_name(call, s, "smudge"), "cat");
    bool stores = call->flags & GIT_STORES;
    const char *clean = stores ? "false" : "cat";
    tell(call, s);
    /* An empty `process` is none, and hides `clean` and `smudge`. */
    return add(o, full_name(call, s, s->key.data),
                   str_is(s->key, "clean") ? clean : "") &&
           add(o, full_name(call, s, "required"), stores ? "true" : "false");
}

static bool override_found(const struct git_call *call, struct overrides *o)
{
    for (size_t i = 0; i < call->repo.settings.count; i++) {
        const struct git_setting *s = &call->repo.settings.items[i];
        if (!override_named(call, s, o) || !override_filter(call, s, o))
            return deputy_refuse(&call->base,
                    "No program is started that a repository names.",
                    "Ask a person to look at the repository's configuration.",
                    "the configuration names too many programs");
    }
    return true;
}

/* Of a repository's helper for passwords; where nobody asks for one there is none. */
static bool drops_credentials(const struct git_call *call)
{
    const struct git_setting *helper =
            git_repo_setting(&call->repo, "credential", "helper");
    if (helper && call->flags & GIT_NETWORK)
        tell(call, helper);
    return helper || !(call->flags & GIT_NETWORK);
}

bool git_neutralise(struct git_call *call)
{
    struct overrides o = {
        .call = &call->base,
        .lines = arena_zalloc(call->base.arena, 2 * MAX_OVERRIDES * sizeof(char *)),
    };
    /* It only prints, and is to print what there is. */
    bool is_config = call->command && !strcmp(call->command->name, "config");
    for (size_t i = 0; !is_config && i < ARRAY_LEN(always); i++) {
        if (!add(&o, always[i].name, always[i].value))
            return false;
    }
    if (!is_config && drops_credentials(call) && !add(&o, "credential.helper", ""))
        return false;
    if (!is_config && !override_found(call, &o))
        return false;
    git_environment(call, o.lines, o.count);
    return true;
}
