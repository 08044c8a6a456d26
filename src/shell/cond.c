/*
 * cond.c - the inside of [[ ]].
 */
#include "shell/word.h"

struct operator
{
    const char *text;
    enum cond_op op;
};

static const struct operator operators[] = {
    { "==", COND_EQ },
    { "=~", COND_MATCH },
    { "=", COND_EQ },
    { "!=", COND_NE },
    { "-eq", COND_NUM_EQ },
    { "-ne", COND_NUM_NE },
    { "-lt", COND_NUM_LT },
    { "-le", COND_NUM_LE },
    { "-gt", COND_NUM_GT },
    { "-ge", COND_NUM_GE },
    { "-nt", COND_NEWER },
    { "-ot", COND_OLDER },
    { "-ef", COND_SAME },
};

#define UNARY_LETTERS "abcdefghknoprstuvwxzGLNORS"

static struct cond *parse_or(struct parser *p);

static struct cond *cond_new(struct parser *p, enum cond_type type)
{
    struct cond *c = arena_zalloc(p->arena, sizeof(*c));
    c->type = type;
    return c;
}

static void *fail_eof(struct parser *p)
{
    return parse_fail_eof(p, lex_pos(p), "unexpected EOF while looking for `]]'");
}

static void *fail_argument(struct parser *p, const char *kind)
{
    struct str token = lex_next_token(p);
    if (!token.len)
        return fail_eof(p);
    return parse_fail(p, lex_pos(p),
            "unexpected argument `%.*s' to conditional %s operator", STR_ARG(token),
            kind);
}

/* The next token cannot stand here. */
static void *fail_token(struct parser *p, const char *where)
{
    struct str token = lex_next_token(p);
    if (!token.len)
        return fail_eof(p);
    return parse_fail(p, lex_pos(p), "unexpected token `%.*s'%s", STR_ARG(token), where);
}

/* `]]` is missing and something else is there. */
static void fail_end(struct parser *p)
{
    struct str token = lex_next_token(p);
    if (!token.len)
        fail_eof(p);
    parse_fail(p, lex_pos(p),
            "syntax error in conditional expression: unexpected token `%.*s'",
            STR_ARG(token));
}

static bool at_close(struct parser *p)
{
    lex_skip_blanks(p);
    return lex_match_keyword(p, "]]");
}

static struct word *read_argument(struct parser *p)
{
    return at_close(p) ? NULL : word_read(p, WORD_TILDE);
}

/* Takes the operator; its length behind it must end. */
static bool accept_operator(struct parser *p, int *op)
{
    lex_skip_blanks(p);
    int c = peek(p);
    if ((c == '<' || c == '>') && peek_at(p, 1) != '(') {
        *op = c == '<' ? COND_LESS : COND_GREATER;
        advance(p, 1);
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        if (lex_accept_keyword(p, operators[i].text)) {
            *op = operators[i].op;
            return true;
        }
    }
    return false;
}

static bool is_numeric(int op)
{
    return op >= COND_NUM_EQ && op <= COND_NUM_GE;
}

static struct word *read_right(struct parser *p, int op)
{
    if (op != COND_MATCH)
        return read_argument(p);
    lex_skip_blanks(p);
    int c = peek(p);
    if (at_close(p) || (lex_is_delimiter(c) && c != '(' && c != '|'))
        return NULL;
    return word_read_in(p, CTX_REGEX, WORD_TILDE);
}

static struct cond *parse_binary(struct parser *p, struct word *left, int op)
{
    struct cond *c = cond_new(p, COND_BINARY);
    c->op = op;
    c->left = left;
    c->right = read_right(p, op);
    if (!c->right)
        return fail_argument(p, "binary");
    if (is_numeric(op)) {
        c->left_arith = arith_parse(p, left);
        c->right_arith = arith_parse(p, c->right);
    }
    lex_skip_newlines(p);
    return c;
}

static bool is_unary(const struct word *w)
{
    struct str s = w->source;
    return s.len == 2 && s.data[0] == '-' && strchr(UNARY_LETTERS, s.data[1]);
}

static struct cond *parse_unary(struct parser *p, const struct word *op)
{
    struct cond *c = cond_new(p, COND_UNARY);
    c->op = op->source.data[1];
    c->left = read_argument(p);
    if (!c->left)
        return fail_argument(p, "unary");
    lex_skip_newlines(p);
    return c;
}

static struct cond *parse_word_term(struct parser *p, struct word *w)
{
    int op;
    if (is_unary(w))
        return parse_unary(p, w);
    if (accept_operator(p, &op))
        return parse_binary(p, w, op);
    if (!at_close(p) && !lex_match(p, "&&") && !lex_match(p, "||") && peek(p) != ')') {
        if (!lex_is_delimiter(peek(p)))
            return parse_fail(p, lex_pos(p), "conditional binary operator expected");
        return fail_token(p, ", conditional binary operator expected");
    }
    struct cond *c = cond_new(p, COND_WORD);
    c->left = w;
    return c;
}

static struct cond *parse_parenthesis(struct parser *p)
{
    advance(p, 1);
    struct cond *c = parse_or(p);
    lex_skip_newlines(p);
    if (!p->failed && !lex_accept(p, ")"))
        return fail_token(p, ", expected `)'");
    lex_skip_newlines(p);
    return c;
}

static struct cond *parse_term(struct parser *p)
{
    struct cond *c = NULL;
    lex_skip_newlines(p);
    if (!parse_enter(p)) {
        c = NULL;
    } else if (peek(p) == '(') {
        c = parse_parenthesis(p);
    } else if (lex_accept_keyword(p, "!")) {
        c = cond_new(p, COND_NOT);
        c->a = parse_term(p);
    } else {
        struct word *w = read_argument(p);
        c = w ? parse_word_term(p, w) : fail_token(p, " in conditional command");
    }
    parse_leave(p);
    return c;
}

static struct cond *pair(
        struct parser *p, enum cond_type type, struct cond *a, struct cond *b)
{
    struct cond *c = cond_new(p, type);
    c->a = a;
    c->b = b;
    return c;
}

static struct cond *parse_and(struct parser *p)
{
    unsigned outer = begin_chain(p);
    struct cond *left = parse_term(p);
    while (lex_skip_blanks(p), lex_accept(p, "&&") && parse_deepen(p, 1)) {
        struct cond *right = parse_term(p);
        left = pair(p, COND_AND, left, right);
    }
    end_chain(p, outer);
    return left;
}

static struct cond *parse_or(struct parser *p)
{
    unsigned outer = begin_chain(p);
    struct cond *left = parse_and(p);
    while (lex_skip_blanks(p), lex_accept(p, "||") && parse_deepen(p, 1)) {
        struct cond *right = parse_and(p);
        left = pair(p, COND_OR, left, right);
    }
    end_chain(p, outer);
    return left;
}

struct cond *parse_cond(struct parser *p)
{
    bool extglob = p->extglob;
    p->extglob = true;
    struct cond *c = parse_or(p);
    p->extglob = extglob;
    if (!p->failed && !lex_accept_keyword(p, "]]")) {
        if (lex_is_delimiter(peek(p)))
            fail_end(p);
        else
            parse_fail(p, lex_pos(p), "syntax error in conditional expression");
    }
    return c;
}
