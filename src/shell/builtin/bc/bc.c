/*
 * bc.c - the language of bc without functions, arrays and bases: it is run while it is
 * read.  What a condition leaves out is read too, with nothing done; a loop goes back to
 * where its text began.
 */
#include "shell/builtin/bc/decimal.h"
#include "shell/builtin/input.h"

#include <ctype.h>

#define MAX_NESTED 200
#define MAX_SCALE  100000
#define MAX_NAMES  1024
#define LINE_WIDTH 68

static const struct cmd_opt options[] = {
    { 'q', "quiet", ARG_NONE, NULL, "(as always here)" },
    { 's', "standard", ARG_NONE, NULL, "(understood)" },
    { 0 },
};

struct variable {
    struct str name;
    struct decimal value;
};

struct bc {
    struct cmd *c;
    struct decimals d;
    struct str text;
    size_t at;
    bool skip;   /* read without doing anything */
    bool failed; /* the rest of the line is dropped */
    bool quit, breaking;
    int nested;
    size_t scale;
    struct variable names[MAX_NAMES];
    size_t name_count;
};

static struct decimal expression(struct bc *b, int level);
static void statement(struct bc *b);

static char look(struct bc *b)
{
    while (b->at < b->text.len) {
        struct str rest = str_from(b->text, b->at);
        if (rest.data[0] == ' ' || rest.data[0] == '\t')
            b->at++;
        else if (str_starts(rest, STR("\\\n")))
            b->at += 2;
        else if (str_starts(rest, STR("/*")))
            for (b->at += 2; b->at < b->text.len; b->at++) {
                if (str_starts(str_from(b->text, b->at), STR("*/"))) {
                    b->at += 2;
                    break;
                }
            }
        else if (rest.data[0] == '#')
            while (b->at < b->text.len && b->text.data[b->at] != '\n')
                b->at++;
        else
            return rest.data[0];
    }
    return 0;
}

static bool accept(struct bc *b, const char *token)
{
    look(b);
    if (!str_starts(str_from(b->text, b->at), str_of(token)))
        return false;
    b->at += strlen(token);
    return true;
}

static struct decimal fail(struct bc *b, const char *message)
{
    size_t line = 1;
    for (size_t i = 0; i < b->at && i < b->text.len; i++)
        line += b->text.data[i] == '\n';
    if (!b->failed)
        cmd_err(b->c, "line %zu: %s", line, message);
    b->failed = true;
    return decimal_from_int(&b->d, 0);
}

static bool is_name(char ch)
{
    return islower((unsigned char)ch) || isdigit((unsigned char)ch) || ch == '_';
}

static struct str read_name(struct bc *b)
{
    size_t from = b->at;
    while (b->at < b->text.len && is_name(b->text.data[b->at]))
        b->at++;
    return str_sub(b->text, from, b->at - from);
}

static bool keyword(struct bc *b, const char *word)
{
    look(b);
    size_t from = b->at;
    if (islower((unsigned char)look(b)) && str_is(read_name(b), word))
        return true;
    b->at = from;
    return false;
}

static void expect(struct bc *b, const char *token)
{
    if (!b->failed && !accept(b, token))
        fail(b, "syntax error");
}

static struct variable *find(struct bc *b, struct str name)
{
    for (size_t i = 0; i < b->name_count; i++)
        if (str_eq(b->names[i].name, name))
            return &b->names[i];
    if (b->name_count == MAX_NAMES) {
        fail(b, "too many variables");
        return &b->names[0];
    }
    struct variable *v = &b->names[b->name_count++];
    *v = (struct variable){ name, decimal_from_int(&b->d, 0) };
    return v;
}

static struct decimal get(struct bc *b, struct str name)
{
    return str_is(name, "scale") ? decimal_from_int(&b->d, (int64_t)b->scale)
                                 : find(b, name)->value;
}

static void set(struct bc *b, struct str name, struct decimal value)
{
    int64_t n;
    if (b->skip || b->failed)
        return;
    if (!str_is(name, "scale"))
        find(b, name)->value = value;
    else if (decimal_to_int(value, &n) && n >= 0 && n <= MAX_SCALE)
        b->scale = (size_t)n;
    else
        fail(b, "scale out of range");
}

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

static struct decimal power(struct bc *b, struct decimal base, struct decimal exponent)
{
    int64_t n;
    if (!decimal_to_int(exponent, &n) || n > 1000000 || n < -1000000)
        return fail(b, "exponent too large");
    uint64_t count = (uint64_t)(n < 0 ? -n : n);
    size_t most = larger(b->scale, base.scale);
    size_t scale = base.scale * count < most ? base.scale * count : most;
    struct decimal result = decimal_from_int(&b->d, 1);
    for (uint64_t rest = count; rest && cmd_tick(b->c); rest >>= 1) {
        if (rest & 1)
            result = decimal_mul(&b->d, result, base, SIZE_MAX);
        if (rest > 1)
            base = decimal_mul(&b->d, base, base, SIZE_MAX);
    }
    if (n >= 0)
        return result.scale > scale ? decimal_rescale(&b->d, result, scale) : result;
    if (decimal_is_zero(result))
        return fail(b, "divide by zero");
    return decimal_div(&b->d, decimal_from_int(&b->d, 1), result, b->scale);
}

static struct decimal compute(struct bc *b, char op, struct decimal x, struct decimal y)
{
    struct decimals *d = &b->d;
    if (b->skip || b->failed || budget_stopped(b->c->budget))
        return x;
    if ((op == '/' || op == '%') && decimal_is_zero(y))
        return fail(b, "divide by zero");
    switch (op) {
    case '+':
        return decimal_add(d, x, y);
    case '-':
        return decimal_sub(d, x, y);
    case '*': {
        size_t most = larger(b->scale, larger(x.scale, y.scale));
        return decimal_mul(d, x, y, x.scale + y.scale < most ? x.scale + y.scale : most);
    }
    case '/':
        return decimal_div(d, x, y, b->scale);
    case '%': {
        struct decimal q = decimal_div(d, x, y, b->scale);
        size_t scale = larger(b->scale + y.scale, x.scale);
        struct decimal rest = decimal_sub(d, x, decimal_mul(d, q, y, SIZE_MAX));
        return decimal_rescale(d, rest, scale);
    }
    default:
        return power(b, x, y);
    }
}

static struct decimal call(struct bc *b, struct str name)
{
    struct decimal x = expression(b, 0);
    expect(b, ")");
    if (b->skip || b->failed)
        return x;
    if (str_is(name, "scale"))
        return decimal_from_int(&b->d, (int64_t)x.scale);
    if (str_is(name, "length"))
        return decimal_from_int(&b->d, x.count ? (int64_t)x.count : 1);
    if (!str_is(name, "sqrt"))
        return fail(b, "there are no functions here but length, scale and sqrt");
    if (x.negative)
        return fail(b, "square root of a negative number");
    return decimal_sqrt(&b->d, x, larger(b->scale, x.scale));
}

/* A variable: its value, or what is assigned to it. */
static struct decimal variable(struct bc *b)
{
    struct str name = read_name(b);
    struct decimal old, one = decimal_from_int(&b->d, 1);
    if (accept(b, "("))
        return call(b, name);
    old = get(b, name);
    if (accept(b, "++")) {
        set(b, name, compute(b, '+', old, one));
        return old;
    }
    if (accept(b, "--")) {
        set(b, name, compute(b, '-', old, one));
        return old;
    }
    char op = look(b);
    struct str rest = str_from(b->text, b->at);
    bool assigns = op == '=' && !str_starts(rest, STR("=="));
    bool computes = op && strchr("+-*/%^", op) && rest.len > 1 && rest.data[1] == '=';
    if (!assigns && !computes)
        return old;
    b->at += computes ? 2 : 1;
    struct decimal value = expression(b, 0);
    if (computes)
        value = compute(b, op, old, value);
    set(b, name, value);
    return value;
}

static struct decimal primary(struct bc *b)
{
    char ch = look(b);
    size_t from = b->at;
    if (accept(b, "(")) {
        struct decimal x = expression(b, 0);
        expect(b, ")");
        return x;
    }
    if (islower((unsigned char)ch))
        return variable(b);
    bool point = false;
    for (; b->at < b->text.len; b->at++) {
        ch = b->text.data[b->at];
        if (!isdigit((unsigned char)ch) && (ch != '.' || point))
            break;
        point |= ch == '.';
    }
    if (b->at == from || (b->at == from + 1 && point))
        return fail(b, "syntax error");
    return decimal_parse(&b->d, str_sub(b->text, from, b->at - from));
}

static int level_of(char op)
{
    return op == '+' || op == '-' ? 1 : op == '*' || op == '/' || op == '%' ? 2 : 3;
}

/* The operator at this place if it binds at least as much as `level`, or 0. */
static char operator_at(struct bc *b, int level)
{
    char op = look(b);
    return op && strchr("+-*/%^", op) && level_of(op) >= level ? op : 0;
}

static struct decimal operation(struct bc *b, int level)
{
    struct decimal x;
    if (b->nested >= MAX_NESTED)
        return fail(b, "nested too deeply");
    b->nested++;
    x = accept(b, "-") ? decimal_negate(operation(b, 4)) : primary(b);
    for (char op; !b->failed && cmd_tick(b->c) && (op = operator_at(b, level));) {
        b->at++;
        x = compute(b, op, x, operation(b, level_of(op) + (op != '^')));
    }
    b->nested--;
    return x;
}

static struct decimal expression(struct bc *b, int level)
{
    static const char *const comparisons[] = { "==", "<=", ">=", "!=", "<", ">" };
    struct decimal x = operation(b, level + 1);
    for (size_t i = 0; !b->failed && i < ARRAY_LEN(comparisons); i++) {
        if (!accept(b, comparisons[i]))
            continue;
        int order = decimal_cmp(x, operation(b, 1));
        const bool results[] = { !order, order <= 0, order >= 0, order != 0,
            order<0, order> 0 };
        return decimal_from_int(&b->d, results[i]);
    }
    return x;
}

static bool put_number(struct bc *b, struct decimal x)
{
    auto_buf text = BUF(SIZE_MAX / 4);
    decimal_print(x, &text);
    struct str rest = buf_str(&text);
    for (; rest.len > LINE_WIDTH + 1; rest = str_from(rest, LINE_WIDTH))
        if (!cmd_put(b->c, str_sub(rest, 0, LINE_WIDTH)) || !cmd_put(b->c, STR("\\\n")))
            return false;
    return cmd_put(b->c, rest);
}

static void string(struct bc *b)
{
    size_t from = ++b->at;
    while (b->at < b->text.len && b->text.data[b->at] != '"')
        b->at++;
    struct str text = str_sub(b->text, from, b->at - from);
    b->at += b->at < b->text.len;
    for (size_t i = 0; !b->skip && i < text.len; i++) {
        bool newline =
                text.data[i] == '\\' && i + 1 < text.len && text.data[i + 1] == 'n';
        i += newline;
        if (!cmd_putc(b->c, newline ? '\n' : text.data[i]))
            return;
    }
}

static void print(struct bc *b)
{
    do {
        if (look(b) == '"') {
            string(b);
            continue;
        }
        struct decimal x = expression(b, 0);
        if (!b->skip && !b->failed && !put_number(b, x))
            return;
    } while (!b->failed && accept(b, ","));
}

static bool goes_on(struct bc *b)
{
    return !b->failed && !b->quit && !b->c->out_failed && cmd_tick(b->c);
}

static void body(struct bc *b)
{
    while (look(b) == '\n')
        b->at++;
    statement(b);
}

static void if_statement(struct bc *b)
{
    bool skip = b->skip;
    expect(b, "(");
    bool holds = !decimal_is_zero(expression(b, 0));
    expect(b, ")");
    b->skip = skip || !holds || b->breaking;
    body(b);
    size_t end = b->at;
    while (look(b) == '\n' || look(b) == ';')
        b->at++;
    if (keyword(b, "else")) {
        b->skip = skip || holds || b->breaking;
        body(b);
    } else {
        b->at = end;
    }
    b->skip = skip || b->breaking;
}

/* `test`, `step`: where their text begins; the body follows the closing bracket. */
static void loop(struct bc *b, size_t test, size_t step, size_t start)
{
    bool skip = b->skip, holds = true;
    while (holds && goes_on(b)) {
        b->at = test;
        holds = look(b) == ';' || !decimal_is_zero(expression(b, 0));
        b->skip = skip || !holds;
        b->at = start;
        body(b);
        size_t end = b->at;
        holds = holds && !b->breaking && !skip;
        if (holds && step && !b->failed) {
            b->at = step;
            if (look(b) != ')')
                expression(b, 0);
        }
        b->at = end;
        if (arena_size(b->d.arena) > b->c->budget->max_memory)
            budget_stop(b->c->budget, BUDGET_MEMORY);
    }
    b->breaking = false;
    b->skip = skip;
}

static void while_statement(struct bc *b)
{
    bool skip = b->skip;
    expect(b, "(");
    size_t test = b->at;
    b->skip = true;
    expression(b, 0);
    b->skip = skip;
    expect(b, ")");
    loop(b, test, 0, b->at);
}

static void for_statement(struct bc *b)
{
    bool skip = b->skip;
    expect(b, "(");
    if (look(b) != ';')
        expression(b, 0);
    expect(b, ";");
    size_t test = b->at;
    b->skip = true;
    if (look(b) != ';')
        expression(b, 0);
    expect(b, ";");
    size_t step = b->at;
    if (look(b) != ')')
        expression(b, 0);
    expect(b, ")");
    b->skip = skip;
    loop(b, test, step, b->at);
}

static void block(struct bc *b)
{
    while (goes_on(b) && !accept(b, "}")) {
        if (!look(b))
            fail(b, "syntax error");
        else if (look(b) == '\n' || look(b) == ';')
            b->at++;
        else
            statement(b);
    }
}

/* Is it `name =`, whose value is not printed? */
static bool is_assignment(struct bc *b)
{
    size_t from = b->at;
    bool result = false;
    if (islower((unsigned char)look(b))) {
        read_name(b);
        char op = look(b);
        struct str rest = str_from(b->text, b->at);
        result = (op == '=' && !str_starts(rest, STR("=="))) ||
                 (op && strchr("+-*/%^", op) && rest.len > 1 && rest.data[1] == '=');
    }
    b->at = from;
    return result;
}

static void simple(struct bc *b)
{
    bool silent = is_assignment(b);
    struct decimal x = expression(b, 0);
    if (silent || b->skip || b->failed || budget_stopped(b->c->budget))
        return;
    if (put_number(b, x) && !cmd_putc(b->c, '\n'))
        b->quit = true;
}

/* What follows in the loop is read, and not done. */
static void stop_loop(struct bc *b)
{
    if (!b->skip)
        b->breaking = b->skip = true;
}

static void statement(struct bc *b)
{
    if (b->nested >= MAX_NESTED) {
        fail(b, "nested too deeply");
        return;
    }
    b->nested++;
    if (accept(b, "{"))
        block(b);
    else if (look(b) == '"')
        string(b);
    else if (keyword(b, "if"))
        if_statement(b);
    else if (keyword(b, "while"))
        while_statement(b);
    else if (keyword(b, "for"))
        for_statement(b);
    else if (keyword(b, "print"))
        print(b);
    else if (keyword(b, "quit") || keyword(b, "halt"))
        b->quit = b->quit || !b->skip;
    else if (keyword(b, "break"))
        stop_loop(b);
    else if (keyword(b, "define") || keyword(b, "auto") || keyword(b, "return"))
        fail(b, "functions cannot be defined here");
    else
        simple(b);
    b->nested--;
}

static void run(struct bc *b)
{
    while (look(b) && !b->quit && !b->c->out_failed && cmd_tick(b->c)) {
        if (look(b) == '\n' || look(b) == ';') {
            b->at++;
            continue;
        }
        statement(b);
        char next = look(b);
        if (!b->failed && next && next != '\n' && next != ';')
            fail(b, "syntax error");
        while (b->failed && b->at < b->text.len && b->text.data[b->at] != '\n')
            b->at++;
        b->failed = b->skip = b->breaking = false;
        b->nested = 0;
    }
}

static int cmd_bc(struct cmd *c)
{
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (k == CMD_BAD)
            return 1;
    auto_buf text = BUF(c->budget->max_memory);
    struct inputs in = inputs_open(c);
    while (inputs_next(&in))
        stream_read_all(in.stream, &text);
    struct bc *b = arena_zalloc(c->arena, sizeof(*b));
    b->c = c;
    b->d = (struct decimals){ c->arena, c->budget };
    b->text = buf_str(&text);
    run(b);
    return in.status;
}

const struct command command_bc = {
    "bc",
    cmd_bc,
    options,
    "[OPTION]... [FILE]...",
    "Compute with decimal numbers of any length (no functions, no arrays, no -l).",
    0,
};
