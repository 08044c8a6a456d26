/* Basic, extended and fixed patterns to a tree, with the freedoms that GNU takes. */
#include "base/utf8.h"
#include "search/tree.h"

struct parser {
    struct str text;
    size_t pos;
    bool extended;
    unsigned depth;
    unsigned first_group; /* of this newline-separated pattern: what \1 counts from */
    uint32_t closed;      /* 1 << n: group n (from first_group) has ended */
    struct re_tree *tree;
    struct error *err;
};

struct re_node *re_node(struct arena *arena, enum re_type type)
{
    struct re_node *n = arena_zalloc(arena, sizeof(*n));
    n->type = type;
    return n;
}

static void re_node_add(
        struct arena *arena, struct re_node *parent, struct re_node *child)
{
    if (parent->count == parent->cap) {
        size_t cap = parent->cap ? parent->cap * 2 : 4;
        struct re_node **more = arena_alloc(arena, cap * sizeof(struct re_node *));
        if (parent->count)
            memcpy(more, parent->items, parent->count * sizeof(struct re_node *));
        parent->items = more;
        parent->cap = cap;
    }
    parent->items[parent->count++] = child;
}

static struct re_node *new_node(struct parser *p, enum re_type type)
{
    return re_node(p->tree->arena, type);
}

static bool fail(struct parser *p, const char *message)
{
    return error_set(p->err, ERR_INVALID, "%s", message);
}

static bool at(const struct parser *p, const char *token)
{
    return str_starts(str_from(p->text, p->pos), str_of(token));
}

static bool at_end(const struct parser *p)
{
    return p->pos >= p->text.len;
}

static bool accept(struct parser *p, const char *token)
{
    if (!at(p, token))
        return false;
    p->pos += strlen(token);
    return true;
}

static struct re_node *new_char(struct parser *p, uint32_t code)
{
    struct re_tree *tree = p->tree;
    struct re_node *n = new_node(p, RE_CHAR);
    n->code = code;
    if (tree->flags & REGEX_FOLD && (code >= 128 || strchr("kKsS", (int)code)))
        tree->neutral = false;
    return n;
}

static struct re_node *new_set(struct parser *p, const struct re_set *set)
{
    struct re_node *n = new_node(p, RE_SET);
    n->set = set;
    if (!re_set_is_ascii(set))
        p->tree->neutral = false;
    return n;
}

static struct re_node *new_assert(struct parser *p, enum re_assert kind)
{
    struct re_node *n = new_node(p, RE_ASSERT);
    n->assert = kind;
    if (kind == ASSERT_BUFFER_START || kind == ASSERT_BUFFER_END)
        p->tree->has_buffer_ends = true;
    if (kind >= ASSERT_WORD_EDGE)
        p->tree->neutral = false;
    return n;
}

/* The tokens that differ between the two syntaxes only by a backslash. */
static bool at_bar(const struct parser *p)
{
    return at(p, p->extended ? "|" : "\\|") ||
           (p->tree->flags & REGEX_MULTI && at(p, "\n"));
}

static bool at_close(const struct parser *p)
{
    return p->depth && at(p, p->extended ? ")" : "\\)");
}

static bool at_branch_end(const struct parser *p)
{
    return at_end(p) || at_bar(p) || at_close(p);
}

static bool is_line_end(const struct parser *p)
{
    struct parser next = *p;
    next.pos++;
    return p->extended || at_branch_end(&next);
}

static bool parse_alternatives(struct parser *p, struct re_node **out);

static bool parse_group(struct parser *p, struct re_node **out)
{
    if (++p->depth > RE_MAX_DEPTH)
        return fail(p, "Regular expression too big");
    struct re_node *group = new_node(p, RE_GROUP), *inside;
    group->group = ++p->tree->groups;
    if (!parse_alternatives(p, &inside))
        return false;
    if (!at_close(p))
        return fail(p, "Unmatched ( or \\(");
    p->pos += p->extended ? 1 : 2;
    p->depth--;
    unsigned n = group->group - p->first_group;
    if (n < 32)
        p->closed |= (uint32_t)1 << n;
    re_node_add(p->tree->arena, group, inside);
    *out = group;
    return true;
}

static bool parse_backref(struct parser *p, unsigned digit, struct re_node **out)
{
    if (!(p->closed >> digit & 1))
        return fail(p, "Invalid back reference");
    *out = new_node(p, RE_BACKREF);
    (*out)->group = p->first_group + digit;
    p->tree->has_backrefs = true;
    return true;
}

/* After a backslash that starts no operator of the syntax. */
static bool parse_escape(struct parser *p, struct re_node **out)
{
    static const char assertions[] = "`'bB<>";
    static const enum re_assert kinds[] = { ASSERT_BUFFER_START, ASSERT_BUFFER_END,
        ASSERT_WORD_EDGE, ASSERT_NOT_WORD_EDGE, ASSERT_WORD_START, ASSERT_WORD_END };
    if (at_end(p))
        return fail(p, "Trailing backslash");
    struct re_tree *tree = p->tree;
    char c = p->text.data[p->pos];
    const char *found = c ? strchr(assertions, c) : NULL;
    if (c >= '1' && c <= '9') {
        p->pos++;
        return parse_backref(p, (unsigned)(c - '0'), out);
    }
    if (found)
        *out = new_assert(p, kinds[found - assertions]);
    else if (c == 'w' || c == 'W')
        *out = new_set(p, re_set_word(tree->arena, c == 'W', tree));
    else if (c == 's' || c == 'S')
        *out = new_set(p, re_set_space(tree->arena, c == 'S', tree));
    else {
        *out = new_char(p, re_next_code(p->text, &p->pos, tree->bytes));
        return true;
    }
    p->pos++;
    return true;
}

static bool parse_atom(struct parser *p, struct re_node **out)
{
    struct re_tree *tree = p->tree;
    if (accept(p, p->extended ? "(" : "\\("))
        return parse_group(p, out);
    if (!p->extended && at(p, "\\)"))
        return fail(p, "Unmatched ) or \\)");
    char c = p->text.data[p->pos];
    if (c == '$' && is_line_end(p)) {
        p->pos++;
        *out = new_assert(p, ASSERT_LINE_END);
        return true;
    }
    if (c == '.') {
        p->pos++;
        *out = new_node(p, RE_ANY);
        tree->neutral = false;
        return true;
    }
    if (c == '[') {
        struct re_set *set;
        p->pos++;
        if (!re_parse_bracket(p->text, &p->pos, tree, &set, p->err))
            return false;
        *out = new_set(p, set);
        return true;
    }
    if (accept(p, "\\"))
        return parse_escape(p, out);
    *out = new_char(p, re_next_code(p->text, &p->pos, tree->bytes));
    return true;
}

static bool parse_count(struct str digits, int missing, int *out, bool *too_big)
{
    int64_t n;
    if (!digits.len) {
        *out = missing;
        return true;
    }
    for (size_t i = 0; i < digits.len; i++)
        if (digits.data[i] < '0' || digits.data[i] > '9')
            return false;
    *too_big |= !str_int(digits, &n) || n > RE_MAX_COUNT;
    *out = *too_big ? 0 : (int)n;
    return true;
}

/* The inside of an interval; false if it is none. */
static bool parse_interval(struct str inside, int *min, int *max, bool *too_big)
{
    struct str rest = inside, low = str_cut(&rest, ',');
    bool comma = low.len < inside.len;
    *too_big = false;
    if (!inside.len || !parse_count(low, 0, min, too_big))
        return false;
    if (!comma)
        *max = *min;
    else if (!parse_count(rest, RE_REPEAT, max, too_big))
        return false;
    return *max == RE_REPEAT || *min <= *max;
}

static bool is_counts(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] != ',' && (s.data[i] < '0' || s.data[i] > '9'))
            return false;
    return s.len > 0;
}

enum interval { INTERVAL_NO, INTERVAL_YES, INTERVAL_BAD };

/* At "{" or "\{".  In an ERE what is no interval is literal text. */
static enum interval read_interval(struct parser *p, int *min, int *max)
{
    size_t open = p->extended ? 1 : 2;
    struct str close = p->extended ? STR("}") : STR("\\}");
    struct str rest = str_from(p->text, p->pos + open);
    const char *end =
            rest.len ? memmem(rest.data, rest.len, close.data, close.len) : NULL;
    if (!end) {
        if (p->extended)
            return INTERVAL_NO;
        fail(p, "Unmatched \\{");
        return INTERVAL_BAD;
    }
    struct str inside = str_sub(rest, 0, (size_t)(end - rest.data));
    bool too_big;
    if (!parse_interval(inside, min, max, &too_big)) {
        if (p->extended && !is_counts(inside))
            return INTERVAL_NO;
        fail(p, "Invalid content of \\{\\}");
        return INTERVAL_BAD;
    }
    if (too_big) {
        fail(p, "Regular expression too big");
        return INTERVAL_BAD;
    }
    p->pos += open + inside.len + close.len;
    return INTERVAL_YES;
}

/* A repetition operator, taken if there is one. */
static enum interval read_repeat(struct parser *p, int *min, int *max)
{
    bool star = accept(p, "*");
    bool plus = !star && accept(p, p->extended ? "+" : "\\+");
    if (star || plus || accept(p, p->extended ? "?" : "\\?")) {
        *min = plus;
        *max = star || plus ? RE_REPEAT : 1;
        return INTERVAL_YES;
    }
    if (!at(p, p->extended ? "{" : "\\{"))
        return INTERVAL_NO;
    return read_interval(p, min, max);
}

static bool is_simple_loop(const struct re_node *n)
{
    return n->type == RE_LOOP && n->min <= 1 && (n->max == RE_REPEAT || n->max == 1);
}

/* Repeat `n`; `a**` and the like do not nest. */
static struct re_node *repeat(struct parser *p, struct re_node *n, int min, int max)
{
    bool simple = min <= 1 && (max == RE_REPEAT || max == 1);
    if (is_simple_loop(n) && simple) {
        n->min = n->min && min;
        n->max = n->max == 1 && max == 1 ? 1 : RE_REPEAT;
        return n;
    }
    struct re_node *loop = new_node(p, RE_LOOP);
    loop->min = min;
    loop->max = max;
    re_node_add(p->tree->arena, loop, n);
    return loop;
}

static bool parse_repeats(struct parser *p, struct re_node **n)
{
    int min, max;
    for (unsigned depth = p->depth;; depth++) {
        enum interval found = read_repeat(p, &min, &max);
        if (found == INTERVAL_NO)
            return true;
        if (found == INTERVAL_BAD)
            return false;
        if (depth >= RE_MAX_DEPTH)
            return fail(p, "Regular expression too big");
        *n = repeat(p, *n, min, max);
    }
}

/*
 * Operators where there is nothing to repeat: literal in a BRE, ignored in an ERE, except
 * that an interval is literal there too.
 */
static bool parse_leading(struct parser *p, struct re_node *branch)
{
    struct arena *arena = p->tree->arena;
    if (!p->extended) {
        if (accept(p, "*"))
            re_node_add(arena, branch, new_char(p, '*'));
        else if (accept(p, "\\+"))
            re_node_add(arena, branch, new_char(p, '+'));
        else if (accept(p, "\\?"))
            re_node_add(arena, branch, new_char(p, '?'));
        else if (accept(p, "\\{"))
            re_node_add(arena, branch, new_char(p, '{'));
        return !branch->count || parse_repeats(p, &branch->items[branch->count - 1]);
    }
    while (accept(p, "*") || accept(p, "+") || accept(p, "?"))
        ;
    return true;
}

static bool parse_branch(struct parser *p, struct re_node **out)
{
    struct arena *arena = p->tree->arena;
    struct re_node *branch = new_node(p, RE_CAT), *n;
    if (!p->extended && accept(p, "^"))
        re_node_add(arena, branch, new_assert(p, ASSERT_LINE_START));
    if (!at_branch_end(p)) {
        struct re_node *leading = new_node(p, RE_CAT);
        if (!parse_leading(p, leading))
            return false;
        if (leading->count)
            re_node_add(arena, branch, leading);
    }
    while (!at_branch_end(p)) {
        if (p->extended && accept(p, "^"))
            n = new_assert(p, ASSERT_LINE_START);
        else if (!parse_atom(p, &n))
            return false;
        if (!parse_repeats(p, &n))
            return false;
        re_node_add(arena, branch, n);
    }
    *out = branch->count == 1 ? branch->items[0] : branch;
    return true;
}

static bool parse_alternatives(struct parser *p, struct re_node **out)
{
    struct re_node *all = new_node(p, RE_ALT), *branch;
    for (;;) {
        if (!parse_branch(p, &branch))
            return false;
        re_node_add(p->tree->arena, all, branch);
        if (!at_bar(p))
            break;
        if (at(p, "\n") && p->depth)
            return fail(p, "Unmatched ( or \\(");
        if (at(p, "\n")) {
            p->first_group = p->tree->groups;
            p->closed = 0;
        }
        p->pos += p->extended || at(p, "\n") ? 1 : 2;
    }
    *out = all->count == 1 ? all->items[0] : all;
    return true;
}

static void parse_fixed(struct parser *p, struct re_node **out)
{
    struct arena *arena = p->tree->arena;
    struct re_node *all = new_node(p, RE_ALT), *line = new_node(p, RE_CAT);
    re_node_add(arena, all, line);
    while (!at_end(p)) {
        if (p->tree->flags & REGEX_MULTI && accept(p, "\n")) {
            line = new_node(p, RE_CAT);
            re_node_add(arena, all, line);
        } else {
            uint32_t code = re_next_code(p->text, &p->pos, p->tree->bytes);
            re_node_add(arena, line, new_char(p, code));
        }
    }
    *out = all->count == 1 ? line : all;
}

static void surround(struct parser *p, enum re_assert before, enum re_assert after)
{
    struct re_node *all = new_node(p, RE_CAT);
    re_node_add(p->tree->arena, all, new_assert(p, before));
    re_node_add(p->tree->arena, all, p->tree->root);
    re_node_add(p->tree->arena, all, new_assert(p, after));
    p->tree->root = all;
}

bool re_parse(struct str pattern, enum regex_syntax syntax, enum regex_flags flags,
        struct arena *arena, struct re_tree *out, struct error *err)
{
    struct re_tree tree = {
        .arena = arena,
        .flags = flags,
        .bytes = !utf8_valid(pattern),
        .neutral = true,
    };
    struct parser p = {
        .text = pattern,
        .extended = syntax == REGEX_EXTENDED,
        .tree = &tree,
        .err = err,
    };
    if (syntax == REGEX_FIXED)
        parse_fixed(&p, &tree.root);
    else if (!parse_alternatives(&p, &tree.root))
        return false;
    /* Only a ")" of a BRE can be left: without "(" it is literal in an ERE. */
    assert(at_end(&p));
    if (flags & REGEX_LINE)
        surround(&p, ASSERT_LINE_START, ASSERT_LINE_END);
    else if (flags & REGEX_WORD)
        surround(&p, ASSERT_NOT_AFTER_WORD, ASSERT_NOT_BEFORE_WORD);
    *out = tree;
    return true;
}
