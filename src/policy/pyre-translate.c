/*
 * Reads a pattern as Python's parser does, and writes what it means to PCRE2 on the way.
 * Groups keep their numbers; names, comments and ignored whitespace go.
 */
#include "base/utf8.h"
#include "policy/pyre_internal.h"

#include <stdarg.h>
#include <stdio.h>

#define MAX_DEPTH  200   /* groups within groups */
#define MAX_REPEAT 65535 /* of PCRE2 */

bool re_fail(struct re_reader *r, size_t at, const char *fmt, ...)
{
    char message[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof(message), fmt, ap);
    va_end(ap);
    return error_set(r->err, ERR_INVALID, "%s at position %zu", message,
            utf8_count(str_sub(r->text, 0, at)));
}

struct str re_peek(const struct re_reader *r)
{
    struct str rest = str_from(r->text, r->at);
    uint32_t code;
    if (!rest.len)
        return rest;
    size_t escape = rest.data[0] == '\\';
    return str_sub(rest, 0, escape + utf8_decode(str_from(rest, escape), &code));
}

struct str re_get(struct re_reader *r)
{
    struct str token = re_peek(r);
    r->at += token.len;
    return token;
}

bool re_take(struct re_reader *r, char c)
{
    struct str token = re_peek(r);
    if (token.len != 1 || token.data[0] != c)
        return false;
    r->at++;
    return true;
}

static bool next_is(const struct re_reader *r, char c)
{
    struct str token = re_peek(r);
    return token.len == 1 && token.data[0] == c;
}

static struct re_width width_of(uint64_t min, uint64_t max)
{
    return (struct re_width){ min < RE_WIDTH_MAX ? min : RE_WIDTH_MAX,
        max < RE_WIDTH_MAX ? max : RE_WIDTH_MAX };
}

static void width_add(struct re_width *sum, struct re_width w)
{
    *sum = width_of(sum->min + w.min, sum->max + w.max);
}

static struct re_width width_either(struct re_width a, struct re_width b)
{
    return width_of(a.min < b.min ? a.min : b.min, a.max > b.max ? a.max : b.max);
}

/* The part of a sequence that a repeat would apply to. */
enum item_kind {
    ITEM_NONE,
    ITEM_PLACE,  /* cannot be repeated */
    ITEM_REPEAT, /* nor can this */
    ITEM_OTHER,
};

struct sequence {
    enum item_kind kind;
    struct re_width item;   /* the last one */
    struct re_width before; /* all others */
    bool first;             /* of the whole pattern: here flags may be set */
};

static void start_item(
        struct sequence *s, enum item_kind kind, uint64_t min, uint64_t max)
{
    width_add(&s->before, s->item);
    s->item = width_of(min, max);
    s->kind = kind;
}

static bool read_alternatives(struct re_reader *r, bool first, struct re_width *out);
static bool read_sequence(struct re_reader *r, bool first, struct re_width *out);

static bool read_escape(
        struct re_reader *r, struct sequence *s, struct str token, size_t at)
{
    struct re_escape e;
    if (!re_read_escape(r, token, at, false, &e))
        return false;
    switch (e.kind) {
    case RE_CODE:
        start_item(s, ITEM_OTHER, 1, 1);
        re_emit_code(r, e.code);
        return true;
    case RE_CATEGORY:
        start_item(s, ITEM_OTHER, 1, 1);
        re_emit_category(r, (char)e.code);
        return true;
    case RE_PLACE:
        start_item(s, ITEM_PLACE, 0, 0);
        if (e.code == 'A' || e.code == 'Z')
            buf_addf(r->out, "\\%c", e.code == 'A' ? 'A' : 'z');
        else
            re_emit_boundary(r, e.code == 'B');
        return true;
    case RE_REFERENCE:
        break;
    }
    if ((r->flags & RE_I) && (r->flags & RE_A))
        return re_fail(r, at,
                "unsupported: a group reference that ignores the case of "
                "ASCII only");
    struct re_width w = r->groups[e.code].width;
    start_item(s, ITEM_OTHER, w.min, w.max);
    buf_addf(r->out, "\\g{%u}", e.code);
    return true;
}

static bool read_count(struct re_reader *r, bool *given, uint64_t *out)
{
    *given = false;
    *out = 0;
    for (struct str t = re_peek(r); t.len == 1 && t.data[0] >= '0' && t.data[0] <= '9';
            t = re_peek(r)) {
        *given = true;
        *out = width_of(0, *out * 10 + (unsigned)(re_get(r).data[0] - '0')).max;
    }
    return *out <= MAX_REPEAT;
}

struct repeat {
    uint64_t min, max;
    bool bounded; /* `max` counts */
};

/* Behind the "{": a repeat count; `*literal`: it is none, and nothing was taken. */
static bool read_braces(struct re_reader *r, size_t at, struct repeat *out, bool *literal)
{
    size_t here = r->at;
    bool has_min, has_max, comma;
    *literal = next_is(r, '}');
    if (*literal)
        return true;
    bool good = read_count(r, &has_min, &out->min);
    comma = re_take(r, ',');
    has_max = has_min;
    out->max = out->min;
    if (comma)
        good = read_count(r, &has_max, &out->max) && good;
    if (!re_take(r, '}')) {
        r->at = here;
        *literal = true;
        return true;
    }
    out->bounded = has_max;
    if (!good)
        return error_set(r->err, ERR_INVALID, "the repetition number is too large");
    if (out->bounded && out->max < out->min)
        return re_fail(r, at + 1, "min repeat greater than max repeat");
    return true;
}

static void emit_repeat(struct re_reader *r, char c, const struct repeat *repeat)
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
    if (re_take(r, '?'))
        buf_addc(r->out, '?');
    else if (re_take(r, '+'))
        buf_addc(r->out, '+');
}

static bool read_repeat(struct re_reader *r, struct sequence *s, char c, size_t at)
{
    struct repeat repeat = { c == '+', 1, c == '?' };
    bool literal = false;
    if (c == '{' && !read_braces(r, at, &repeat, &literal))
        return false;
    if (literal) {
        start_item(s, ITEM_OTHER, 1, 1);
        re_emit_code(r, '{');
        return true;
    }
    if (s->kind == ITEM_NONE || s->kind == ITEM_PLACE)
        return re_fail(r, at, "nothing to repeat");
    if (s->kind == ITEM_REPEAT)
        return re_fail(r, at, "multiple repeat");
    s->kind = ITEM_REPEAT;
    s->item = width_of(s->item.min * repeat.min, repeat.bounded ? s->item.max * repeat.max
                                                 : s->item.max  ? RE_WIDTH_MAX
                                                                : 0);
    emit_repeat(r, c, &repeat);
    return true;
}

/* Up to `end`, which is taken. */
static bool read_name(struct re_reader *r, char end, struct str *out)
{
    size_t start = r->at;
    while (re_peek(r).len && !next_is(r, end))
        re_get(r);
    *out = str_sub(r->text, start, r->at - start);
    if (!out->len)
        return re_fail(r, r->at, "missing group name");
    if (!re_take(r, end))
        return re_fail(r, start, "missing %c, unterminated name", end);
    return true;
}

static bool check_name(struct re_reader *r, struct str name, size_t at)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c >= 128)
            return re_fail(r, at, "unsupported: the group name '%.*s', beyond ASCII",
                    STR_ARG(name));
        bool letter = c == '_' || ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (!letter && (!i || c < '0' || c > '9'))
            return re_fail(r, at, "bad character in group name '%.*s'", STR_ARG(name));
    }
    return true;
}

/* Its number, or 0. */
static size_t find_group(const struct re_reader *r, struct str name)
{
    for (size_t i = 1; i < r->group_count; i++)
        if (r->groups[i].name.data && str_eq(r->groups[i].name, name))
            return i;
    return 0;
}

static bool read_group_end(struct re_reader *r, size_t start)
{
    if (!re_take(r, ')'))
        return re_fail(r, start, "missing ), unterminated subpattern");
    buf_addc(r->out, ')');
    return true;
}

/* The inside of a group and its end. */
static bool read_group_body(struct re_reader *r, size_t start, struct re_width *out)
{
    if (++r->depth > MAX_DEPTH)
        return re_fail(
                r, start, "unsupported: more than %d groups in one another", MAX_DEPTH);
    bool good = read_alternatives(r, false, out) && read_group_end(r, start);
    r->depth--;
    return good;
}

static bool read_capture(
        struct re_reader *r, struct sequence *s, struct str name, size_t start)
{
    size_t number = r->group_count++, known = name.data ? find_group(r, name) : 0;
    if (known)
        return re_fail(r, (size_t)(name.data - r->text.data),
                "redefinition of group name '%.*s' as group %zu; was group %zu",
                STR_ARG(name), number, known);
    r->groups[number] = (struct re_group){ .name = name, .open = true };
    start_item(s, ITEM_OTHER, 0, 0);
    buf_addc(r->out, '(');
    if (!read_group_body(r, start, &s->item))
        return false;
    r->groups[number].open = false;
    r->groups[number].width = s->item;
    return true;
}

static bool read_plain_group(
        struct re_reader *r, struct sequence *s, const char *open, size_t start)
{
    start_item(s, ITEM_OTHER, 0, 0);
    buf_add(r->out, str_of(open));
    return read_group_body(r, start, &s->item);
}

/* (?P<name>...) and (?P=name), behind the P. */
static bool read_named(struct re_reader *r, struct sequence *s, size_t start)
{
    struct str name;
    if (re_take(r, '<')) {
        size_t at = r->at;
        return read_name(r, '>', &name) && check_name(r, name, at) &&
               read_capture(r, s, name, start);
    }
    if (!re_take(r, '=')) {
        struct str token = re_get(r);
        if (!token.len)
            return re_fail(r, r->at, "unexpected end of pattern");
        return re_fail(r, start + 1, "unknown extension ?P%.*s", STR_ARG(token));
    }
    size_t at = r->at;
    if (!read_name(r, ')', &name) || !check_name(r, name, at))
        return false;
    size_t group = find_group(r, name);
    if (!group)
        return re_fail(r, at, "unknown group name '%.*s'", STR_ARG(name));
    if (!re_check_reference(r, group, at))
        return false;
    struct re_width w = r->groups[group].width;
    start_item(s, ITEM_OTHER, w.min, w.max);
    buf_addf(r->out, "\\g{%zu}", group);
    return true;
}

/* The group of a condition, by its number or its name. */
static bool read_condition(struct re_reader *r, unsigned *out)
{
    struct str name;
    size_t at = r->at;
    int64_t number;
    if (!read_name(r, ')', &name))
        return false;
    bool digits = true;
    for (size_t i = 0; i < name.len; i++)
        digits = digits && name.data[i] >= '0' && name.data[i] <= '9';
    if (!digits) {
        if (!check_name(r, name, at))
            return false;
        *out = (unsigned)find_group(r, name);
        return *out || re_fail(r, at, "unknown group name '%.*s'", STR_ARG(name));
    }
    if (!str_int(name, &number) || number > PYRE_MAX_BYTES)
        return re_fail(r, at, "invalid group reference %.*s", STR_ARG(name));
    if (!number)
        return re_fail(r, at, "bad group number");
    *out = (unsigned)number;
    r->conditions[r->condition_count++] = (struct re_condition){ *out, at };
    return !r->lookbehind_groups || re_check_reference(r, *out, r->at);
}

/* (?(1)yes|no), behind the second parenthesis. */
static bool read_conditional(struct re_reader *r, struct sequence *s, size_t start)
{
    unsigned group = 0;
    struct re_width yes = { 0 }, no = { 0 };
    if (!read_condition(r, &group))
        return false;
    if (++r->depth > MAX_DEPTH)
        return re_fail(
                r, start, "unsupported: more than %d groups in one another", MAX_DEPTH);
    buf_addf(r->out, "(?(%u)", group);
    if (!read_sequence(r, false, &yes))
        return false;
    if (re_take(r, '|')) {
        buf_addc(r->out, '|');
        if (!read_sequence(r, false, &no))
            return false;
        if (next_is(r, '|'))
            return re_fail(r, r->at, "conditional backref with more than two branches");
    }
    r->depth--;
    yes = width_either(yes, no);
    start_item(s, ITEM_OTHER, yes.min, yes.max);
    return read_group_end(r, start);
}

static bool read_lookahead(
        struct re_reader *r, struct sequence *s, const char *open, size_t start)
{
    struct re_width w;
    start_item(s, ITEM_OTHER, 0, 0);
    buf_add(r->out, str_of(open));
    return read_group_body(r, start, &w);
}

/* Behind "(?<". */
static bool read_lookbehind(struct re_reader *r, struct sequence *s, size_t start)
{
    struct str token = re_get(r);
    if (!token.len)
        return re_fail(r, r->at, "unexpected end of pattern");
    if (!str_is(token, "=") && !str_is(token, "!"))
        return re_fail(r, start + 1, "unknown extension ?<%.*s", STR_ARG(token));
    bool outermost = !r->lookbehind_groups;
    if (outermost)
        r->lookbehind_groups = r->group_count;
    struct re_width w;
    start_item(s, ITEM_OTHER, 0, 0);
    buf_addf(r->out, "(?<%c", token.data[0]);
    if (!read_group_body(r, start, &w))
        return false;
    r->bad_lookbehind |= w.min != w.max;
    if (outermost)
        r->lookbehind_groups = 0;
    return true;
}

static bool skip_comment(struct re_reader *r, size_t start)
{
    for (struct str t = re_get(r); !str_is(t, ")"); t = re_get(r))
        if (!t.len)
            return re_fail(r, start, "missing ), unterminated comment");
    return true;
}

static unsigned flag_of(struct str token)
{
    static const struct {
        char letter;
        enum re_flags flag;
    } flags[] = { { 'i', RE_I }, { 'L', RE_L }, { 'm', RE_M }, { 's', RE_S },
        { 'x', RE_X }, { 'a', RE_A }, { 'u', RE_U } };
    for (size_t i = 0; token.len == 1 && i < ARRAY_LEN(flags); i++)
        if (flags[i].letter == token.data[0])
            return flags[i].flag;
    return 0;
}

#define TYPE_FLAGS (RE_A | RE_U | RE_L)

/* The character behind a flag or a "-" is no flag: say what is wrong, or what is missing.
 */
static bool bad_flag(struct re_reader *r, struct str token, const char *missing)
{
    bool letter =
            token.len == 1 && (token.data[0] | 32) >= 'a' && (token.data[0] | 32) <= 'z';
    return re_fail(r, r->at - token.len, "%s", letter ? "unknown flag" : missing);
}

/* Flags up to a token that is none of them, which is taken too. */
static bool read_flag_letters(
        struct re_reader *r, struct str token, bool on, unsigned *flags, struct str *end)
{
    const char *ends = on ? ")-:" : ":",
               *missing = on ? "missing -, : or )" : "missing :";
    for (;;) {
        unsigned flag = flag_of(token);
        if (flag & RE_L && on)
            return re_fail(
                    r, r->at, "bad inline flags: cannot use 'L' flag with a str pattern");
        if (flag & TYPE_FLAGS && !on)
            return re_fail(
                    r, r->at, "bad inline flags: cannot turn off flags 'a', 'u' and 'L'");
        *flags |= flag;
        if (flag & TYPE_FLAGS && (*flags & TYPE_FLAGS) != flag)
            return re_fail(r, r->at,
                    "bad inline flags: flags 'a', 'u' and 'L' are incompatible");
        token = re_get(r);
        if (token.len == 1 && strchr(ends, token.data[0])) {
            *end = token;
            return true;
        }
        if (!flag_of(token))
            return bad_flag(r, token, missing);
    }
}

/* Flags for the whole pattern, "(?i)". */
static bool set_global_flags(
        struct re_reader *r, const struct sequence *s, unsigned on, size_t start)
{
    if (!s->first || s->kind != ITEM_NONE)
        return re_fail(r, start, "global flags not at the start of the expression");
    r->flags |= on;
    if ((r->flags & RE_A) && (r->flags & RE_U))
        return error_set(r->err, ERR_INVALID, "ASCII and UNICODE flags are incompatible");
    r->folded = re_folds(r->flags);
    return true;
}

static bool read_flag_group(
        struct re_reader *r, struct sequence *s, unsigned on, unsigned off, size_t start)
{
    unsigned outer = r->flags;
    bool outer_folded = r->folded;
    if (on & TYPE_FLAGS)
        r->flags &= ~(unsigned)TYPE_FLAGS;
    r->flags = (r->flags | on) & ~off;
    r->folded = re_folds(r->flags);
    bool same = r->folded == outer_folded;
    if (!read_plain_group(r, s, same ? "(?:" : r->folded ? "(?i:" : "(?-i:", start))
        return false;
    r->flags = outer;
    r->folded = outer_folded;
    return true;
}

/* Behind "(?", with the flag or "-" that was taken. */
static bool read_flags(
        struct re_reader *r, struct sequence *s, struct str token, size_t start)
{
    unsigned on = 0, off = 0;
    struct str end = token;
    if (!str_is(token, "-") && !read_flag_letters(r, token, true, &on, &end))
        return false;
    if (str_is(end, ")"))
        return set_global_flags(r, s, on, start);
    if (str_is(end, "-")) {
        token = re_get(r);
        if (!flag_of(token))
            return bad_flag(r, token, "missing flag");
        if (!read_flag_letters(r, token, false, &off, &end))
            return false;
    }
    if (on & off)
        return re_fail(r, r->at - 1, "bad inline flags: flag turned on and off");
    return read_flag_group(r, s, on, off, start);
}

static bool read_extension(struct re_reader *r, struct sequence *s, size_t start)
{
    struct str token = re_get(r);
    if (!token.len)
        return re_fail(r, r->at, "unexpected end of pattern");
    switch (token.data[0]) {
    case 'P':
        return read_named(r, s, start);
    case ':':
        return read_plain_group(r, s, "(?:", start);
    case '>':
        return read_plain_group(r, s, "(?>", start);
    case '#':
        return skip_comment(r, start);
    case '=':
        return read_lookahead(r, s, "(?=", start);
    case '!':
        return read_lookahead(r, s, "(?!", start);
    case '<':
        return read_lookbehind(r, s, start);
    case '(':
        return read_conditional(r, s, start);
    default:
        break;
    }
    if (flag_of(token) || str_is(token, "-"))
        return read_flags(r, s, token, start);
    return re_fail(r, start + 1, "unknown extension ?%.*s", STR_ARG(token));
}

static void emit_line_edge(struct re_reader *r, char c)
{
    if (!(r->flags & RE_M))
        buf_addc(r->out, c);
    else /* PCRE2's own multiline ^ is not found behind a last newline */
        buf_add(r->out, c == '^' ? STR("(?<![^\\n])") : STR("(?![^\\n])"));
}

/* A token that is one of the special characters; "|" and ")" do not come here. */
static bool read_special(struct re_reader *r, struct sequence *s, char c, size_t at)
{
    switch (c) {
    case '^':
    case '$':
        start_item(s, ITEM_PLACE, 0, 0);
        emit_line_edge(r, c);
        return true;
    case '.':
        start_item(s, ITEM_OTHER, 1, 1);
        buf_add(r->out, r->flags & RE_S ? STR("(?s:.)") : STR("."));
        return true;
    case '[':
        start_item(s, ITEM_OTHER, 1, 1);
        return re_read_set(r);
    case '(':
        return re_take(r, '?') ? read_extension(r, s, at)
                               : read_capture(r, s, (struct str){ 0 }, at);
    default:
        return read_repeat(r, s, c, at);
    }
}

/* Whitespace and comments under the flag x.  True: the token was that. */
static bool skip_verbose(struct re_reader *r, struct str token)
{
    if (!(r->flags & RE_X) || token.len != 1 || !strchr(" \t\n\r\v\f#", token.data[0]) ||
            !token.data[0])
        return false;
    while (token.data[0] == '#' && !str_is(token, "\n")) {
        struct str next = re_get(r);
        if (!next.len || str_is(next, "\n"))
            break;
    }
    return true;
}

static bool read_token(struct re_reader *r, struct sequence *s)
{
    size_t at = r->at;
    struct str token = re_get(r);
    uint32_t code = 0;
    if (skip_verbose(r, token))
        return true;
    if (token.data[0] == '\\')
        return read_escape(r, s, token, at);
    if (token.data[0] && strchr("^$.[(*+?{", token.data[0]))
        return read_special(r, s, token.data[0], at);
    utf8_decode(token, &code);
    start_item(s, ITEM_OTHER, 1, 1);
    re_emit_code(r, code);
    return true;
}

static bool read_sequence(struct re_reader *r, bool first, struct re_width *out)
{
    struct sequence s = { .first = first };
    while (re_peek(r).len && !next_is(r, '|') && !next_is(r, ')'))
        if (!read_token(r, &s))
            return false;
    width_add(&s.before, s.item);
    *out = s.before;
    return true;
}

static bool read_alternatives(struct re_reader *r, bool first, struct re_width *out)
{
    struct re_width branch;
    if (!read_sequence(r, first, out))
        return false;
    while (re_take(r, '|')) {
        buf_addc(r->out, '|');
        if (!read_sequence(r, false, &branch))
            return false;
        *out = width_either(*out, branch);
    }
    return true;
}

/* What can only be known at the end. */
static bool check_rest(struct re_reader *r)
{
    if (re_peek(r).len)
        return re_fail(r, r->at, "unbalanced parenthesis");
    for (size_t i = 0; i < r->condition_count; i++)
        if (r->conditions[i].group >= r->group_count)
            return re_fail(r, r->conditions[i].at, "invalid group reference %u",
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

static bool check_text(struct re_reader *r)
{
    if (r->text.len > PYRE_MAX_BYTES)
        return error_set(
                r->err, ERR_LIMIT, "the pattern is longer than %d bytes", PYRE_MAX_BYTES);
    if (!utf8_valid(r->text))
        return error_set(r->err, ERR_INVALID, "the pattern is not UTF-8");
    return !ends_in_backslash(r->text) ||
           re_fail(r, r->text.len - 1, "bad escape (end of pattern)");
}

bool pyre_translate(
        struct str text, enum pyre_flags flags, struct buf *out, struct error *err)
{
    auto_arena *arena = arena_create();
    auto_buf body = BUF(out->max);
    bool fold = flags & PYRE_FOLD;
    struct re_reader r = { .text = text,
        .flags = fold ? RE_I : 0,
        .folded = fold,
        .out = &body,
        .arena = arena,
        .group_count = 1,
        .err = err };
    struct re_width width;
    if (!check_text(&r))
        return false;
    r.groups = arena_zalloc(arena, (text.len + 1) * sizeof(*r.groups));
    r.conditions = arena_alloc(arena, (text.len + 1) * sizeof(*r.conditions));
    if (!read_alternatives(&r, true, &width) || !check_rest(&r))
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
