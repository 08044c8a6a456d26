#include "base/utf8.h"
#include "search/tree.h"

struct emitter {
    const struct re_tree *tree;
    bool utf;
    struct buf *out;
};

static void add(struct emitter *e, const char *text)
{
    buf_add(e->out, str_of(text));
}

static bool is_plain(uint32_t code)
{
    return (code >= 'a' && code <= 'z') || (code >= 'A' && code <= 'Z') ||
           (code >= '0' && code <= '9') || code == '_';
}

static void emit_code(struct buf *out, uint32_t code, bool utf)
{
    char bytes[4];
    if (is_plain(code))
        buf_addc(out, (char)code);
    else if (code >= RE_RAW)
        buf_addf(out, "\\x{%x}", code - RE_RAW);
    else if (utf || code < 128)
        buf_addf(out, "\\x{%x}", code);
    else {
        size_t len = utf8_write(code, bytes);
        for (size_t i = 0; i < len; i++)
            buf_addf(out, "\\x{%x}", (unsigned char)bytes[i]);
    }
}

static void emit_bits(
        const struct re_set *set, unsigned end, bool wanted, struct buf *out)
{
    for (unsigned c = 0; c < end; c++) {
        if (re_set_has_byte(set, (unsigned char)c) != wanted)
            continue;
        unsigned last = c;
        while (last + 1 < end &&
                re_set_has_byte(set, (unsigned char)(last + 1)) == wanted)
            last++;
        buf_addf(out, last > c ? "\\x{%x}-\\x{%x}" : "\\x{%x}", c, last);
        c = last;
    }
}

/* The part of each class above ASCII: what iswctype() says in C.UTF-8, nearly. */
static const char *const class_properties[CLASSES] = {
    [CLASS_ALNUM] = "\\p{L}\\p{N}",
    [CLASS_ALPHA] = "\\p{L}\\p{Nl}",
    [CLASS_BLANK] = "\\x{1680}\\x{2000}-\\x{2006}\\x{2008}-\\x{200a}\\x{205f}\\x{3000}",
    [CLASS_CNTRL] = "\\x{80}-\\x{9f}\\x{2028}\\x{2029}",
    [CLASS_GRAPH] = "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}",
    [CLASS_LOWER] = "\\p{Ll}",
    [CLASS_PRINT] = "\\p{L}\\p{M}\\p{N}\\p{P}\\p{S}\\p{Cf}\\p{Co}\\p{Zs}",
    [CLASS_PUNCT] = "\\p{P}\\p{S}",
    [CLASS_SPACE] = "\\x{85}\\x{1680}\\x{2000}-\\x{2006}\\x{2008}-\\x{200a}"
                    "\\x{2028}\\x{2029}\\x{205f}\\x{3000}",
    [CLASS_UPPER] = "\\p{Lu}",
};

void re_emit_set(const struct re_set *set, bool utf, struct buf *out)
{
    unsigned end = utf ? 128 : 256;
    bool negated = utf && set->negated;
    size_t start = out->len;
    buf_add(out, negated ? STR("[^") : STR("["));
    emit_bits(set, end, !negated, out);
    if (utf) {
        for (size_t i = 0; i < set->count; i++)
            buf_addf(out, "\\x{%x}-\\x{%x}", set->ranges[i].low, set->ranges[i].high);
        for (size_t i = 0; i < CLASSES; i++)
            if (set->classes >> i & 1 && class_properties[i])
                buf_add(out, str_of(class_properties[i]));
    }
    if (!out->full && out->len - start == (negated ? 2u : 1u)) {
        /* Nothing, or everything, in ASCII and above. */
        out->len = start;
        buf_add(out, negated ? STR("(?s:.)") : STR("(?!)"));
        return;
    }
    buf_addc(out, ']');
}

static void emit_assert(struct emitter *e, enum re_assert kind)
{
    static const char *const texts[] = {
        [ASSERT_LINE_START] = "^",
        [ASSERT_LINE_END] = "$",
        [ASSERT_BUFFER_START] = "\\A",
        [ASSERT_BUFFER_END] = "\\z",
        [ASSERT_WORD_EDGE] = "\\b",
        [ASSERT_NOT_WORD_EDGE] = "\\B",
        [ASSERT_WORD_START] = "\\b(?=\\w)",
        [ASSERT_WORD_END] = "\\b(?<=\\w)",
        [ASSERT_NOT_AFTER_WORD] = "(?<!\\w)",
        [ASSERT_NOT_BEFORE_WORD] = "(?!\\w)",
    };
    add(e, texts[kind]);
}

static void emit(struct emitter *e, const struct re_node *n);

static void emit_list(struct emitter *e, const struct re_node *n, const char *separator)
{
    for (size_t i = 0; i < n->count; i++) {
        if (i)
            add(e, separator);
        emit(e, n->items[i]);
    }
}

static bool needs_group(const struct emitter *e, const struct re_node *n)
{
    switch (n->type) {
    case RE_CHAR:
        return !e->utf && n->code >= 128 && n->code < RE_RAW;
    case RE_ANY:
    case RE_SET:
    case RE_GROUP:
        return false;
    case RE_EMPTY:
    case RE_CAT:
    case RE_ALT:
    case RE_LOOP:
    case RE_BACKREF:
    case RE_ASSERT:
        break;
    }
    return true;
}

static void emit_loop(struct emitter *e, const struct re_node *n)
{
    bool group = needs_group(e, n->items[0]);
    if (group)
        add(e, "(?:");
    emit(e, n->items[0]);
    if (group)
        add(e, ")");
    if (n->max == RE_REPEAT && n->min <= 1)
        add(e, n->min ? "+" : "*");
    else if (n->max == RE_REPEAT)
        buf_addf(e->out, "{%d,}", n->min);
    else if (n->min == 0 && n->max == 1)
        add(e, "?");
    else
        buf_addf(e->out, "{%d,%d}", n->min, n->max);
}

/* Groups keep their numbers when something refers to them. */
static bool is_captured(const struct re_tree *tree)
{
    return !(tree->flags & REGEX_NO_GROUPS) || tree->has_backrefs;
}

static void emit(struct emitter *e, const struct re_node *n)
{
    switch (n->type) {
    case RE_EMPTY:
        break;
    case RE_CHAR:
        emit_code(e->out, n->code, e->utf);
        break;
    case RE_ANY:
        add(e, ".");
        break;
    case RE_SET:
        re_emit_set(n->set, e->utf, e->out);
        break;
    case RE_CAT:
        emit_list(e, n, "");
        break;
    case RE_ALT:
        add(e, "(?:");
        emit_list(e, n, "|");
        add(e, ")");
        break;
    case RE_LOOP:
        emit_loop(e, n);
        break;
    case RE_GROUP:
        add(e, is_captured(e->tree) ? "(" : "(?:");
        emit_list(e, n, "");
        add(e, ")");
        break;
    case RE_BACKREF:
        buf_addf(e->out, "\\g{%u}", n->group);
        break;
    case RE_ASSERT:
        emit_assert(e, n->assert);
        break;
    }
}

void re_emit(const struct re_tree *tree, bool utf, struct buf *out)
{
    struct emitter e = { tree, utf, out };
    emit(&e, tree->root);
}

struct shape {
    bool fixed;      /* always the same number of characters */
    bool one_char;   /* exactly one */
    bool char_loops; /* whatever varies in it is a loop over single characters */
    bool greedy;     /* PCRE2's first match is the longest one */
    unsigned loops;  /* that vary, at most 2 */
};

static struct shape shape_of(const struct re_node *n);

/*
 * Why the rule holds: let every varying loop repeat a single character.  A match is then
 * a monotone path in the grid of (item, position) with steps of at most one, so that a
 * longer match would have to cross the greedy one, and could have continued from there.
 * A lone loop over something of fixed length is longest when it turns most often.
 */
static struct shape shape_of_list(const struct re_node *n)
{
    struct shape all = { true, n->count == 1, true, true, 0 };
    for (size_t i = 0; i < n->count; i++) {
        struct shape s = shape_of(n->items[i]);
        all.fixed &= s.fixed;
        all.one_char &= s.one_char;
        all.char_loops &= s.char_loops;
        all.greedy &= s.greedy;
        all.loops = all.loops + s.loops > 1 ? 2 : all.loops + s.loops;
    }
    all.greedy &= all.loops <= 1 || all.char_loops;
    return all;
}

static struct shape shape_of_loop(const struct re_node *n)
{
    struct shape s = shape_of(n->items[0]);
    bool fixed = s.fixed && n->min == n->max;
    return (struct shape){ fixed, false, fixed || s.one_char, s.greedy && s.fixed,
        !fixed };
}

static const struct shape varying = { .loops = 1 };

static struct shape shape_of_alternatives(const struct re_node *n)
{
    for (size_t i = 0; i < n->count; i++)
        if (!shape_of(n->items[i]).one_char)
            return varying;
    return (struct shape){ true, true, true, true, 0 };
}

static struct shape shape_of(const struct re_node *n)
{
    switch (n->type) {
    case RE_EMPTY:
    case RE_ASSERT:
        return (struct shape){ true, false, true, true, 0 };
    case RE_CHAR:
    case RE_ANY:
    case RE_SET:
        return (struct shape){ true, true, true, true, 0 };
    case RE_CAT:
    case RE_GROUP:
        return shape_of_list(n);
    case RE_ALT:
        return shape_of_alternatives(n);
    case RE_LOOP:
        return shape_of_loop(n);
    case RE_BACKREF:
        break;
    }
    return varying;
}

bool re_needs_longest(const struct re_tree *tree)
{
    return !shape_of(tree->root).greedy;
}
