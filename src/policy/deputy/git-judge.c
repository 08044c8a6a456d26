#include "policy/deputy/git-parts.h"

/* A strategy NAME is the program git-merge-NAME. */
static bool strategy_allowed(const struct git_call *call, struct str name)
{
    return git_strategy_is_builtin(name) ||
           deputy_refuse(&call->base, "Only git's own merge strategies are started.",
                   "Use ort, recursive, resolve, octopus, ours or subtree.",
                   "strategy '%.*s' would start the program git-merge-%.*s",
                   STR_ARG(name), STR_ARG(name));
}

/* `--ext-diff` becomes `--no-ext-diff`. */
static void turn_off(const struct git_call *call, const struct option_word *word)
{
    struct str name = str_from(word->option.name, 2);
    deputy_arg_replace(&call->base, word->at,
            arena_printf(call->base.arena, "--no-%.*s", STR_ARG(name)));
    deputy_note(&call->base, "--%.*s is turned off: it would start other programs",
            STR_ARG(name));
}

static bool submodules_stay_closed(
        const struct git_call *call, const struct option_word *word)
{
    bool shows = option_is(word, "--submodule") && word->has_value &&
                 !str_is(word->value, "short") && !str_is(word->value, "log");
    bool looks = option_is(word, "--ignore-submodules") && word->has_value &&
                 !str_is(word->value, "all") && !str_is(word->value, "dirty");
    return (!shows && !looks) || deputy_refuse(&call->base, "Submodules are not entered.",
                                         "Run git in the submodule's folder.",
                                         "option '%.*s' would start git in submodules",
                                         STR_ARG(word->option.name));
}

static bool is_one_of(
        const struct option_word *word, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (option_is(word, names[i]))
            return true;
    }
    return false;
}

/* Options that change what the command does. */
static void take_note(struct git_call *call, const struct option_word *word)
{
    static const char *const listing[] = { "-l", "--list", "--get", "--get-all",
        "--get-regexp", "--get-urlmatch", "--get-color", "--get-colorbool" };
    static const char *const untracked[] = { "-u", "-a", "--all", "--include-untracked" };
    static const char *const configuring[] = { "-u", "--set-upstream-to",
        "--unset-upstream", "--edit-description", "--track", "-t" };
    static const char *const all[] = { "--all", "--multiple" };
    call->lists |= is_one_of(word, listing, ARRAY_LEN(listing));
    call->untracked |= is_one_of(word, untracked, ARRAY_LEN(untracked));
    call->configures |= is_one_of(word, configuring, ARRAY_LEN(configuring));
    call->all_remotes |= is_one_of(word, all, ARRAY_LEN(all));
    call->offline |= option_is(word, "-n");
    call->without_index |= option_is(word, "--no-index");
    call->only_ignored |= option_is(word, "-X");
}

static bool option_allowed(struct git_call *call, const struct option_word *word)
{
    if (word->at == call->first && str_is(word->text, "--help"))
        return deputy_refuse(&call->base, "Manuals are shown by other programs.",
                "Use -h.", "--help would start a program to show the manual");
    if (!deputy_option_allowed(&call->base, word))
        return false;
    if (word->option.use == OPTION_DROPPED)
        turn_off(call, word);
    if (word->option.use == OPTION_PROGRAM_PART && word->has_value &&
            !strategy_allowed(call, word->value))
        return false;
    take_note(call, word);
    return submodules_stay_closed(call, word);
}

/* These write any file of .git that is named: "commondir" would be taken for the place of
 * another repository. */
static bool is_ref_command(const struct git_call *call)
{
    return !strcmp(call->command->name, "symbolic-ref") ||
           !strcmp(call->command->name, "update-ref");
}

static bool ref_allowed(const struct git_call *call, struct str name)
{
    bool is_ref = str_is(name, "HEAD") || (str_starts(name, STR("refs/")) &&
                                                  !memmem(name.data, name.len, "..", 2));
    return is_ref ||
           deputy_refuse(&call->base,
                   "The name of a reference is HEAD or begins with refs/.",
                   "Write the whole name, such as refs/heads/main.",
                   "'%.*s' may be another file of the repository", STR_ARG(name));
}

static bool operand_allowed(struct git_call *call, const struct option_word *word)
{
    size_t index = call->operands++;
    if (!index)
        call->verb = word->text;
    if (!index && is_ref_command(call) && !ref_allowed(call, word->text))
        return false;
    bool writes = call->flags & GIT_WRITES_FILE && !index;
    if (!writes && !(call->flags & GIT_READS_FILES))
        return true;
    return deputy_file_allowed(&call->base, word->text, writes ? PATH_WRITE : PATH_READ,
            str_of(call->command->name));
}

static const char changes_config[] = "change .git/config";

/* What a command does by its first operand. */
static const struct git_verb {
    const char *command, *verb;
    unsigned less, more; /* flags */
    const char *refused; /* what it would do, or NULL */
} verbs[] = {
    { "bisect", "run", 0, 0, "run a command" },
    { "bisect", "view", 0, 0, "start a viewer" },
    { "bisect", "visualize", 0, 0, "start a viewer" },
    { "branch", "", GIT_WRITES, 0, NULL },
    { "config", "edit", 0, 0, changes_config },
    { "config", "remove-section", 0, 0, changes_config },
    { "config", "rename-section", 0, 0, changes_config },
    { "config", "set", 0, 0, changes_config },
    { "config", "unset", 0, 0, changes_config },
    { "notes", "", GIT_WRITES, 0, NULL },
    { "notes", "list", GIT_WRITES, 0, NULL },
    { "notes", "show", GIT_WRITES, 0, NULL },
    { "reflog", "delete", 0, GIT_WRITES, NULL },
    { "reflog", "drop", 0, GIT_WRITES, NULL },
    { "reflog", "expire", 0, GIT_WRITES, NULL },
    { "remote", "add", 0, 0, changes_config },
    { "remote", "prune", 0, GIT_WRITES | GIT_NETWORK, NULL },
    { "remote", "remove", 0, 0, changes_config },
    { "remote", "rename", 0, 0, changes_config },
    { "remote", "rm", 0, 0, changes_config },
    { "remote", "set-branches", 0, 0, changes_config },
    { "remote", "set-head", 0, GIT_WRITES | GIT_NETWORK, NULL },
    { "remote", "set-url", 0, 0, changes_config },
    { "remote", "show", 0, GIT_NETWORK, NULL },
    { "remote", "update", 0, GIT_WRITES | GIT_NETWORK, NULL },
    { "sparse-checkout", "list", GIT_WRITES | GIT_CHECKS_OUT, 0, NULL },
    { "stash", "apply", GIT_STORES, 0, NULL },
    { "stash", "branch", GIT_STORES, 0, NULL },
    { "stash", "list", GIT_WRITES | GIT_STORES | GIT_CHECKS_OUT, 0, NULL },
    { "stash", "pop", GIT_STORES, 0, NULL },
    { "stash", "show", GIT_WRITES | GIT_STORES | GIT_CHECKS_OUT, 0, NULL },
    { "tag", "", GIT_WRITES, 0, NULL },
    { "worktree", "list", GIT_WRITES | GIT_CHECKS_OUT, 0, NULL },
};

static bool refuse_verb(const struct git_call *call, const char *what)
{
    return deputy_refuse(&call->base,
            "Of git no program is started, and a repository's configuration stays as it "
            "is.",
            "Ask a person to do it.", "'%s %.*s' would %s", call->command->name,
            STR_ARG(call->verb), what);
}

static bool apply_verb(struct git_call *call)
{
    struct str name = str_of(call->command->name);
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++) {
        if (!str_is(name, verbs[i].command) || !str_is(call->verb, verbs[i].verb))
            continue;
        if (verbs[i].refused)
            return refuse_verb(call, verbs[i].refused);
        call->flags = (call->flags & ~verbs[i].less) | verbs[i].more;
    }
    if (str_is(name, "branch") && call->configures)
        call->flags |= GIT_WRITES;
    bool shows = str_is(call->verb, "show") && (call->offline || call->operands < 2);
    if (str_is(name, "remote") && shows)
        call->flags &= ~(unsigned)GIT_NETWORK;
    bool names_refs = str_is(name, "branch") || str_is(name, "tag");
    if (names_refs && call->lists)
        call->flags &= ~(unsigned)GIT_WRITES;
    bool reads = call->lists || str_is(call->verb, "get") || str_is(call->verb, "list");
    if (str_is(name, "config") && !reads && call->operands > 1)
        return refuse_verb(call, changes_config);
    return true;
}

bool git_arguments_allowed(struct git_call *call)
{
    if (!call->command)
        return true;
    call->flags = call->command->flags;
    if (call->command->refused)
        return deputy_refuse(&call->base, "Some commands of git are never started.",
                "Ask a person to run it.", "'%s' is not permitted: %s",
                call->command->name, call->command->refused);
    struct option_reader r = git_reader(call);
    struct option_word word;
    while (option_next(&r, &word)) {
        bool allowed = word.is_operand ? operand_allowed(call, &word)
                                       : option_allowed(call, &word);
        if (!allowed)
            return false;
    }
    return apply_verb(call);
}
