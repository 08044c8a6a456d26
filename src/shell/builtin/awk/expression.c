/* The tables of names, and expressions. */
#include "shell/builtin/awk/parse.h"

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

void awk_parse_fail(struct parser *p, const char *message)
{
    if (!p->failed)
        cmd_err(p->cmd, "line %u: %s", p->lex.line,
                p->lex.error ? p->lex.error : message);
    p->failed = true;
    p->lex.token = T_END;
    p->lex.at = p->lex.text.len;
}

bool awk_parse_enter(struct parser *p, const char *message)
{
    if (p->depth < AWK_MAX_NESTING && cmd_may_recurse(p->cmd)) {
        p->depth++;
        return true;
    }
    awk_parse_fail(p, message);
    return false;
}

bool awk_parse_at(const struct parser *p, int token)
{
    return p->lex.token == token;
}

void awk_parse_advance(struct parser *p)
{
    awk_lex(&p->lex);
    if (p->lex.token == T_BAD)
        awk_parse_fail(p, "syntax error");
}

bool awk_parse_accept(struct parser *p, int token)
{
    if (!awk_parse_at(p, token))
        return false;
    awk_parse_advance(p);
    return true;
}

void awk_parse_expect(struct parser *p, int token, const char *message)
{
    if (!awk_parse_accept(p, token))
        awk_parse_fail(p, message);
}

void awk_parse_skip_newlines(struct parser *p)
{
    while (awk_parse_at(p, T_NEWLINE))
        awk_parse_advance(p);
}

void awk_parse_skip_terminators(struct parser *p)
{
    while (awk_parse_at(p, T_NEWLINE) || awk_parse_at(p, ';'))
        awk_parse_advance(p);
}

struct awk_node *awk_parse_node(struct parser *p, enum awk_node_type type)
{
    struct awk_node *n = arena_zalloc(p->program->arena, sizeof(*n));
    n->type = type;
    n->line = p->lex.line;
    return n;
}

struct awk_node *awk_parse_node_ab(struct parser *p, enum awk_node_type type, int op,
        struct awk_node *a, struct awk_node *b)
{
    struct awk_node *n = awk_parse_node(p, type);
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

size_t awk_parse_function_slot(struct awk_program *program, struct str name)
{
    for (size_t i = 0; i < program->function_count; i++)
        if (str_eq(program->functions[i].name, name))
            return i;
    GROW(program->functions, program->function_count, program->function_cap);
    program->functions[program->function_count++] = (struct awk_function){ .name = name };
    return program->function_count - 1;
}

struct awk_node *awk_parse_name_node(struct parser *p, struct str name)
{
    for (size_t i = 0; i < p->parameter_count; i++) {
        if (str_eq(p->parameters[i], name)) {
            struct awk_node *n = awk_parse_node(p, N_LOCAL);
            n->slot = i;
            return n;
        }
    }
    struct awk_node *n = awk_parse_node(p, N_GLOBAL);
    n->slot = awk_global_slot(p->program, name);
    return n;
}

void awk_parse_set_list(struct parser *p, struct awk_node *n, struct awk_node **list)
{
    n->list = arena_alloc(p->program->arena, (n->count + 1) * sizeof(*list));
    if (n->count)
        memcpy(n->list, list, n->count * sizeof(*list));
    free(list);
}

/* `a, b, c` up to `end`, which is consumed. */
static void expression_list(struct parser *p, struct awk_node *n, int end)
{
    size_t cap = 0;
    struct awk_node **list = NULL;
    bool no_in = p->no_in, no_greater = p->no_greater;
    p->no_in = p->no_greater = false;
    awk_parse_skip_newlines(p);
    while (!awk_parse_at(p, end) && !p->failed) {
        GROW(list, n->count, cap);
        list[n->count++] = awk_parse_expression(p);
        awk_parse_skip_newlines(p);
        if (!awk_parse_at(p, ','))
            break;
        awk_parse_advance(p);
        awk_parse_skip_newlines(p);
    }
    p->no_in = no_in;
    p->no_greater = no_greater;
    awk_parse_set_list(p, n, list);
    awk_parse_expect(
            p, end, end == ')' ? "syntax error: missing )" : "syntax error: missing ]");
}

struct awk_node *awk_parse_variable(struct parser *p)
{
    struct awk_node *name = awk_parse_name_node(p, p->lex.value);
    awk_parse_advance(p);
    if (!awk_parse_accept(p, '['))
        return name;
    struct awk_node *n = awk_parse_node(p, N_INDEX);
    n->a = name;
    expression_list(p, n, ']');
    return n;
}

static struct awk_node *call(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, N_CALL);
    n->slot = awk_parse_function_slot(p->program, p->lex.value);
    awk_parse_advance(p);
    awk_parse_advance(p); /* the parenthesis, which stands right behind */
    expression_list(p, n, ')');
    return n;
}

static struct awk_node *builtin_call(struct parser *p)
{
    const struct awk_builtin_entry *e = awk_builtin_find(p->lex.value);
    struct awk_node *n = awk_parse_node(p, N_BUILTIN);
    n->slot = e->id;
    awk_parse_advance(p);
    if (awk_parse_accept(p, '('))
        expression_list(p, n, ')');
    else if (e->id != F_LENGTH)
        awk_parse_fail(p, "syntax error: a function without its arguments");
    if (!p->failed && ((int)n->count < e->least || (int)n->count > e->most)) {
        cmd_err(p->cmd, "line %u: %zu is invalid as number of arguments for %s", n->line,
                n->count, e->name);
        p->failed = true;
    }
    return n;
}

struct awk_node *awk_parse_regex_literal(struct parser *p)
{
    awk_lex_regex(&p->lex);
    if (p->lex.token == T_BAD) {
        awk_parse_fail(p, "unterminated regexp");
        return awk_parse_node(p, N_NUMBER);
    }
    struct awk_node *n = awk_parse_node(p, N_REGEX);
    set_text(p, n, p->lex.value);
    awk_parse_advance(p);
    return n;
}

/* ( expr ), or ( list ) before `in` or in a print. */
static struct awk_node *grouping(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, N_GROUP);
    awk_parse_advance(p);
    expression_list(p, n, ')');
    if (n->count == 1) {
        n->a = n->list[0];
        return n;
    }
    if (awk_parse_at(p, T_IN) && !p->no_in) {
        awk_parse_advance(p);
        struct awk_node *in = awk_parse_node(p, N_IN);
        in->list = n->list;
        in->count = n->count;
        if (!awk_parse_at(p, T_NAME))
            awk_parse_fail(p, "syntax error: an array must follow 'in'");
        in->a = awk_parse_name_node(p, p->lex.value);
        awk_parse_advance(p);
        return in;
    }
    return n;
}

static struct awk_node *getline_target(struct parser *p);

static struct awk_node *plain_getline(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, N_GETLINE);
    awk_parse_advance(p);
    n->a = getline_target(p);
    if (awk_parse_accept(p, '<')) {
        n->op = '<';
        n->b = awk_parse_concat(p);
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
    int by = awk_parse_at(p, T_INC) ? 1 : -1;
    awk_parse_advance(p);
    struct awk_node *n = awk_parse_node_ab(p, N_PRE, by, primary(p), NULL);
    if (!p->failed && !is_lvalue(n->a))
        awk_parse_fail(p, "syntax error: only a variable can be incremented");
    return n;
}

static struct awk_node *literal(struct parser *p)
{
    struct awk_node *n =
            awk_parse_node(p, awk_parse_at(p, T_NUMBER) ? N_NUMBER : N_STRING);
    if (awk_parse_at(p, T_NUMBER))
        n->number = p->lex.number;
    else
        set_text(p, n, p->lex.value);
    awk_parse_advance(p);
    return n;
}

static struct awk_node *field(struct parser *p)
{
    struct awk_node *n = awk_parse_node(p, N_FIELD);
    awk_parse_advance(p);
    if (awk_parse_at(p, T_INC) || awk_parse_at(p, T_DEC))
        n->a = pre_increment(p);
    else if (awk_parse_accept(p, '-'))
        n->a = awk_parse_node_ab(p, N_MINUS, 0, primary(p), NULL);
    else
        n->a = primary(p);
    return n;
}

static struct awk_node *operand(struct parser *p)
{
    switch (p->lex.token) {
    case T_NUMBER:
    case T_STRING:
        return literal(p);
    case '/':
        return awk_parse_regex_literal(p);
    case T_ASSIGN:
        if (p->lex.op == '/')
            return awk_parse_regex_literal(p);
        break;
    case '$':
        return field(p);
    case T_NAME:
        return awk_parse_variable(p);
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
    awk_parse_fail(p, awk_parse_at(p, T_END)
                              ? "syntax error: unexpected end of the program"
                              : "syntax error: an expression is missing");
    return awk_parse_node(p, N_NUMBER);
}

static struct awk_node *primary(struct parser *p)
{
    if (!awk_parse_enter(p, "expressions are nested too deep"))
        return awk_parse_node(p, N_NUMBER);
    struct awk_node *n = operand(p);
    p->depth--;
    return n;
}

static struct awk_node *getline_target(struct parser *p)
{
    return awk_parse_at(p, '$')      ? field(p)
           : awk_parse_at(p, T_NAME) ? awk_parse_variable(p)
                                     : NULL;
}

static struct awk_node *postfix(struct parser *p)
{
    struct awk_node *n = primary(p);
    if ((awk_parse_at(p, T_INC) || awk_parse_at(p, T_DEC)) && is_lvalue(n)) {
        int by = awk_parse_at(p, T_INC) ? 1 : -1;
        awk_parse_advance(p);
        return awk_parse_node_ab(p, N_POST, by, n, NULL);
    }
    return n;
}

struct awk_node *awk_parse_unary(struct parser *p);

/* Right to left, and tighter than the minus before it: -2^2 is -4. */
static struct awk_node *power(struct parser *p)
{
    struct awk_node *base = postfix(p);
    if (!awk_parse_at(p, T_POW))
        return base;
    awk_parse_advance(p);
    bool minus = awk_parse_at(p, '-'), plus = awk_parse_at(p, '+');
    if (minus || plus)
        awk_parse_advance(p);
    if (!awk_parse_enter(p, "expressions are nested too deep"))
        return base;
    struct awk_node *exponent = awk_parse_at(p, '!') ? awk_parse_unary(p) : power(p);
    p->depth--;
    if (minus)
        exponent = awk_parse_node_ab(p, N_MINUS, 0, exponent, NULL);
    return awk_parse_node_ab(p, N_BINARY, '^', base, exponent);
}

struct awk_node *awk_parse_unary(struct parser *p)
{
    if (!awk_parse_enter(p, "expressions are nested too deep"))
        return awk_parse_node(p, N_NUMBER);
    struct awk_node *n;
    if (awk_parse_accept(p, '!'))
        n = awk_parse_node_ab(p, N_NOT, 0, awk_parse_unary(p), NULL);
    else if (awk_parse_accept(p, '-'))
        n = awk_parse_node_ab(p, N_MINUS, 0, awk_parse_unary(p), NULL);
    else if (awk_parse_accept(p, '+'))
        n = awk_parse_node_ab(p, N_PLUS, 0, awk_parse_unary(p), NULL);
    else
        n = power(p);
    p->depth--;
    return n;
}

static struct awk_node *multiplicative(struct parser *p)
{
    struct awk_node *n = awk_parse_unary(p);
    while (awk_parse_at(p, '*') || awk_parse_at(p, '/') || awk_parse_at(p, '%')) {
        int op = p->lex.token;
        awk_parse_advance(p);
        n = awk_parse_node_ab(p, N_BINARY, op, n, awk_parse_unary(p));
    }
    return n;
}

static struct awk_node *additive(struct parser *p)
{
    struct awk_node *n = multiplicative(p);
    while (awk_parse_at(p, '+') || awk_parse_at(p, '-')) {
        int op = p->lex.token;
        awk_parse_advance(p);
        n = awk_parse_node_ab(p, N_BINARY, op, n, multiplicative(p));
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

struct awk_node *awk_parse_concat(struct parser *p)
{
    struct awk_node *n = additive(p);
    while (starts_operand(p) && !p->failed)
        n = awk_parse_node_ab(p, N_CONCAT, 0, n, additive(p));
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
    while (awk_parse_at(p, '|')) {
        struct awk_lexer saved = p->lex;
        awk_parse_advance(p);
        if (!awk_parse_at(p, T_GETLINE)) {
            p->lex = saved;
            break;
        }
        awk_parse_advance(p);
        struct awk_node *n = awk_parse_node(p, N_GETLINE);
        n->op = '|';
        n->b = left;
        n->a = getline_target(p);
        left = n;
    }
    return left;
}

static struct awk_node *comparison(struct parser *p)
{
    struct awk_node *n = simple_get(p, awk_parse_concat(p));
    int op = compare_op(p);
    if (op < 0)
        return n;
    awk_parse_advance(p);
    n = awk_parse_node_ab(p, N_COMPARE, op, n, awk_parse_concat(p));
    return simple_get(p, n);
}

static struct awk_node *matching(struct parser *p)
{
    struct awk_node *n = comparison(p);
    while (awk_parse_at(p, T_MATCH) || awk_parse_at(p, T_NO_MATCH)) {
        int op = awk_parse_at(p, T_MATCH) ? '~' : '!';
        awk_parse_advance(p);
        n = awk_parse_node_ab(p, N_MATCH, op, n, comparison(p));
    }
    return n;
}

static struct awk_node *membership(struct parser *p)
{
    struct awk_node *n = matching(p);
    while (awk_parse_at(p, T_IN) && !p->no_in) {
        awk_parse_advance(p);
        struct awk_node *in = awk_parse_node(p, N_IN);
        in->list = arena_alloc(p->program->arena, sizeof(*in->list));
        in->list[0] = n;
        in->count = 1;
        if (!awk_parse_at(p, T_NAME))
            awk_parse_fail(p, "syntax error: an array must follow 'in'");
        in->a = awk_parse_name_node(p, p->lex.value);
        awk_parse_advance(p);
        n = in;
    }
    return n;
}

static struct awk_node *conjunction(struct parser *p)
{
    struct awk_node *n = membership(p);
    while (awk_parse_accept(p, T_AND)) {
        awk_parse_skip_newlines(p);
        n = awk_parse_node_ab(p, N_AND, 0, n, membership(p));
    }
    return n;
}

static struct awk_node *disjunction(struct parser *p)
{
    struct awk_node *n = conjunction(p);
    while (awk_parse_accept(p, T_OR)) {
        awk_parse_skip_newlines(p);
        n = awk_parse_node_ab(p, N_OR, 0, n, conjunction(p));
    }
    return n;
}

static struct awk_node *ternary(struct parser *p)
{
    struct awk_node *n = disjunction(p);
    if (!awk_parse_accept(p, '?'))
        return n;
    struct awk_node *c = awk_parse_node(p, N_COND);
    c->a = n;
    awk_parse_skip_newlines(p);
    c->b = awk_parse_expression(p);
    awk_parse_skip_newlines(p);
    awk_parse_expect(p, ':', "syntax error: ? without :");
    awk_parse_skip_newlines(p);
    c->c = awk_parse_expression(p);
    return c;
}

/* `a = b` binds to the variable at the end of what was read: `1 + x = 2`, `!x = y` and
 * `$1 ~ x = y` are assignments to x in the grammar; only the plain form is written. */
struct awk_node *awk_parse_expression(struct parser *p)
{
    if (!awk_parse_enter(p, "expressions are nested too deep"))
        return awk_parse_node(p, N_NUMBER);
    struct awk_node *n = ternary(p);
    if (awk_parse_at(p, T_ASSIGN)) {
        struct awk_node *target = n->type == N_NOT ? n->a : n;
        int op = p->lex.op;
        if (!is_lvalue(target))
            awk_parse_fail(p, "syntax error: only a variable can be assigned to");
        awk_parse_advance(p);
        awk_parse_skip_newlines(p);
        struct awk_node *assign =
                awk_parse_node_ab(p, N_ASSIGN, op, target, awk_parse_expression(p));
        if (target != n)
            n->a = assign;
        else
            n = assign;
    }
    p->depth--;
    return n;
}
