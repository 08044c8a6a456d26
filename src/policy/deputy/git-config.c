#include "policy/deputy/git-config.h"

#include <strings.h>

struct config_reader {
    struct str text;
    size_t at;
    unsigned line;
    const char *file;
    struct arena *arena;
    struct git_settings *out;
    struct error *err;
    struct str section, subsection;
    bool has_subsection;
};

static bool is_letter(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_name(int c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '-';
}

static bool is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

/* The next character, CR LF as one; -1 at the end. */
static int peek(const struct config_reader *r)
{
    if (r->at >= r->text.len)
        return -1;
    unsigned char c = (unsigned char)r->text.data[r->at];
    bool is_crlf =
            c == '\r' && r->at + 1 < r->text.len && r->text.data[r->at + 1] == '\n';
    return is_crlf ? '\n' : c;
}

static int take(struct config_reader *r)
{
    int c = peek(r);
    if (c < 0)
        return c;
    r->at += r->text.data[r->at] == '\r' && c == '\n' ? 2 : 1;
    r->line += c == '\n';
    return c;
}

static bool bad(const struct config_reader *r, const char *what)
{
    return error_set(r->err, ERR_INVALID, "%s:%u: %s", r->file, r->line, what);
}

static void skip_comment(struct config_reader *r)
{
    while (peek(r) >= 0 && peek(r) != '\n')
        take(r);
}

static struct str lower(struct arena *arena, struct str s)
{
    char *copy = arena_cstr(arena, s);
    for (size_t i = 0; i < s.len; i++) {
        if (copy[i] >= 'A' && copy[i] <= 'Z')
            copy[i] = (char)(copy[i] + 'a' - 'A');
    }
    return (struct str){ copy, s.len };
}

/* Behind `[section `: "subsection"]. */
static bool read_subsection(struct config_reader *r)
{
    auto_buf name = BUF(GIT_CONFIG_MAX_BYTES);
    while (peek(r) == ' ' || peek(r) == '\t')
        take(r);
    if (take(r) != '"')
        return bad(r, "a section's name is not in quotes");
    for (int c; (c = take(r)) != '"';) {
        if (c == '\\')
            c = take(r);
        if (c < 0 || c == '\n')
            return bad(r, "a section's name has no end");
        buf_addc(&name, (char)c);
    }
    if (take(r) != ']')
        return bad(r, "']' is missing");
    r->subsection = arena_str(r->arena, buf_str(&name));
    return true;
}

static bool read_section(struct config_reader *r)
{
    size_t from = r->at;
    while (is_name(peek(r)) || peek(r) == '.')
        take(r);
    struct str name = lower(r->arena, str_sub(r->text, from, r->at - from));
    int c = peek(r);
    bool is_quoted = c == ' ' || c == '\t';
    r->has_subsection = is_quoted || memchr(name.data, '.', name.len);
    r->section = str_cut(&name, '.');
    r->subsection = name; /* the old way to write it: [section.subsection] */
    if (is_quoted)
        return read_subsection(r);
    if (take(r) != ']')
        return bad(r, "not a section");
    return true;
}

static int escape(int c)
{
    switch (c) {
    case 't':
        return '\t';
    case 'b':
        return '\b';
    case 'n':
        return '\n';
    case '\\':
    case '"':
        return c;
    default:
        return -1;
    }
}

/* One character of a value, or the end of the line; false: not a value. */
static bool read_value_char(
        struct config_reader *r, struct buf *value, size_t *trimmed, bool *quoted)
{
    int c = take(r);
    if (!*quoted && is_space(c)) {
        if (value->len)
            buf_addc(value, (char)c);
        return true;
    }
    if (!*quoted && (c == ';' || c == '#')) {
        skip_comment(r);
        return true;
    }
    if (c == '"') {
        *quoted = !*quoted;
        return true;
    }
    if (c == '\\') {
        c = take(r);
        if (c == '\n')
            return true;
        if ((c = escape(c)) < 0)
            return bad(r, "not a value");
    }
    buf_addc(value, (char)c);
    *trimmed = value->len;
    return true;
}

static bool read_value(struct config_reader *r, struct str *out)
{
    auto_buf value = BUF(GIT_CONFIG_MAX_BYTES);
    size_t trimmed = 0;
    bool quoted = false;
    while (peek(r) >= 0 && peek(r) != '\n') {
        if (!read_value_char(r, &value, &trimmed, &quoted))
            return false;
    }
    if (quoted)
        return bad(r, "a value has no closing quote");
    value.len = trimmed;
    *out = arena_str(r->arena, buf_str(&value));
    return true;
}

static void add(struct config_reader *r, struct git_setting setting)
{
    struct git_settings *all = r->out;
    if (all->count == all->cap) {
        size_t cap = all->cap ? all->cap * 2 : 32;
        struct git_setting *items = arena_alloc(r->arena, cap * sizeof(*items));
        if (all->count)
            memcpy(items, all->items, all->count * sizeof(*items));
        all->items = items;
        all->cap = cap;
    }
    all->items[all->count++] = setting;
}

static bool read_setting(struct config_reader *r)
{
    struct git_setting setting = {
        .section = r->section,
        .subsection = r->subsection,
        .has_subsection = r->has_subsection,
        .file = r->file,
        .line = r->line,
    };
    size_t from = r->at;
    while (is_name(peek(r)))
        take(r);
    setting.key = lower(r->arena, str_sub(r->text, from, r->at - from));
    while (peek(r) == ' ' || peek(r) == '\t')
        take(r);
    if (peek(r) >= 0 && peek(r) != '\n') {
        if (take(r) != '=')
            return bad(r, "'=' is missing");
        setting.has_value = true;
        if (!read_value(r, &setting.value))
            return false;
    }
    add(r, setting);
    return true;
}

bool git_config_parse(struct str text, const char *file, struct arena *arena,
        struct git_settings *out, struct error *err)
{
    struct config_reader r = {
        .text = text, .line = 1, .file = file, .arena = arena, .out = out, .err = err
    };
    if (str_starts(text, STR("\xEF\xBB\xBF")))
        r.at = 3;
    for (int c; (c = peek(&r)) >= 0;) {
        bool ok = true;
        if (is_letter(c)) {
            ok = read_setting(&r);
        } else {
            take(&r);
            if (c == '[')
                ok = read_section(&r);
            else if (c == '#' || c == ';')
                skip_comment(&r);
            else if (!is_space(c))
                ok = bad(&r, "not a setting");
        }
        if (!ok)
            return false;
    }
    return true;
}

bool git_setting_is(const struct git_setting *s, const char *section, const char *key)
{
    return str_is(s->section, section) && str_is(s->key, key);
}

bool git_setting_is_boolean(const struct git_setting *s)
{
    static const char *const words[] = { "", "0", "1", "false", "no", "off", "on", "true",
        "yes" };
    for (size_t i = 0; s->has_value && i < ARRAY_LEN(words); i++) {
        if (s->value.len == strlen(words[i]) &&
                !strncasecmp(s->value.data, words[i], s->value.len))
            return true;
    }
    return !s->has_value;
}
