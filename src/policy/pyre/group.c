/* What stands in parentheses. */
#include "policy/pyre/internal.h"

#define MAX_DEPTH 200 /* groups within groups */

/* Up to `end`, which is taken. */
static bool read_name(struct py_reader *r, char end, struct str *out)
{
    size_t start = r->at;
    while (py_peek(r).len && !py_next_is(r, end))
        py_get(r);
    *out = str_sub(r->text, start, r->at - start);
    if (!out->len)
        return py_fail(r, r->at, "missing group name");
    if (!py_take(r, end))
        return py_fail(r, start, "missing %c, unterminated name", end);
    return true;
}

static bool check_name(struct py_reader *r, struct str name, size_t at)
{
    for (size_t i = 0; i < name.len; i++) {
        unsigned char c = (unsigned char)name.data[i];
        if (c >= 128)
            return py_fail(r, at, "unsupported: the group name '%.*s', beyond ASCII",
                    STR_ARG(name));
        bool letter = c == '_' || ((c | 32) >= 'a' && (c | 32) <= 'z');
        if (!letter && (!i || c < '0' || c > '9'))
            return py_fail(r, at, "bad character in group name '%.*s'", STR_ARG(name));
    }
    return true;
}

/* Its number, or 0. */
static size_t find_group(const struct py_reader *r, struct str name)
{
    for (size_t i = 1; i < r->group_count; i++)
        if (r->groups[i].name.data && str_eq(r->groups[i].name, name))
            return i;
    return 0;
}

static bool read_group_end(struct py_reader *r, size_t start)
{
    if (!py_take(r, ')'))
        return py_fail(r, start, "missing ), unterminated subpattern");
    buf_addc(r->out, ')');
    return true;
}

/* The inside of a group and its end. */
static bool read_group_body(struct py_reader *r, size_t start, struct py_width *out)
{
    if (++r->depth > MAX_DEPTH)
        return py_fail(
                r, start, "unsupported: more than %d groups in one another", MAX_DEPTH);
    bool good = py_read_alternatives(r, false, out) && read_group_end(r, start);
    r->depth--;
    return good;
}

bool py_read_capture(
        struct py_reader *r, struct py_sequence *s, struct str name, size_t start)
{
    size_t number = r->group_count++, known = name.data ? find_group(r, name) : 0;
    if (known)
        return py_fail(r, (size_t)(name.data - r->text.data),
                "redefinition of group name '%.*s' as group %zu; was group %zu",
                STR_ARG(name), number, known);
    r->groups[number] = (struct py_group){ .name = name, .open = true };
    py_start_item(s, PY_ITEM_OTHER, 0, 0);
    buf_addc(r->out, '(');
    if (!read_group_body(r, start, &s->item))
        return false;
    r->groups[number].open = false;
    r->groups[number].width = s->item;
    return true;
}

static bool read_plain_group(
        struct py_reader *r, struct py_sequence *s, const char *open, size_t start)
{
    py_start_item(s, PY_ITEM_OTHER, 0, 0);
    buf_add(r->out, str_of(open));
    return read_group_body(r, start, &s->item);
}

/* (?P<name>...) and (?P=name), behind the P. */
static bool read_named(struct py_reader *r, struct py_sequence *s, size_t start)
{
    struct str name;
    if (py_take(r, '<')) {
        size_t at = r->at;
        return read_name(r, '>', &name) && check_name(r, name, at) &&
               py_read_capture(r, s, name, start);
    }
    if (!py_take(r, '=')) {
        struct str token = py_get(r);
        if (!token.len)
            return py_fail(r, r->at, "unexpected end of pattern");
        return py_fail(r, start + 1, "unknown extension ?P%.*s", STR_ARG(token));
    }
    size_t at = r->at;
    if (!read_name(r, ')', &name) || !check_name(r, name, at))
        return false;
    size_t group = find_group(r, name);
    if (!group)
        return py_fail(r, at, "unknown group name '%.*s'", STR_ARG(name));
    return py_check_reference(r, group, at) && py_read_reference(r, s, group, at);
}

/* The group of a condition, by its number or its name. */
static bool read_condition(struct py_reader *r, unsigned *out)
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
        return *out || py_fail(r, at, "unknown group name '%.*s'", STR_ARG(name));
    }
    if (!str_int(name, &number) || number > PYRE_MAX_BYTES)
        return py_fail(r, at, "invalid group reference %.*s", STR_ARG(name));
    if (!number)
        return py_fail(r, at, "bad group number");
    *out = (unsigned)number;
    r->conditions[r->condition_count++] = (struct py_condition){ *out, at };
    return true;
}

/* (?(1)yes|no), behind the second parenthesis. */
static bool read_conditional(struct py_reader *r, struct py_sequence *s, size_t start)
{
    unsigned group = 0;
    struct py_width yes = { 0 }, no = { 0 };
    if (!read_condition(r, &group) ||
            (r->lookbehind_groups && !py_check_reference(r, group, r->at)))
        return false;
    if (++r->depth > MAX_DEPTH)
        return py_fail(
                r, start, "unsupported: more than %d groups in one another", MAX_DEPTH);
    buf_addf(r->out, "(?(%u)", group);
    if (!py_read_sequence(r, false, &yes))
        return false;
    if (py_take(r, '|')) {
        buf_addc(r->out, '|');
        if (!py_read_sequence(r, false, &no))
            return false;
        if (py_next_is(r, '|'))
            return py_fail(r, r->at, "conditional backref with more than two branches");
    }
    r->depth--;
    yes = py_width_either(yes, no);
    py_start_item(s, PY_ITEM_OTHER, yes.min, yes.max);
    return read_group_end(r, start);
}

static bool read_lookahead(
        struct py_reader *r, struct py_sequence *s, const char *open, size_t start)
{
    struct py_width w;
    py_start_item(s, PY_ITEM_OTHER, 0, 0);
    buf_add(r->out, str_of(open));
    return read_group_body(r, start, &w);
}

/* Behind "(?<". */
static bool read_lookbehind(struct py_reader *r, struct py_sequence *s, size_t start)
{
    struct str token = py_get(r);
    if (!token.len)
        return py_fail(r, r->at, "unexpected end of pattern");
    if (!str_is(token, "=") && !str_is(token, "!"))
        return py_fail(r, start + 1, "unknown extension ?<%.*s", STR_ARG(token));
    bool outermost = !r->lookbehind_groups;
    if (outermost)
        r->lookbehind_groups = r->group_count;
    struct py_width w;
    py_start_item(s, PY_ITEM_OTHER, 0, 0);
    buf_addf(r->out, "(?<%c", token.data[0]);
    if (!read_group_body(r, start, &w))
        return false;
    r->bad_lookbehind |= w.min != w.max;
    if (outermost)
        r->lookbehind_groups = 0;
    return true;
}

static bool skip_comment(struct py_reader *r, size_t start)
{
    for (struct str t = py_get(r); !str_is(t, ")"); t = py_get(r))
        if (!t.len)
            return py_fail(r, start, "missing ), unterminated comment");
    return true;
}

static unsigned flag_of(struct str token)
{
    static const struct {
        char letter;
        enum py_flags flag;
    } flags[] = { { 'i', PY_I }, { 'L', PY_L }, { 'm', PY_M }, { 's', PY_S },
        { 'x', PY_X }, { 'a', PY_A }, { 'u', PY_U } };
    for (size_t i = 0; token.len == 1 && i < ARRAY_LEN(flags); i++)
        if (flags[i].letter == token.data[0])
            return flags[i].flag;
    return 0;
}

#define TYPE_FLAGS (PY_A | PY_U | PY_L)

/* The character behind a flag or a "-" is no flag: say what is wrong, or what is missing.
 */
static bool bad_flag(struct py_reader *r, struct str token, const char *missing)
{
    bool letter =
            token.len == 1 && (token.data[0] | 32) >= 'a' && (token.data[0] | 32) <= 'z';
    return py_fail(r, r->at - token.len, "%s", letter ? "unknown flag" : missing);
}

/* Flags up to a token that is none of them, which is taken too. */
static bool read_flag_letters(
        struct py_reader *r, struct str token, bool on, unsigned *flags, struct str *end)
{
    const char *ends = on ? ")-:" : ":",
               *missing = on ? "missing -, : or )" : "missing :";
    for (;;) {
        unsigned flag = flag_of(token);
        if (flag & PY_L && on)
            return py_fail(
                    r, r->at, "bad inline flags: cannot use 'L' flag with a str pattern");
        if (flag & TYPE_FLAGS && !on)
            return py_fail(
                    r, r->at, "bad inline flags: cannot turn off flags 'a', 'u' and 'L'");
        *flags |= flag;
        if (flag & TYPE_FLAGS && (*flags & TYPE_FLAGS) != flag)
            return py_fail(r, r->at,
                    "bad inline flags: flags 'a', 'u' and 'L' are incompatible");
        token = py_get(r);
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
        struct py_reader *r, const struct py_sequence *s, unsigned on, size_t start)
{
    if (!s->first || s->kind != PY_ITEM_NONE)
        return py_fail(r, start, "global flags not at the start of the expression");
    r->flags |= on;
    if ((r->flags & PY_A) && (r->flags & PY_U))
        return error_set(r->err, ERR_INVALID, "ASCII and UNICODE flags are incompatible");
    r->folded = py_folds(r->flags);
    return true;
}

static bool read_flag_group(struct py_reader *r, struct py_sequence *s, unsigned on,
        unsigned off, size_t start)
{
    unsigned outer = r->flags;
    bool outer_folded = r->folded;
    if (on & TYPE_FLAGS)
        r->flags &= ~(unsigned)TYPE_FLAGS;
    r->flags = (r->flags | on) & ~off;
    r->folded = py_folds(r->flags);
    bool same = r->folded == outer_folded;
    if (!read_plain_group(r, s, same ? "(?:" : r->folded ? "(?i:" : "(?-i:", start))
        return false;
    r->flags = outer;
    r->folded = outer_folded;
    return true;
}

/* Behind "(?", with the flag or "-" that was taken. */
static bool read_flags(
        struct py_reader *r, struct py_sequence *s, struct str token, size_t start)
{
    unsigned on = 0, off = 0;
    struct str end = token;
    if (!str_is(token, "-") && !read_flag_letters(r, token, true, &on, &end))
        return false;
    if (str_is(end, ")"))
        return set_global_flags(r, s, on, start);
    if (str_is(end, "-")) {
        token = py_get(r);
        if (!flag_of(token))
            return bad_flag(r, token, "missing flag");
        if (!read_flag_letters(r, token, false, &off, &end))
            return false;
    }
    if (on & off)
        return py_fail(r, r->at - 1, "bad inline flags: flag turned on and off");
    return read_flag_group(r, s, on, off, start);
}

bool py_read_extension(struct py_reader *r, struct py_sequence *s, size_t start)
{
    struct str token = py_get(r);
    if (!token.len)
        return py_fail(r, r->at, "unexpected end of pattern");
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
    return py_fail(r, start + 1, "unknown extension ?%.*s", STR_ARG(token));
}
