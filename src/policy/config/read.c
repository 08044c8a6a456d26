/* Reading single values, and saying what is wrong with them. */
#include "base/nearest.h"
#include "policy/config/internal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#define MAX_SHOWN 80 /* bytes of a value in a message */

static bool is_bare(struct str key)
{
    for (size_t i = 0; i < key.len; i++)
        if (!isalnum((unsigned char)key.data[i]) && !strchr("_-.", key.data[i]))
            return false;
    return key.len && !memchr(key.data, 0, key.len);
}

/* What could break the line goes. */
static void add_shown(struct buf *out, struct str text)
{
    buf_add_shown(out, str_sub(text, 0, MAX_SHOWN));
    if (text.len > MAX_SHOWN)
        buf_add(out, STR("..."));
}

static void add_key(struct buf *out, struct str key)
{
    const char *quote = is_bare(key) ? "" : "'";
    buf_add(out, str_of(quote));
    add_shown(out, key);
    buf_add(out, str_of(quote));
}

static bool fail_text(struct conf *c, struct origin at, const char *section,
        struct str key, const char *what)
{
    auto_buf line = BUF(2048), shown = BUF(2048);
    buf_addf(&line, "%s:%u: ", at.file, at.line);
    if (section[0])
        buf_addf(&line, "[%s]", section);
    if (key.len && section[0])
        buf_addc(&line, ' ');
    if (key.len)
        add_key(&line, key);
    buf_addf(&line, ": %s", what);
    buf_add_shown(&shown, buf_str(&line));
    error_set(c->err, ERR_INVALID, "%s", buf_str(&shown).data);
    return false;
}

bool conf_fail(struct conf *c, struct origin at, const char *section, struct str key,
        const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    return fail_text(c, at, section, key, what);
}

bool conf_fail_item(struct conf *c, const char *section, const struct toml_item *item,
        const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    return fail_text(c, item->origin, section, item->key, what);
}

void conf_warn(struct conf *c, struct origin at, const char *fmt, ...)
{
    char text[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (c->warning_count == c->warning_cap) {
        size_t cap = c->warning_cap ? 2 * c->warning_cap : 8;
        struct policy_text *more = arena_alloc(c->arena, cap * sizeof(*more));
        if (c->warning_count)
            memcpy(more, c->warnings, c->warning_count * sizeof(*more));
        c->warnings = more;
        c->warning_cap = cap;
    }
    c->warnings[c->warning_count++] =
            (struct policy_text){ arena_str(c->arena, str_of(text)), at };
}

bool conf_type(struct conf *c, const char *section, const struct toml_item *item,
        enum toml_type type, const char *wanted)
{
    return item->value.type == type ||
           conf_fail_item(c, section, item, "must be %s, not %s", wanted,
                   toml_type_name(item->value.type));
}

const char *conf_name(struct conf *c, const char *section, struct str key)
{
    auto_buf name = BUF(1024);
    buf_addf(&name, "%s.", section);
    add_key(&name, key);
    return arena_cstr(c->arena, buf_str(&name));
}

static struct str key_name_at(const void *list, size_t i)
{
    return str_of(((const struct conf_key *)list)[i].name);
}

bool conf_unknown(struct conf *c, const char *section, const struct toml_item *item,
        const struct conf_key *keys, size_t count)
{
    struct str near = nearest_name(item->key, keys, count, key_name_at);
    const char *kind = section[0] ? "key" : "section";
    if (near.data)
        return conf_fail_item(c, section, item, "unknown %s; did you mean '%.*s'?", kind,
                STR_ARG(near));
    return conf_fail_item(c, section, item, "unknown %s", kind);
}

/* The item is the section itself. */
static bool check_table(struct conf *c, const char *section, const struct toml_item *item)
{
    return item->value.type == TOML_TABLE ||
           conf_fail(c, item->origin, section, (struct str){ 0 },
                   "must be a table, not %s", toml_type_name(item->value.type));
}

bool conf_section(struct conf *c, const char *section, const struct toml_item *item,
        const struct conf_key *keys, size_t count, void *to)
{
    const struct toml_value *table = &item->value;
    if (!check_table(c, section, item))
        return false;
    for (size_t i = 0; i < table->count; i++) {
        const struct conf_key *key = NULL;
        for (size_t j = 0; j < count && !key; j++)
            if (str_is(table->items[i].key, keys[j].name))
                key = &keys[j];
        if (!key)
            return conf_unknown(c, section, &table->items[i], keys, count);
        if (!key->read(c, section, &table->items[i], (char *)to + key->offset))
            return false;
    }
    return true;
}

bool conf_each(struct conf *c, const char *section, const struct toml_item *item,
        conf_reader *read, size_t size, void *out, size_t *count)
{
    const struct toml_value *table = &item->value;
    if (!check_table(c, section, item))
        return false;
    char *elements = arena_zalloc(c->arena, (table->count + 1) * size);
    for (size_t i = 0; i < table->count; i++)
        if (!read(c, section, &table->items[i], elements + i * size))
            return false;
    memcpy(out, &elements, sizeof(elements));
    *count = table->count;
    return true;
}

bool conf_word(struct conf *c, const char *section, const struct toml_item *item,
        const char *const *words, size_t count, unsigned *out)
{
    if (!conf_type(c, section, item, TOML_STRING, "a word in quotes"))
        return false;
    *out = (unsigned)str_which(item->value.text, words, count);
    if (*out < count)
        return true;
    auto_buf shown = BUF(256), list = BUF(256);
    add_shown(&shown, item->value.text);
    for (size_t i = 0; i < count; i++)
        buf_addf(&list, "%s%s", i ? ", " : "", words[i]);
    struct str near = nearest_cstr(item->value.text, words, count);
    if (near.data)
        return conf_fail_item(c, section, item,
                "'%s' is none of %s; did you mean '%.*s'?", buf_str(&shown).data,
                list.data, STR_ARG(near));
    return conf_fail_item(
            c, section, item, "'%s' is none of %s", buf_str(&shown).data, list.data);
}

static void destroy_pattern(void *p)
{
    pyre_destroy(p);
}

bool conf_regex(struct conf *c, const char *section, const struct toml_item *item,
        struct str text, enum pyre_flags flags, struct policy_regex *out)
{
    struct error why;
    *out = (struct policy_regex){ .text = text, .origin = item->origin };
    if (text.len && memchr(text.data, 0, text.len))
        return conf_fail_item(c, section, item,
                "a NUL byte is in no name and no argument, so the pattern never matches");
    if (pyre_create(text, flags, &out->pattern, &why)) {
        arena_defer(c->arena, destroy_pattern, out->pattern);
        return true;
    }
    auto_buf shown = BUF(256);
    add_shown(&shown, text);
    return conf_fail_item(c, section, item, "the pattern '%s' is wrong: %s",
            buf_str(&shown).data, why.message);
}

bool conf_bool(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    if (!conf_type(c, section, item, TOML_BOOL, "true or false"))
        return false;
    *(bool *)to = item->value.truth;
    return true;
}

bool conf_count(struct conf *c, const char *section, const struct toml_item *item,
        int64_t min, int64_t max, int64_t *out)
{
    if (!conf_type(c, section, item, TOML_INTEGER, "a whole number"))
        return false;
    *out = item->value.integer;
    return (*out >= min && *out <= max) ||
           conf_fail_item(c, section, item, "must be from %lld to %lld, not %lld",
                   (long long)min, (long long)max, (long long)*out);
}

bool conf_text(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    if (!conf_type(c, section, item, TOML_STRING, "a string"))
        return false;
    *(struct str *)to = item->value.text;
    return true;
}

/* The element as an item that has the key of its list: what a message should name. */
static struct toml_item element(const struct toml_item *list, size_t i)
{
    struct toml_item out = list->value.items[i];
    out.key = list->key;
    return out;
}

bool conf_texts(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    if (!conf_type(c, section, item, TOML_ARRAY, "a list of strings"))
        return false;
    size_t count = item->value.count;
    struct policy_text *out = arena_alloc(c->arena, (count + 1) * sizeof(*out));
    for (size_t i = 0; i < count; i++) {
        struct toml_item one = element(item, i);
        if (!conf_type(c, section, &one, TOML_STRING, "a list of strings only"))
            return false;
        out[i] = (struct policy_text){ one.value.text, one.origin };
    }
    *(struct policy_texts *)to = (struct policy_texts){ out, count };
    return true;
}

static bool read_regexes(struct conf *c, const char *section,
        const struct toml_item *item, enum pyre_flags flags, struct policy_regexes *to)
{
    struct policy_texts texts;
    if (!conf_texts(c, section, item, &texts))
        return false;
    struct policy_regex *out = arena_alloc(c->arena, (texts.count + 1) * sizeof(*out));
    for (size_t i = 0; i < texts.count; i++) {
        struct toml_item one = element(item, i);
        if (!conf_regex(c, section, &one, texts.items[i].text, flags, &out[i]))
            return false;
    }
    *to = (struct policy_regexes){ out, texts.count };
    return true;
}

bool conf_regexes(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    return read_regexes(c, section, item, 0, to);
}

bool conf_regexes_fold(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    return read_regexes(c, section, item, PYRE_FOLD, to);
}

bool conf_mode(
        struct conf *c, const char *section, const struct toml_item *item, void *to)
{
    static const char *const words[] = { [MODE_DENY] = "deny", [MODE_ALLOW] = "allow" };
    unsigned i;
    if (!conf_word(c, section, item, words, ARRAY_LEN(words), &i))
        return false;
    *(enum policy_mode *)to = (enum policy_mode)i;
    return true;
}

bool conf_has_mode(struct conf *c, const char *section, const struct toml_item *item)
{
    return toml_find(&item->value, STR("mode")) ||
           conf_fail(c, item->origin, section, STR("mode"),
                   "is missing; \"deny\" permits only what is allowed, \"allow\" all but "
                   "what is denied");
}
