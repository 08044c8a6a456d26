#include "base/file.h"
#include "policy/deputy/parts.h"
#include "policy/place.h"

#define MAX_SETTINGS ((size_t)1 << 16)

/* The options before the command.  Which server, with which password, from which folder
 * or file of arguments: that is for the user's own settings to say. */
static const struct options global_options = {
    "-b= -c= -C= -F= -G -h -I -L= -q -Q= -r= -R -s -u= -V -z= -Z= -d^ -e^ -E^ -H^ -i^ "
    "-p^ -P^ -v^ -x^ -t^ -l^",
    NULL,
};

/* What takes a value, by its meaning in all commands together: a letter that is a file
 * in one of them is listed for that command alone. */
static const struct options common_options = {
    "-m= -u= -c= -S= -P= -b= -L= -e= -D= -F= -T= -O -l -s --me --parallel=",
    NULL,
};
static const struct options print_options = { "-o> -m= -q -a -A -U -k -T=", NULL };

static const struct options *options_of(struct str command)
{
    return str_is(command, "print") ? &print_options : &common_options;
}

static bool read_global(struct deputy_call *call, size_t *first)
{
    struct option_reader r = {
        .options = &global_options,
        .args = call->args,
        .count = call->count,
        .exact = true,
    };
    struct option_word word;
    *first = call->count;
    while (option_next(&r, &word)) {
        if (word.is_operand) {
            *first = word.at;
            return true;
        }
        if (!deputy_own_option_allowed(call, &word))
            return false;
    }
    return true;
}

static bool options_allowed(const struct deputy_call *call, size_t first)
{
    if (first >= call->count)
        return true;
    struct option_reader r = {
        .options = options_of(call->args[first]),
        .args = call->args,
        .count = call->count,
        .next = first + 1,
        .exact = true,
    };
    struct option_word word;
    while (option_next(&r, &word)) {
        if (!word.is_operand && !deputy_option_allowed(call, &word))
            return false;
    }
    return true;
}

/* Lines NAME=value of the file that P4CONFIG names, in the nearest folder that has it.
 * `*planted`: agents, or what they start, may have written it. */
static struct str read_settings(
        const struct deputy_call *call, const char *name, bool *planted)
{
    struct str dir = call->cwd;
    while (dir.len) {
        const char *path = arena_printf(call->arena, "%.*s/%s", STR_ARG(dir), name);
        struct str text;
        if (file_read(path, MAX_SETTINGS, call->arena, &text) == 0) {
            *planted = place_may_be_planted(call->policy, str_of(path));
            return text;
        }
        while (dir.len && dir.data[dir.len - 1] != '/')
            dir.len--;
        if (dir.len)
            dir.len--;
    }
    return STR("");
}

/* Settings that say who and what, but start nothing. */
static bool is_harmless_setting(struct str name)
{
    static const char *const names[] = { "P4CHARSET", "P4CLIENT", "P4COMMANDCHARSET",
        "P4HOST", "P4IGNORE", "P4LANGUAGE", "P4PORT", "P4STREAM", "P4USER" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(name, names[i]))
            return true;
    }
    return false;
}

static bool is_starting_setting(struct str name)
{
    static const char *const prefixes[] = { "P4ALIASES", "P4CONFIG", "P4DIFF", "P4EDITOR",
        "P4ENVIRO", "P4LOGINSSO", "P4MERGE", "P4PAGER", "EDITOR", "VISUAL", "PAGER" };
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
        if (str_starts(name, str_of(prefixes[i])))
            return true;
    }
    return str_is(name, "DIFF") || str_is(name, "MERGE");
}

static bool is_password(struct str name)
{
    return str_is(name, "P4PASSWD");
}

/* The user's password is for the user's server: not for one that an agent may name.
 * Tickets know their server themselves. */
static void guard_password(const struct deputy_call *call, const char *old_port)
{
    const char *port = deputy_env_get(call, "P4PORT");
    bool same = port && old_port && !strcmp(port, old_port);
    if (same || !port || !deputy_env_get(call, "P4PASSWD"))
        return;
    deputy_env_drop(call, is_password);
    deputy_note(call, "P4PASSWD is not used: the file that P4CONFIG names sets another "
                      "P4PORT, and an agent may write it");
}

/*
 * A file .p4config lies where an agent may write, so p4 does not get to read it: what is
 * harmless in it becomes variables, and P4CONFIG names what cannot be a file.
 */
static void take_settings(const struct deputy_call *call)
{
    const char *name = deputy_env_get(call, "P4CONFIG");
    const char *port = deputy_env_get(call, "P4PORT");
    struct str rest = STR("");
    bool planted = false;
    if (name && *name && !strchr(name, '/'))
        rest = read_settings(call, name, &planted);
    deputy_env_drop(call, is_starting_setting);
    while (rest.len) {
        struct str value = str_cut(&rest, '\n'), key = str_cut(&value, '=');
        while (value.len &&
                (value.data[value.len - 1] == '\r' || value.data[value.len - 1] == ' '))
            value.len--;
        if (is_harmless_setting(key))
            deputy_env_set(
                    call, arena_cstr(call->arena, key), arena_cstr(call->arena, value));
        else if (is_starting_setting(key))
            deputy_note(call, "%.*s of %s is not used", STR_ARG(key), name);
    }
    if (planted)
        guard_password(call, port);
    deputy_env_set(call, "P4CONFIG", "none/.");
    deputy_env_set(call, "P4EDITOR", "true");
}

static bool port_allowed(const struct deputy_call *call)
{
    const char *port = deputy_env_get(call, "P4PORT");
    return !port || !strcasestr(port, "rsh:") ||
           deputy_refuse(call, "The server of p4 is not a program.",
                   "Ask a person to set P4PORT.", "P4PORT '%s' would start a program",
                   port);
}

bool deputy_p4(const struct policy *policy, const struct path_policy *paths,
        struct arena *arena, struct command_plan *plan, struct refusal *why)
{
    struct deputy_call call = {
        .policy = policy, .paths = paths, .arena = arena, .plan = plan, .why = why
    };
    size_t first;
    deputy_begin(&call, "p4");
    if (!read_global(&call, &first) || !options_allowed(&call, first))
        return false;
    take_settings(&call);
    return port_allowed(&call);
}

/* `//depot/main/...` is never a path of this machine. */
void deputy_p4_text(const struct str *args, size_t count, bool *is_text)
{
    size_t first = 0;
    while (first < count && args[first].len && args[first].data[0] == '-')
        first++;
    if (first >= count)
        return;
    struct option_reader r = {
        .options = options_of(args[first]),
        .args = args,
        .count = count,
        .next = first + 1,
        .exact = true,
    };
    struct option_word word;
    while (option_next(&r, &word)) {
        if (word.is_operand)
            is_text[word.at] = str_starts(word.text, STR("//"));
        else if (word.has_value && word.option.use == OPTION_TEXT)
            is_text[word.value_at] = true;
    }
}
