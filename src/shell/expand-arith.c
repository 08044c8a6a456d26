/*
 * Arithmetic: 64 bits that wrap, on the tree that the parser made.
 *
 * bash expands the text of an expression and parses what comes out.  The tree gives the
 * same only while every expansion in it is a number by itself, and is not changed by an
 * assignment in the same expression; else the text is expanded and parsed as bash does.
 */
#include "shell/expansion.h"
#include "shell/parse.h"

#include <stdio.h>

#define MAX_LEVELS 1000 /* variables that hold expressions that name variables */

struct eval {
    struct shell *sh;
    struct arena *arena;
    struct str text; /* the expression, for messages */
    unsigned level;
    const char *context; /* before messages: "((: ", or "" */
};

static bool eval(struct eval *ev, const struct arith *n, int64_t *out);
static bool eval_text(struct eval *ev, struct str text, int64_t *out);

static bool eval_fail(struct eval *ev, const char *what, struct str token)
{
    struct str text = ev->text;
    while (text.len && (text.data[0] == ' ' || text.data[0] == '\n'))
        text = str_from(text, 1);
    ev->sh->is_miscalculated = true;
    shell_err(ev->sh, "%s%.*s: %s (error token is \"%.*s\")", ev->context, STR_ARG(text),
            what, STR_ARG(token));
    ev->sh->status = 1;
    return false;
}

/* An operand as bash would show it. */
static struct str token_of(struct eval *ev, const struct arith *n)
{
    if (n->type == ARITH_VAR)
        return n->name;
    if (n->type == ARITH_NUMBER)
        return str_of(arena_printf(ev->arena, "%lld", (long long)n->value));
    return n->type == ARITH_UNARY ? token_of(ev, n->a) : ev->text;
}

static bool is_assoc(struct eval *ev, struct str name)
{
    int flags = vars_flags(ev->sh->vars, name);
    if (flags >= 0 && flags & VAR_NAMEREF)
        flags = vars_flags(ev->sh->vars, vars_target(ev->sh->vars, name, ev->arena));
    return flags >= 0 && flags & VAR_ASSOC;
}

/* Which variable or element `n` means; subscripts are evaluated once. */
static bool find_place(struct eval *ev, const struct arith *n, struct operand *place)
{
    *place = (struct operand){ .name = n->name };
    if (n->type != ARITH_VAR)
        return eval_fail(ev, "attempted assignment to non-variable", token_of(ev, n));
    if (!n->word)
        return true;
    place->has_index = true;
    place->is_assoc = is_assoc(ev, n->name);
    if (place->is_assoc)
        return expand_string(ev->sh, n->word, ev->arena, &place->key);
    if (n->index)
        return eval(ev, n->index, &place->index);
    struct str text;
    return expand_string(ev->sh, n->word, ev->arena, &text) &&
           eval_text(ev, text, &place->index);
}

static bool get_place(struct eval *ev, const struct operand *place, struct str *out)
{
    struct vars *vars = ev->sh->vars;
    struct str *items;
    size_t count;
    if (!place->has_index)
        return vars_get(vars, place->name, out) ||
               shell_special(ev->sh, place->name, ev->arena, out);
    if (place->is_assoc)
        return vars_get_key(vars, place->name, place->key, out);
    if (vars_get_index(vars, place->name, place->index, out))
        return true;
    if (!shell_special_array(ev->sh, place->name, ev->arena, &items, &count) ||
            place->index < 0 || place->index >= (int64_t)count)
        return false;
    *out = items[place->index];
    return true;
}

/* A decimal number and nothing else: no base, no leading zero. */
static bool is_plain_number(struct str s, int64_t *out)
{
    size_t sign = s.len && (s.data[0] == '-' || s.data[0] == '+');
    if (s.len > sign + 1 && s.data[sign] == '0')
        return false;
    return str_int(s, out);
}

static bool value_of(struct eval *ev, struct str text, int64_t *out)
{
    return is_plain_number(text, out) || eval_text(ev, text, out);
}

static bool read_place(struct eval *ev, const struct operand *place, int64_t *out)
{
    struct str text;
    if (get_place(ev, place, &text))
        return value_of(ev, text, out);
    if (ev->sh->set & SET_NOUNSET && !place->has_index)
        return expand_exit(ev->sh, "%.*s: unbound variable", STR_ARG(place->name));
    *out = 0;
    return true;
}

static bool write_place(struct eval *ev, const struct operand *place, int64_t value)
{
    char text[STR_INT_MAX];
    struct error err;
    struct str name = place->name, digits = str_of_int(value, text);
    struct vars *vars = ev->sh->vars;
    if (!place->has_index && shell_special_assign(ev->sh, name, digits))
        return true;
    bool ok = !place->has_index ? vars_set(vars, name, digits, &err)
              : place->is_assoc ? vars_set_key(vars, name, place->key, digits, &err)
                                : vars_set_index(vars, name, place->index, digits, &err);
    if (ok)
        return true;
    shell_err(ev->sh, "%s", err.message);
    ev->sh->status = 1;
    return false;
}

static uint64_t power(uint64_t base, uint64_t exponent)
{
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base *= base)
        if (exponent & 1)
            result *= base;
    return result;
}

static int64_t divide(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t compare(int op, int64_t a, int64_t b)
{
    switch (op) {
    case '<':
        return a < b;
    case '>':
        return a > b;
    case OP_LE:
        return a <= b;
    case OP_GE:
        return a >= b;
    case OP_EQ:
        return a == b;
    default:
        return a != b;
    }
}

static int64_t combine_bits(int op, int64_t a, int64_t b)
{
    switch (op) {
    case '&':
        return a & b;
    case '|':
        return a | b;
    case '^':
        return a ^ b;
    case OP_SHL:
        return (int64_t)((uint64_t)a << (b & 63));
    default:
        return a >> (b & 63);
    }
}

static int64_t calculate(int op, int64_t a, int64_t b)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case '+':
        return (int64_t)(x + y);
    case '-':
        return (int64_t)(x - y);
    case '*':
        return (int64_t)(x * y);
    case '/':
        return divide(a, b);
    case '%':
        return b == -1 ? 0 : a % b;
    default:
        return (int64_t)power(x, y);
    }
}

/* `right` is where `b` came from, for messages. */
static bool apply(struct eval *ev, int op, int64_t a, int64_t b,
        const struct arith *right, int64_t *out)
{
    if ((op == '/' || op == '%') && !b)
        return eval_fail(ev, "division by 0", token_of(ev, right));
    if (op == OP_POW && b < 0)
        return eval_fail(ev, "exponent less than 0", token_of(ev, right));
    if (op == '<' || op == '>' || (op >= OP_LE && op <= OP_NE))
        *out = compare(op, a, b);
    else if (op == '&' || op == '|' || op == '^' || op == OP_SHL || op == OP_SHR)
        *out = combine_bits(op, a, b);
    else
        *out = calculate(op, a, b);
    return true;
}

static bool eval_binary(struct eval *ev, const struct arith *n, int64_t *out)
{
    int64_t a = 0, b = 0;
    if (!eval(ev, n->a, &a))
        return false;
    if (n->op == OP_AND || n->op == OP_OR) {
        bool decided = (a != 0) == (n->op == OP_OR);
        if (!decided && !eval(ev, n->b, &a))
            return false;
        *out = a != 0;
        return true;
    }
    return eval(ev, n->b, &b) && apply(ev, n->op, a, b, n->b, out);
}

static bool eval_assign(struct eval *ev, const struct arith *n, int64_t *out)
{
    struct operand place;
    int64_t old = 0, value = 0;
    if (!find_place(ev, n->a, &place) || (n->op && !read_place(ev, &place, &old)) ||
            !eval(ev, n->b, &value) ||
            (n->op && !apply(ev, n->op, old, value, n->b, &value)))
        return false;
    *out = value;
    return write_place(ev, &place, value);
}

static bool eval_step(struct eval *ev, const struct arith *n, int64_t *out)
{
    struct operand place;
    int64_t old = 0;
    bool up = n->type == ARITH_PRE_INC || n->type == ARITH_POST_INC;
    bool before = n->type == ARITH_PRE_INC || n->type == ARITH_PRE_DEC;
    if (!find_place(ev, n->a, &place) || !read_place(ev, &place, &old))
        return false;
    int64_t value = (int64_t)((uint64_t)old + (up ? 1 : UINT64_MAX));
    *out = before ? value : old;
    return write_place(ev, &place, value);
}

static bool eval_unary(struct eval *ev, const struct arith *n, int64_t *out)
{
    int64_t a = 0;
    if (!eval(ev, n->a, &a))
        return false;
    *out = n->op == '-'   ? (int64_t)(0 - (uint64_t)a)
           : n->op == '!' ? !a
           : n->op == '~' ? ~a
                          : a;
    return true;
}

static bool eval_operand(struct eval *ev, const struct arith *n, int64_t *out)
{
    struct operand place;
    struct str text;
    if (n->type == ARITH_VAR)
        return find_place(ev, n, &place) && read_place(ev, &place, out);
    return expand_as(ev->sh, n->word, EXPAND_STRING, ev->arena, &text) &&
           value_of(ev, text, out);
}

static bool eval(struct eval *ev, const struct arith *n, int64_t *out)
{
    int64_t cond = 0;
    if (n->type == ARITH_NUMBER) {
        *out = n->value;
        return true;
    }
    if (sched_stack_left(ev->sh->sched) < EXPAND_STACK_MIN)
        return budget_stop(ev->sh->budget, BUDGET_DEPTH);
    switch (n->type) {
    case ARITH_UNARY:
        return eval_unary(ev, n, out);
    case ARITH_PRE_INC:
    case ARITH_PRE_DEC:
    case ARITH_POST_INC:
    case ARITH_POST_DEC:
        return eval_step(ev, n, out);
    case ARITH_BINARY:
        return eval_binary(ev, n, out);
    case ARITH_ASSIGN:
        return eval_assign(ev, n, out);
    case ARITH_TERNARY:
        return eval(ev, n->a, &cond) && eval(ev, cond ? n->b : n->c, out);
    case ARITH_COMMA:
        return eval(ev, n->a, &cond) && eval(ev, n->b, out);
    case ARITH_NUMBER:
    case ARITH_VAR:
    case ARITH_WORD:
        break;
    }
    return eval_operand(ev, n, out);
}

static bool is_blank(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] != ' ' && s.data[i] != '\t' && s.data[i] != '\n')
            return false;
    return true;
}

/* Parse and evaluate text without expansions: the value of a variable, or an expression
 * whose expansions were done. */
static bool eval_text(struct eval *ev, struct str text, int64_t *out)
{
    struct parse_error err;
    struct arith *tree;
    *out = 0;
    if (is_blank(text))
        return true;
    if (!budget_spend(ev->sh->budget, 1 + text.len / 16))
        return false;
    struct eval inner = { ev->sh, ev->arena, arena_str(ev->arena, text), ev->level + 1,
        ev->context };
    if (ev->level >= MAX_LEVELS || sched_stack_left(ev->sh->sched) < EXPAND_STACK_MIN)
        return eval_fail(&inner, "expression recursion level exceeded", inner.text);
    if (parse_arith(inner.text, ev->arena, &tree, &err))
        return eval(&inner, tree, out);
    shell_err(ev->sh, "%s%s", ev->context, err.message);
    ev->sh->is_miscalculated = true;
    ev->sh->status = 1;
    return false;
}

/* What the expansions in a tree would do to it. */
struct survey {
    struct shell *sh;
    bool has_words, has_effects, needs_text;
};

/* `$x` alone that holds a number: may be expanded twice, and needs no parsing. */
static bool is_plain_word(struct shell *sh, const struct word *w)
{
    const struct part *part = w->parts;
    int64_t number;
    struct str text;
    if (w->count != 1 || part->type != PART_PARAM)
        return false;
    const struct param *p = part->param;
    if (p->op != PARAM_VALUE || p->subscript != SUB_NONE || p->indirect)
        return false;
    char first = p->name.data[0];
    if (first >= '0' && first <= '9')
        return str_int(p->name, &number) && number <= sh->arg_count &&
               is_plain_number(str_of(sh->args[number]), &number);
    return first == '#' || first == '?' ||
           (vars_get(sh->vars, p->name, &text) && is_plain_number(text, &number));
}

static void look_over(struct survey *s, const struct arith *n)
{
    if (!n || s->needs_text)
        return;
    if (n->type == ARITH_WORD) {
        s->has_words = true;
        s->needs_text |= !is_plain_word(s->sh, n->word);
    }
    s->has_effects |= n->type == ARITH_ASSIGN ||
                      (n->type >= ARITH_PRE_INC && n->type <= ARITH_POST_DEC);
    look_over(s, n->index);
    look_over(s, n->a);
    look_over(s, n->b);
    look_over(s, n->c);
}

static bool has_expansions(const struct word *w)
{
    for (size_t i = 0; i < w->count; i++)
        if (w->parts[i].type != PART_TEXT)
            return true;
    return false;
}

static bool tree_will_do(struct shell *sh, const struct arith_expr *e)
{
    if (!e->tree || !has_expansions(e->text))
        return e->tree;
    struct survey s = { .sh = sh };
    look_over(&s, e->tree);
    return !s.needs_text && !(s.has_words && s.has_effects);
}

bool expand_arith(struct shell *sh, const struct arith_expr *e, int64_t *out)
{
    return expand_arith_in(sh, e, "", out);
}

bool expand_arith_in(
        struct shell *sh, const struct arith_expr *e, const char *context, int64_t *out)
{
    if (LIKELY(e->tree && e->tree->type == ARITH_NUMBER)) {
        *out = e->tree->value;
        return true;
    }
    struct arena_mark mark = arena_mark(sh->arena);
    struct eval ev = {
        .sh = sh, .arena = sh->arena, .text = e->text->source, .context = context
    };
    struct str text;
    bool ok;
    if (tree_will_do(sh, e))
        ok = eval(&ev, e->tree, out);
    else
        ok = expand_as(sh, e->text, EXPAND_STRING, sh->arena, &text) &&
             eval_text(&ev, text, out);
    arena_rewind(sh->arena, mark);
    return ok;
}

bool expand_arith_text(struct shell *sh, struct str text, int64_t *out)
{
    if (is_plain_number(text, out))
        return true;
    struct arena_mark mark = arena_mark(sh->arena);
    struct eval ev = { .sh = sh, .arena = sh->arena, .text = text, .context = "" };
    bool ok = eval_text(&ev, text, out);
    arena_rewind(sh->arena, mark);
    return ok;
}
