#include "policy/deputy/git-parts.h"

struct option_reader git_reader(const struct git_call *call)
{
    return (struct option_reader){
        .options = call->command ? &call->command->options : &git_global_options,
        .args = call->base.args,
        .count = call->base.count,
        .next = call->first,
    };
}

static bool refuse_unknown(const struct git_call *call, struct str name)
{
    if (name.len && memchr(name.data, ' ', name.len))
        return deputy_refuse(&call->base, "Each argument is one word of the command.",
                "Give each word as an argument of its own: \"log\", \"--oneline\".",
                "'%.*s' is not a command that is known here", STR_ARG(name));
    return deputy_refuse(&call->base,
            "Of git only its own commands are started, no aliases and no programs "
            "git-NAME.",
            "Use the command that the alias stands for.",
            "'%.*s' is not a command that is known here", STR_ARG(name));
}

/* `-C DIR`: what follows is relative to it. */
static bool enter_folder(struct git_call *call, struct str dir)
{
    struct str canonical;
    if (!deputy_resolve(&call->base, dir, &canonical))
        return false;
    if (!deputy_in_workspace(&call->base, canonical))
        return deputy_refuse(&call->base, "git works in the workspace.",
                "Name a folder in the workspace.", "-C '%.*s' is outside the workspace",
                STR_ARG(dir));
    call->base.cwd = canonical;
    return path_allowed(call->base.paths, canonical, PATH_LOOK, call->base.why);
}

/* The options before the subcommand, and which one it is. */
static bool read_global(struct git_call *call)
{
    struct option_reader r = git_reader(call);
    r.exact = true;
    struct option_word word;
    while (option_next(&r, &word)) {
        if (word.is_operand) {
            call->first = word.at + 1;
            call->command = git_command_find(word.text);
            return call->command ? true : refuse_unknown(call, word.text);
        }
        if (!deputy_own_option_allowed(&call->base, &word))
            return false;
        if (option_is(&word, "-C") && !enter_folder(call, word.value))
            return false;
    }
    call->first = call->base.count;
    return true;
}

bool deputy_git(const struct policy *policy, const struct path_policy *paths,
        struct arena *arena, struct command_plan *plan, struct refusal *why)
{
    struct git_call call = { .base = { .policy = policy,
                                     .paths = paths,
                                     .arena = arena,
                                     .plan = plan,
                                     .why = why } };
    deputy_begin(&call.base, "git");
    bool allowed = read_global(&call) && git_arguments_allowed(&call) &&
                   git_repo_find(&call.base, &call.repo) && git_files_allowed(&call) &&
                   git_remotes_allowed(&call) &&
                   git_repo_load_nested(&call.base, &call.repo) && git_neutralise(&call);
    if (!allowed)
        return false;
    git_profile(&call);
    git_ask_first(&call);
    return true;
}

/* Where the arguments of the subcommand begin; `*command` is NULL if there is none. */
static size_t find_command(
        const struct str *args, size_t count, const struct git_command **command)
{
    struct option_reader r = {
        .options = &git_global_options, .args = args, .count = count, .exact = true
    };
    struct option_word word;
    *command = NULL;
    while (option_next(&r, &word)) {
        if (!word.is_operand)
            continue;
        *command = git_command_find(word.text);
        return word.at + 1;
    }
    return count;
}

bool git_has_pattern(struct option_reader r)
{
    struct option_word word;
    while (option_next(&r, &word)) {
        if (option_is(&word, "-e") || option_is(&word, "-f"))
            return true;
    }
    return false;
}

void deputy_git_text(const struct str *args, size_t count, bool *is_text)
{
    const struct git_command *command;
    size_t first = find_command(args, count, &command), operands = 0;
    if (!command || command->refused)
        return;
    struct option_reader r = {
        .options = &command->options, .args = args, .count = count, .next = first
    };
    bool pattern_first = command->flags & GIT_PATTERN && !git_has_pattern(r);
    bool text_first = command->flags & GIT_TEXT && !(command->flags & GIT_REMOTE);
    struct option_word word;
    while (option_next(&r, &word)) {
        if (word.is_operand)
            is_text[word.at] =
                    operands++ ? command->flags & GIT_TEXT : text_first || pattern_first;
        else if (word.has_value && word.option.use == OPTION_TEXT)
            is_text[word.value_at] = true;
    }
}
