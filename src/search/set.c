#include "base/utf8.h"
#include "search/tree.h"

static const char *const class_names[CLASSES] = {
    [CLASS_ALNUM] = "alnum",
    [CLASS_ALPHA] = "alpha",
    [CLASS_BLANK] = "blank",
    [CLASS_CNTRL] = "cntrl",
    [CLASS_DIGIT] = "digit",
    [CLASS_GRAPH] = "graph",
    [CLASS_LOWER] = "lower",
    [CLASS_PRINT] = "print",
    [CLASS_PUNCT] = "punct",
    [CLASS_SPACE] = "space",
    [CLASS_UPPER] = "upper",
    [CLASS_XDIGIT] = "xdigit",
};

static bool re_class_find(struct str name, enum re_class *out)
{
    for (size_t i = 0; i < CLASSES; i++)
        if (str_is(name, class_names[i])) {
            *out = (enum re_class)i;
            return true;
        }
    return false;
}

static bool is_lower(unsigned c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(unsigned c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(unsigned c)
{
    return c >= '0' && c <= '9';
}

static bool ascii_has_class(unsigned c, enum re_class class)
{
    bool graph = c > ' ' && c < 127;
    bool alnum = is_lower(c) || is_upper(c) || is_digit(c);
    switch (class) {
    case CLASS_ALNUM:
        return alnum;
    case CLASS_ALPHA:
        return is_lower(c) || is_upper(c);
    case CLASS_BLANK:
        return c == ' ' || c == '\t';
    case CLASS_CNTRL:
        return c < ' ' || c == 127;
    case CLASS_DIGIT:
        return is_digit(c);
    case CLASS_GRAPH:
        return graph;
    case CLASS_LOWER:
        return is_lower(c);
    case CLASS_PRINT:
        return graph || c == ' ';
    case CLASS_PUNCT:
        return graph && !alnum;
    case CLASS_SPACE:
        return c == ' ' || (c >= '\t' && c <= '\r');
    case CLASS_UPPER:
        return is_upper(c);
    case CLASS_XDIGIT:
        return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    case CLASSES:
        break;
    }
    return false;
}

static void set_bit(struct re_set *set, unsigned byte)
{
    set->bits[byte >> 6] |= (uint64_t)1 << (byte & 63);
}

void re_set_add(struct re_set *set, struct arena *arena, uint32_t low, uint32_t high)
{
    if (low >= RE_RAW) {
        for (uint32_t c = low; c <= high; c++)
            set_bit(set, c - RE_RAW);
        return;
    }
    for (uint32_t c = low; c <= high && c < 128; c++)
        set_bit(set, c);
    if (high < 128)
        return;
    if (set->count == set->cap) {
        size_t cap = set->cap ? set->cap * 2 : 4;
        struct re_range *more = arena_alloc(arena, cap * sizeof(*more));
        if (set->count)
            memcpy(more, set->ranges, set->count * sizeof(*more));
        set->ranges = more;
        set->cap = cap;
    }
    set->ranges[set->count++] = (struct re_range){ low < 128 ? 128 : low, high };
}

static void re_set_add_class(struct re_set *set, enum re_class class)
{
    for (unsigned c = 0; c < 128; c++)
        if (ascii_has_class(c, class))
            set_bit(set, c);
    /* Digits are ASCII only, for GNU as for us. */
    if (class != CLASS_DIGIT && class != CLASS_XDIGIT)
        set->classes |= 1u << class;
}

static void fold_ascii(struct re_set *set, struct arena *arena)
{
    for (unsigned c = 'a'; c <= 'z'; c++) {
        unsigned upper = c - 'a' + 'A';
        if (re_set_has_byte(set, (unsigned char)c))
            set_bit(set, upper);
        else if (re_set_has_byte(set, (unsigned char)upper))
            set_bit(set, c);
    }
    /* The characters outside ASCII whose other case is inside, and back. */
    if (re_set_has_byte(set, 'k'))
        re_set_add(set, arena, 0x212A, 0x212A);
    if (re_set_has_byte(set, 's'))
        re_set_add(set, arena, 0x17F, 0x17F);
    for (size_t i = 0; i < set->count; i++) {
        struct re_range r = set->ranges[i];
        if (r.low <= 0x212A && r.high >= 0x212A)
            set->bits[1] |= (uint64_t)1 << ('k' - 64) | (uint64_t)1 << ('K' - 64);
        if (r.low <= 0x17F && r.high >= 0x17F)
            set->bits[1] |= (uint64_t)1 << ('s' - 64) | (uint64_t)1 << ('S' - 64);
    }
}

void re_set_finish(struct re_set *set, struct arena *arena, bool bytes)
{
    if (set->fold)
        fold_ascii(set, arena);
    if (bytes) {
        set->classes = 0;
        set->count = 0;
    }
    if (set->negated) {
        for (size_t i = 0; i < (bytes ? 4 : 2); i++)
            set->bits[i] = ~set->bits[i];
        if (bytes)
            set->negated = false;
    }
    if (set->no_newline)
        set->bits[0] &= ~((uint64_t)1 << '\n');
    if (!set->classes && !set->count)
        set->fold = false; /* all of it is in the bits */
}

static struct re_set *make_set(
        struct arena *arena, bool negated, const struct re_tree *tree)
{
    struct re_set *set = arena_zalloc(arena, sizeof(*set));
    set->negated = negated;
    set->no_newline = tree->flags & REGEX_NEWLINE;
    return set;
}

struct re_set *re_set_word(struct arena *arena, bool negated, const struct re_tree *tree)
{
    struct re_set *set = make_set(arena, negated, tree);
    re_set_add_class(set, CLASS_ALNUM);
    set_bit(set, '_');
    re_set_finish(set, arena, tree->bytes);
    return set;
}

struct re_set *re_set_space(struct arena *arena, bool negated, const struct re_tree *tree)
{
    struct re_set *set = make_set(arena, negated, tree);
    re_set_add_class(set, CLASS_SPACE);
    re_set_finish(set, arena, tree->bytes);
    return set;
}

uint32_t re_next_code(struct str pattern, size_t *pos, bool bytes)
{
    uint32_t code;
    unsigned char byte = (unsigned char)pattern.data[*pos];
    size_t len = byte < 128 || bytes ? 0 : utf8_decode(str_from(pattern, *pos), &code);
    if (len) {
        *pos += len;
        return code;
    }
    ++*pos;
    return byte < 128 ? byte : RE_RAW + byte;
}

static bool unmatched(struct error *err)
{
    return error_set(err, ERR_INVALID, "Unmatched [, [^, [:, [., or [=");
}

struct bracket {
    struct str text;
    size_t pos;
    bool bytes;
};

/* "[:name:]", "[=c=]", "[.c.]" at `pos`: its inside; false if it is not closed. */
static bool read_named(struct bracket *b, struct str *name)
{
    char kind = b->text.data[b->pos + 1];
    size_t start = b->pos + 2;
    for (size_t i = start; i + 1 < b->text.len; i++)
        if (b->text.data[i] == kind && b->text.data[i + 1] == ']') {
            *name = str_sub(b->text, start, i - start);
            b->pos = i + 2;
            return true;
        }
    return false;
}

static bool at_named(const struct bracket *b, const char *kinds)
{
    return b->pos + 1 < b->text.len && b->text.data[b->pos] == '[' &&
           strchr(kinds, b->text.data[b->pos + 1]) && b->text.data[b->pos + 1];
}

/* One end of a range, or a single character. */
static bool read_element(struct bracket *b, uint32_t *code, struct error *err)
{
    if (b->pos >= b->text.len)
        return unmatched(err);
    if (!at_named(b, ".=")) {
        *code = re_next_code(b->text, &b->pos, b->bytes);
        return true;
    }
    struct str name;
    if (!read_named(b, &name))
        return unmatched(err);
    size_t end = 0;
    if (name.len)
        *code = re_next_code(name, &end, b->bytes);
    if (!name.len || end != name.len)
        return error_set(err, ERR_INVALID, "Invalid collation character");
    return true;
}

static bool read_class(struct bracket *b, struct re_set *set, struct error *err)
{
    struct str name;
    enum re_class class;
    if (!read_named(b, &name))
        return unmatched(err);
    if (!re_class_find(name, &class))
        return error_set(err, ERR_INVALID, "Invalid character class name");
    if (set->fold && (class == CLASS_UPPER || class == CLASS_LOWER)) {
        re_set_add_class(set, CLASS_UPPER);
        class = CLASS_LOWER;
    }
    re_set_add_class(set, class);
    if (b->pos + 1 < b->text.len && b->text.data[b->pos] == '-' &&
            b->text.data[b->pos + 1] != ']')
        return error_set(err, ERR_INVALID, "Invalid range end");
    return true;
}

static bool read_range(
        struct bracket *b, struct re_set *set, struct arena *arena, struct error *err)
{
    uint32_t low, high;
    if (!read_element(b, &low, err))
        return false;
    high = low;
    bool is_range = b->pos + 1 < b->text.len && b->text.data[b->pos] == '-' &&
                    b->text.data[b->pos + 1] != ']';
    if (is_range) {
        b->pos++;
        if (at_named(b, ":"))
            return error_set(err, ERR_INVALID, "Invalid range end");
        if (!read_element(b, &high, err))
            return false;
        bool open = b->pos + 1 < b->text.len && b->text.data[b->pos] == '-' &&
                    b->text.data[b->pos + 1] != ']';
        if (low > high || open)
            return error_set(err, ERR_INVALID, "Invalid range end");
    }
    re_set_add(set, arena, low, high);
    return true;
}

/* "[:space:]" alone is a slip that would silently match other things. */
static bool is_naked_class(struct str pattern, size_t start, size_t end)
{
    struct str inside = str_sub(pattern, start, end - start);
    enum re_class class;
    return inside.len > 2 && inside.data[0] == ':' &&
           inside.data[inside.len - 1] == ':' &&
           re_class_find(str_sub(inside, 1, inside.len - 2), &class);
}

bool re_parse_bracket(struct str pattern, size_t *pos, const struct re_tree *tree,
        struct re_set **out, struct error *err)
{
    struct bracket b = { pattern, *pos, tree->bytes };
    bool negated = b.pos < pattern.len && pattern.data[b.pos] == '^';
    struct re_set *set = make_set(tree->arena, negated, tree);
    set->fold = tree->flags & REGEX_FOLD;
    b.pos += negated;
    for (bool first = true;; first = false) {
        if (b.pos >= pattern.len)
            return unmatched(err);
        if (pattern.data[b.pos] == ']' && !first)
            break;
        if (!(at_named(&b, ":") ? read_class(&b, set, err)
                                : read_range(&b, set, tree->arena, err)))
            return false;
    }
    if (is_naked_class(pattern, *pos, b.pos))
        return error_set(
                err, ERR_INVALID, "character class syntax is [[:space:]], not [:space:]");
    *pos = b.pos + 1;
    re_set_finish(set, tree->arena, tree->bytes);
    *out = set;
    return true;
}
