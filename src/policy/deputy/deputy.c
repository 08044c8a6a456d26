#include "base/path.h"
#include "policy/deputy/parts.h"
#include "policy/place.h"

#include <stdarg.h>
#include <stdio.h>

/* Of one path, in the file system. */
#define MAX_LOOKUPS 20000

static const struct {
    const char *name;
    deputy_fn *judge;
    deputy_text_fn *text;
    deputy_plain_fn *plain; /* NULL: every word counts */
} deputies[] = {
    { "docker", deputy_docker, deputy_docker_text, NULL },
    { "git", deputy_git, deputy_git_text, deputy_git_plain },
    { "p4", deputy_p4, deputy_p4_text, NULL },
};

static int find_index(struct str command)
{
    while (memchr(command.data, '/', command.len))
        str_cut(&command, '/');
    for (size_t i = 0; i < ARRAY_LEN(deputies); i++) {
        if (str_is(command, deputies[i].name))
            return (int)i;
    }
    return -1;
}

deputy_fn *deputy_find(struct str command)
{
    int i = find_index(command);
    return i < 0 ? NULL : deputies[i].judge;
}

deputy_text_fn *deputy_text_find(struct str command)
{
    int i = find_index(command);
    return i < 0 ? NULL : deputies[i].text;
}

bool deputy_plain(const struct command_request *request, struct arena *arena,
        struct command_request *out)
{
    int i = find_index(request->command);
    return i >= 0 && deputies[i].plain && deputies[i].plain(request, arena, out);
}

void deputy_begin(struct deputy_call *call, const char *name)
{
    const char **argv = call->plan->argv;
    size_t count = 0;
    while (argv[count + 1])
        count++;
    struct str *args = arena_zalloc(call->arena, (count + 1) * sizeof(*args));
    for (size_t i = 0; i < count; i++)
        args[i] = str_of(argv[i + 1]);
    call->name = name;
    call->args = args;
    call->count = count;
    call->cwd = str_of(call->plan->cwd);
}

bool deputy_refuse(const struct deputy_call *call, const char *rule, const char *hint,
        const char *fmt, ...)
{
    char what[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof(what), fmt, args);
    va_end(args);
    refusal_begin(call->why, "deputy", NULL);
    buf_addf(&call->why->what, "%s: refused: ", call->name);
    buf_add_shown(&call->why->what, str_of(what));
    buf_add(&call->why->rule, str_of(rule));
    buf_add(&call->why->hint, str_of(hint));
    return false;
}

bool deputy_resolve(const struct deputy_call *call, struct str path, struct str *out)
{
    unsigned budget = MAX_LOOKUPS;
    struct place place;
    if (!place_find(call->cwd, path, PLACE_FOLLOW, call->arena, &budget, &place))
        return deputy_refuse(call, "A path leads somewhere.", "",
                "'%.*s' has too many links or is too long", STR_ARG(path));
    *out = place.path;
    return true;
}

bool deputy_in_workspace(const struct deputy_call *call, struct str canonical)
{
    return path_is_in(canonical, call->policy->workspace_real);
}

bool deputy_file_allowed(const struct deputy_call *call, struct str path,
        enum path_use use, struct str option)
{
    struct str canonical;
    if (str_is(path, "-"))
        return true;
    if (!deputy_resolve(call, path, &canonical))
        return false;
    if (use == PATH_READ && !deputy_in_workspace(call, canonical))
        return deputy_refuse(call, "A file that an argument names lies in the workspace.",
                "Copy what is needed into the workspace, or give the text itself.",
                "%.*s would read '%.*s', which is outside the workspace", STR_ARG(option),
                STR_ARG(canonical));
    return path_allowed(call->paths, canonical, use, call->why);
}

bool deputy_option_allowed(const struct deputy_call *call, const struct option_word *word)
{
    struct str name = word->option.name;
    switch (word->option.use) {
    case OPTION_RUNS:
        return deputy_refuse(call, "No option may start a program.",
                "Leave the option out.", "option '%.*s' (%.*s) would start a program",
                STR_ARG(name), STR_ARG(call->args[word->at]));
    case OPTION_REFUSED:
        return deputy_refuse(call,
                "No option may lead to another repository, server or configuration.",
                "Leave the option out.", "option '%.*s' (%.*s) is not permitted",
                STR_ARG(name), STR_ARG(call->args[word->at]));
    case OPTION_READS:
        return !word->has_value ||
               deputy_file_allowed(call, word->value, PATH_READ, name);
    case OPTION_WRITES:
        return !word->has_value ||
               deputy_file_allowed(call, word->value, PATH_WRITE, name);
    case OPTION_PLAIN:
    case OPTION_TEXT:
    case OPTION_PROGRAM_PART:
    case OPTION_DROPPED:
        break;
    }
    return true;
}

bool deputy_own_option_allowed(
        const struct deputy_call *call, const struct option_word *word)
{
    if (word->option.name.len)
        return deputy_option_allowed(call, word);
    const char *rule = arena_printf(call->arena,
            "Of %s's own options only those that are known to be harmless pass.",
            call->name);
    return deputy_refuse(call, rule, "Leave the option out.",
            "option '%.*s' before the command", STR_ARG(word->text));
}
