/* The operators of ${} that change a value: # % / : ^ , ~ on one text or on each of a
 * list. */
#include "shell/expansion.h"
#include "shell/letter.h"

#include "base/utf8.h"

/* Room for a changed value in the arena. */
static bool keep(struct expansion *e, struct buf *text, struct str *out)
{
    if (text->full)
        return budget_stop(e->sh->budget, BUDGET_MEMORY);
    if (!expand_room(e->sh, e->arena, text->len))
        return false;
    *out = arena_str(e->arena, buf_str(text));
    return true;
}

/* Call `fn` on the text, or on every element of the list. */
typedef bool text_fn(struct expansion *e, const void *how, struct str *text);

static bool for_each(struct expansion *e, struct operand *o, text_fn *fn, const void *how)
{
    if (!o->is_list)
        return fn(e, how, &o->text);
    for (size_t i = 0; i < o->count; i++)
        if (!budget_spend(e->sh->budget, 1) || !fn(e, how, &o->items[i]))
            return false;
    return true;
}

static bool pattern_arg(struct expansion *e, const struct word *w, struct str *out)
{
    *out = STR("");
    return !w || expand_pattern(e->sh, w, e->arena, out);
}

struct trim {
    enum param_op op;
    struct str pattern;
    enum pattern_flags flags;
};

static bool trim(struct expansion *e UNUSED, const void *how, struct str *text)
{
    const struct trim *t = how;
    bool prefix = t->op == PARAM_TRIM_PREFIX || t->op == PARAM_TRIM_PREFIX_LONG;
    bool longest = t->op == PARAM_TRIM_PREFIX_LONG || t->op == PARAM_TRIM_SUFFIX_LONG;
    ptrdiff_t length =
            prefix ? pattern_match_prefix(t->pattern, *text, longest, t->flags)
                   : pattern_match_suffix(t->pattern, *text, longest, t->flags);
    if (length > 0)
        *text = prefix ? str_from(*text, (size_t)length)
                       : str_sub(*text, 0, text->len - (size_t)length);
    return true;
}

static bool apply_trim(struct expansion *e, const struct param *p, struct operand *o)
{
    struct trim how = { .op = p->op, .flags = expand_pattern_flags(e->sh) };
    return pattern_arg(e, p->arg, &how.pattern) && for_each(e, o, trim, &how);
}

struct replace {
    enum param_op op;
    struct str source; /* the pattern as text */
    struct pattern *pattern;
    enum pattern_flags flags;
    struct str with; /* & is the match; \& and \\ are themselves */
    bool is_plain;   /* `shopt -u patsub_replacement`: & is itself too */
};

static void add_replacement(struct buf *out, const struct replace *r, struct str match)
{
    for (size_t i = 0; i < r->with.len; i++) {
        char c = r->with.data[i], next = i + 1 < r->with.len ? r->with.data[i + 1] : 0;
        if (r->is_plain)
            buf_addc(out, c);
        else if (c == '&')
            buf_add(out, match);
        else if (c == '\\' && (next == '&' || next == '\\'))
            buf_addc(out, r->with.data[++i]);
        else
            buf_addc(out, c);
    }
}

/* The next match at or after `from`. */
static bool find_match(
        const struct replace *r, struct str text, size_t from, size_t *start, size_t *end)
{
    ptrdiff_t length;
    if (r->op == PARAM_REPLACE_PREFIX) {
        length = pattern_match_prefix(r->source, text, true, r->flags);
        *start = 0;
        *end = (size_t)length;
        return length >= 0;
    }
    if (r->op == PARAM_REPLACE_SUFFIX) {
        length = pattern_match_suffix(r->source, text, true, r->flags);
        *start = text.len - (size_t)length;
        *end = text.len;
        return length >= 0;
    }
    return pattern_find(r->pattern, text, from, start, end);
}

static bool replace(struct expansion *e, const void *how, struct str *text)
{
    const struct replace *r = how;
    auto_buf out = BUF(e->sh->budget->max_memory);
    size_t done = 0, from = 0, start, end;
    while (find_match(r, *text, from, &start, &end)) {
        if (!budget_spend(e->sh->budget, 1) || out.full)
            return keep(e, &out, text);
        if (start == end && start == text->len && from)
            break; /* nothing is left to replace */
        buf_add(&out, str_sub(*text, done, start - done));
        add_replacement(&out, r, str_sub(*text, start, end - start));
        done = end;
        uint32_t code;
        from = end > start         ? end
               : start < text->len ? start + letter_decode(str_from(*text, start), &code)
                                   : start + 1;
        if (r->op != PARAM_REPLACE_ALL || from > text->len)
            break;
    }
    if (!done && !out.len)
        return true;
    buf_add(&out, str_from(*text, done));
    return keep(e, &out, text);
}

static bool apply_replace(struct expansion *e, const struct param *p, struct operand *o)
{
    struct replace r = { .op = p->op, .flags = expand_pattern_flags(e->sh) };
    if (!o->is_set)
        return true; /* what is unset has no empty text to match */
    if (e->sh->shopt & SHOPT_NOCASEMATCH)
        r.flags |= PATTERN_FOLD;
    if (!pattern_arg(e, p->arg, &r.source))
        return false;
    if (!r.source.len && p->op != PARAM_REPLACE_PREFIX && p->op != PARAM_REPLACE_SUFFIX)
        return true;
    r.with = STR("");
    r.is_plain = e->sh->shopt & SHOPT_NO_PATSUB;
    if (p->replacement &&
            !expand_as(e->sh, p->replacement,
                    r.is_plain ? EXPAND_STRING : EXPAND_REPLACEMENT, e->arena, &r.with))
        return false;
    r.pattern = pattern_compile(r.source, r.flags, e->arena);
    return for_each(e, o, replace, &r);
}

/* Both ends of the slice, of `count` things.  False: the length is negative and too
 * large. */
static bool slice(size_t count, int64_t offset, bool has_length, int64_t length,
        size_t *from, size_t *n)
{
    int64_t total = (int64_t)count;
    *from = *n = 0;
    if (offset < 0)
        offset += total;
    if (offset < 0 || offset > total)
        return true;
    int64_t end = total;
    if (has_length)
        end = length < 0                ? total + length
              : length < total - offset ? offset + length
                                        : total;
    if (end < offset)
        return false;
    *from = (size_t)offset;
    *n = (size_t)(end - offset);
    return true;
}

static bool too_short(struct shell *sh, int64_t length)
{
    sh->is_miscalculated = true;
    return expand_fail(sh, "%lld: substring expression < 0", (long long)length);
}

/* ${@:0} begins with $0. */
static bool add_zeroth(struct expansion *e, struct operand *o)
{
    struct str *items = arena_alloc(e->arena, (o->count + 1) * sizeof(*items));
    items[0] = str_of(e->sh->args[0]);
    if (o->count)
        memcpy(items + 1, o->items, o->count * sizeof(*items));
    o->items = items;
    o->count++;
    return true;
}

/* Where in the list of an indexed array the offset lies: by index, not by position. */
static int64_t position_of(struct expansion *e, const struct operand *o, int64_t offset)
{
    struct str *keys;
    size_t count;
    int64_t end = vars_end(e->sh->vars, o->name);
    if (offset < 0)
        offset += end;
    if (offset < 0 || end == (int64_t)o->count)
        return offset < 0 ? (int64_t)o->count + 1 : offset;
    vars_elements(e->sh->vars, o->name, e->arena, &keys, NULL, &count);
    for (size_t i = 0; i < count; i++) {
        int64_t index = 0;
        if (str_int(keys[i], &index) && index >= offset)
            return (int64_t)i;
    }
    return (int64_t)count;
}

/* An associative array counts from 1, and from the end as if it had a place 0; bash does
 * not say so, but scripts see it. */
static int64_t position_in_map(const struct operand *o, int64_t offset)
{
    int64_t count = (int64_t)o->count;
    if (offset < 0)
        offset += count + 1;
    if (offset < 0)
        return count + 1; /* nowhere */
    return offset > 0 ? offset - 1 : 0;
}

static bool slice_list(struct expansion *e, struct operand *o, int64_t offset,
        bool has_length, int64_t length)
{
    size_t from, n;
    if (o->is_positional)
        add_zeroth(e, o);
    else if (vars_end(e->sh->vars, o->name) > 0)
        offset = position_of(e, o, offset);
    else
        offset = position_in_map(o, offset);
    if (has_length && length < 0 && (o->is_positional || offset < (int64_t)o->count))
        return too_short(e->sh, length);
    slice(o->count, offset, has_length, length, &from, &n);
    o->items += from;
    o->count = n;
    return true;
}

static bool apply_substring(struct expansion *e, const struct param *p, struct operand *o)
{
    int64_t offset = 0, length = 0;
    if (!o->is_set && !o->is_positional)
        return true; /* and the expressions are not looked at */
    if (!expand_arith(e->sh, p->offset, &offset) ||
            (p->length && !expand_arith(e->sh, p->length, &length)))
        return expand_discard(e->sh);
    if (o->is_list)
        return slice_list(e, o, offset, p->length, length);
    size_t from, n;
    if (!slice(utf8_count(o->text), offset, p->length, length, &from, &n))
        return too_short(e->sh, length);
    o->text = str_from(o->text, utf8_offset(o->text, from));
    o->text = str_sub(o->text, 0, utf8_offset(o->text, n));
    return true;
}

struct recase {
    enum letter_case to;
    bool first_only;
    const struct pattern *pattern; /* of the characters that change; NULL: all */
};

static bool recase(struct expansion *e, const void *how, struct str *text)
{
    const struct recase *r = how;
    auto_buf out = BUF(e->sh->budget->max_memory);
    struct str rest = *text;
    uint32_t code;
    for (size_t length; rest.len; rest = str_from(rest, length)) {
        length = letter_decode(rest, &code);
        struct str c = str_sub(rest, 0, length);
        bool wanted = !r->pattern || pattern_test(r->pattern, c);
        letter_add(&out, c, wanted ? r->to : LETTER_KEEP);
        if (r->first_only) {
            buf_add(&out, str_from(rest, length));
            break;
        }
    }
    return budget_spend(e->sh->budget, 1 + text->len / 16) && keep(e, &out, text);
}

static bool apply_recase(struct expansion *e, const struct param *p, struct operand *o)
{
    struct recase how = { .to = LETTER_TOGGLE };
    struct str pattern;
    if (p->op == PARAM_UPPER || p->op == PARAM_UPPER_FIRST)
        how.to = LETTER_UPPER;
    else if (p->op == PARAM_LOWER || p->op == PARAM_LOWER_FIRST)
        how.to = LETTER_LOWER;
    how.first_only = p->op == PARAM_UPPER_FIRST || p->op == PARAM_LOWER_FIRST ||
                     p->op == PARAM_TOGGLE_FIRST;
    if (!pattern_arg(e, p->arg, &pattern))
        return false;
    if (pattern.len)
        how.pattern = pattern_compile(pattern, expand_pattern_flags(e->sh), e->arena);
    return for_each(e, o, recase, &how);
}

bool operand_apply(struct expansion *e, const struct param *p, struct operand *o)
{
    switch (p->op) {
    case PARAM_TRIM_PREFIX:
    case PARAM_TRIM_PREFIX_LONG:
    case PARAM_TRIM_SUFFIX:
    case PARAM_TRIM_SUFFIX_LONG:
        return apply_trim(e, p, o);
    case PARAM_REPLACE:
    case PARAM_REPLACE_ALL:
    case PARAM_REPLACE_PREFIX:
    case PARAM_REPLACE_SUFFIX:
        return apply_replace(e, p, o);
    case PARAM_SUBSTRING:
        return apply_substring(e, p, o);
    case PARAM_TRANSFORM:
        return operand_transform(e, p, o);
    case PARAM_UPPER_FIRST:
    case PARAM_UPPER:
    case PARAM_LOWER_FIRST:
    case PARAM_LOWER:
    case PARAM_TOGGLE_FIRST:
    case PARAM_TOGGLE:
        return apply_recase(e, p, o);
    case PARAM_VALUE:
    case PARAM_LENGTH:
    case PARAM_DEFAULT:
    case PARAM_ASSIGN:
    case PARAM_REQUIRE:
    case PARAM_ALTERNATE:
    case PARAM_NAMES:
    case PARAM_KEYS:
        break;
    }
    return true;
}
