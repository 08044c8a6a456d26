#include "peer/definition-parts.h"

#include <ctype.h>
#include <strings.h>

#define MAX_SHOWN 80 /* bytes of a value in a message */

/* A name or value of the file in a message, on one line. */
static const char *shown(const struct definition_loader *l, struct str text)
{
    auto_buf out = BUF(4 * MAX_SHOWN + 8);
    buf_add_shown(&out, str_sub(text, 0, MAX_SHOWN));
    buf_add(&out, text.len > MAX_SHOWN ? STR("...") : STR(""));
    return arena_cstr(l->arena, buf_str(&out));
}

static bool has_control(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (iscntrl((unsigned char)text.data[i]))
            return true;
    return false;
}

static bool check_text(const char *what, struct str text, struct error *err)
{
    if (text.len && memchr(text.data, 0, text.len))
        return error_set(err, ERR_INVALID, "%s has a NUL in it", what);
    return text.len < DEFINITION_MAX_STRING ||
           error_set(err, ERR_LIMIT, "%s is longer than %zu bytes", what,
                   DEFINITION_MAX_STRING);
}

/* --- ${NAME} --- */

static const char *find_variable(const struct definition_loader *l, struct str name)
{
    for (char *const *one = l->environment; *one; one++) {
        struct str rest = str_of(*one);
        if (str_eq(str_cut(&rest, '='), name))
            return rest.data;
    }
    return NULL;
}

static bool is_listed(const struct policy_mcp *section, struct str name)
{
    for (size_t i = 0; i < section->variables.count; i++)
        if (str_eq(section->variables.items[i].text, name))
            return true;
    return false;
}

static bool add_variable(const struct definition_loader *l,
        const struct policy_mcp *section, struct str name, struct buf *out,
        struct error *err)
{
    const char *value = find_variable(l, name);
    if (!is_listed(section, name))
        return error_set(err, ERR_DENIED,
                "names ${%s}, which [mcp.%s] variables does not list", shown(l, name),
                shown(l, section->name));
    if (!value)
        return error_set(err, ERR_NOT_FOUND,
                "names ${%s}, which is not set in the environment", shown(l, name));
    buf_add(out, str_of(value));
    return true;
}

/* Without a list of names the text stays as it is. */
static bool interpolate(const struct definition_loader *l,
        const struct policy_mcp *section, struct str text, struct str *out,
        struct error *err)
{
    auto_buf whole = BUF(DEFINITION_MAX_STRING);
    *out = text;
    if (!section->variables.count)
        return true;
    while (text.len) {
        const char *mark = memmem(text.data, text.len, "${", 2);
        size_t before = mark ? (size_t)(mark - text.data) : text.len;
        buf_add(&whole, str_sub(text, 0, before));
        text = str_from(text, before);
        if (!mark)
            continue;
        text = str_from(text, 2);
        if (!memchr(text.data, '}', text.len))
            return error_set(err, ERR_INVALID, "has '${' without '}'");
        if (!add_variable(l, section, str_cut(&text, '}'), &whole, err))
            return false;
    }
    *out = arena_str(l->arena, buf_str(&whole));
    return !whole.full ||
           error_set(err, ERR_LIMIT, "is longer than %zu bytes", DEFINITION_MAX_STRING);
}

/* --- arguments --- */

static bool read_args(const struct definition_loader *l, const json_t *args,
        struct peer_definition *out, struct error *err)
{
    size_t count = json_array_size(args);
    if (args && !json_is_array(args))
        return error_set(err, ERR_INVALID, "\"args\" is no list of strings");
    if (count > DEFINITION_MAX_ITEMS)
        return error_set(err, ERR_LIMIT, "\"args\" has more than %d entries",
                DEFINITION_MAX_ITEMS);
    const char **argv = arena_zalloc(l->arena, (count + 2) * sizeof(*argv));
    argv[0] = out->program;
    for (size_t i = 0; i < count; i++) {
        const json_t *arg = json_array_get(args, i);
        if (!json_is_string(arg))
            return error_set(err, ERR_INVALID, "\"args\" has an entry that is no string");
        if (!check_text("an entry of \"args\"", json_str(arg), err))
            return false;
        argv[i + 1] = arena_str(l->arena, json_str(arg)).data;
    }
    out->argv = argv;
    return true;
}

/* --- env and headers: objects of strings --- */

static bool check_variable(
        const struct definition_loader *l, struct str name, struct error *err)
{
    bool fine = name.len && !memchr(name.data, '=', name.len) && !has_control(name);
    return fine || error_set(err, ERR_INVALID,
                           "\"env\" has '%s', which is no name of a "
                           "variable",
                           shown(l, name));
}

static bool check_header(
        const struct definition_loader *l, struct str name, struct error *err)
{
    for (size_t i = 0; i < name.len; i++)
        if (!isalnum((unsigned char)name.data[i]) &&
                !strchr("!#$%&'*+-.^_`|~", name.data[i]))
            name.len = 0;
    return name.len || error_set(err, ERR_INVALID,
                               "\"headers\" has '%s', which is no name of a header",
                               shown(l, str_of(name.data)));
}

static size_t find_name(
        const char *const *list, size_t count, struct str name, char separator)
{
    size_t i = 0;
    for (; i < count; i++) {
        struct str rest = str_of(list[i]);
        if (str_eq(str_cut(&rest, separator), name))
            break;
    }
    return i;
}

/* Header names that differ in their case alone are the same to some readers. */
static bool is_twice(const json_t *object, const char *name)
{
    const char *other;
    json_t *value;
    size_t same = 0;
    json_object_foreach ((json_t *)(uintptr_t)object, other, value)
        same += !strcasecmp(other, name);
    return same > 1;
}

struct pairs {
    const char *key;       /* "env" */
    const char *separator; /* between a name and its value */
    const char *const *base;
    bool (*check)(const struct definition_loader *l, struct str name, struct error *err);
    bool is_headers;
};

static bool read_pair(const struct definition_loader *l, const struct policy_mcp *section,
        const struct pairs *kind, const char *name, const json_t *value, const char **out,
        struct error *err)
{
    const char *what =
            arena_printf(l->arena, "\"%s\" '%s'", kind->key, shown(l, str_of(name)));
    struct str text;
    if (!kind->check(l, str_of(name), err))
        return false;
    if (!json_is_string(value))
        return error_set(err, ERR_INVALID, "%s is no string", what);
    if (!interpolate(l, section, json_str(value), &text, err))
        return error_context(err, "%s", what);
    if (!check_text(what, text, err))
        return false;
    if (kind->is_headers && has_control(text))
        return error_set(err, ERR_INVALID, "%s has control characters in it", what);
    *out = arena_printf(l->arena, "%s%s%.*s", name, kind->separator, STR_ARG(text));
    return true;
}

static bool read_pairs(const struct definition_loader *l,
        const struct policy_mcp *section, const json_t *object, const struct pairs *kind,
        const char *const **out, struct error *err)
{
    size_t base = 0, count = json_object_size(object);
    const char *name;
    json_t *value;
    if (object && !json_is_object(object))
        return error_set(
                err, ERR_INVALID, "\"%s\" is no object of strings by name", kind->key);
    if (count > DEFINITION_MAX_ITEMS)
        return error_set(err, ERR_LIMIT, "\"%s\" has more than %d entries", kind->key,
                DEFINITION_MAX_ITEMS);
    while (kind->base && kind->base[base])
        base++;
    const char **list = arena_zalloc(l->arena, (base + count + 1) * sizeof(*list));
    if (base)
        memcpy(list, kind->base, base * sizeof(*list));
    count = base;
    json_object_foreach ((json_t *)(uintptr_t)object, name, value) {
        const char *pair = NULL;
        if (!read_pair(l, section, kind, name, value, &pair, err))
            return false;
        if (kind->is_headers && is_twice(object, name))
            return error_set(err, ERR_INVALID, "\"headers\" has '%s' more than once",
                    shown(l, str_of(name)));
        size_t at = find_name(list, count, str_of(name), kind->separator[0]);
        list[at] = pair;
        count += at == count;
    }
    *out = list;
    return true;
}

/* --- how it is reached --- */

static bool read_url(const struct definition_loader *l, struct str url,
        struct peer_definition *out, struct error *err)
{
    bool web = (url.len > 7 && !strncasecmp(url.data, "http://", 7)) ||
               (url.len > 8 && !strncasecmp(url.data, "https://", 8));
    for (size_t i = 0; i < url.len; i++)
        web = web && (unsigned char)url.data[i] > 0x20 &&
              (unsigned char)url.data[i] < 0x7F;
    if (!web)
        return error_set(err, ERR_INVALID,
                "\"url\" '%s' is no address that begins with http:// or https://",
                shown(l, url));
    out->url = arena_str(l->arena, url).data;
    return check_text("\"url\"", url, err);
}

/* "type", or "transport" as some write it, if it agrees with what the server has. */
static bool check_type(const struct definition_loader *l, const json_t *server,
        bool has_url, struct error *err)
{
    static const char *const of_url[] = { "http", "streamable-http", "streamableHttp",
        "streamable_http" };
    static const char *const members[] = { "type", "transport" };
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const json_t *type = json_object_get(server, members[i]);
        struct str name = json_str(type);
        bool is_url = str_which(name, of_url, ARRAY_LEN(of_url)) < ARRAY_LEN(of_url);
        if (!type || (has_url ? is_url : str_is(name, "stdio")))
            continue;
        if (str_is(name, "sse"))
            return error_set(err, ERR_UNSUPPORTED,
                    "it speaks the old HTTP+SSE transport, and only stdio and "
                    "Streamable HTTP are spoken here");
        return error_set(err, ERR_INVALID, "\"%s\" '%s' does not go with \"%s\"",
                members[i], shown(l, name), has_url ? "url" : "command");
    }
    return true;
}

static bool read_command(const struct definition_loader *l, const json_t *command,
        struct peer_definition *out, struct error *err)
{
    struct str text = json_str(command);
    if (!text.len)
        return error_set(err, ERR_INVALID, "\"command\" is no string, or empty");
    out->program = arena_str(l->arena, text).data;
    return check_text("\"command\"", text, err);
}

bool definition_read(const struct definition_loader *l,
        const struct definition_source *source, const struct policy_mcp *section,
        struct peer_definition *out, struct error *err)
{
    const struct pairs env = { "env", "=", l->base_env, check_variable, false };
    const struct pairs headers = { "headers", ": ", NULL, check_header, true };
    const json_t *server = source->server;
    const json_t *command = json_object_get(server, "command");
    const json_t *url = json_object_get(server, "url");
    *out = (struct peer_definition){
        .name = section->name, .section = section, .origin = source->origin
    };
    if (source->ambiguous)
        return error_set(err, ERR_INVALID,
                "it is defined twice, in \"mcpServers\" and in "
                "\"servers\"");
    if (!json_is_object(server))
        return error_set(err, ERR_INVALID, "its definition is no object");
    if (!command == !url)
        return error_set(err, ERR_INVALID,
                command ? "it has a \"command\" and a \"url\"; one of them must go"
                        : "it has neither a \"command\" nor a \"url\"");
    if (!check_type(l, server, url, err) ||
            !read_pairs(l, section, json_object_get(server, "env"), &env, &out->env, err))
        return false;
    if (url)
        return read_url(l, json_str(url), out, err) &&
               read_pairs(l, section, json_object_get(server, "headers"), &headers,
                       &out->headers, err);
    return read_command(l, command, out, err) &&
           read_args(l, json_object_get(server, "args"), out, err);
}
