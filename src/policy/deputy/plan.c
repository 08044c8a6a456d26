#include "policy/deputy/parts.h"

#include <stdarg.h>
#include <stdio.h>

static size_t list_length(const char **list)
{
    size_t count = 0;
    while (list && list[count])
        count++;
    return count;
}

/* A copy of a NULL-terminated list with `item` before position `at`. */
static const char **list_with(
        const struct deputy_call *call, const char **list, size_t at, const char *item)
{
    size_t count = list_length(list);
    const char **copy = arena_zalloc(call->arena, (count + 2) * sizeof(*copy));
    for (size_t i = 0, to = 0; to <= count; to++)
        copy[to] = to == at ? item : list[i++];
    return copy;
}

void deputy_list_add(const struct deputy_call *call, const char ***list, const char *item)
{
    *list = list_with(call, *list, list_length(*list), item);
}

static bool is_variable(const char *entry, struct str name)
{
    return !strncmp(entry, name.data, name.len) && entry[name.len] == '=';
}

const char *deputy_env_get(const struct deputy_call *call, const char *name)
{
    struct str wanted = str_of(name);
    for (const char **entry = call->plan->env; *entry; entry++) {
        if (is_variable(*entry, wanted))
            return *entry + wanted.len + 1;
    }
    return NULL;
}

void deputy_env_set(const struct deputy_call *call, const char *name, const char *value)
{
    const char *line = arena_printf(call->arena, "%s=%s", name, value);
    for (const char **entry = call->plan->env; *entry; entry++) {
        if (is_variable(*entry, str_of(name))) {
            *entry = line;
            return;
        }
    }
    deputy_list_add(call, &call->plan->env, line);
}

void deputy_env_drop(const struct deputy_call *call, deputy_drop_fn *drop)
{
    size_t count = list_length(call->plan->env), kept = 0;
    const char **env = arena_zalloc(call->arena, (count + 1) * sizeof(*env));
    for (size_t i = 0; i < count; i++) {
        struct str rest = str_of(call->plan->env[i]);
        if (!drop(str_cut(&rest, '=')))
            env[kept++] = call->plan->env[i];
    }
    call->plan->env = env;
}

void deputy_env_append(const struct deputy_call *call, const char **lines, size_t count)
{
    size_t before = list_length(call->plan->env);
    const char **env = arena_zalloc(call->arena, (before + count + 1) * sizeof(*env));
    memcpy(env, call->plan->env, before * sizeof(*env));
    memcpy(env + before, lines, count * sizeof(*env));
    call->plan->env = env;
}

void deputy_arg_insert(const struct deputy_call *call, size_t at, const char *arg)
{
    call->plan->argv = list_with(call, call->plan->argv, at + 1, arg);
}

void deputy_arg_replace(const struct deputy_call *call, size_t at, const char *arg)
{
    const char **argv = list_with(call, call->plan->argv, SIZE_MAX, NULL);
    argv[at + 1] = arg;
    call->plan->argv = argv;
}

void deputy_note(const struct deputy_call *call, const char *fmt, ...)
{
    char line[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    struct str *notes = &call->plan->notes;
    *notes = str_of(arena_printf(
            call->arena, "%.*s%s%s", STR_ARG(*notes), notes->len ? "\n" : "", line));
}
