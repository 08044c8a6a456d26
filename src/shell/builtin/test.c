/* test and [ : POSIX's rules for up to four arguments, bash's grammar beyond. */
#include "shell/filetest.h"
#include "shell/state.h"

#define MAX_NESTING 1000

struct test {
    struct cmd *c;
    char **args;
    int count, at;
    int depth;
    bool failed;
};

static bool fail(struct test *t, const char *subject, const char *message)
{
    if (!t->failed) {
        if (subject)
            cmd_err(t->c, "%s: %s", subject, message);
        else
            cmd_err(t->c, "%s", message);
    }
    t->failed = true;
    return false;
}

static bool is_unary(const char *op)
{
    return op[0] == '-' && op[1] && !op[2] && filetest_is_unary(op[1]);
}

static const struct {
    const char *name;
    enum cond_op op;
} binary_ops[] = {
    { "=", COND_EQ },
    { "==", COND_EQ },
    { "!=", COND_NE },
    { "<", COND_LESS },
    { ">", COND_GREATER },
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

static bool find_binary(const char *name, enum cond_op *op)
{
    for (size_t i = 0; i < ARRAY_LEN(binary_ops); i++)
        if (name[0] == binary_ops[i].name[0] && !strcmp(name, binary_ops[i].name)) {
            *op = binary_ops[i].op;
            return true;
        }
    return false;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n';
}

static bool number(struct test *t, const char *text, int64_t *out)
{
    struct str s = str_of(text);
    while (s.len && is_blank(s.data[0]))
        s = str_from(s, 1);
    while (s.len && is_blank(s.data[s.len - 1]))
        s.len--;
    return str_int(s, out) || fail(t, text, "integer expression expected");
}

static bool compare(struct test *t, enum cond_op op, const char *left, const char *right)
{
    int64_t a, b;
    if (!number(t, left, &a) || !number(t, right, &b))
        return false;
    int order = (a > b) - (a < b);
    return op == COND_NUM_EQ   ? order == 0
           : op == COND_NUM_NE ? order != 0
           : op == COND_NUM_LT ? order < 0
           : op == COND_NUM_LE ? order <= 0
           : op == COND_NUM_GT ? order > 0
                               : order >= 0;
}

static bool binary(struct test *t, enum cond_op op, const char *left, const char *right)
{
    struct str a = str_of(left), b = str_of(right);
    if (op == COND_EQ || op == COND_NE)
        return str_eq(a, b) == (op == COND_EQ);
    if (op == COND_LESS || op == COND_GREATER)
        return op == COND_LESS ? str_cmp(a, b) < 0 : str_cmp(a, b) > 0;
    if (op >= COND_NUM_EQ && op <= COND_NUM_GE)
        return compare(t, op, left, right);
    return filetest_pair(t->c->shell, op, a, b);
}

static bool unary(struct test *t, const char *op, const char *operand)
{
    if (op[1] == 't') {
        int64_t fd;
        if (!number(t, operand, &fd))
            return false;
    }
    return filetest_unary(t->c->shell, op[1], str_of(operand));
}

static bool parse_or(struct test *t);

static const char *peek(const struct test *t, int ahead)
{
    return t->at + ahead < t->count ? t->args[t->at + ahead] : NULL;
}

static bool parse_group(struct test *t)
{
    t->at++;
    bool value = parse_or(t);
    const char *close = peek(t, 0);
    if (!close)
        return fail(t, NULL, "`)' expected");
    if (strcmp(close, ")"))
        return fail(t, NULL, arena_printf(t->c->arena, "`)' expected, found %s", close));
    t->at++;
    return value;
}

static bool parse_primary(struct test *t)
{
    const char *first = peek(t, 0), *second = peek(t, 1), *third = peek(t, 2);
    enum cond_op op;
    if (t->failed)
        return false;
    if (!first)
        return fail(t, NULL, "argument expected");
    if (second && third && find_binary(second, &op)) {
        t->at += 3;
        return binary(t, op, first, third);
    }
    if (!strcmp(first, "("))
        return parse_group(t);
    if (is_unary(first) && second) {
        t->at += 2;
        return unary(t, first, second);
    }
    if (first[0] == '-' && first[1] && !first[2] && second && strcmp(second, "-a") &&
            strcmp(second, "-o"))
        return fail(t, first, "unary operator expected");
    t->at++;
    return first[0] != 0;
}

static bool parse_not(struct test *t)
{
    bool negated = false;
    while (peek(t, 0) && !strcmp(peek(t, 0), "!")) {
        negated = !negated;
        t->at++;
    }
    return parse_primary(t) != negated;
}

static bool parse_and(struct test *t)
{
    bool value = parse_not(t);
    while (!t->failed && peek(t, 0) && !strcmp(peek(t, 0), "-a")) {
        t->at++;
        value &= parse_not(t);
    }
    return value;
}

static bool parse_or(struct test *t)
{
    if (++t->depth > MAX_NESTING)
        return fail(t, NULL, "too many nested parentheses");
    bool value = parse_and(t);
    while (!t->failed && peek(t, 0) && !strcmp(peek(t, 0), "-o")) {
        t->at++;
        value |= parse_and(t);
    }
    t->depth--;
    return value;
}

static bool parse_long(struct test *t)
{
    bool value = parse_or(t);
    if (!t->failed && t->at < t->count)
        return fail(t, NULL, "too many arguments");
    return value;
}

static bool one(const char *arg)
{
    return arg[0] != 0;
}

static bool two(struct test *t, char **a)
{
    if (!strcmp(a[0], "!"))
        return !one(a[1]);
    if (is_unary(a[0]))
        return unary(t, a[0], a[1]);
    return fail(t, a[0], "unary operator expected");
}

static bool three(struct test *t, char **a)
{
    enum cond_op op;
    if (find_binary(a[1], &op))
        return binary(t, op, a[0], a[2]);
    if (!strcmp(a[1], "-a"))
        return one(a[0]) && one(a[2]);
    if (!strcmp(a[1], "-o"))
        return one(a[0]) || one(a[2]);
    if (!strcmp(a[0], "!"))
        return !two(t, a + 1);
    if (!strcmp(a[0], "(") && !strcmp(a[2], ")"))
        return one(a[1]);
    return fail(t, a[1], "binary operator expected");
}

static bool four(struct test *t, char **a)
{
    if (!strcmp(a[0], "!"))
        return !three(t, a + 1);
    if (!strcmp(a[0], "(") && !strcmp(a[3], ")"))
        return two(t, a + 1);
    return parse_long(t);
}

static bool evaluate(struct test *t)
{
    switch (t->count) {
    case 0:
        return false;
    case 1:
        return one(t->args[0]);
    case 2:
        return two(t, t->args);
    case 3:
        return three(t, t->args);
    case 4:
        return four(t, t->args);
    default:
        return parse_long(t);
    }
}

static int cmd_test(struct cmd *c)
{
    struct test t = { .c = c, .args = c->argv + 1, .count = c->argc - 1 };
    if (!strcmp(c->argv[0], "[")) {
        if (!t.count || strcmp(t.args[t.count - 1], "]")) {
            cmd_err(c, "missing `]'");
            return 2;
        }
        t.count--;
    }
    bool value = evaluate(&t);
    return t.failed ? 2 : !value;
}

const struct command command_test = { .name = "test",
    .run = cmd_test,
    .usage = "[EXPRESSION]",
    .summary = "Evaluate a condition: status 0 if it holds, 1 if not.",
    .flags = CMD_BUILTIN };

const struct command command_bracket = { .name = "[",
    .run = cmd_test,
    .usage = "[EXPRESSION] ]",
    .summary = "Evaluate a condition: status 0 if it holds, 1 if not.",
    .flags = CMD_BUILTIN };
