#include "shell/builtin/awk/awk.h"
#include "shell/builtin/awk/lex.h"

#include <stdio.h>

#define MAX_NESTING 200

static const char *const special_names[V_SPECIAL_COUNT] = { "NF", "NR", "FNR", "FS",
    "OFS", "ORS", "RS", "SUBSEP", "CONVFMT", "OFMT", "RSTART", "RLENGTH", "FILENAME",
    "ENVIRON", "ARGC", "ARGV", "RT", "IGNORECASE", "PROCINFO" };

/* Sorted by name. */
static const struct awk_builtin_entry builtins[] = {
    { "and", F_AND, 2, 20 },
    { "asort", F_ASORT, 1, 3 },
    { "asorti", F_ASORTI, 1, 3 },
    { "atan2", F_ATAN2, 2, 2 },
    { "close", F_CLOSE, 1, 2 },
    { "compl", F_COMPL, 1, 1 },
    { "cos", F_COS, 1, 1 },
    { "exp", F_EXP, 1, 1 },
    { "fflush", F_FFLUSH, 0, 1 },
    { "gensub", F_GENSUB, 3, 4 },
    { "gsub", F_GSUB, 2, 3 },
    { "index", F_INDEX, 2, 2 },
    { "int", F_INT, 1, 1 },
    { "length", F_LENGTH, 0, 1 },
    { "log", F_LOG, 1, 1 },
    { "lshift", F_LSHIFT, 2, 2 },
    { "match", F_MATCH, 2, 3 },
    { "mktime", F_MKTIME, 1, 2 },
    { "or", F_OR, 2, 20 },
    { "rand", F_RAND, 0, 0 },
    { "rshift", F_RSHIFT, 2, 2 },
    { "sin", F_SIN, 1, 1 },
    { "split", F_SPLIT, 2, 4 },
    { "sprintf", F_SPRINTF, 1, 1000 },
    { "sqrt", F_SQRT, 1, 1 },
    { "srand", F_SRAND, 0, 1 },
    { "strftime", F_STRFTIME, 0, 3 },
    { "strtonum", F_STRTONUM, 1, 1 },
    { "sub", F_SUB, 2, 3 },
    { "substr", F_SUBSTR, 2, 3 },
    { "system", F_SYSTEM, 1, 1 },
    { "systime", F_SYSTIME, 0, 0 },
    { "tolower", F_TOLOWER, 1, 1 },
    { "toupper", F_TOUPPER, 1, 1 },
    { "xor", F_XOR, 2, 20 },
};

const struct awk_builtin_entry *awk_builtin_find(struct str name)
{
    size_t low = 0, high = ARRAY_LEN(builtins);
    while (low < high) {
        size_t mid = (low + high) / 2;
        int order = str_cmp(name, str_of(builtins[mid].name));
        if (!order)
            return &builtins[mid];
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return NULL;
}

struct parser {
    struct awk_lexer lex;
    struct cmd *cmd;
    struct awk_program *program;
    struct str *parameters; /* of the function being parsed */
    size_t parameter_count;
    unsigned depth;
    bool no_in;      /* in the head of a for: `in` ends an expression */
    bool no_greater; /* in print: `>` is a redirection */
    bool failed;
};

typedef struct awk_node *rule_fn(struct parser *p);
static struct awk_node *expression(struct parser *p);
static struct awk_node *statement(struct parser *p);
static struct awk_node *simple_get(struct parser *p, struct awk_node *left);
static struct awk_node *concat(struct parser *p);

static void fail(struct parser *p, const char *message)
{
    if (!p->failed)
        cmd_err(p->cmd, "line %u: %s", p->lex.line,
                p->lex.error ? p->lex.error : message);
    p->failed = true;
    p->lex.token = T_END;
    p->lex.at = p->lex.text.len;
}

static bool at(const struct parser *p, int token)
{
    return p->lex.token == token;
}

static void advance(struct parser *p)
{
    awk_lex(&p->lex);
    if (p->lex.token == T_BAD)
        fail(p, "syntax error");
}

static bool accept(struct parser *p, int token)
{
    if (!at(p, token))
        return false;
    advance(p);
    return true;
}

static void expect(struct parser *p, int token, const char *message)
{
    if (!accept(p, token))
        fail(p, message);
}

static void skip_newlines(struct parser *p)
{
    while (at(p, T_NEWLINE))
        advance(p);
}

static void skip_terminators(struct parser *p)
{
    while (at(p, T_NEWLINE) || at(p, ';'))
        advance(p);
}

static struct awk_node *node(struct parser *p, enum awk_node_type type)
{
    struct awk_node *n = arena_zalloc(p->program->arena, sizeof(*n));
    n->type = type;
    n->line = p->lex.line;
    return n;
}

static struct awk_node *node_ab(struct parser *p, enum awk_node_type type, int op,
        struct awk_node *a, struct awk_node *b)
{
    struct awk_node *n = node(p, type);
    n->op = op;
    n->a = a;
    n->b = b;
    return n;
}

static void free_text(void *p)
{
    awk_value_free(p);
}

static void set_text(struct parser *p, struct awk_node *n, struct str text)
{
    bool whole;
    n->text = awk_value_text(text);
    n->text.number = awk_number(text, &whole);
    arena_defer(p->program->arena, free_text, &n->text);
}

size_t awk_global_slot(struct awk_program *program, struct str name)
{
    if (!program->global_count) {
        for (size_t i = 0; i < V_SPECIAL_COUNT; i++) {
            GROW(program->globals, program->global_count, program->global_cap);
            program->globals[program->global_count++] = str_of(special_names[i]);
        }
    }
    for (size_t i = 0; i < program->global_count; i++)
        if (str_eq(program->globals[i], name))
            return i;
    GROW(program->globals, program->global_count, program->global_cap);
    program->globals[program->global_count++] = arena_str(program->arena, name);
    return program->global_count - 1;
}

static size_t function_slot(struct awk_program *program, struct str name)
{
    for (size_t i = 0; i < program->function_count; i++)
        if (str_eq(program->functions[i].name, name))
            return i;
    GROW(program->functions, program->function_count, program->function_cap);
    program->functions[program->function_count++] = (struct awk_function){ .name = name };
    return program->function_count - 1;
}

static struct awk_node *name_node(struct parser *p, struct str name)
{
    for (size_t i = 0; i < p->parameter_count; i++) {
        if (str_eq(p->parameters[i], name)) {
            struct awk_node *n = node(p, N_LOCAL);
            n->slot = i;
            return n;
        }
    }
    struct awk_node *n = node(p, N_GLOBAL);
    n->slot = awk_global_slot(p->program, name);
    return n;
}

/* `a, b, c` up to `end`, which is consumed. */
static void expression_list(struct parser *p, struct awk_node *n, int end)
{
    size_t cap = 0;
    struct awk_node **list = NULL;
    bool no_in = p->no_in, no_greater = p->no_greater;
    p->no_in = p->no_greater = false;
    skip_newlines(p);
    while (!at(p, end) && !p->failed) {
        GROW(list, n->count, cap);
        list[n->count++] = expression(p);
        skip_newlines(p);
        if (!at(p, ','))
            break;
        advance(p);
        skip_newlines(p);
    }
    p->no_in = no_in;
    p->no_greater = no_greater;
    n->list = arena_alloc(p->program->arena, (n->count + 1) * sizeof(*list));
    if (n->count)
        memcpy(n->list, list, n->count * sizeof(*list));
    free(list);
    expect(p, end, end == ')' ? "syntax error: missing )" : "syntax error: missing ]");
}

static struct awk_node *variable(struct parser *p)
{
    struct awk_node *name = name_node(p, p->lex.value);
    advance(p);
    if (!accept(p, '['))
        return name;
    struct awk_node *n = node(p, N_INDEX);
    n->a = name;
    expression_list(p, n, ']');
    return n;
}

static struct awk_node *call(struct parser *p)
{
    struct awk_node *n = node(p, N_CALL);
    n->slot = function_slot(p->program, p->lex.value);
    advance(p);
    advance(p); /* the parenthesis, which stands right behind */
    expression_list(p, n, ')');
    return n;
}

static struct awk_node *builtin_call(struct parser *p)
{
    const struct awk_builtin_entry *e = awk_builtin_find(p->lex.value);
    struct awk_node *n = node(p, N_BUILTIN);
    n->slot = e->id;
    advance(p);
    if (accept(p, '('))
        expression_list(p, n, ')');
    else if (e->id != F_LENGTH)
        fail(p, "syntax error: a function without its arguments");
    if (!p->failed && ((int)n->count < e->least || (int)n->count > e->most)) {
        cmd_err(p->cmd, "line %u: %zu is invalid as number of arguments for %s", n->line,
                n->count, e->name);
        p->failed = true;
    }
    return n;
}

static struct awk_node *regex_literal(struct parser *p)
{
    awk_lex_regex(&p->lex);
    if (p->lex.token == T_BAD) {
        fail(p, "unterminated regexp");
        return node(p, N_NUMBER);
    }
    struct awk_node *n = node(p, N_REGEX);
    set_text(p, n, p->lex.value);
    advance(p);
    return n;
}

/* ( expr ), or ( list ) before `in` or in a print. */
static struct awk_node *grouping(struct parser *p)
{
    struct awk_node *n = node(p, N_GROUP);
    advance(p);
    expression_list(p, n, ')');
    if (n->count == 1) {
        n->a = n->list[0];
        return n;
    }
    if (at(p, T_IN) && !p->no_in) {
        advance(p);
        struct awk_node *in = node(p, N_IN);
        in->list = n->list;
        in->count = n->count;
        if (!at(p, T_NAME))
            fail(p, "syntax error: an array must follow 'in'");
        in->a = name_node(p, p->lex.value);
        advance(p);
        return in;
    }
    return n;
}

static struct awk_node *getline_target(struct parser *p);

static struct awk_node *plain_getline(struct parser *p)
{
    struct awk_node *n = node(p, N_GETLINE);
    advance(p);
    n->a = getline_target(p);
    if (accept(p, '<')) {
        n->op = '<';
        n->b = concat(p);
    }
    return n;
}

static bool is_lvalue(const struct awk_node *n)
{
    return n->type == N_GLOBAL || n->type == N_LOCAL || n->type == N_INDEX ||
           n->type == N_FIELD;
}

static struct awk_node *primary(struct parser *p);

static struct awk_node *pre_increment(struct parser *p)
{
    int by = at(p, T_INC) ? 1 : -1;
    advance(p);
    struct awk_node *n = node_ab(p, N_PRE, by, primary(p), NULL);
    if (!p->failed && !is_lvalue(n->a))
        fail(p, "syntax error: only a variable can be incremented");
    return n;
}

static struct awk_node *literal(struct parser *p)
{
    struct awk_node *n = node(p, at(p, T_NUMBER) ? N_NUMBER : N_STRING);
    if (at(p, T_NUMBER))
        n->number = p->lex.number;
    else
        set_text(p, n, p->lex.value);
    advance(p);
    return n;
}

static struct awk_node *field(struct parser *p)
{
    struct awk_node *n = node(p, N_FIELD);
    advance(p);
    if (at(p, T_INC) || at(p, T_DEC))
        n->a = pre_increment(p);
    else if (accept(p, '-'))
        n->a = node_ab(p, N_MINUS, 0, primary(p), NULL);
    else
        n->a = primary(p);
    return n;
}

static struct awk_node *primary(struct parser *p)
{
    switch (p->lex.token) {
    case T_NUMBER:
    case T_STRING:
        return literal(p);
    case '/':
        return regex_literal(p);
    case T_ASSIGN:
        if (p->lex.op == '/')
            return regex_literal(p);
        break;
    case '$':
        return field(p);
    case T_NAME:
        return variable(p);
    case T_FUNC_NAME:
        return call(p);
    case T_BUILTIN:
        return builtin_call(p);
    case '(':
        return grouping(p);
    case T_INC:
    case T_DEC:
        return pre_increment(p);
    case T_GETLINE:
        return plain_getline(p);
    default:
        break;
    }
    fail(p, at(p, T_END) ? "syntax error: unexpected end of the program"
                         : "syntax error: an expression is missing");
    return node(p, N_NUMBER);
}

static struct awk_node *getline_target(struct parser *p)
{
    return at(p, '$') ? field(p) : at(p, T_NAME) ? variable(p) : NULL;
}

static struct awk_node *postfix(struct parser *p)
{
    struct awk_node *n = primary(p);
    if ((at(p, T_INC) || at(p, T_DEC)) && is_lvalue(n)) {
        int by = at(p, T_INC) ? 1 : -1;
        advance(p);
        return node_ab(p, N_POST, by, n, NULL);
    }
    return n;
}

static struct awk_node *unary(struct parser *p);

/* Right to left, and tighter than the minus before it: -2^2 is -4. */
static struct awk_node *power(struct parser *p)
{
    struct awk_node *base = postfix(p);
    if (!at(p, T_POW))
        return base;
    advance(p);
    bool minus = at(p, '-'), plus = at(p, '+');
    if (minus || plus)
        advance(p);
    struct awk_node *exponent = at(p, '!') ? unary(p) : power(p);
    if (minus)
        exponent = node_ab(p, N_MINUS, 0, exponent, NULL);
    return node_ab(p, N_BINARY, '^', base, exponent);
}

static struct awk_node *unary(struct parser *p)
{
    if (++p->depth > MAX_NESTING) {
        fail(p, "expressions are nested too deep");
        p->depth--;
        return node(p, N_NUMBER);
    }
    struct awk_node *n;
    if (accept(p, '!'))
        n = node_ab(p, N_NOT, 0, unary(p), NULL);
    else if (accept(p, '-'))
        n = node_ab(p, N_MINUS, 0, unary(p), NULL);
    else if (accept(p, '+'))
        n = node_ab(p, N_PLUS, 0, unary(p), NULL);
    else
        n = power(p);
    p->depth--;
    return n;
}

static struct awk_node *multiplicative(struct parser *p)
{
    struct awk_node *n = unary(p);
    while (at(p, '*') || at(p, '/') || at(p, '%')) {
        int op = p->lex.token;
        advance(p);
        n = node_ab(p, N_BINARY, op, n, unary(p));
    }
    return n;
}

static struct awk_node *additive(struct parser *p)
{
    struct awk_node *n = multiplicative(p);
    while (at(p, '+') || at(p, '-')) {
        int op = p->lex.token;
        advance(p);
        n = node_ab(p, N_BINARY, op, n, multiplicative(p));
    }
    return n;
}

/* Can the token begin an operand that is put behind the one before it? */
static bool starts_operand(const struct parser *p)
{
    switch (p->lex.token) {
    case T_NUMBER:
    case T_STRING:
    case T_NAME:
    case T_FUNC_NAME:
    case T_BUILTIN:
    case '$':
    case '!':
    case '(':
    case '-':
    case '+':
    case T_INC:
    case T_DEC:
        return true;
    default:
        return false;
    }
}

static struct awk_node *concat(struct parser *p)
{
    struct awk_node *n = additive(p);
    while (starts_operand(p) && !p->failed)
        n = node_ab(p, N_CONCAT, 0, n, additive(p));
    return n;
}

static int compare_op(const struct parser *p)
{
    switch (p->lex.token) {
    case '<':
        return LESS;
    case T_LE:
        return LESS_EQUAL;
    case T_EQ:
        return EQUAL;
    case T_NE:
        return NOT_EQUAL;
    case '>':
        return p->no_greater ? -1 : GREATER;
    case T_GE:
        return GREATER_EQUAL;
    default:
        return -1;
    }
}

/* `cmd | getline [var]`, as often as it stands there. */
static struct awk_node *simple_get(struct parser *p, struct awk_node *left)
{
    while (at(p, '|')) {
        struct awk_lexer saved = p->lex;
        advance(p);
        if (!at(p, T_GETLINE)) {
            p->lex = saved;
            break;
        }
        advance(p);
        struct awk_node *n = node(p, N_GETLINE);
        n->op = '|';
        n->b = left;
        n->a = getline_target(p);
        left = n;
    }
    return left;
}

static struct awk_node *comparison(struct parser *p)
{
    struct awk_node *n = simple_get(p, concat(p));
    int op = compare_op(p);
    if (op < 0)
        return n;
    advance(p);
    n = node_ab(p, N_COMPARE, op, n, concat(p));
    return simple_get(p, n);
}

static struct awk_node *matching(struct parser *p)
{
    struct awk_node *n = comparison(p);
    while (at(p, T_MATCH) || at(p, T_NO_MATCH)) {
        int op = at(p, T_MATCH) ? '~' : '!';
        advance(p);
        n = node_ab(p, N_MATCH, op, n, comparison(p));
    }
    return n;
}

static struct awk_node *membership(struct parser *p)
{
    struct awk_node *n = matching(p);
    while (at(p, T_IN) && !p->no_in) {
        advance(p);
        struct awk_node *in = node(p, N_IN);
        in->list = arena_alloc(p->program->arena, sizeof(*in->list));
        in->list[0] = n;
        in->count = 1;
        if (!at(p, T_NAME))
            fail(p, "syntax error: an array must follow 'in'");
        in->a = name_node(p, p->lex.value);
        advance(p);
        n = in;
    }
    return n;
}

static struct awk_node *conjunction(struct parser *p)
{
    struct awk_node *n = membership(p);
    while (accept(p, T_AND)) {
        skip_newlines(p);
        n = node_ab(p, N_AND, 0, n, membership(p));
    }
    return n;
}

static struct awk_node *disjunction(struct parser *p)
{
    struct awk_node *n = conjunction(p);
    while (accept(p, T_OR)) {
        skip_newlines(p);
        n = node_ab(p, N_OR, 0, n, conjunction(p));
    }
    return n;
}

static struct awk_node *ternary(struct parser *p)
{
    struct awk_node *n = disjunction(p);
    if (!accept(p, '?'))
        return n;
    struct awk_node *c = node(p, N_COND);
    c->a = n;
    skip_newlines(p);
    c->b = expression(p);
    skip_newlines(p);
    expect(p, ':', "syntax error: ? without :");
    skip_newlines(p);
    c->c = expression(p);
    return c;
}

/* `a = b` binds to the variable at the end of what was read: `1 + x = 2`, `!x = y` and
 * `$1 ~ x = y` are assignments to x in the grammar; only the plain form is written. */
static struct awk_node *expression(struct parser *p)
{
    if (++p->depth > MAX_NESTING) {
        fail(p, "expressions are nested too deep");
        p->depth--;
        return node(p, N_NUMBER);
    }
    struct awk_node *n = ternary(p);
    if (at(p, T_ASSIGN)) {
        struct awk_node *target = n->type == N_NOT ? n->a : n;
        int op = p->lex.op;
        if (!is_lvalue(target))
            fail(p, "syntax error: only a variable can be assigned to");
        advance(p);
        skip_newlines(p);
        struct awk_node *assign = node_ab(p, N_ASSIGN, op, target, expression(p));
        if (target != n)
            n->a = assign;
        else
            n = assign;
    }
    p->depth--;
    return n;
}

/* --- statements
 * ---------------------------------------------------------------------------- */

static struct awk_node *block(struct parser *p)
{
    struct awk_node *n = node(p, N_BLOCK);
    struct awk_node **list = NULL;
    size_t cap = 0;
    expect(p, '{', "syntax error: missing {");
    skip_terminators(p);
    while (!at(p, '}') && !at(p, T_END)) {
        GROW(list, n->count, cap);
        list[n->count++] = statement(p);
        skip_terminators(p);
    }
    n->list = arena_alloc(p->program->arena, (n->count + 1) * sizeof(*list));
    if (n->count)
        memcpy(n->list, list, n->count * sizeof(*list));
    free(list);
    expect(p, '}', "syntax error: missing }");
    return n;
}

static void end_of_statement(struct parser *p)
{
    if (at(p, ';') || at(p, T_NEWLINE))
        advance(p);
    else if (!at(p, '}') && !at(p, T_END))
        fail(p, "syntax error");
}

static bool at_end_of_simple(const struct parser *p)
{
    return at(p, ';') || at(p, T_NEWLINE) || at(p, '}') || at(p, T_END);
}

static void print_list(struct parser *p, struct awk_node *n)
{
    size_t cap = 0;
    struct awk_node **list = NULL;
    p->no_greater = true;
    while (!at_end_of_simple(p) && !at(p, '>') && !at(p, T_APPEND) && !at(p, '|') &&
            !p->failed) {
        GROW(list, n->count, cap);
        list[n->count++] = expression(p);
        if (!at(p, ','))
            break;
        advance(p);
        skip_newlines(p);
    }
    p->no_greater = false;
    /* print (a, b) > "file" */
    if (n->count == 1 && list[0]->type == N_GROUP && list[0]->count > 1) {
        n->count = list[0]->count;
        n->list = list[0]->list;
        free(list);
        return;
    }
    n->list = arena_alloc(p->program->arena, (n->count + 1) * sizeof(*list));
    if (n->count)
        memcpy(n->list, list, n->count * sizeof(*list));
    free(list);
}

static struct awk_node *print_statement(struct parser *p)
{
    struct awk_node *n = node(p, at(p, T_PRINT) ? N_PRINT : N_PRINTF);
    advance(p);
    print_list(p, n);
    if (at(p, '>') || at(p, T_APPEND) || at(p, '|')) {
        n->op = at(p, T_APPEND) ? 'A' : p->lex.token;
        advance(p);
        p->no_greater = true;
        n->a = concat(p);
        p->no_greater = false;
    }
    if (n->type == N_PRINTF && !n->count)
        fail(p, "syntax error: printf without a format");
    return n;
}

static struct awk_node *delete_statement(struct parser *p)
{
    struct awk_node *n = node(p, N_DELETE);
    advance(p);
    bool group = accept(p, '(');
    if (!at(p, T_NAME))
        fail(p, "syntax error: delete needs an array");
    n->a = variable(p);
    if (group)
        expect(p, ')', "syntax error: missing )");
    return n;
}

static struct awk_node *with_value(struct parser *p, enum awk_node_type type)
{
    struct awk_node *n = node(p, type);
    advance(p);
    if (!at_end_of_simple(p))
        n->a = expression(p);
    return n;
}

static struct awk_node *word_statement(struct parser *p, enum awk_node_type type)
{
    struct awk_node *n = node(p, type);
    advance(p);
    return n;
}

static struct awk_node *simple_statement(struct parser *p)
{
    switch (p->lex.token) {
    case T_PRINT:
    case T_PRINTF:
        return print_statement(p);
    case T_DELETE:
        return delete_statement(p);
    case T_NEXT:
        return word_statement(p, N_NEXT);
    case T_NEXTFILE:
        return word_statement(p, N_NEXTFILE);
    case T_BREAK:
        return word_statement(p, N_BREAK);
    case T_CONTINUE:
        return word_statement(p, N_CONTINUE);
    case T_EXIT:
        return with_value(p, N_EXIT);
    case T_RETURN:
        return with_value(p, N_RETURN);
    default:
        return node_ab(p, N_EXPRESSION, 0, expression(p), NULL);
    }
}

static struct awk_node *body(struct parser *p)
{
    skip_newlines(p);
    if (accept(p, ';'))
        return NULL;
    return statement(p);
}

static struct awk_node *condition(struct parser *p)
{
    expect(p, '(', "syntax error: missing (");
    struct awk_node *n = expression(p);
    expect(p, ')', "syntax error: missing )");
    return n;
}

static struct awk_node *if_statement(struct parser *p)
{
    struct awk_node *n = node(p, N_IF);
    advance(p);
    n->a = condition(p);
    n->b = body(p);
    struct awk_lexer saved = p->lex;
    skip_terminators(p);
    if (accept(p, T_ELSE))
        n->c = body(p);
    else
        p->lex = saved;
    return n;
}

static struct awk_node *while_statement(struct parser *p)
{
    struct awk_node *n = node(p, N_WHILE);
    advance(p);
    n->a = condition(p);
    n->b = body(p);
    return n;
}

static struct awk_node *do_statement(struct parser *p)
{
    struct awk_node *n = node(p, N_DO);
    advance(p);
    n->b = body(p);
    skip_terminators(p);
    expect(p, T_WHILE, "syntax error: do without while");
    n->a = condition(p);
    return n;
}

/* for (v in array); NULL and nothing consumed if it is the other kind. */
static struct awk_node *for_in(struct parser *p)
{
    struct awk_lexer saved = p->lex;
    if (!at(p, T_NAME))
        return NULL;
    struct awk_node *var = name_node(p, p->lex.value);
    advance(p);
    if (accept(p, T_IN) && at(p, T_NAME)) {
        struct awk_node *n = node(p, N_FOR_IN);
        n->a = var;
        n->b = name_node(p, p->lex.value);
        advance(p);
        if (accept(p, ')')) {
            n->c = body(p);
            return n;
        }
    }
    p->lex = saved;
    return NULL;
}

static struct awk_node *for_statement(struct parser *p)
{
    advance(p);
    expect(p, '(', "syntax error: missing (");
    struct awk_node *n = for_in(p);
    if (n)
        return n;
    n = node(p, N_FOR);
    if (!at(p, ';'))
        n->a = simple_statement(p);
    expect(p, ';', "syntax error: for needs two ;");
    skip_newlines(p);
    if (!at(p, ';'))
        n->b = expression(p);
    expect(p, ';', "syntax error: for needs two ;");
    skip_newlines(p);
    if (!at(p, ')'))
        n->c = simple_statement(p);
    expect(p, ')', "syntax error: missing )");
    n->d = body(p);
    return n;
}

static struct awk_node *case_clause(struct parser *p)
{
    struct awk_node *n = node(p, N_CASE);
    if (accept(p, T_CASE))
        n->a = at(p, '/') ? regex_literal(p) : unary(p);
    else
        expect(p, T_DEFAULT, "syntax error: case or default is missing");
    expect(p, ':', "syntax error: missing :");
    skip_terminators(p);
    struct awk_node *b = node(p, N_BLOCK);
    struct awk_node **list = NULL;
    size_t cap = 0;
    while (!at(p, T_CASE) && !at(p, T_DEFAULT) && !at(p, '}') && !at(p, T_END)) {
        GROW(list, b->count, cap);
        list[b->count++] = statement(p);
        skip_terminators(p);
    }
    b->list = arena_alloc(p->program->arena, (b->count + 1) * sizeof(*list));
    if (b->count)
        memcpy(b->list, list, b->count * sizeof(*list));
    free(list);
    n->b = b;
    return n;
}

static struct awk_node *switch_statement(struct parser *p)
{
    struct awk_node *n = node(p, N_SWITCH);
    advance(p);
    n->a = condition(p);
    skip_newlines(p);
    expect(p, '{', "syntax error: missing {");
    skip_terminators(p);
    struct awk_node **list = NULL;
    size_t cap = 0;
    while (!at(p, '}') && !at(p, T_END)) {
        GROW(list, n->count, cap);
        list[n->count++] = case_clause(p);
    }
    n->list = arena_alloc(p->program->arena, (n->count + 1) * sizeof(*list));
    if (n->count)
        memcpy(n->list, list, n->count * sizeof(*list));
    free(list);
    expect(p, '}', "syntax error: missing }");
    return n;
}

static struct awk_node *compound(struct parser *p)
{
    switch (p->lex.token) {
    case '{':
        return block(p);
    case T_IF:
        return if_statement(p);
    case T_WHILE:
        return while_statement(p);
    case T_FOR:
        return for_statement(p);
    case T_SWITCH:
        return switch_statement(p);
    default:
        return NULL;
    }
}

static struct awk_node *statement(struct parser *p)
{
    if (++p->depth > MAX_NESTING) {
        fail(p, "statements are nested too deep");
        p->depth--;
        return node(p, N_BLOCK);
    }
    struct awk_node *n = compound(p);
    if (!n) {
        n = at(p, T_DO) ? do_statement(p) : simple_statement(p);
        end_of_statement(p);
    }
    p->depth--;
    return n;
}

/* --- rules and functions
 * ------------------------------------------------------------------ */

static void function_definition(struct parser *p)
{
    advance(p);
    if (!at(p, T_NAME) && !at(p, T_FUNC_NAME))
        fail(p, "syntax error: a function needs a name");
    size_t slot = function_slot(p->program, p->lex.value);
    advance(p);
    expect(p, '(', "syntax error: missing (");
    struct str names[256];
    size_t count = 0;
    for (skip_newlines(p); at(p, T_NAME) && count < ARRAY_LEN(names);) {
        names[count++] = p->lex.value;
        advance(p);
        skip_newlines(p);
        if (!accept(p, ','))
            break;
        skip_newlines(p);
    }
    expect(p, ')', "syntax error: missing ) after the parameters");
    skip_newlines(p);
    if (!p->failed && p->program->functions[slot].body)
        fail(p, "function name previously defined");
    p->parameters = names;
    p->parameter_count = count;
    struct awk_node *b = block(p);
    p->parameters = NULL;
    p->parameter_count = 0;
    p->program->functions[slot].parameters = count;
    p->program->functions[slot].body = b;
}

static void add_rule(struct parser *p, struct awk_rule rule)
{
    struct awk_program *g = p->program;
    GROW(g->rules, g->rule_count, g->rule_cap);
    g->rules[g->rule_count++] = rule;
}

static void rule(struct parser *p)
{
    struct awk_rule r = { .type = RULE_MAIN };
    switch (p->lex.token) {
    case T_FUNCTION:
        function_definition(p);
        return;
    case T_BEGIN:
        r.type = RULE_BEGIN;
        break;
    case T_END_RULE:
        r.type = RULE_END;
        break;
    case T_BEGINFILE:
        r.type = RULE_BEGINFILE;
        break;
    case T_ENDFILE:
        r.type = RULE_ENDFILE;
        break;
    default:
        break;
    }
    if (r.type != RULE_MAIN) {
        advance(p);
        if (!at(p, '{'))
            fail(p, "BEGIN and END blocks must have an action part");
    } else if (!at(p, '{')) {
        r.from = expression(p);
        if (accept(p, ',')) {
            skip_newlines(p);
            r.to = expression(p);
        }
    }
    if (at(p, '{'))
        r.body = block(p);
    add_rule(p, r);
}

static bool check_functions(struct parser *p)
{
    for (size_t i = 0; i < p->program->function_count; i++) {
        const struct awk_function *f = &p->program->functions[i];
        if (f->body)
            continue;
        cmd_err(p->cmd, "fatal: function `%.*s' not defined", STR_ARG(f->name));
        p->program->is_incomplete = true;
        return false;
    }
    return true;
}

bool awk_parse(struct cmd *c, struct awk_program *program, struct str text)
{
    if (text.len > AWK_MAX_PROGRAM) {
        cmd_err(c, "the program is larger than %zu bytes", (size_t)AWK_MAX_PROGRAM);
        return false;
    }
    awk_global_slot(program, STR("NF"));
    struct parser p = { .cmd = c, .program = program };
    /* A copy, so that it ends with a NUL for the searches in the lexer. */
    p.lex = (struct awk_lexer){
        .text = arena_str(program->arena, text), .line = 1, .arena = program->arena
    };
    advance(&p);
    for (skip_terminators(&p); !at(&p, T_END); skip_terminators(&p))
        rule(&p);
    return !p.failed && check_functions(&p);
}
