/*
 * arith.c - arithmetic expressions: precedence climbing over the parts of a word.
 *
 * An expression in a script is a word; an expansion in it is an operand if nothing
 * touches it.  Where that is not enough (`$(( 2 $op 3 ))`, `16#$x`) there is no tree
 * until run time, when the expanded text is parsed by the same code.
 */
#include "shell/word.h"

#include <stdio.h>

enum { END = -1, OPERAND = 256 };

struct expr {
    struct parser *p;
    const struct part *parts;
    size_t count;
    size_t part, off; /* the next byte */
    size_t token;     /* offset in its part of the last token, for messages */
    unsigned depth, height;
    const char *problem; /* NULL: none yet */
};

struct operator
{
    const char *text;
    int op;
    int precedence;
};

#define PRECEDENCE_POW 11

/* Longer ones first. */
static const struct operator binary_operators[] = {
    { "||", OP_OR, 1 },
    { "&&", OP_AND, 2 },
    { "**", OP_POW, PRECEDENCE_POW },
    { "==", OP_EQ, 6 },
    { "!=", OP_NE, 6 },
    { "<<", OP_SHL, 8 },
    { ">>", OP_SHR, 8 },
    { "<=", OP_LE, 7 },
    { ">=", OP_GE, 7 },
    { "|", '|', 3 },
    { "^", '^', 4 },
    { "&", '&', 5 },
    { "<", '<', 7 },
    { ">", '>', 7 },
    { "+", '+', 9 },
    { "-", '-', 9 },
    { "*", '*', 10 },
    { "/", '/', 10 },
    { "%", '%', 10 },
};

static struct arith *parse_comma(struct expr *e);
static struct arith *parse_binary(struct expr *e, int min);

static void *expr_fail(struct expr *e, const char *problem)
{
    if (!e->problem)
        e->problem = problem;
    return NULL;
}

static int look(struct expr *e)
{
    if (e->problem)
        return END;
    while (e->part < e->count) {
        const struct part *part = &e->parts[e->part];
        if (part->type != PART_TEXT)
            return OPERAND;
        if (e->off < part->text.len)
            return (unsigned char)part->text.data[e->off];
        e->part++;
        e->off = 0;
    }
    return END;
}

/* The byte `n` behind the next one, in the same piece of text. */
static int look_at(struct expr *e, size_t n)
{
    if (look(e) < 0 || look(e) == OPERAND)
        return n ? END : look(e);
    struct str text = e->parts[e->part].text;
    return e->off + n < text.len ? (unsigned char)text.data[e->off + n] : END;
}

static int next_token(struct expr *e)
{
    int c;
    while ((c = look(e)) == ' ' || c == '\t' || c == '\n' || c == '\r')
        e->off++;
    return c;
}

static void begin_token(struct expr *e)
{
    next_token(e);
    e->token = e->off;
}

static bool follows(struct expr *e, const char *text)
{
    for (size_t i = 0; text[i]; i++)
        if (look_at(e, i) != text[i])
            return false;
    return true;
}

static bool take(struct expr *e, const char *text)
{
    next_token(e);
    if (!follows(e, text))
        return false;
    e->token = e->off;
    e->off += strlen(text);
    return true;
}

static bool expr_enter(struct expr *e)
{
    e->depth++;
    if (e->height < e->depth)
        e->height = e->depth;
    if (e->height > PARSE_MAX_DEPTH)
        expr_fail(e, "expression nested too deeply");
    return !e->problem;
}

static struct arith *node2(
        struct expr *e, enum arith_type type, int op, struct arith *a, struct arith *b)
{
    if (e->problem)
        return NULL;
    if (arena_size(e->p->arena) > PARSE_MAX_MEMORY)
        return expr_fail(e, "expression too large");
    struct arith *n = arena_zalloc(e->p->arena, sizeof(*n));
    n->type = type;
    n->op = op;
    n->a = a;
    n->b = b;
    return n;
}

static int digit_of(int c, int base)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + (base <= 36 ? 10 : 36);
    return c == '@' ? 62 : c == '_' ? 63 : 64;
}

static bool parse_digits(struct str s, int base, uint64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < s.len; i++) {
        int digit = digit_of((unsigned char)s.data[i], base);
        if (digit >= base)
            return false;
        *value = *value * (uint64_t)base + (uint64_t)digit;
    }
    return true;
}

static bool parse_number(struct expr *e, struct str s, uint64_t *value)
{
    const char *hash = memchr(s.data, '#', s.len);
    if (hash) {
        uint64_t base;
        struct str digits = str_from(s, (size_t)(hash - s.data) + 1);
        if (!parse_digits(str_sub(s, 0, (size_t)(hash - s.data)), 10, &base) ||
                base < 2 || base > 64)
            return expr_fail(e, "invalid arithmetic base");
        if (!digits.len)
            return expr_fail(e, "invalid integer constant");
        return parse_digits(digits, (int)base, value) ||
               expr_fail(e, "value too great for base");
    }
    int base = 10;
    if (s.len > 1 && s.data[0] == '0') {
        base = (s.data[1] | 32) == 'x' ? 16 : 8;
        s = str_from(s, base == 16 ? 2 : 1);
    }
    return parse_digits(s, base, value) || expr_fail(e, "value too great for base");
}

static bool is_number_char(int c)
{
    return c < 256 && (lex_is_name_char(c) || c == '#' || c == '@');
}

static struct str take_while(struct expr *e, bool (*wanted)(int))
{
    struct str text = e->parts[e->part].text;
    size_t from = e->off;
    while (e->off < text.len && wanted((unsigned char)text.data[e->off]))
        e->off++;
    return str_sub(text, from, e->off - from);
}

/* An expansion right behind would be part of the same operand. */
static bool is_glued(struct expr *e)
{
    return look(e) == OPERAND && expr_fail(e, "syntax error in expression") == NULL;
}

static struct arith *read_number(struct expr *e)
{
    uint64_t value;
    begin_token(e);
    struct str digits = take_while(e, is_number_char);
    if (is_glued(e) || !parse_number(e, digits, &value))
        return NULL;
    struct arith *n = node2(e, ARITH_NUMBER, 0, NULL, NULL);
    if (n)
        n->value = (int64_t)value;
    return n;
}

static struct arith *read_expansion(struct expr *e)
{
    struct part_list parts = { .items = NULL };
    APPEND(e->p, parts, e->parts[e->part]);
    e->part++;
    e->off = 0;
    int c = look(e);
    if (is_glued(e) || (c >= 0 && (is_number_char(c) || c == '[')))
        return expr_fail(e, "syntax error in expression");
    struct arith *n = node2(e, ARITH_WORD, 0, NULL, NULL);
    if (n)
        n->word = word_new(e->p, parts, (struct pos){ 0, 0 }, STR(""));
    return n;
}

/* The parts between here and the `]` that matches, which is taken. */
static bool take_subscript(struct expr *e, struct part_list *parts)
{
    int c;
    unsigned nested = 0;
    size_t from = ++e->off;
    while ((c = look(e)) != END) {
        const struct part *part = &e->parts[e->part];
        bool bracket = c == '[' || c == ']';
        if (!e->off)
            from = 0;
        if (bracket && !part->quoted && c == ']' && !nested--) {
            word_add_text(
                    e->p, parts, str_sub(part->text, from, e->off - from), part->quoted);
            e->off++;
            return true;
        }
        nested += bracket && !part->quoted && c == '[';
        if (c != OPERAND && ++e->off < part->text.len)
            continue;
        if (c == OPERAND)
            APPEND(e->p, *parts, *part);
        else
            word_add_text(e->p, parts, str_from(part->text, from), part->quoted);
        e->part++;
        e->off = 0;
    }
    return expr_fail(e, "bad array subscript");
}

static struct arith *parse_whole(struct expr *e);

static void read_index(struct expr *e, struct arith *var)
{
    struct part_list parts = { .items = NULL };
    if (!take_subscript(e, &parts))
        return;
    var->word = word_new(e->p, parts, (struct pos){ 0, 0 }, STR(""));
    struct expr inner = {
        .p = e->p,
        .parts = parts.items,
        .count = parts.count,
        .depth = e->depth,
    };
    var->index = parse_whole(&inner);
    if (inner.problem)
        var->index = NULL;
    if (e->height < inner.height)
        e->height = inner.height;
}

static struct arith *read_variable(struct expr *e)
{
    begin_token(e);
    struct str name = take_while(e, lex_is_name_char);
    if (is_glued(e))
        return NULL;
    struct arith *var = node2(e, ARITH_VAR, 0, NULL, NULL);
    if (!var)
        return NULL;
    var->name = name;
    if (look(e) == '[')
        read_index(e, var);
    return is_glued(e) ? NULL : var;
}

static struct arith *read_operand(struct expr *e)
{
    int c = next_token(e);
    if (c == '(') {
        begin_token(e);
        e->off++;
        struct arith *inner = parse_comma(e);
        return take(e, ")") ? inner : expr_fail(e, "missing `)'");
    }
    if (c == OPERAND)
        return read_expansion(e);
    if (c >= '0' && c <= '9')
        return read_number(e);
    if (!lex_is_name_start(c))
        return expr_fail(e, "syntax error: operand expected");
    struct arith *var = read_variable(e);
    if (take(e, "++"))
        return node2(e, ARITH_POST_INC, 0, var, NULL);
    if (take(e, "--"))
        return node2(e, ARITH_POST_DEC, 0, var, NULL);
    return var;
}

/* ++ and -- are operators before a variable, else two signs. */
static struct arith *read_increment(struct expr *e)
{
    struct expr saved = *e;
    bool up = take(e, "++");
    if ((up || take(e, "--")) && lex_is_name_start(next_token(e))) {
        struct arith *var = read_variable(e);
        return node2(e, up ? ARITH_PRE_INC : ARITH_PRE_DEC, 0, var, NULL);
    }
    *e = saved;
    return NULL;
}

static struct arith *parse_unary(struct expr *e)
{
    int c = next_token(e);
    struct arith *n = NULL;
    if (!expr_enter(e)) {
        n = NULL;
    } else if ((n = read_increment(e)) || e->problem) {
        ;
    } else if (c > 0 && c < 256 && strchr("+-!~", c)) {
        e->token = e->off++;
        struct arith *a = parse_unary(e);
        n = node2(e, ARITH_UNARY, c, a, NULL);
    } else {
        n = read_operand(e);
    }
    e->depth--;
    return n;
}

static bool is_assignment(struct expr *e, const char *op)
{
    static const char *const assignments[] = { "*", "/", "%", "+", "-", "<<", ">>", "&",
        "^", "|" };
    if (look_at(e, strlen(op)) != '=')
        return false;
    for (size_t i = 0; i < ARRAY_LEN(assignments); i++)
        if (!strcmp(op, assignments[i]))
            return true;
    return false;
}

static const struct operator* find_operator(struct expr *e)
{
    next_token(e);
    for (size_t i = 0; i < ARRAY_LEN(binary_operators); i++) {
        const struct operator* o = & binary_operators[i];
        if (follows(e, o->text))
            return is_assignment(e, o->text) ? NULL : o;
    }
    return NULL;
}

/* Begin a chain of operators that leans to the left, see lex.h. */
static unsigned expr_begin_chain(struct expr *e)
{
    unsigned outer = e->height;
    e->height = e->depth;
    return outer;
}

static void expr_deepen(struct expr *e)
{
    if (++e->height > PARSE_MAX_DEPTH)
        expr_fail(e, "expression nested too deeply");
}

static void expr_end_chain(struct expr *e, unsigned outer)
{
    if (e->height < outer)
        e->height = outer;
}

static struct arith *parse_binary(struct expr *e, int min)
{
    unsigned outer = expr_begin_chain(e);
    struct arith *left = expr_enter(e) ? parse_unary(e) : NULL;
    const struct operator* o;
    while (!e->problem && (o = find_operator(e)) && o->precedence >= min) {
        e->token = e->off;
        e->off += strlen(o->text);
        expr_deepen(e);
        int next = o->precedence + (o->precedence != PRECEDENCE_POW);
        struct arith *right = parse_binary(e, next);
        left = node2(e, ARITH_BINARY, o->op, left, right);
    }
    e->depth--;
    expr_end_chain(e, outer);
    return left;
}

static struct arith *parse_assign(struct expr *e);

static struct arith *parse_ternary(struct expr *e)
{
    struct arith *cond = parse_binary(e, 1);
    if (!take(e, "?"))
        return cond;
    struct arith *yes = NULL, *no = NULL;
    if (expr_enter(e)) {
        yes = parse_comma(e);
        no = take(e, ":") ? parse_ternary(e)
                          : expr_fail(e, "`:' expected for conditional expression");
    }
    e->depth--;
    struct arith *n = node2(e, ARITH_TERNARY, 0, cond, yes);
    if (n)
        n->c = no;
    return n;
}

/* The operator before the `=` of an assignment, 0 if plain, -1 if none follows. */
static int take_assignment(struct expr *e)
{
    next_token(e);
    if (look_at(e, 0) == '=' && look_at(e, 1) != '=') {
        take(e, "=");
        return 0;
    }
    for (size_t i = 0; i < ARRAY_LEN(binary_operators); i++) {
        const struct operator* o = & binary_operators[i];
        if (follows(e, o->text) && is_assignment(e, o->text)) {
            e->token = e->off;
            e->off += strlen(o->text) + 1;
            return o->op;
        }
    }
    return -1;
}

static struct arith *parse_assign(struct expr *e)
{
    struct arith *n = NULL;
    if (expr_enter(e)) {
        n = parse_ternary(e);
        int op = take_assignment(e);
        if (op >= 0 && n && n->type != ARITH_VAR)
            expr_fail(e, "attempted assignment to non-variable");
        else if (op >= 0)
            n = node2(e, ARITH_ASSIGN, op, n, parse_assign(e));
    }
    e->depth--;
    return n;
}

static struct arith *parse_comma(struct expr *e)
{
    unsigned outer = expr_begin_chain(e);
    struct arith *left = parse_assign(e);
    while (!e->problem && take(e, ",")) {
        expr_deepen(e);
        struct arith *right = parse_assign(e);
        left = node2(e, ARITH_COMMA, 0, left, right);
    }
    expr_end_chain(e, outer);
    return left;
}

static struct arith *parse_whole(struct expr *e)
{
    if (next_token(e) == END)
        return node2(e, ARITH_NUMBER, 0, NULL, NULL);
    struct arith *n = parse_comma(e);
    if (!e->problem && next_token(e) != END) {
        begin_token(e);
        expr_fail(e, "syntax error in expression");
    }
    return e->problem ? NULL : n;
}

struct arith_expr *arith_parse(struct parser *p, struct word *text)
{
    struct arith_expr *x = arena_zalloc(p->arena, sizeof(*x));
    x->text = text;
    x->pos = text->pos;
    if (p->failed)
        return x;
    struct expr e = { .p = p, .parts = text->parts, .count = text->count };
    x->tree = parse_whole(&e);
    /* Below its deepest operand lies what is below the text. */
    unsigned height = p->depth + text->height + e.height;
    if (height > PARSE_MAX_DEPTH)
        x->tree = NULL;
    else if (p->height < height)
        p->height = height;
    return x;
}

bool parse_arith(
        struct str text, struct arena *arena, struct arith **out, struct parse_error *err)
{
    struct parser p = { .arena = arena, .err = err };
    struct part part = { .type = PART_TEXT, .text = text };
    struct expr e = { .p = &p, .parts = &part, .count = 1 };
    struct arith *tree = parse_whole(&e);
    if (tree) {
        *out = tree;
        return true;
    }
    struct str rest = str_from(text, e.token);
    *err = (struct parse_error){ .pos = { 1, (uint32_t)e.token + 1 } };
    snprintf(err->message, sizeof(err->message), "%.*s: %s (error token is \"%.*s\")",
            text.len > 80 ? 80 : (int)text.len, text.data, e.problem,
            rest.len > 60 ? 60 : (int)rest.len, rest.data);
    return false;
}
