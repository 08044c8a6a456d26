/*
 * Characters, categories and sets: what Python means by them, in terms that do not change
 * with the version of PCRE2 (its \w, \s and \b have changed more than once).
 */
#include "base/utf8.h"
#include "policy/pyre/internal.h"

struct range {
    uint32_t lo, hi;
};

/* str.isspace(), and what is not. */
#define SPACES                                                                        \
    "\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}" \
    "\\x{2029}\\x{202f}\\x{205f}\\x{3000}"
#define NO_SPACES                                                                  \
    "\\x{0}-\\x{8}\\x{e}-\\x{1b}\\x{21}-\\x{84}\\x{86}-\\x{9f}\\x{a1}-\\x{167f}"   \
    "\\x{1681}-\\x{1fff}\\x{200b}-\\x{2027}\\x{202a}-\\x{202e}\\x{2030}-\\x{205e}" \
    "\\x{2060}-\\x{2fff}\\x{3001}-\\x{10ffff}"
#define WORD       "\\p{L}\\p{N}_"
#define ASCII_WORD "0-9A-Z_a-z"

/* What stands in brackets for a category; \W of Unicode has no such form. */
static const struct {
    char letter;
    const char *unicode, *ascii;
} categories[] = {
    { 'd', "\\p{Nd}", "0-9" },
    { 'D', "\\P{Nd}", "\\x{0}-\\x{2f}\\x{3a}-\\x{10ffff}" },
    { 's', SPACES, "\\x{9}-\\x{d}\\x{20}" },
    { 'S', NO_SPACES, "\\x{0}-\\x{8}\\x{e}-\\x{1f}\\x{21}-\\x{10ffff}" },
    { 'w', WORD, ASCII_WORD },
    { 'W', NULL,
            "\\x{0}-\\x{2f}\\x{3a}-\\x{40}\\x{5b}-\\x{5e}\\x{60}\\x{7b}-\\x{10ffff}" },
};

/* Characters that are equal to Python when case is ignored, and not to PCRE2. */
static const uint32_t equals[][4] = {
    { 'i', 'I', 0x130, 0x131 },
    { 0x390, 0x1fd3 },
    { 0x3b0, 0x1fe3 },
    { 0xfb05, 0xfb06 },
};

static void put_code(struct buf *out, uint32_t code)
{
    char bytes[4];
    bool word = code < 128 && code > ' ' &&
                (code == '_' || (code >= '0' && code <= '9') ||
                        ((code | 32) >= 'a' && (code | 32) <= 'z'));
    if (code < ' ' || code == 127) {
        buf_addf(out, "\\x{%x}", code);
        return;
    }
    /* In a set ":" and "=" would make a class of POSIX, [:x:] and [=x=]. */
    if (code < 128 && !word && !strchr(" \"%&',/;<>@`~!", (int)code))
        buf_addc(out, '\\');
    buf_add(out, (struct str){ bytes, utf8_write(code, bytes) });
}

static void put_range(struct buf *out, struct range range)
{
    put_code(out, range.lo);
    if (range.hi == range.lo)
        return;
    buf_addc(out, '-');
    put_code(out, range.hi);
}

/* The part of `range` within first..last, moved by `shift`. */
static void put_shifted(
        struct buf *out, struct range range, uint32_t first, uint32_t last, int shift)
{
    uint32_t lo = range.lo > first ? range.lo : first;
    uint32_t hi = range.hi < last ? range.hi : last;
    if (lo <= hi)
        put_range(out, (struct range){ lo + (uint32_t)shift, hi + (uint32_t)shift });
}

/* The characters that are equal to one of `range` under `flags`, and that PCRE2 would not
 * add by itself. */
static void put_equals(struct buf *out, struct range range, unsigned flags)
{
    if ((flags & PY_I) && (flags & PY_A)) {
        put_shifted(out, range, 'A', 'Z', 'a' - 'A');
        put_shifted(out, range, 'a', 'z', 'A' - 'a');
    }
    for (size_t i = 0; py_folds(flags) && i < ARRAY_LEN(equals); i++) {
        bool found = false;
        for (size_t j = 0; j < ARRAY_LEN(equals[i]); j++)
            found |= equals[i][j] && equals[i][j] >= range.lo && equals[i][j] <= range.hi;
        for (size_t j = 0; found && j < ARRAY_LEN(equals[i]) && equals[i][j]; j++)
            put_code(out, equals[i][j]);
    }
}

void py_emit_code(struct py_reader *r, uint32_t code)
{
    auto_buf others = BUF(256);
    put_equals(&others, (struct range){ code, code }, r->flags);
    if (others.len)
        buf_addc(r->out, '[');
    put_code(r->out, code);
    if (others.len)
        buf_addf(r->out, "%s]", others.data);
}

static const char *category_text(char letter, unsigned flags)
{
    for (size_t i = 0; i < ARRAY_LEN(categories); i++)
        if (categories[i].letter == letter)
            return flags & PY_A ? categories[i].ascii : categories[i].unicode;
    return NULL;
}

void py_emit_category(struct py_reader *r, char letter)
{
    const char *text = category_text(letter, r->flags);
    if (text)
        buf_addf(r->out, "[%s]", text);
    else
        buf_add(r->out, STR("[^" WORD "]"));
}

void py_emit_boundary(struct py_reader *r, bool inverted)
{
    const char *w = r->flags & PY_A ? ASCII_WORD : WORD;
    if (!inverted)
        buf_addf(r->out, "(?:(?<=[%s])(?![%s])|(?<![%s])(?=[%s]))", w, w, w, w);
    else /* Python finds no \B in an empty text */
        buf_addf(r->out, "(?:(?<=[%s])(?=[%s])|(?<![%s])(?![%s])(?!\\A\\z))", w, w, w, w);
}

/* One member of a set: a character, or (`letter`) a category. */
struct member {
    char letter;
    uint32_t code;
};

static bool read_member(
        struct py_reader *r, struct str token, size_t at, struct member *m)
{
    *m = (struct member){ 0 };
    if (token.data[0] != '\\') {
        utf8_decode(token, &m->code);
        return true;
    }
    struct py_escape e;
    if (!py_read_escape(r, token, at, true, &e))
        return false;
    m->code = e.code;
    m->letter = e.kind == PY_CATEGORY ? (char)e.code : 0;
    return true;
}

struct set {
    struct buf text; /* what stands in the brackets */
    bool no_word;    /* and \W */
};

static void add_range(struct py_reader *r, struct set *set, struct range range)
{
    put_range(&set->text, range);
    put_equals(&set->text, range, r->flags);
}

static void add_member(struct py_reader *r, struct set *set, struct member m)
{
    const char *text = m.letter ? category_text(m.letter, r->flags) : NULL;
    if (text)
        buf_add(&set->text, str_of(text));
    else if (m.letter)
        set->no_word = true;
    else
        add_range(r, set, (struct range){ m.code, m.code });
}

/* A member and perhaps the end of its range; `*last`: that was "-]". */
static bool read_item(
        struct py_reader *r, struct set *set, size_t start, size_t at, bool *last)
{
    struct member from, to;
    if (!read_member(r, py_get(r), at, &from))
        return false;
    if (!py_take(r, '-')) {
        add_member(r, set, from);
        return true;
    }
    size_t to_at = r->at;
    struct str token = py_get(r);
    if (!token.len)
        return py_fail(r, start, "unterminated character set");
    if (str_is(token, "]")) {
        add_member(r, set, from);
        add_member(r, set, (struct member){ .code = '-' });
        *last = true;
        return true;
    }
    if (!read_member(r, token, to_at, &to))
        return false;
    if (from.letter || to.letter || to.code < from.code)
        return py_fail(r, at, "bad character range %.*s",
                STR_ARG(str_sub(r->text, at, r->at - at)));
    add_range(r, set, (struct range){ from.code, to.code });
    return true;
}

static void emit_set(struct py_reader *r, const struct set *set, bool negated)
{
    struct buf *out = r->out;
    const char *text = set->text.len ? set->text.data : NULL;
    if (!set->no_word)
        buf_addf(out, "[%s%s]", negated ? "^" : "", text);
    else if (!text)
        buf_addf(out, "[%s" WORD "]", negated ? "" : "^");
    else if (negated)
        buf_addf(out, "(?:(?![%s])[" WORD "])", text);
    else
        buf_addf(out, "(?:[^" WORD "]|[%s])", text);
}

bool py_read_set(struct py_reader *r)
{
    size_t start = r->at - 1;
    bool negated = py_take(r, '^'), last = false, first = true;
    struct set set = { .text = BUF(r->out->max) };
    bool good = true;
    while (good && !last) {
        struct str token = py_peek(r);
        if (!token.len)
            good = py_fail(r, start, "unterminated character set");
        else if (str_is(token, "]") && !first)
            last = py_take(r, ']');
        else
            good = read_item(r, &set, start, r->at, &last);
        first = false;
    }
    if (good)
        emit_set(r, &set, negated);
    r->out->full |= set.text.full;
    buf_finish(&set.text);
    return good;
}
