#include "base/utf8.h"
#include "search/regex.h"
#include "shell/builtin/quote.h"

#include <errno.h>

/* 0: true; 1: empty or zero; 2: no expression */
enum { SYNTAX = 2, MAX_DEPTH = 200 };

static const struct cmd_opt options[] = { { 0 } };

struct expr {
    struct cmd *c;
    char **args;
    int count, at;
    int depth;
    bool failed; /* reported */
};

static const char *parse_or(struct expr *e);

static const char *fail(struct expr *e, const char *fmt, const char *subject)
{
    if (!e->failed)
        cmd_err(e->c, "%s%s", fmt, subject ? quote(e->c, subject) : "");
    e->failed = true;
    return "";
}

static bool is_next(const struct expr *e, const char *word)
{
    return e->at < e->count && !strcmp(e->args[e->at], word);
}

static bool take(struct expr *e, const char *word)
{
    bool next = is_next(e, word);
    e->at += next;
    return next;
}

static bool is_null(const char *value)
{
    if (!*value)
        return true;
    const char *at = value + (*value == '-');
    return *at && !at[strspn(at, "0")];
}

static bool to_integer(const char *value, int64_t *out)
{
    return *value != '+' && str_int(str_of(value), out);
}

static const char *from_integer(struct expr *e, int64_t n)
{
    return arena_printf(e->c->arena, "%lld", (long long)n);
}

static const char *match(struct expr *e, const char *text, const char *pattern)
{
    struct regex *re;
    struct error err;
    struct regex_match m;
    if (!regex_compile(str_of(pattern), REGEX_BASIC, 0, &re, &err))
        return fail(e, err.message, NULL);
    struct str subject = str_of(text);
    bool found = regex_search(re, subject, 0, false, &m) == REGEX_YES && m.start[0] == 0;
    bool grouped = regex_groups(re) > 0;
    const char *value = grouped ? "" : "0";
    if (found && grouped && m.groups > 1 && m.start[1] >= 0)
        value = arena_cstr(e->c->arena,
                str_sub(subject, (size_t)m.start[1], (size_t)(m.end[1] - m.start[1])));
    else if (found && !grouped)
        value = from_integer(
                e, (int64_t)utf8_count(str_sub(subject, 0, (size_t)m.end[0])));
    regex_destroy(re);
    return value;
}

static const char *substring(
        struct expr *e, const char *text, const char *from, const char *len)
{
    int64_t start, count;
    if (!to_integer(from, &start) || !to_integer(len, &count) || start < 1 || count < 1)
        return "";
    struct str s = str_of(text);
    s = str_from(s, utf8_offset(s, (size_t)start - 1));
    return arena_cstr(e->c->arena, str_sub(s, 0, utf8_offset(s, (size_t)count)));
}

static const char *index_of(struct expr *e, const char *text, const char *set)
{
    struct str s = str_of(text);
    int64_t position = 1;
    for (size_t i = 0, len; i < s.len; i += len, position++) {
        uint32_t code;
        len = utf8_decode(str_from(s, i), &code);
        len = len ? len : 1;
        if (memmem(set, strlen(set), s.data + i, len))
            return from_integer(e, position);
    }
    return "0";
}

static const char *operand(struct expr *e)
{
    if (e->at >= e->count)
        return fail(e, "syntax error: missing argument after ", e->args[e->count - 1]);
    return e->args[e->at++];
}

static const char *parse_primary(struct expr *e)
{
    if (take(e, "+"))
        return operand(e);
    if (!take(e, "("))
        return operand(e);
    if (++e->depth > MAX_DEPTH)
        return fail(e, "expression is nested too deeply", NULL);
    const char *value = parse_or(e);
    e->depth--;
    if (!e->failed && !take(e, ")"))
        return e->at < e->count ? fail(e, "syntax error: expecting ')' instead of ",
                                          e->args[e->at])
                                : fail(e, "syntax error: expecting ')' after ",
                                          e->args[e->at - 1]);
    return value;
}

static const char *parse_function(struct expr *e)
{
    if (e->depth++ > MAX_DEPTH)
        return fail(e, "expression is nested too deeply", NULL);
    const char *value;
    if (take(e, "match")) {
        const char *text = parse_function(e), *pattern = parse_function(e);
        value = e->failed ? "" : match(e, text, pattern);
    } else if (take(e, "substr")) {
        const char *text = parse_function(e), *from = parse_function(e);
        value = substring(e, text, from, parse_function(e));
    } else if (take(e, "index")) {
        const char *text = parse_function(e);
        value = index_of(e, text, parse_function(e));
    } else if (take(e, "length")) {
        value = from_integer(e, (int64_t)utf8_count(str_of(parse_function(e))));
    } else {
        value = parse_primary(e);
    }
    e->depth--;
    return value;
}

static const char *parse_match(struct expr *e)
{
    const char *value = parse_function(e);
    while (!e->failed && take(e, ":")) {
        const char *pattern = parse_function(e);
        if (!e->failed)
            value = match(e, value, pattern);
    }
    return value;
}

static const char *calculate(struct expr *e, char op, const char *a, const char *b)
{
    int64_t x, y, result = 0;
    if (!to_integer(a, &x) || !to_integer(b, &y))
        return fail(e, "non-integer argument", NULL);
    if ((op == '/' || op == '%') && !y)
        return fail(e, "division by zero", NULL);
    bool overflow = false;
    if (op == '+')
        overflow = __builtin_add_overflow(x, y, &result);
    else if (op == '-')
        overflow = __builtin_sub_overflow(x, y, &result);
    else if (op == '*')
        overflow = __builtin_mul_overflow(x, y, &result);
    else if (y == -1) /* the quotient of the smallest number does not fit */
        overflow = op == '/' && __builtin_sub_overflow(0, x, &result);
    else
        result = op == '/' ? x / y : x % y;
    return overflow ? fail(e, errno_text(ERANGE), NULL) : from_integer(e, result);
}

static const char *parse_product(struct expr *e)
{
    const char *value = parse_match(e);
    while (!e->failed && (is_next(e, "*") || is_next(e, "/") || is_next(e, "%"))) {
        char op = e->args[e->at++][0];
        const char *right = parse_match(e);
        if (!e->failed)
            value = calculate(e, op, value, right);
    }
    return value;
}

static const char *parse_sum(struct expr *e)
{
    const char *value = parse_product(e);
    while (!e->failed && (is_next(e, "+") || is_next(e, "-"))) {
        char op = e->args[e->at++][0];
        const char *right = parse_product(e);
        if (!e->failed)
            value = calculate(e, op, value, right);
    }
    return value;
}

static const char *parse_comparison(struct expr *e)
{
    static const char *const ops[] = { "<", "<=", "=", "==", "!=", ">=", ">" };
    const char *value = parse_sum(e);
    for (size_t i = 0; !e->failed && i < ARRAY_LEN(ops); i++) {
        if (!take(e, ops[i]))
            continue;
        const char *right = parse_sum(e);
        int64_t x, y;
        int order = to_integer(value, &x) && to_integer(right, &y) ? (x > y) - (x < y)
                                                                   : strcmp(value, right);
        bool holds = i == 0   ? order < 0
                     : i == 1 ? order <= 0
                     : i <= 3 ? !order
                     : i == 4 ? order != 0
                     : i == 5 ? order >= 0
                              : order > 0;
        value = holds ? "1" : "0";
        i = (size_t)-1; /* a further comparison may follow */
    }
    return value;
}

static const char *parse_and(struct expr *e)
{
    const char *value = parse_comparison(e);
    while (!e->failed && take(e, "&")) {
        const char *right = parse_comparison(e);
        value = is_null(value) || is_null(right) ? "0" : value;
    }
    return value;
}

static const char *parse_or(struct expr *e)
{
    const char *value = parse_and(e);
    while (!e->failed && take(e, "|")) {
        const char *right = parse_and(e);
        if (is_null(value))
            value = is_null(right) ? "0" : right;
    }
    return value;
}

static int cmd_expr(struct cmd *c)
{
    struct expr e = { .c = c, .args = c->argv + 1, .count = c->argc - 1 };
    if (e.count && !strcmp(e.args[0], "--")) {
        e.args++;
        e.count--;
    }
    if (e.count < 1) {
        cmd_err(c, "missing operand");
        return try_help(c, SYNTAX);
    }
    const char *value = parse_or(&e);
    if (!e.failed && e.at < e.count)
        fail(&e, "syntax error: unexpected argument ", e.args[e.at]);
    if (e.failed)
        return SYNTAX;
    return cmd_printf(c, "%s\n", value) && !is_null(value) ? 0 : 1;
}

const struct command command_expr = {
    "expr",
    cmd_expr,
    options,
    "EXPRESSION",
    "Print the value of an expression of words: + - * / % < = > | & : match substr.",
    0,
};
