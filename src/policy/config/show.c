/*
 * The policy in force as TOML that could be read again: what the files say, laid over
 * each other, with the place of each line behind it, and what holds without being said.
 */
#include "policy/config/internal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>

#define COMMENT_COLUMN 56
#define MAX_LINE       ((size_t)8 << 20) /* a whole file in one string, escaped */
#define MAX_INLINE     60                /* bytes of a list on one line */

struct printer {
    struct buf *out;
    struct buf line; /* not ended yet */
};

static void end_line(struct printer *p, const char *fmt, ...) PRINTF(2, 3);

/* End the line with a comment. */
static void end_line(struct printer *p, const char *fmt, ...)
{
    va_list ap;
    char comment[512];
    va_start(ap, fmt);
    vsnprintf(comment, sizeof(comment), fmt, ap);
    va_end(ap);
    buf_addf(p->out, "%-*s  # %s\n", COMMENT_COLUMN, buf_str(&p->line).data, comment);
    buf_clear(&p->line);
}

static void end_line_at(struct printer *p, const struct origin *at)
{
    end_line(p, "%s:%u", at->file, at->line);
}

static bool is_plain(struct str text)
{
    for (size_t i = 0; i < text.len; i++)
        if (iscntrl((unsigned char)text.data[i]) || text.data[i] == '\'')
            return false;
    return true;
}

/* Patterns read best as they are, so without escapes where that can be. */
static void put_string(struct buf *out, struct str text)
{
    bool has_escapes = text.len && (memchr(text.data, '\\', text.len) ||
                                           memchr(text.data, '"', text.len));
    if (has_escapes && is_plain(text)) {
        buf_addf(out, "'%.*s'", STR_ARG(text));
        return;
    }
    buf_addc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '"' || c == '\\')
            buf_addf(out, "\\%c", c);
        else if (iscntrl((unsigned char)c))
            buf_addf(out, "\\u%04x", (unsigned char)c);
        else
            buf_addc(out, c);
    }
    buf_addc(out, '"');
}

static void put_key(struct buf *out, struct str key)
{
    bool bare = key.len > 0;
    for (size_t i = 0; i < key.len; i++)
        bare = bare && (isalnum((unsigned char)key.data[i]) || key.data[i] == '_' ||
                               key.data[i] == '-');
    if (bare)
        buf_add(out, key);
    else
        put_string(out, key);
}

static void put_value(struct buf *out, const struct toml_value *v);

static void put_list(struct buf *out, const struct toml_value *v)
{
    buf_addc(out, '[');
    for (size_t i = 0; i < v->count; i++) {
        buf_add(out, i ? STR(", ") : STR(""));
        put_value(out, &v->items[i].value);
    }
    buf_addc(out, ']');
}

static void put_value(struct buf *out, const struct toml_value *v)
{
    switch (v->type) {
    case TOML_STRING:
        put_string(out, v->text);
        break;
    case TOML_INTEGER:
        buf_addf(out, "%lld", (long long)v->integer);
        break;
    case TOML_REAL:
        buf_addf(out, "%#.10g", v->real);
        break;
    case TOML_BOOL:
        buf_add(out, v->truth ? STR("true") : STR("false"));
        break;
    case TOML_ARRAY:
        put_list(out, v);
        break;
    case TOML_TABLE: /* a section */
    case TOML_DATE:  /* nowhere in a policy */
        break;
    }
}

/* A list over more lines than one of its source gets a line for each entry. */
static bool is_long(const struct toml_value *v)
{
    auto_buf text = BUF(MAX_LINE);
    put_list(&text, v);
    return v->count > 1 &&
           (text.len > MAX_INLINE ||
                   v->items[0].origin.line != v->items[v->count - 1].origin.line);
}

static void print_item(struct printer *p, const struct toml_item *item)
{
    put_key(&p->line, item->key);
    buf_add(&p->line, STR(" = "));
    if (item->value.type != TOML_ARRAY || !is_long(&item->value)) {
        put_value(&p->line, &item->value);
        end_line_at(p, &item->origin);
        return;
    }
    buf_addc(&p->line, '[');
    end_line_at(p, &item->origin);
    for (size_t i = 0; i < item->value.count; i++) {
        buf_add(&p->line, STR("    "));
        put_value(&p->line, &item->value.items[i].value);
        buf_addc(&p->line, ',');
        end_line_at(p, &item->value.items[i].origin);
    }
    buf_add(p->out, STR("]\n"));
}

/* What holds where a section does not say otherwise; NAME is a name of the user's. */
static const struct {
    const char *section; /* ends with "." for all below it */
    const char *key, *value;
} defaults[] = {
    { "execution", "timeout", "30" },
    { "execution", "max_timeout", "3600" },
    { "filesystem", "writable_paths", "[\".\"]" },
    { "filesystem", "readable_paths", "[\".\"]" },
    { "ast", "block_calls", "[]" },
    { "ast", "block_attributes", "[]" },
    { "shell.", "allow", "[]" },
    { "shell.", "deny", "[]" },
    { "shell.", "arg_paths", "\"workspace\"" },
    { "shell.", "sandbox", "\"workspace\"" },
    { "shell.", "network", "true" },
    { "shell.", "writable_paths", "[]" },
    { "mcp.", "description", "\"\"" },
    { "mcp.", "keep_alive", "0" },
    { "mcp.", "network", "true" },
    { "mcp.", "sandbox", "\"none\"" },
    { "mcp.", "variables", "[]" },
    { "env", "default", "\"inert\"" },
    { "env", "deny", "[]" },
    { "env", "pass", "[]" },
    { "audit_log", "max_bytes", "10485760" },
    { "audit_log", "keep", "5" },
    { "audit_log", "arguments", "false" },
    { "tools", "run", "false" },
};

static void print_defaults(struct printer *p, struct str section, size_t depth,
        const struct toml_value *table)
{
    for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
        struct str name = str_of(defaults[i].section);
        bool named = str_ends(name, STR(".")) ? str_starts(section, name) && depth == 2
                                              : str_eq(section, name);
        if (!named || toml_find(table, str_of(defaults[i].key)))
            continue;
        buf_addf(&p->line, "%s = %s", defaults[i].key, defaults[i].value);
        end_line(p, "by default");
    }
}

static void print_table(
        struct printer *p, struct str section, size_t depth, const struct toml_item *item)
{
    const struct toml_value *table = &item->value;
    bool has_values = !table->count;
    for (size_t i = 0; i < table->count; i++)
        has_values |= table->items[i].value.type != TOML_TABLE;
    if (has_values || depth == 2) {
        buf_addf(p->out, "\n");
        buf_addf(&p->line, "[%.*s]", STR_ARG(section));
        end_line_at(p, &item->origin);
    }
    for (size_t i = 0; i < table->count; i++)
        if (table->items[i].value.type != TOML_TABLE)
            print_item(p, &table->items[i]);
    if (has_values || depth == 2)
        print_defaults(p, section, depth, table);
    for (size_t i = 0; i < table->count; i++) {
        if (table->items[i].value.type != TOML_TABLE)
            continue;
        auto_buf name = BUF(MAX_LINE);
        buf_addf(&name, "%.*s.", STR_ARG(section));
        put_key(&name, table->items[i].key);
        print_table(p, buf_str(&name), depth + 1, &table->items[i]);
    }
}

static const char *protected_reason(enum protected_kind kind)
{
    switch (kind) {
    case PROTECTED_POLICY:
        return "the policy";
    case PROTECTED_PACKAGE:
        return "a package of [imports]";
    case PROTECTED_SCRIPTS:
        return "programs of a [shell.*] section";
    case PROTECTED_PROGRAM:
        return "this program";
    case PROTECTED_LOG:
        return "a log of this program";
    case PROTECTED_SERVER:
        return "the program of an MCP server";
    }
    return "";
}

static void print_protected(const struct policy *policy, struct buf *out)
{
    buf_addf(out, "\n# Never written, whatever else is said:\n");
    for (size_t i = 0; i < policy->protected_count; i++) {
        const struct policy_protected *one = &policy->protected[i];
        buf_addf(out, "#   %.*s", STR_ARG(one->path));
        if (one->except.len)
            buf_addf(out, ", but for %.*s", STR_ARG(one->except));
        buf_addf(out, ": %s", protected_reason(one->kind));
        if (one->origin.file)
            buf_addf(out, " (%s:%u)", one->origin.file, one->origin.line);
        buf_addc(out, '\n');
    }
}

void config_show(const struct policy *policy, struct buf *out)
{
    struct printer p = { .out = out, .line = BUF(MAX_LINE) };
    buf_addf(out, "# The policy of %.*s\n", STR_ARG(policy->workspace));
    for (size_t i = 0; i < policy->warnings.count; i++) {
        const struct policy_text *one = &policy->warnings.items[i];
        buf_addf(out, "# %s:%u: %.*s\n", one->origin.file, one->origin.line,
                STR_ARG(one->text));
    }
    for (size_t i = 0; i < policy->source->count; i++)
        print_table(&p, policy->source->items[i].key, 1, &policy->source->items[i]);
    print_protected(policy, out);
    buf_finish(&p.line);
}
