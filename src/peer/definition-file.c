#include "peer/definition-parts.h"

static const char *const keys[] = { "mcpServers", "servers" };

/* What jansson says may quote the text. */
static bool refuse_text(const struct error *why, struct error *err)
{
    auto_buf shown = BUF(2 * sizeof(why->message));
    buf_add_shown(&shown, str_of(why->message));
    return error_set(err, why->code,
            "is not plain JSON (comments, trailing commas and repeated names are not "
            "taken): %s",
            buf_str(&shown).data);
}

bool definition_parse(struct str text, json_t **out, struct error *err)
{
    json_t *file = NULL;
    struct error why = { 0 };
    if (!json_parse(text, &file, &why))
        return refuse_text(&why, err);
    bool any = false, fine = json_is_object(file);
    for (size_t i = 0; i < ARRAY_LEN(keys) && fine; i++) {
        const json_t *servers = json_object_get(file, keys[i]);
        any = any || servers;
        fine = !servers || json_is_object(servers);
    }
    if (fine && any) {
        *out = file;
        return true;
    }
    json_decref(file);
    return error_set(err, ERR_INVALID,
            "has no object \"mcpServers\" or \"servers\" with the servers by name");
}

struct scan {
    struct str text;
    size_t at;
    unsigned line;
};

static void skip_string(struct scan *s)
{
    for (s->at++; s->at < s->text.len && s->text.data[s->at] != '"'; s->at++)
        s->at += s->text.data[s->at] == '\\';
    s->at++;
}

static void skip_space(struct scan *s)
{
    for (; s->at < s->text.len && strchr(" \t\r\n", s->text.data[s->at]); s->at++)
        s->line += s->text.data[s->at] == '\n';
}

/* The next string that is a key, at which depth, and its line; false: there is none. */
static bool next_key(struct scan *s, unsigned *depth, struct str *literal, unsigned *line)
{
    while (skip_space(s), s->at < s->text.len) {
        char c = s->text.data[s->at];
        size_t from = s->at;
        if (c != '"') {
            *depth += c == '{' || c == '[';
            *depth -= c == '}' || c == ']';
            s->at++;
            continue;
        }
        *line = s->line;
        skip_string(s);
        *literal = str_sub(s->text, from, s->at - from);
        skip_space(s);
        if (s->at < s->text.len && s->text.data[s->at] == ':')
            return true;
    }
    return false;
}

/* Where a server stands in JSON that was parsed already: the line of its name in the
 * object at `key`; 1 if one of them is written with escapes. */
static unsigned find_line(struct str text, const char *key, struct str name)
{
    auto_buf outer = BUF(64), inner = BUF(text.len + 16);
    struct scan s = { .text = text, .line = 1 };
    struct str literal;
    unsigned depth = 0, line;
    bool inside = false;
    json_write_text(str_of(key), &outer);
    json_write_text(name, &inner);
    while (next_key(&s, &depth, &literal, &line)) {
        if (depth == 1)
            inside = str_eq(literal, buf_str(&outer));
        if (depth == 2 && inside && str_eq(literal, buf_str(&inner)))
            return line;
    }
    return 1;
}

void definition_find(const json_t *file, struct str text, struct str name,
        struct definition_source *out)
{
    *out = (struct definition_source){ .server = NULL };
    auto_free char *member = str_copy(name);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const json_t *servers = json_object_get(file, keys[i]);
        const json_t *server = json_object_get(servers, member);
        if (!server)
            continue;
        out->ambiguous = out->server;
        out->server = server;
        out->origin.line = find_line(text, keys[i], name);
    }
}
