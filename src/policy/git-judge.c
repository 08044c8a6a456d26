#include "policy/git-parts.h"

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
    deputy_note(&call->base, "%.*s is turned off: it would start other programs",
            STR_ARG(word->option.name));
}

static bool submodule_format_allowed(
        const struct git_call *call, const struct option_word *word)
{
    bool enters = option_is(word, "--submodule") && !str_is(word->value, "short") &&
                  !str_is(word->value, "log");
    enters = enters ||
             (option_is(word, "--ignore-submodules") && word->has_value &&
                     !str_is(word->value, "all") && !str_is(word->value, "dirty"));
    return !enters || deputy_refuse(&call->base, "Submodules are not entered.",
                              "Run git in the submodule's folder.",
                              "option '%.*s' would start git in submodules",
                              STR_ARG(word->option.name));
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
    return submodule_format_allowed(call, word);
}

static bool operand_allowed(
        const struct git_call *call, const struct option_word *word, size_t index)
{
    bool writes = call->flags & GIT_WRITES_FILE && !index;
    if (!writes && !(call->flags & GIT_READS_FILES))
        return true;
    enum path_use use = writes ? PATH_WRITE : PATH_READ;
    return deputy_file_allowed(&call->base, word->text, use, str_of(call->command->name));
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
        bool allowed = word.is_operand ? operand_allowed(call, &word, call->operand_count)
                                       : option_allowed(call, &word);
        if (!allowed)
            return false;
        if (!word.is_operand)
            continue;
        if (!call->operand_count++)
            call->verb = word.text;
    }
    return true;
}
