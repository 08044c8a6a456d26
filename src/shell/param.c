/*
 * param.c - ${...}: everything between the braces.
 */
#include "shell/word.h"

#define SPECIALS "@*#?-$!"

static bool is_special(int c)
{
    return c > 0 && strchr(SPECIALS, c);
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

static void bad_substitution(struct parser *p, const struct param *x, size_t start)
{
    if (peek(p) < 0) {
        parse_unclosed(p, x->pos, "}");
        return;
    }
    size_t end = start;
    while (end < p->in->end && end - start < 80 && p->in->text.data[end] != '}')
        end++;
    parse_fail(p, x->pos, "%.*s}: bad substitution", (int)(end - start),
            p->in->text.data + start);
}

/* The word behind an operator. */
static struct word *read_arg(const struct builder *b)
{
    enum context ctx = b->quoted ? CTX_PARAM_QUOTED : CTX_PARAM;
    return word_read_in(b->p, ctx, b->quoted ? 0 : WORD_TILDE);
}

/* A pattern keeps its own quoting inside "...". */
static struct word *read_pattern(
        const struct builder *b, enum context ctx, enum word_flags flags)
{
    struct word *w = word_read_in(b->p, ctx, flags);
    return w->count ? w : NULL;
}

static bool read_param_name(struct parser *p, struct param *x)
{
    size_t from = p->in->at, n = lex_name_length(p, from);
    if (!n && is_digit(peek(p)))
        while (is_digit(peek_at(p, n)))
            n++;
    if (!n && is_special(peek(p)))
        n = 1;
    p->in->at += n;
    x->name = lex_slice(p, from, from + n);
    return n;
}

static void read_param_subscript(struct parser *p, struct param *x)
{
    size_t from = p->in->at + 1;
    size_t close = lex_scan(p, from, ']', false);
    if (close == SCAN_FAILED) {
        parse_unclosed(p, lex_pos(p), "]");
        return;
    }
    struct str text = lex_slice(p, from, close);
    if (str_is(text, "@") || str_is(text, "*")) {
        x->subscript = text.data[0] == '@' ? SUB_AT : SUB_STAR;
    } else {
        x->subscript = SUB_INDEX;
        word_read_subscript(p, from, close, &x->index, &x->index_arith);
    }
    if (!p->failed)
        p->in->at = close + 1;
}

/* `#` and `!` before the name, unless they are the name. */
static void read_prefix(struct parser *p, struct param *x)
{
    int c = peek(p), next = peek_at(p, 1);
    bool named = lex_is_name_start(next) || is_digit(next);
    bool special = is_special(next) && peek_at(p, 2) == '}';
    if (!(c == '#' || c == '!') || !(named || special))
        return;
    if (c == '#')
        x->op = PARAM_LENGTH;
    else
        x->indirect = true;
    p->in->at++;
}

/* One or two of the byte `c`: the operator `once` or `twice`. */
static enum param_op read_doubled(
        struct parser *p, int c, enum param_op once, enum param_op twice)
{
    p->in->at++;
    if (peek(p) != c)
        return once;
    p->in->at++;
    return twice;
}

static void read_default(struct builder *b, struct param *x, int c)
{
    x->op = c == '-'   ? PARAM_DEFAULT
            : c == '=' ? PARAM_ASSIGN
            : c == '?' ? PARAM_REQUIRE
                       : PARAM_ALTERNATE;
    b->p->in->at++;
    x->arg = read_arg(b);
}

static void read_substring(struct parser *p, struct param *x)
{
    x->op = PARAM_SUBSTRING;
    p->in->at++;
    x->offset = arith_parse(p, word_read_in(p, CTX_SUBSTRING, 0));
    if (peek(p) == ':') {
        p->in->at++;
        x->length = arith_parse(p, word_read_in(p, CTX_SUBSTRING, 0));
    }
}

static void read_replace(struct builder *b, struct param *x)
{
    struct parser *p = b->p;
    x->op = read_doubled(p, '/', PARAM_REPLACE, PARAM_REPLACE_ALL);
    if (x->op == PARAM_REPLACE && (peek(p) == '#' || peek(p) == '%')) {
        x->op = peek(p) == '#' ? PARAM_REPLACE_PREFIX : PARAM_REPLACE_SUFFIX;
        p->in->at++;
    }
    x->arg = read_pattern(b, CTX_PATTERN, x->op == PARAM_REPLACE_ALL ? WORD_SLASH : 0);
    if (peek(p) == '/') {
        p->in->at++;
        x->replacement = read_pattern(b, CTX_PARAM, WORD_TILDE);
    }
}

static void read_at(struct parser *p, struct param *x)
{
    int letter = peek_at(p, 1);
    if (letter > 0 && strchr("QEPAKakuUL", letter) && peek_at(p, 2) == '}') {
        x->op = PARAM_TRANSFORM;
        x->transform = (char)letter;
        p->in->at += 2;
    }
}

static void read_case(struct builder *b, struct param *x, int c)
{
    struct parser *p = b->p;
    x->op = c == '^'   ? read_doubled(p, c, PARAM_UPPER_FIRST, PARAM_UPPER)
            : c == ',' ? read_doubled(p, c, PARAM_LOWER_FIRST, PARAM_LOWER)
                       : read_doubled(p, c, PARAM_TOGGLE_FIRST, PARAM_TOGGLE);
    x->arg = read_pattern(b, CTX_PARAM, WORD_TILDE);
}

static void read_operator(struct builder *b, struct param *x)
{
    struct parser *p = b->p;
    int c = peek(p), next = peek_at(p, 1);
    switch (c) {
    case ':':
        if (next > 0 && strchr("-=?+", next)) {
            x->colon = true;
            p->in->at++;
            read_default(b, x, next);
        } else {
            read_substring(p, x);
        }
        break;
    case '-':
    case '=':
    case '?':
    case '+':
        read_default(b, x, c);
        break;
    case '#':
        x->op = read_doubled(p, c, PARAM_TRIM_PREFIX, PARAM_TRIM_PREFIX_LONG);
        x->arg = read_pattern(b, CTX_PARAM, WORD_TILDE);
        break;
    case '%':
        x->op = read_doubled(p, c, PARAM_TRIM_SUFFIX, PARAM_TRIM_SUFFIX_LONG);
        x->arg = read_pattern(b, CTX_PARAM, WORD_TILDE);
        break;
    case '/':
        read_replace(b, x);
        break;
    case '^':
    case ',':
    case '~':
        read_case(b, x, c);
        break;
    case '@':
        read_at(p, x);
        break;
    default:
        break;
    }
}

/* ${!prefix*}, ${!prefix@}, ${!a[@]}: not values but names. */
static bool read_listing(struct parser *p, struct param *x)
{
    int c = peek(p);
    bool is_name = x->name.len && lex_is_name_start((unsigned char)x->name.data[0]);
    if (c == '}' && (x->subscript == SUB_AT || x->subscript == SUB_STAR)) {
        x->op = PARAM_KEYS;
        x->star = x->subscript == SUB_STAR;
    } else if ((c == '*' || c == '@') && peek_at(p, 1) == '}' && is_name) {
        x->op = PARAM_NAMES;
        x->star = c == '*';
        p->in->at++;
    } else {
        return false;
    }
    x->indirect = false;
    return true;
}

static void read_param_inside(struct builder *b, struct param *x)
{
    struct parser *p = b->p;
    read_prefix(p, x);
    if (!read_param_name(p, x))
        return;
    if (peek(p) == '[' && lex_is_name_start((unsigned char)x->name.data[0]))
        read_param_subscript(p, x);
    if (x->op == PARAM_LENGTH || (x->indirect && read_listing(p, x)))
        return;
    read_operator(b, x);
}

void builder_read_param(struct builder *b)
{
    struct parser *p = b->p;
    builder_flush(b);
    struct param *x = arena_zalloc(p->arena, sizeof(*x));
    size_t start = p->in->at;
    x->pos = lex_pos(p);
    p->in->at += 2;
    if (parse_enter(p))
        read_param_inside(b, x);
    parse_leave(p);
    if (peek(p) != '}' || !x->name.len) {
        bad_substitution(p, x, start);
        return;
    }
    p->in->at++;
    x->source = lex_slice(p, start, p->in->at);
    builder_add(b, (struct part){ .type = PART_PARAM, .param = x });
}
