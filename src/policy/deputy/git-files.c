#include "base/file.h"
#include "base/path.h"
#include "policy/deputy/git-parts.h"

#define MAX_STATE_BYTES ((size_t)1 << 20)

/* Would git read this operand of `diff` as a file, not as what the repository has? */
static bool is_plain_file(const struct git_call *call, struct str operand)
{
    struct str canonical;
    if (call->without_index || !call->repo.found)
        return true;
    if (!deputy_resolve(&call->base, operand, &canonical))
        return true;
    return !path_is_in(canonical, call->repo.tree);
}

static bool operands_allowed(struct git_call *call)
{
    struct option_reader r = git_reader(call);
    struct option_word word;
    bool skip = call->flags & GIT_PATTERN && !git_has_pattern(r);
    while (option_next(&r, &word)) {
        if (!word.is_operand)
            continue;
        if (!skip && is_plain_file(call, word.text) &&
                !deputy_file_allowed(
                        &call->base, word.text, PATH_READ, STR("--no-index")))
            return false;
        skip = false;
    }
    return true;
}

/* A rebase that was begun goes on with what is written in the repository. */
static bool todo_allowed(const struct git_call *call, const char *path)
{
    struct str text;
    if (file_read(path, MAX_STATE_BYTES, call->base.arena, &text))
        return true;
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        while (line.len && strchr(" \t\r", line.data[0]))
            line = str_from(line, 1);
        size_t len = 0;
        while (len < line.len && !strchr(" \t\r", line.data[len]))
            len++;
        struct str word = str_sub(line, 0, len);
        if (str_is(word, "exec") || str_is(word, "x"))
            return deputy_refuse(&call->base,
                    "No program is started that a repository names.",
                    "Ask a person to finish or abort it.",
                    "what was begun goes on with the command '%.*s'", STR_ARG(line));
    }
    return true;
}

static bool strategy_allowed(const struct git_call *call, struct str name)
{
    return !name.len || git_strategy_is_builtin(name) ||
           deputy_refuse(&call->base, "Only git's own merge strategies are started.",
                   "Ask a person to finish or abort it.",
                   "what was begun goes on with the strategy '%.*s'", STR_ARG(name));
}

static bool strategy_file_allowed(const struct git_call *call, const char *path)
{
    struct str text;
    if (file_read(path, MAX_STATE_BYTES, call->base.arena, &text))
        return true;
    return strategy_allowed(call, str_cut(&text, '\n'));
}

/* The options of a cherry-pick that was begun, in the format of a configuration. */
static bool options_file_allowed(const struct git_call *call, const char *path)
{
    struct git_settings settings = { 0 };
    struct error err = { 0 };
    struct str text;
    if (file_read(path, MAX_STATE_BYTES, call->base.arena, &text))
        return true;
    if (!git_config_parse(text, path, call->base.arena, &settings, &err))
        return deputy_refuse(&call->base, "What was begun is read before it goes on.",
                "Ask a person to finish or abort it.", "%s", err.message);
    for (size_t i = 0; i < settings.count; i++) {
        if (git_setting_is(&settings.items[i], "options", "strategy") &&
                !strategy_allowed(call, settings.items[i].value))
            return false;
    }
    return true;
}

static bool state_allowed(const struct git_call *call)
{
    static const struct {
        const char *name;
        bool (*allowed)(const struct git_call *call, const char *path);
    } files[] = {
        { "rebase-merge/git-rebase-todo", todo_allowed },
        { "rebase-merge/strategy", strategy_file_allowed },
        { "sequencer/todo", todo_allowed },
        { "sequencer/opts", options_file_allowed },
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        const char *path = arena_printf(
                call->base.arena, "%.*s/%s", STR_ARG(call->repo.dir), files[i].name);
        if (!files[i].allowed(call, path))
            return false;
    }
    return true;
}

bool git_files_allowed(struct git_call *call)
{
    if (!call->command)
        return true;
    struct str name = str_of(call->command->name);
    bool reads_files =
            str_is(name, "diff") || (str_is(name, "grep") && call->without_index);
    if (reads_files && !operands_allowed(call))
        return false;
    return !call->repo.found || !(call->flags & GIT_WRITES) || state_allowed(call);
}
