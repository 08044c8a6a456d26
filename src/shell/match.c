/*
 * Running a compiled pattern: sets of places.
 *
 * Places are byte offsets, counted from the end that the run starts at, so that they
 * always grow; only read_char() and has_literal() know the direction.  A set is a sorted
 * list of spans.  `*` from {p} is the one span p..end, which is why the usual patterns
 * cost one pass over the text.
 */
#include "shell/letter.h"
#include "shell/pattern-tree.h"

#include "base/utf8.h"

#define BASE_STEPS     10000000
#define STEPS_PER_BYTE 16
#define BASE_MEMORY    ((size_t)64 << 20)

struct span {
    size_t from, to; /* both belong to it */
};

struct set {
    struct span only;   /* while there is room for one only */
    struct span *spans; /* NULL: `only` */
    size_t count, cap;
};

enum keep { KEEP_ALL, KEEP_FIRST, KEEP_LAST }; /* what the user of a set will look at */

struct matcher {
    struct arena *arena;
    struct str text;
    enum pattern_flags flags;
    bool backward;
    size_t steps;
};

static struct set run(struct matcher *m, const struct sequence *s, struct set in,
        enum keep keep, bool *passed_star);

static bool exhausted(const struct matcher *m)
{
    return m->steps > BASE_STEPS + m->text.len * STEPS_PER_BYTE ||
           arena_size(m->arena) > BASE_MEMORY + m->text.len * STEPS_PER_BYTE;
}

static struct span *span_at(struct set *set, size_t i)
{
    return set->spans ? &set->spans[i] : &set->only;
}

/* Add a span that does not begin before the last one does. */
static void add_span(struct matcher *m, struct set *set, size_t from, size_t to)
{
    struct span *last = set->count ? span_at(set, set->count - 1) : NULL;
    if (last && from <= last->to + 1) {
        if (to > last->to)
            last->to = to;
        return;
    }
    if (set->count && set->count >= set->cap) {
        size_t cap = set->cap ? set->cap * 2 : 4;
        struct span *spans = arena_alloc(m->arena, cap * sizeof(*spans));
        memcpy(spans, span_at(set, 0), set->count * sizeof(*spans));
        set->spans = spans;
        set->cap = cap;
    }
    *span_at(set, set->count++) = (struct span){ from, to };
}

/* Add a place found in growing order; false when `keep` needs no more of them. */
static bool add_place(struct matcher *m, struct set *set, size_t at, enum keep keep)
{
    if (keep == KEEP_LAST)
        set->count = 0;
    add_span(m, set, at, at);
    return keep != KEEP_FIRST;
}

static struct set single(struct matcher *m, size_t from, size_t to)
{
    struct set set = { 0 };
    add_span(m, &set, from, to);
    return set;
}

/* `a` is consumed; the result shares nothing with `b`. */
static struct set unite(struct matcher *m, struct set a, struct set b)
{
    if (!b.count)
        return a;
    struct set out = { 0 };
    if (!a.count || span_at(&b, 0)->from >= span_at(&a, a.count - 1)->from) {
        for (size_t i = 0; i < b.count; i++) /* the usual case: b follows */
            add_span(m, &a, span_at(&b, i)->from, span_at(&b, i)->to);
        return a;
    }
    for (size_t i = 0, j = 0; i < a.count || j < b.count;) {
        bool take_a = j == b.count ||
                      (i < a.count && span_at(&a, i)->from < span_at(&b, j)->from);
        struct span span = take_a ? *span_at(&a, i++) : *span_at(&b, j++);
        add_span(m, &out, span.from, span.to);
    }
    m->steps += a.count + b.count;
    return out;
}

/* What is in `a` and not in `b`. */
static struct set subtract(struct matcher *m, struct set a, struct set b)
{
    if (!a.count || !b.count || span_at(&a, 0)->from > span_at(&b, b.count - 1)->to)
        return a;
    struct set out = { 0 };
    size_t j = 0;
    for (size_t i = 0; i < a.count; i++) {
        size_t from = span_at(&a, i)->from, to = span_at(&a, i)->to;
        while (j < b.count && span_at(&b, j)->to < from)
            j++;
        for (size_t k = j; k < b.count && span_at(&b, k)->from <= to; k++) {
            if (span_at(&b, k)->from > from)
                add_span(m, &out, from, span_at(&b, k)->from - 1);
            from = span_at(&b, k)->to + 1;
        }
        if (from <= to)
            add_span(m, &out, from, to);
    }
    m->steps += a.count + b.count;
    return out;
}

static size_t char_before(struct str text, size_t end)
{
    if (!(text.data[end - 1] & 0x80))
        return 1;
    for (size_t len = 2; len <= 4 && len <= end; len++) {
        uint32_t code;
        if (utf8_decode(str_sub(text, end - len, len), &code) == len)
            return len;
    }
    return 1;
}

/* Is this no place inside a character? */
static bool is_boundary(const struct matcher *m, size_t place)
{
    size_t at = m->backward ? m->text.len - place : place;
    if (at == 0 || at >= m->text.len || (m->text.data[at] & 0xc0) != 0x80)
        return true;
    for (size_t back = 1; back <= 3 && back <= at; back++) {
        uint32_t code;
        if (utf8_decode(str_from(m->text, at - back), &code) > back)
            return false;
    }
    return true;
}

/* The character that follows a place and its length; 0 at the end and inside of one. */
static size_t read_char(struct matcher *m, size_t place, uint32_t *code)
{
    m->steps++;
    if (place >= m->text.len || !is_boundary(m, place))
        return 0;
    if (!m->backward)
        return letter_decode(str_from(m->text, place), code);
    size_t end = m->text.len - place;
    size_t len = char_before(m->text, end);
    letter_decode(str_sub(m->text, end - len, len), code);
    return len;
}

static bool has_literal(struct matcher *m, size_t place, struct str literal)
{
    m->steps++;
    if (literal.len > m->text.len - place)
        return false;
    size_t at = m->backward ? m->text.len - place - literal.len : place;
    /* Bytes that are no UTF-8 in the pattern do not match inside of a character. */
    return m->text.data[at] == literal.data[0] &&
           !memcmp(m->text.data + at, literal.data, literal.len) &&
           is_boundary(m, place) && is_boundary(m, place + literal.len);
}

/* May a wildcard match the character at this place? */
static bool wild_char_ok(const struct matcher *m, size_t place, uint32_t code)
{
    bool pathname = m->flags & PATTERN_PATHNAME;
    if (code == '/' && pathname)
        return false;
    if (code != '.' || !(m->flags & PATTERN_PERIOD))
        return true;
    return place && !(pathname && m->text.data[place - 1] == '/');
}

/* Read one element of a bracket expression; true: `*code` is a character, false: it was
 * a class, which `*in_class` answers. */
static bool read_element(
        struct str *rest, uint32_t wanted, uint32_t *code, bool *in_class)
{
    char first = rest->data[0], kind = rest->len > 1 ? rest->data[1] : 0;
    char end[] = { kind, ']' };
    const char *close = NULL;
    if (first == '[' && (kind == ':' || kind == '.' || kind == '='))
        close = memmem(rest->data + 2, rest->len - 2, end, 2);
    if (!close) {
        if (first == '\\' && rest->len > 1)
            *rest = str_from(*rest, 1);
        *rest = str_from(*rest, letter_decode(*rest, code));
        return true;
    }
    struct str name = str_sub(*rest, 2, (size_t)(close - rest->data) - 2);
    *rest = str_from(*rest, name.len + 4);
    if (kind != ':') {
        *code = 0;
        return !name.len || letter_decode(name, code) == name.len;
    }
    *in_class |= letter_in_class(wanted, name);
    return false;
}

static bool class_has(struct str body, uint32_t wanted, enum letter_case fold)
{
    uint32_t folded = letter_change(wanted, fold); /* but classes keep to the case */
    bool found = false;
    while (body.len && !found) {
        uint32_t from = 0, to = 0;
        if (!read_element(&body, wanted, &from, &found))
            continue;
        to = from;
        if (body.len > 1 && body.data[0] == '-') {
            body = str_from(body, 1);
            if (!read_element(&body, wanted, &to, &found))
                continue;
        }
        found |= letter_change(from, fold) <= folded && folded <= letter_change(to, fold);
    }
    return found;
}

/* Is `code` one of those in a bracket expression? */
static bool match_class(struct str body, uint32_t code, enum pattern_flags flags)
{
    bool negated = body.len && (body.data[0] == '!' || body.data[0] == '^');
    body = str_from(body, negated);
    enum letter_case fold = flags & PATTERN_FOLD ? LETTER_LOWER : LETTER_KEEP;
    bool found = class_has(body, code, fold);
    return found != negated;
}

static bool char_fits(struct matcher *m, const struct atom *atom, uint32_t code)
{
    if (atom->type == ATOM_CLASS)
        return match_class(atom->text, code, m->flags);
    return atom->type == ATOM_ANY ||
           letter_change(code, LETTER_LOWER) == letter_change(atom->code, LETTER_LOWER);
}

/* Atoms that take one character. */
static struct set run_char(
        struct matcher *m, const struct atom *atom, struct set in, enum keep keep)
{
    struct set out = { 0 };
    for (size_t i = 0; i < in.count && !exhausted(m); i++) {
        for (size_t at = span_at(&in, i)->from; at <= span_at(&in, i)->to; at++) {
            uint32_t code = 0;
            size_t len = read_char(m, at, &code);
            if (!len || (atom->type != ATOM_CHAR && !wild_char_ok(m, at, code)) ||
                    !char_fits(m, atom, code))
                continue;
            if (!add_place(m, &out, at + len, keep))
                return out;
        }
    }
    return out;
}

static struct set run_literal(
        struct matcher *m, struct str literal, struct set in, enum keep keep)
{
    struct set out = { 0 };
    for (size_t i = 0; i < in.count && !exhausted(m); i++)
        for (size_t at = span_at(&in, i)->from; at <= span_at(&in, i)->to; at++)
            if (has_literal(m, at, literal) &&
                    !add_place(m, &out, at + literal.len, keep))
                return out;
    return out;
}

/* Is it where only a literal '.' may match, and is one there? */
static bool at_hidden(const struct matcher *m, size_t at)
{
    return m->flags & PATTERN_PERIOD && at < m->text.len && m->text.data[at] == '.' &&
           !wild_char_ok(m, at, '.');
}

/* How far a wildcard may go from `at`. */
static size_t reach(struct matcher *m, size_t at)
{
    if (!(m->flags & (PATTERN_PERIOD | PATTERN_PATHNAME)))
        return m->text.len;
    for (uint32_t code = 0; at < m->text.len;) {
        size_t len = read_char(m, at, &code);
        if (!len || !wild_char_ok(m, at, code))
            break;
        at += len;
    }
    return at;
}

static struct set run_star(struct matcher *m, struct set in)
{
    struct set out = { 0 };
    for (size_t i = 0; i < in.count; i++) {
        size_t at = span_at(&in, i)->from;
        while (at <= span_at(&in, i)->to && !exhausted(m)) {
            size_t to = reach(m, at);
            if (!at_hidden(m, at))
                add_span(m, &out, at, to);
            at = to + 1;
        }
    }
    return out;
}

static struct set run_choices(struct matcher *m, const struct atom *group, struct set in)
{
    struct set out = { 0 };
    for (size_t i = 0; i < group->choice_count && !exhausted(m); i++)
        out = unite(m, out, run(m, &group->choices[i], in, KEEP_ALL, NULL));
    return out;
}

/* Any number of turns, none included. */
static struct set run_repeat(struct matcher *m, const struct atom *group, struct set in)
{
    struct set seen = unite(m, (struct set){ 0 }, in), last = in;
    while (last.count && !exhausted(m)) {
        last = subtract(m, run_choices(m, group, last), seen);
        seen = unite(m, seen, last);
    }
    return seen;
}

/* !(...): from each place, all places within reach but those where a choice ends. */
static struct set run_negation(struct matcher *m, const struct atom *group, struct set in)
{
    struct set out = { 0 };
    for (size_t i = 0; i < in.count; i++) {
        for (size_t at = span_at(&in, i)->from;
                at <= span_at(&in, i)->to && !exhausted(m); at++) {
            m->steps++;
            if (!is_boundary(m, at))
                continue;
            struct set all = single(m, at, reach(m, at));
            struct set ends = run_choices(m, group, single(m, at, at));
            out = unite(m, out, subtract(m, all, ends));
        }
    }
    return out;
}

static struct set run_group(struct matcher *m, const struct atom *group, struct set in)
{
    switch (group->kind) {
    case '?':
        return unite(m, run_choices(m, group, in), in);
    case '*':
        return run_repeat(m, group, in);
    case '+': {
        struct set once = run_choices(m, group, in);
        return once.count ? run_repeat(m, group, once) : once;
    }
    case '!':
        return run_negation(m, group, in);
    default:
        return run_choices(m, group, in);
    }
}

static struct set run_atom(
        struct matcher *m, const struct atom *atom, struct set in, enum keep keep)
{
    if (atom->type == ATOM_LITERAL)
        return run_literal(m, atom->text, in, keep);
    if (atom->type == ATOM_STAR)
        return run_star(m, in);
    return atom->type == ATOM_GROUP ? run_group(m, atom, in)
                                    : run_char(m, atom, in, keep);
}

/* One atom after the other.  Before a `*` only the first place matters, since the star
 * reaches all later ones from there.  `*passed_star`: a star was reached from as far left
 * as this pattern can, so that what fails now fails from every later start. */
static struct set run(struct matcher *m, const struct sequence *s, struct set in,
        enum keep keep, bool *passed_star)
{
    bool free_star = !(m->flags & (PATTERN_PERIOD | PATTERN_PATHNAME)), grouped = false;
    for (size_t i = 0; i < s->count && in.count && !exhausted(m); i++) {
        size_t at = m->backward ? s->count - 1 - i : i;
        const struct atom *atom = &s->atoms[at];
        enum keep want = i + 1 == s->count ? keep : KEEP_ALL;
        if (i + 1 < s->count && free_star &&
                s->atoms[m->backward ? at - 1 : at + 1].type == ATOM_STAR)
            want = KEEP_FIRST;
        in = run_atom(m, atom, in, want);
        grouped |= atom->type == ATOM_GROUP;
        if (passed_star && atom->type == ATOM_STAR && free_star && !grouped)
            *passed_star = true;
    }
    return in;
}

static ptrdiff_t choose(struct matcher *m, struct set ends, enum match_keep keep)
{
    for (size_t i = 0; i < ends.count; i++) {
        struct span span = *span_at(&ends, keep == MATCH_FIRST ? i : ends.count - 1 - i);
        for (size_t n = span.to - span.from + 1, k = 0; k < n; k++) {
            size_t at = keep == MATCH_FIRST ? span.from + k : span.to - k;
            if (is_boundary(m, at))
                return (ptrdiff_t)at;
        }
    }
    return -1;
}

static ptrdiff_t run_from(struct matcher *m, const struct pattern *p, size_t from,
        enum match_keep keep, bool *hopeless)
{
    if (!is_boundary(m, from))
        return -1;
    bool passed_star = false;
    struct set ends = run(m, &p->all, single(m, from, from),
            keep == MATCH_FIRST ? KEEP_FIRST : KEEP_LAST, &passed_star);
    if (exhausted(m)) {
        *hopeless = true;
        return -1;
    }
    ptrdiff_t end = choose(m, ends, keep);
    *hopeless = end < 0 && passed_star;
    return end;
}

ptrdiff_t match_run(
        const struct pattern *p, struct str text, bool backward, enum match_keep keep)
{
    if (p->impossible)
        return -1;
    auto_arena *arena = arena_create();
    struct matcher m = {
        .arena = arena, .text = text, .flags = p->flags, .backward = backward
    };
    bool hopeless = false;
    return run_from(&m, p, 0, keep, &hopeless);
}

/* Where a match could begin at the earliest, judging by the first atom. */
static bool find_candidate(const struct pattern *p, struct str text, size_t *at)
{
    const struct atom *first = p->all.count ? p->all.atoms : NULL;
    if (*at > text.len || !first || first->type != ATOM_LITERAL)
        return *at <= text.len;
    const char *hit =
            memmem(text.data + *at, text.len - *at, first->text.data, first->text.len);
    if (hit)
        *at = (size_t)(hit - text.data);
    return hit;
}

bool pattern_find(
        const struct pattern *p, struct str text, size_t from, size_t *start, size_t *end)
{
    auto_arena *arena = arena_create();
    struct matcher m = { .arena = arena, .text = text, .flags = p->flags };
    struct arena_mark mark = arena_mark(arena);
    bool hopeless = p->impossible;
    for (; !hopeless && find_candidate(p, text, &from); from++) {
        ptrdiff_t to = run_from(&m, p, from, MATCH_LAST, &hopeless);
        arena_rewind(arena, mark);
        if (to >= 0) {
            *start = from;
            *end = (size_t)to;
            return true;
        }
    }
    return false;
}
