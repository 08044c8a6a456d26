#include "shell/pattern.h"

#include "shell/letter.h"
#include "shell/pattern-tree.h"

#define MAX_NESTING 100      /* of extglob groups */
#define MAX_SCAN    10000000 /* bytes looked at in search of closing brackets */

struct scan {
    enum pattern_flags flags;
    size_t work; /* past MAX_SCAN nothing is found to be closed */
};

struct compiler {
    struct arena *arena;
    struct scan scan;
    int depth;
    bool impossible;
};

static void compile(struct compiler *c, struct str text, struct sequence *out);

/* The length of the bracket expression at the start of `s`, or 0 if it is not closed. */
static size_t bracket_length(struct str s, struct scan *scan)
{
    size_t i = 1;
    if (i < s.len && (s.data[i] == '!' || s.data[i] == '^'))
        i++;
    for (size_t first = i; i < s.len && scan->work++ < MAX_SCAN; i++) {
        char ch = s.data[i], next = i + 1 < s.len ? s.data[i + 1] : 0;
        if (ch == ']' && i > first)
            return i + 1;
        if (ch == '/' && scan->flags & PATTERN_PATHNAME)
            return 0;
        if (ch == '\\') {
            i++;
        } else if (ch == '[' && (next == ':' || next == '.' || next == '=')) {
            char end[] = { next, ']' };
            const char *at = memmem(s.data + i + 2, s.len - i - 2, end, 2);
            scan->work += at ? 0 : s.len - i;
            if (at)
                i = (size_t)(at - s.data) + 1;
        }
    }
    return 0;
}

static bool begins_group(struct str s, enum pattern_flags flags)
{
    return flags & PATTERN_EXTGLOB && s.len > 1 && s.data[1] == '(' && s.data[0] &&
           strchr("?*+@!", s.data[0]);
}

/* How many bytes of `s` belong together: an escape, a bracket expression, or one byte. */
static size_t token_length(struct str s, struct scan *scan)
{
    if (s.data[0] == '\\')
        return s.len > 1 ? 2 : 1;
    size_t bracket = s.data[0] == '[' ? bracket_length(s, scan) : 0;
    return bracket ? bracket : 1;
}

/* The length of "x(...)" at the start of `s`, or 0 if it is not closed. */
static size_t group_length(struct str s, struct scan *scan)
{
    if (!begins_group(s, scan->flags))
        return 0;
    size_t depth = 0;
    for (size_t i = 1; i < s.len && scan->work++ < MAX_SCAN;
            i += token_length(str_from(s, i), scan)) {
        if (s.data[i] == '(')
            depth++;
        else if (s.data[i] == ')' && !--depth)
            return i + 1;
    }
    return 0;
}

static struct atom *add_atom(
        struct compiler *c, struct sequence *out, enum atom_type type)
{
    if (out->count == out->cap) {
        size_t cap = out->cap ? out->cap * 2 : 4;
        struct atom *atoms = arena_alloc(c->arena, cap * sizeof(*atoms));
        if (out->count)
            memcpy(atoms, out->atoms, out->count * sizeof(*atoms));
        out->atoms = atoms;
        out->cap = cap;
    }
    struct atom *atom = &out->atoms[out->count++];
    *atom = (struct atom){ .type = type };
    return atom;
}

static void add_choice(struct compiler *c, struct atom *group, struct str text)
{
    struct sequence *choices =
            arena_alloc(c->arena, (group->choice_count + 1) * sizeof(*choices));
    if (group->choice_count)
        memcpy(choices, group->choices, group->choice_count * sizeof(*choices));
    choices[group->choice_count] = (struct sequence){ 0 };
    compile(c, text, &choices[group->choice_count++]);
    group->choices = choices;
}

static void compile_group(struct compiler *c, struct str text, struct sequence *out)
{
    struct atom group = { .type = ATOM_GROUP, .kind = text.data[0] };
    if (++c->depth > MAX_NESTING) {
        c->impossible = true;
        return;
    }
    struct str inner = str_sub(text, 2, text.len - 3);
    size_t start = 0, depth = 0;
    for (size_t i = 0; i < inner.len; i += token_length(str_from(inner, i), &c->scan)) {
        if (inner.data[i] == '(') {
            depth++;
        } else if (inner.data[i] == ')') {
            depth--;
        } else if (inner.data[i] == '|' && !depth) {
            add_choice(c, &group, str_sub(inner, start, i - start));
            start = i + 1;
        }
    }
    add_choice(c, &group, str_from(inner, start));
    *add_atom(c, out, ATOM_GROUP) = group;
    c->depth--;
}

/* One literal character; neighbours share an atom unless case must be ignored. */
static void compile_literal(struct compiler *c, struct str text, struct sequence *out)
{
    struct atom *last = out->count ? &out->atoms[out->count - 1] : NULL;
    if (c->scan.flags & PATTERN_FOLD) {
        uint32_t code = 0;
        letter_decode(text, &code);
        add_atom(c, out, ATOM_CHAR)->code = code;
    } else if (last && last->type == ATOM_LITERAL &&
               last->text.data + last->text.len == text.data) {
        last->text.len += text.len;
    } else {
        add_atom(c, out, ATOM_LITERAL)->text = text;
    }
}

/* Compile what `s` begins with; returns its length. */
static size_t compile_one(struct compiler *c, struct str s, struct sequence *out)
{
    size_t length = group_length(s, &c->scan);
    if (length) {
        compile_group(c, str_sub(s, 0, length), out);
        return length;
    }
    bool after_star = out->count && out->atoms[out->count - 1].type == ATOM_STAR;
    switch (s.data[0]) {
    case '*':
        if (!after_star)
            add_atom(c, out, ATOM_STAR);
        return 1;
    case '?':
        add_atom(c, out, ATOM_ANY);
        return 1;
    case '[':
        length = bracket_length(s, &c->scan);
        if (length) {
            add_atom(c, out, ATOM_CLASS)->text = str_sub(s, 1, length - 2);
            return length;
        }
        break;
    default:
        break;
    }
    uint32_t code = 0;
    size_t skip = s.data[0] == '\\' && s.len > 1;
    length = letter_decode(str_from(s, skip), &code);
    compile_literal(c, str_sub(s, skip, length), out);
    return skip + length;
}

static void compile(struct compiler *c, struct str text, struct sequence *out)
{
    while (text.len)
        text = str_from(text, compile_one(c, text, out));
}

struct pattern *pattern_compile(
        struct str text, enum pattern_flags flags, struct arena *arena)
{
    struct pattern *p = arena_zalloc(arena, sizeof(*p));
    struct compiler c = { .arena = arena, .scan.flags = flags };
    compile(&c, text, &p->all);
    p->flags = flags;
    p->impossible = c.impossible || c.scan.work > MAX_SCAN;
    return p;
}

bool pattern_test(const struct pattern *p, struct str text)
{
    return match_run(p, text, false, MATCH_LAST) == (ptrdiff_t)text.len;
}

static bool is_plain(struct str pattern)
{
    for (size_t i = 0; i < pattern.len; i++)
        if (strchr("*?[\\+@!", pattern.data[i]))
            return false; /* a NUL too */
    return true;
}

/* Nothing but stars and ASCII that is literal? Then bytes may be compared for characters.
 */
static bool is_starred(struct str pattern)
{
    for (size_t i = 0; i < pattern.len; i++) {
        unsigned char c = (unsigned char)pattern.data[i];
        if (!c || c >= 0x80 || strchr("?[\\+@!(", c))
            return false;
    }
    return true;
}

/* `a*b*c`: what stands between the stars is found from left to right, the last part at
 * the end. */
static bool match_starred(struct str pattern, struct str text)
{
    struct str part = str_cut(&pattern, '*');
    if (!str_starts(text, part))
        return false;
    text = str_from(text, part.len);
    while (pattern.len && memchr(pattern.data, '*', pattern.len)) {
        part = str_cut(&pattern, '*');
        const char *at =
                part.len ? memmem(text.data, text.len, part.data, part.len) : text.data;
        if (!at)
            return false;
        text = str_from(text, (size_t)(at - text.data) + part.len);
    }
    return str_ends(text, pattern);
}

/* `*L` and `L*`, of which most ${x#...} and ${x%...} are. */
struct one_star {
    bool first; /* the star is */
    struct str literal;
};

#define MAX_LITERAL 32 /* find_last() looks at each place */

static bool is_one_star(struct str pattern, struct one_star *out)
{
    if (!pattern.len || !is_starred(pattern))
        return false;
    out->first = pattern.data[0] == '*';
    out->literal = str_sub(pattern, out->first, pattern.len - 1);
    struct str literal = out->literal;
    return (out->first || pattern.data[pattern.len - 1] == '*') &&
           literal.len <= MAX_LITERAL &&
           !(literal.len && memchr(literal.data, '*', literal.len));
}

static ptrdiff_t find_first(struct str text, struct str literal)
{
    const char *at =
            text.len ? memmem(text.data, text.len, literal.data, literal.len) : NULL;
    return at ? at - text.data : literal.len ? -1 : 0;
}

static ptrdiff_t find_last(struct str text, struct str literal)
{
    for (size_t i = text.len + 1; i-- > 0;)
        if (str_starts(str_from(text, i), literal))
            return (ptrdiff_t)i;
    return -1;
}

static ptrdiff_t one_star_prefix(struct one_star p, struct str text, bool longest)
{
    ptrdiff_t length = (ptrdiff_t)p.literal.len;
    if (!p.first)
        return !str_starts(text, p.literal) ? -1 : longest ? (ptrdiff_t)text.len : length;
    ptrdiff_t at = longest ? find_last(text, p.literal) : find_first(text, p.literal);
    return at < 0 ? -1 : at + length;
}

static ptrdiff_t one_star_suffix(struct one_star p, struct str text, bool longest)
{
    ptrdiff_t length = (ptrdiff_t)p.literal.len, all = (ptrdiff_t)text.len;
    if (p.first)
        return !str_ends(text, p.literal) ? -1 : longest ? all : length;
    ptrdiff_t at = longest ? find_first(text, p.literal) : find_last(text, p.literal);
    return at < 0 ? -1 : all - at;
}

bool pattern_match(struct str pattern, struct str text, enum pattern_flags flags)
{
    if (!(flags & PATTERN_FOLD) && is_plain(pattern))
        return str_eq(pattern, text);
    if (!(flags & ~PATTERN_EXTGLOB) && is_starred(pattern))
        return match_starred(pattern, text);
    auto_arena *arena = arena_create();
    return pattern_test(pattern_compile(pattern, flags, arena), text);
}

ptrdiff_t pattern_match_prefix(
        struct str pattern, struct str text, bool longest, enum pattern_flags flags)
{
    if (!(flags & PATTERN_FOLD) && is_plain(pattern))
        return str_starts(text, pattern) ? (ptrdiff_t)pattern.len : -1;
    struct one_star p;
    if (!(flags & ~PATTERN_EXTGLOB) && is_one_star(pattern, &p))
        return one_star_prefix(p, text, longest);
    auto_arena *arena = arena_create();
    return match_run(pattern_compile(pattern, flags, arena), text, false,
            longest ? MATCH_LAST : MATCH_FIRST);
}

ptrdiff_t pattern_match_suffix(
        struct str pattern, struct str text, bool longest, enum pattern_flags flags)
{
    if (!(flags & PATTERN_FOLD) && is_plain(pattern))
        return str_ends(text, pattern) ? (ptrdiff_t)pattern.len : -1;
    struct one_star p;
    if (!(flags & ~PATTERN_EXTGLOB) && is_one_star(pattern, &p))
        return one_star_suffix(p, text, longest);
    auto_arena *arena = arena_create();
    return match_run(pattern_compile(pattern, flags, arena), text, true,
            longest ? MATCH_LAST : MATCH_FIRST);
}

bool pattern_is_magic(struct str s, enum pattern_flags flags)
{
    struct scan scan = { .flags = flags };
    for (; s.len; s = str_from(s, s.data[0] == '\\' && s.len > 1 ? 2 : 1)) {
        if (s.data[0] == '*' || s.data[0] == '?')
            return true;
        if (s.data[0] == '[' && bracket_length(s, &scan))
            return true;
        if (group_length(s, &scan))
            return true;
    }
    return false;
}

void pattern_unquote(struct str pattern, struct buf *out)
{
    for (size_t i = 0; i < pattern.len; i++) {
        if (pattern.data[i] == '\\' && i + 1 < pattern.len)
            i++;
        buf_addc(out, pattern.data[i]);
    }
}

void pattern_quote(struct str text, struct buf *out)
{
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] && strchr("*?[]\\()|!+@^-", text.data[i]))
            buf_addc(out, '\\');
        buf_addc(out, text.data[i]);
    }
}
