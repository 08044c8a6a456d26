#include "search/literal.h"

#include "base/lanes.h"

#include "base/utf8.h"

/* How rare a byte is in text and source code, 0 to 255. */
static unsigned rarity(unsigned char c)
{
    static const char common[] = " etaoinsrlcdumpfh_gby0w1,.-v2=k/()x\n\t\"3;:4j5z6q7";
    const char *at = c ? strchr(common, c) : NULL;
    if (at)
        return (unsigned)(at - common) * 4;
    if (c >= 'A' && c <= 'Z')
        return 200;
    return c < 128 ? 210 : 180;
}

/* Of a needle: long and rare is good.  0: not worth a search. */
static unsigned worth(struct str text)
{
    unsigned best = 0, next = 0;
    for (size_t i = 0; i < text.len; i++) {
        unsigned r = rarity((unsigned char)text.data[i]) + 1;
        if (r > best) {
            next = best;
            best = r;
        } else if (r > next)
            next = r;
    }
    if (text.len == 1)
        return best > 100 ? best / 2 : 0;
    return best + next + 40 * (unsigned)(text.len < 8 ? text.len : 8);
}

struct choice {
    struct str items[LITERALS_MAX];
    size_t count; /* 0: none */
    bool exact;
};

static unsigned choice_worth(const struct choice *c)
{
    unsigned least = 0;
    for (size_t i = 0; i < c->count; i++) {
        unsigned w = worth(c->items[i]);
        if (!i || w < least)
            least = w;
    }
    return c->count ? least / (unsigned)(1 + c->count / 3) : 0;
}

/* The text being collected from neighbouring characters. */
struct run {
    const struct re_tree *tree;
    struct buf text;
    struct choice best;
    bool exact; /* nothing but characters so far */
};

static void consider(struct run *r, struct choice c)
{
    if (choice_worth(&c) > choice_worth(&r->best))
        r->best = c;
}

static void end_run(struct run *r)
{
    if (r->text.len) {
        struct choice c = { .count = 1 };
        c.items[0] = arena_str(r->tree->arena, buf_str(&r->text));
        consider(r, c);
    }
    buf_clear(&r->text);
}

static bool add_code(struct run *r, uint32_t code)
{
    char bytes[4];
    bool fold = r->tree->flags & REGEX_FOLD;
    if (code >= RE_RAW) {
        buf_addc(&r->text, (char)(code - RE_RAW));
        return true;
    }
    /* Some characters outside ASCII are K and S in the other case. */
    if (fold && (code >= 128 || (!r->tree->bytes && code && strchr("kKsS", (int)code))))
        return false;
    buf_add(&r->text, (struct str){ bytes, utf8_write(code, bytes) });
    return true;
}

static struct choice choose(const struct re_tree *tree, const struct re_node *n);

static void walk(struct run *r, const struct re_node *n)
{
    if (n->type == RE_CAT || n->type == RE_GROUP) {
        for (size_t i = 0; i < n->count; i++)
            walk(r, n->items[i]);
        return;
    }
    if (n->type == RE_CHAR && add_code(r, n->code))
        return;
    r->exact = false;
    if (n->type == RE_ASSERT)
        return; /* takes no room */
    end_run(r);
    if (n->type == RE_ALT || n->type == RE_LOOP)
        consider(r, choose(r->tree, n));
}

static struct choice choose_alternatives(
        const struct re_tree *tree, const struct re_node *n)
{
    struct choice all = { .exact = true };
    for (size_t i = 0; i < n->count; i++) {
        struct choice c = choose(tree, n->items[i]);
        if (!c.count || all.count + c.count > LITERALS_MAX)
            return (struct choice){ .count = 0 };
        memcpy(all.items + all.count, c.items, c.count * sizeof(c.items[0]));
        all.count += c.count;
        all.exact &= c.exact;
    }
    return all;
}

static struct choice choose(const struct re_tree *tree, const struct re_node *n)
{
    if (n->type == RE_ALT)
        return choose_alternatives(tree, n);
    if (n->type == RE_LOOP) {
        struct choice c = { .count = 0 };
        if (n->min > 0)
            c = choose(tree, n->items[0]);
        c.exact = false;
        return c;
    }
    struct run r = { .tree = tree, .text = BUF((size_t)1 << 20), .exact = true };
    walk(&r, n);
    bool whole = r.exact && r.text.len && !r.text.full;
    if (whole)
        r.best = (struct choice){ .count = 0 };
    end_run(&r);
    r.best.exact = whole && r.best.count;
    buf_finish(&r.text);
    return r.best;
}

static struct needle make_needle(struct arena *arena, struct str text, bool fold)
{
    struct needle n = { .text = text, .other = text };
    for (size_t i = 0; i < text.len; i++)
        if (rarity((unsigned char)text.data[i]) >
                rarity((unsigned char)text.data[n.first]))
            n.first = i;
    n.second = n.first == 0 && text.len > 1 ? 1 : 0;
    for (size_t i = 0; i < text.len; i++)
        if (i != n.first && rarity((unsigned char)text.data[i]) >
                                    rarity((unsigned char)text.data[n.second]))
            n.second = i;
    if (fold) {
        n.other = arena_str(arena, text);
        char *other = arena_cstr(arena, text);
        for (size_t i = 0; i < text.len; i++)
            if ((other[i] | 32) >= 'a' && (other[i] | 32) <= 'z')
                other[i] ^= 32;
        n.other.data = other;
    }
    return n;
}

static void take_choice(
        struct choice c, struct arena *arena, bool fold, struct literals *out)
{
    *out = (struct literals){ .count = 0 };
    if (!choice_worth(&c) && !c.exact)
        return;
    for (size_t i = 0; i < c.count; i++)
        out->needles[i] = make_needle(arena, c.items[i], fold);
    out->count = c.count;
    out->exact = c.exact;
}

void literals_of_tree(const struct re_tree *tree, struct literals *out)
{
    take_choice(choose(tree, tree->root), tree->arena, tree->flags & REGEX_FOLD, out);
}

/* The "]" of a Perl pattern's bracket expression that starts at `i`, or the end. */
static size_t skip_bracket(struct str p, size_t i)
{
    i += i + 1 < p.len && p.data[i + 1] == '^' ? 2 : 1;
    for (bool first = true; i < p.len && (first || p.data[i] != ']'); first = false)
        if (p.data[i] == '[' && i + 1 < p.len && p.data[i + 1] == ':') {
            const char *end = memmem(p.data + i, p.len - i, ":]", 2);
            i = end ? (size_t)(end + 2 - p.data) : i + 1;
        } else
            i += p.data[i] == '\\' ? 2 : 1;
    return i;
}

/* The last character of the repeat count that starts at `i`: `{3}`, `{2,}`, `{,5}`; `i`
 * if it is none. */
static size_t skip_count(struct str p, size_t i)
{
    size_t end = i + 1;
    while (end < p.len && strchr("0123456789, ", p.data[end]) && p.data[end])
        end++;
    return end < p.len && p.data[end] == '}' ? end : i;
}

/* Does what stands at `i` make the skimming below unsafe: alternatives at the top,
 * options set inside, verbs, quoting, escapes with an argument? */
static bool is_tricky(struct str p, size_t i, int depth)
{
    char c = p.data[i], next = i + 1 < p.len ? p.data[i + 1] : 0;
    char third = i + 2 < p.len ? p.data[i + 2] : 0;
    if (c == '(')
        return next == '*' || (next == '?' && (!third || !strchr(":=!<>", third)));
    if (c == '\\')
        return !next || strchr("QExopPNkgcu0123456789", next);
    return (c == '|' && depth == 0) || (c == ')' && depth == 0);
}

/* Perl patterns are not parsed here, only skimmed: the best run of plain characters
 * outside every group. */
void literals_of_perl(struct str pattern, enum regex_flags flags, struct arena *arena,
        struct literals *out)
{
    struct re_tree tree = { .arena = arena, .flags = flags };
    struct run r = { .tree = &tree, .text = BUF((size_t)1 << 16) };
    int depth = 0;
    bool tricky = false;
    for (size_t i = 0; i < pattern.len && !tricky; i++) {
        char c = pattern.data[i], next = i + 1 < pattern.len ? pattern.data[i + 1] : 0;
        tricky = is_tricky(pattern, i, depth);
        depth += c == '(' ? 1 : c == ')' ? -1 : 0;
        bool plain = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
                     (c && strchr(" _\"=:/,;<>#&%!'~`@-", c));
        bool optional = next == '*' || next == '?' || next == '{';
        if (depth || !plain || optional || !add_code(&r, (unsigned char)c))
            end_run(&r);
        if (c == '[')
            i = skip_bracket(pattern, i);
        else if (c == '{')
            i = skip_count(pattern, i);
        else if (c == '\\')
            i++;
    }
    end_run(&r);
    if (tricky)
        r.best.count = 0;
    take_choice(r.best, arena, flags & REGEX_FOLD, out);
    buf_finish(&r.text);
}

static bool is_here(const struct needle *n, const char *at)
{
    if (n->text.data == n->other.data)
        return !memcmp(at, n->text.data, n->text.len);
    for (size_t i = 0; i < n->text.len; i++)
        if (at[i] != n->text.data[i] && at[i] != n->other.data[i])
            return false;
    return true;
}

static const char *find_needle(const struct needle *n, const char *from, const char *end)
{
    if ((size_t)(end - from) < n->text.len)
        return NULL;
    const char *last = end - n->text.len; /* where it may start at most */
    lanes_t first = lanes_all(n->text.data[n->first]),
            first2 = lanes_all(n->other.data[n->first]);
    lanes_t second = lanes_all(n->text.data[n->second]);
    lanes_t second2 = lanes_all(n->other.data[n->second]);
    size_t reach = (n->first > n->second ? n->first : n->second) + LANES;
    const char *p = from;
    for (; (size_t)(end - p) >= reach; p += LANES) {
        lanes_t a = lanes_load(p + n->first), b = lanes_load(p + n->second);
        lanes_t hits = (lanes_t)((a == first) | (a == first2)) &
                       (lanes_t)((b == second) | (b == second2));
        for (unsigned mask = lanes_mask(hits); mask; mask &= mask - 1) {
            const char *at = p + __builtin_ctz(mask);
            if (at > last)
                return NULL;
            if (is_here(n, at))
                return at;
        }
    }
    for (; p <= last; p++)
        if (is_here(n, p))
            return p;
    return NULL;
}

const char *literals_find(const struct literals *l, const char *from, const char *end)
{
    const char *best = NULL;
    for (size_t i = 0; i < l->count; i++) {
        const char *limit = end; /* only an earlier start is of interest */
        size_t len = l->needles[i].text.len;
        if (best && (size_t)(end - best) > len)
            limit = best + len - 1;
        const char *hit = find_needle(&l->needles[i], from, limit);
        if (hit && (!best || hit < best))
            best = hit;
    }
    return best;
}
