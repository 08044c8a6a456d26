/*
 * Reads a pattern as Python's parser does, and writes what it means to PCRE2 on the way.
 * Groups keep their numbers; names, comments and ignored whitespace go.
 */
#include "base/utf8.h"
#include "policy/pyre/internal.h"

#include <stdarg.h>
#include <stdio.h>

#define MAX_REPEAT 65535 /* of PCRE2 */

bool py_fail(struct py_reader *r, size_t at, const char *fmt, ...)
{
    char message[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    return error_set(r->err, ERR_INVALID, "%s at position %zu", message,
            utf8_count(str_sub(r->text, 0, at)));
}

struct str py_peek(const struct py_reader *r)
{
    struct str rest = str_from(r->text, r->at);
    uint32_t code;
    if (!rest.len)
        return rest;
    size_t escape = rest.data[0] == '\\';
    return str_sub(rest, 0, escape + utf8_decode(str_from(rest, escape), &code));
}

struct str py_get(struct py_reader *r)
{
    struct str token = py_peek(r);
    r->at += token.len;
    return token;
}

bool py_take(struct py_reader *r, char c)
{
    struct str token = py_peek(r);
    if (token.len != 1 || token.data[0] != c)
        return false;
    r->at++;
    return true;
}

bool py_next_is(const struct py_reader *r, char c)
{
    struct str token = py_peek(r);
    return token.len == 1 && token.data[0] == c;
}

static struct py_width width_of(uint64_t min, uint64_t max)
{
    return (struct py_width){ min < PY_WIDTH_MAX ? min : PY_WIDTH_MAX,
        max < PY_WIDTH_MAX ? max : PY_WIDTH_MAX };
}

static void width_add(struct py_width *sum, struct py_width w)
{
    *sum = width_of(sum->min + w.min, sum->max + w.max);
}

struct py_width py_width_either(struct py_width a, struct py_width b)
{
    return width_of(a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max);
}

void py_start_item(
        struct py_sequence *s, enum py_item_kind kind, uint64_t min, uint64_t max)
{
    width_add(&s->before, s->item);
    s->item = width_of(min, max);
    s->kind = kind;
}

bool py_read_reference(
        struct py_reader *r, struct py_sequence *s, size_t group, size_t at)
{
    if ((r->flags & PY_I) && (r->flags & PY_A))
        return py_fail(r, at,
                "unsupported: a group reference that ignores the case of "
                "ASCII only");
    struct py_width w = r->groups[group].width;
    py_start_item(s, PY_ITEM_OTHER, w.min, w.max);
    buf_addf(r->out, "\\g{%zu}", group);
    return true;
}

static bool read_escape(
        struct py_reader *r, struct py_sequence *s, struct str token, size_t at)
{
    struct py_escape e;
    if (!py_read_escape(r, token, at, false, &e))
        return false;
    switch (e.kind) {
    case PY_CODE:
        py_start_item(s, PY_ITEM_OTHER, 1, 1);
        py_emit_code(r, e.code);
        return true;
    case PY_CATEGORY:
        py_start_item(s, PY_ITEM_OTHER, 1, 1);
        py_emit_category(r, (char)e.code);
        return true;
    case PY_PLACE:
        py_start_item(s, PY_ITEM_PLACE, 0, 0);
        if (e.code == 'A' || e.code == 'Z')
            buf_addf(r->out, "\\%c", e.code == 'A' ? 'A' : 'z');
        else
            py_emit_boundary(r, e.code == 'B');
        return true;
    case PY_REFERENCE:
        break;
    }
    return py_read_reference(r, s, e.code, at);
}

static bool read_count(struct py_reader *r, bool *given, uint64_t *out)
{
    *given = false;
    *out = 0;
    for (struct str t = py_peek(r); t.len == 1 && t.data[0] >= '0' && t.data[0] <= '9';
            t = py_peek(r)) {
        *given = true;
        *out = width_of(0, *out * 10 + (unsigned)(py_get(r).data[0] - '0')).max;
    }
    return *out <= MAX_REPEAT;
}

struct repeat {
    uint64_t min, max;
    bool bounded; /* `max` counts */
};

/* Behind the "{": a repeat count; `*literal`: it is none, and nothing was taken. */
static bool read_braces(struct py_reader *r, size_t at, struct repeat *out, bool *literal)
{
    size_t here = r->at;
    bool has_min, has_max, comma;
    *literal = py_next_is(r, '}');
    if (*literal)
        return true;
    bool good = read_count(r, &has_min, &out->min);
    comma = py_take(r, ',');
    has_max = has_min;
    out->max = out->min;
    if (comma)
        good = read_count(r, &has_max, &out->max) && good;
    if (!py_take(r, '}')) {
        r->at = here;
        *literal = true;
        return true;
    }
    out->bounded = has_max;
    if (!good)
        return error_set(r->err, ERR_INVALID, "the repetition number is too large");
    if (out->bounded && out->max < out->min)
        return py_fail(r, at + 1, "min repeat greater than max repeat");
    return true;
}

static void emit_repeat(struct py_reader *r, char c, const struct repeat *repeat)
{
    if (c != '{')
        buf_addc(r->out, c);
    else if (!repeat->bounded)
        buf_addf(r->out, "{%llu,}", (unsigned long long)repeat->min);
    else if (repeat->min == repeat->max)
        buf_addf(r->out, "{%llu}", (unsigned long long)repeat->min);
    else
        buf_addf(r->out, "{%llu,%llu}", (unsigned long long)repeat->min,
                (unsigned long long)repeat->max);
    if (py_take(r, '?'))
        buf_addc(r->out, '?');
    else if (py_take(r, '+'))
        buf_addc(r->out, '+');
}

static bool read_repeat(struct py_reader *r, struct py_sequence *s, char c, size_t at)
{
    struct repeat repeat = { c == '+', 1, c == '?' };
    bool literal = false;
    if (c == '{' && !read_braces(r, at, &repeat, &literal))
        return false;
    if (literal) {
        py_start_item(s, PY_ITEM_OTHER, 1, 1);
        py_emit_code(r, '{');
        return true;
    }
    if (s->kind == PY_ITEM_NONE || s->kind == PY_ITEM_PLACE)
        return py_fail(r, at, "nothing to repeat");
    if (s->kind == PY_ITEM_REPEAT)
        return py_fail(r, at, "multiple repeat");
    s->kind = PY_ITEM_REPEAT;
    s->item = width_of(s->item.min * repeat.min, repeat.bounded ? s->item.max * repeat.max
                                                 : s->item.max  ? PY_WIDTH_MAX
                                                                : 0);
    emit_repeat(r, c, &repeat);
    return true;
}

static void emit_line_edge(struct py_reader *r, char c)
{
    if (!(r->flags & PY_M))
        buf_addc(r->out, c);
    else /* PCRE2's own multiline ^ is not found behind a last newline */
        buf_add(r->out, c == '^' ? STR("(?<![^\\n])") : STR("(?![^\\n])"));
}

/* A token that is one of the special characters; "|" and ")" do not come here. */
static bool read_special(struct py_reader *r, struct py_sequence *s, char c, size_t at)
{
    switch (c) {
    case '^':
    case '$':
        py_start_item(s, PY_ITEM_PLACE, 0, 0);
        emit_line_edge(r, c);
        return true;
    case '.':
        py_start_item(s, PY_ITEM_OTHER, 1, 1);
        buf_add(r->out, r->flags & PY_S ? STR("(?s:.)") : STR("."));
        return true;
    case '[':
        py_start_item(s, PY_ITEM_OTHER, 1, 1);
        return py_read_set(r);
    case '(':
        return py_take(r, '?') ? py_read_extension(r, s, at)
                               : py_read_capture(r, s, (struct str){ 0 }, at);
    default:
        return read_repeat(r, s, c, at);
    }
}

/* Whitespace and comments under the flag x.  True: the token was that. */
static bool skip_verbose(struct py_reader *r, struct str token)
{
    if (!(r->flags & PY_X) || token.len != 1 || !strchr(" \t\n\r\v\f#", token.data[0]) ||
            !token.data[0])
        return false;
    while (token.data[0] == '#' && !str_is(token, "\n")) {
        struct str next = py_get(r);
        if (!next.len || str_is(next, "\n"))
            break;
    }
    return true;
}

static bool read_token(struct py_reader *r, struct py_sequence *s)
{
    size_t at = r->at;
    struct str token = py_get(r);
    uint32_t code = 0;
    if (skip_verbose(r, token))
        return true;
    if (token.data[0] == '\\')
        return read_escape(r, s, token, at);
    if (token.data[0] && strchr("^$.[(*+?{", token.data[0]))
        return read_special(r, s, token.data[0], at);
    utf8_decode(token, &code);
    py_start_item(s, PY_ITEM_OTHER, 1, 1);
    py_emit_code(r, code);
    return true;
}

bool py_read_sequence(struct py_reader *r, bool first, struct py_width *out)
{
    struct py_sequence s = { .first = first };
    while (py_peek(r).len && !py_next_is(r, '|') && !py_next_is(r, ')'))
        if (!read_token(r, &s))
            return false;
    width_add(&s.before, s.item);
    *out = s.before;
    return true;
}

bool py_read_alternatives(struct py_reader *r, bool first, struct py_width *out)
{
    struct py_width branch;
    if (!py_read_sequence(r, first, out))
        return false;
    while (py_take(r, '|')) {
        buf_addc(r->out, '|');
        if (!py_read_sequence(r, false, &branch))
            return false;
        *out = py_width_either(*out, branch);
    }
    return true;
}

/* What can only be known at the end. */
static bool check_rest(struct py_reader *r)
{
    if (py_peek(r).len)
        return py_fail(r, r->at, "unbalanced parenthesis");
    for (size_t i = 0; i < r->condition_count; i++)
        if (r->conditions[i].group >= r->group_count)
            return py_fail(r, r->conditions[i].at, "invalid group reference %u",
                    r->conditions[i].group);
    return !r->bad_lookbehind ||
           error_set(r->err, ERR_INVALID, "look-behind requires fixed-width pattern");
}

static bool ends_in_backslash(struct str text)
{
    size_t count = 0;
    while (count < text.len && text.data[text.len - 1 - count] == '\\')
        count++;
    return count % 2;
}

static bool check_text(struct py_reader *r)
{
    if (r->text.len > PYRE_MAX_BYTES)
        return error_set(
                r->err, ERR_LIMIT, "the pattern is longer than %d bytes", PYRE_MAX_BYTES);
    if (!utf8_valid(r->text))
        return error_set(r->err, ERR_INVALID, "the pattern is not UTF-8");
    return !ends_in_backslash(r->text) ||
           py_fail(r, r->text.len - 1, "bad escape (end of pattern)");
}

bool pyre_translate(
        struct str text, enum pyre_flags flags, struct buf *out, struct error *err)
{
    auto_arena *arena = arena_create();
    auto_buf body = BUF(out->max);
    bool fold = flags & PYRE_FOLD;
    struct py_reader r = { .text = text,
        .flags = fold ? PY_I : 0,
        .folded = fold,
        .out = &body,
        .arena = arena,
        .group_count = 1,
        .err = err };
    struct py_width width;
    if (!check_text(&r))
        return false;
    r.groups = arena_zalloc(arena, (text.len + 1) * sizeof(*r.groups));
    r.conditions = arena_alloc(arena, (text.len + 1) * sizeof(*r.conditions));
    if (!py_read_alternatives(&r, true, &width) || !check_rest(&r))
        return false;
    if (r.folded != fold)
        buf_add(out, r.folded ? STR("(?i:") : STR("(?-i:"));
    buf_add(out, buf_str(&body));
    if (r.folded != fold)
        buf_addc(out, ')');
    if (out->full || body.full)
        return error_set(err, ERR_LIMIT, "the pattern becomes too long");
    return true;
}
