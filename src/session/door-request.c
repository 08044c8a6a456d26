#include "session/door-request.h"

#include <limits.h>
#include <signal.h>

static int hex_digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = memchr(digits, c, sizeof(digits) - 1);
    return at ? (int)(at - digits) : -1;
}

static bool parse_hex(struct str text, struct arena *arena, struct str *out)
{
    char *bytes = arena_alloc(arena, text.len / 2 + 1);
    for (size_t i = 0; i + 1 < text.len; i += 2) {
        int high = hex_digit(text.data[i]), low = hex_digit(text.data[i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i / 2] = (char)(high << 4 | low);
    }
    bytes[text.len / 2] = '\0';
    *out = (struct str){ bytes, text.len / 2 };
    return text.len % 2 == 0;
}

/* A string that a program can be given. */
static bool parse_bytes(const json_t *value, struct arena *arena, struct str *out)
{
    const json_t *hex = json_object_get(value, "hex");
    if (json_is_string(value))
        *out = arena_str(arena, json_str(value));
    else if (!json_is_string(hex) || !parse_hex(json_str(hex), arena, out))
        return false;
    return !out->len || !memchr(out->data, '\0', out->len);
}

static bool parse_argv(
        const json_t *list, struct arena *arena, struct command_request *out)
{
    size_t count = json_array_size(list);
    if (!count)
        return false;
    struct str *words = arena_alloc(arena, count * sizeof(*words));
    for (size_t i = 0; i < count; i++)
        if (!parse_bytes(json_array_get(list, i), arena, &words[i]))
            return false;
    out->command = words[0];
    out->args = words + 1;
    out->arg_count = count - 1;
    return true;
}

static bool parse_env(
        const json_t *list, struct arena *arena, struct command_request *out)
{
    size_t count = json_array_size(list);
    struct env_override *all = arena_alloc(arena, (count + 1) * sizeof(*all));
    for (size_t i = 0; i < count; i++) {
        const json_t *pair = json_array_get(list, i);
        if (json_array_size(pair) != 2 ||
                !parse_bytes(json_array_get(pair, 0), arena, &all[i].name) ||
                !parse_bytes(json_array_get(pair, 1), arena, &all[i].value))
            return false;
        if (!all[i].name.len || memchr(all[i].name.data, '=', all[i].name.len))
            return false;
    }
    out->env = all;
    out->env_count = count;
    return !list || json_is_array(list);
}

static const char *parse_caller(const json_t *value)
{
    static const char *const callers[] = { "AGENT", "TRUSTED", "IMPORT", "OTHER" };
    size_t which = str_which(json_str(value), callers, ARRAY_LEN(callers));
    return callers[which % ARRAY_LEN(callers)];
}

static bool parse_command(
        const json_t *object, struct arena *arena, struct door_request *out)
{
    const json_t *cwd = json_object_get(object, "cwd");
    out->caller = parse_caller(json_object_get(object, "caller"));
    out->command.cwd = STR("");
    return parse_argv(json_object_get(object, "argv"), arena, &out->command) &&
           parse_env(json_object_get(object, "env"), arena, &out->command) &&
           (!cwd || parse_bytes(cwd, arena, &out->command.cwd));
}

static bool parse_signal(const json_t *object, struct door_request *out)
{
    json_int_t number = json_integer_value(json_object_get(object, "number"));
    out->kind = DOOR_SIGNAL;
    out->number = number >= 1 && number <= SIGRTMAX ? (int)number : 0;
    return out->number;
}

/* False: not a whole number from 0 to `most`; an absent one is 0. */
static bool parse_count(const json_t *value, json_int_t most, json_int_t *out)
{
    *out = json_integer_value(value);
    return (!value || json_is_integer(value)) && *out >= 0 && *out <= most;
}

static bool parse_call(
        const json_t *object, struct arena *arena, struct door_request *out)
{
    const json_t *server = json_object_get(object, "call"),
                 *tool = json_object_get(object, "tool");
    json_int_t bytes, timeout_ms;
    if (!json_is_string(server) || !json_is_string(tool) ||
            !parse_count(json_object_get(object, "bytes"), DOOR_ARGUMENTS_MAX, &bytes) ||
            !parse_count(json_object_get(object, "timeout_ms"), INT_MAX, &timeout_ms))
        return false;
    out->kind = DOOR_CALL;
    out->caller = parse_caller(json_object_get(object, "caller"));
    out->server = arena_str(arena, json_str(server));
    out->tool = arena_str(arena, json_str(tool));
    out->argument_bytes = (size_t)bytes;
    out->timeout_ms = (unsigned)timeout_ms;
    return true;
}

/* By the one key that says what is asked for. */
static bool parse_kind(
        const json_t *object, struct arena *arena, struct door_request *out)
{
    const json_t *spawn = json_object_get(object, "spawn"),
                 *signal = json_object_get(object, "signal"),
                 *call = json_object_get(object, "call"),
                 *ask = json_object_get(object, "ask");
    if (!!spawn + !!signal + !!call + !!ask != 1)
        return false;
    if (call)
        return parse_call(object, arena, out);
    out->id = json_integer_value(spawn ? spawn : signal ? signal : ask);
    if (out->id < 1)
        return false;
    if (signal)
        return parse_signal(object, out);
    out->kind = spawn ? DOOR_SPAWN : DOOR_ASK;
    return parse_command(object, arena, out);
}

bool door_request_parse(
        struct str json, struct arena *arena, struct door_request *out, struct error *err)
{
    json_auto_t *object = NULL;
    struct door_request r = { 0 };
    if (!json_parse(json, &object, err))
        return error_set(err, ERR_INVALID, "a request that is not JSON");
    if (!parse_kind(object, arena, &r))
        return error_set(err, ERR_INVALID, "a request that is malformed");
    *out = r;
    return true;
}
