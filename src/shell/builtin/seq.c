#include "shell/builtin/quote.h"

#include <math.h>
#include <stdio.h>

static const struct cmd_opt options[] = {
    { 'f', "format", ARG_REQUIRED, "FORMAT",
            "print numbers as printf's %g, %f or %e does" },
    { 's', "separator", ARG_REQUIRED, "STRING", "what is between numbers (newline)" },
    { 'w', "equal-width", ARG_NONE, NULL, "equal width, with leading zeros" },
    { 0 },
};

struct seq {
    struct cmd *c;
    long double first, step, last;
    int precision; /* digits after the point */
    int width;     /* for -w */
    bool integers; /* all of them, in the range of int64 */
    const char *separator;
    /* -f: what is before and after the number, and its conversion without '%' and 'L' */
    const char *format;
    char *before, *after, spec[32];
};

static int decimals(const char *text)
{
    const char *dot = strchr(text, '.');
    size_t n = dot ? strspn(dot + 1, "0123456789") : 0;
    const char *e = strpbrk(text, "eE");
    long power = e && !strpbrk(text, "xX") ? strtol(e + 1, NULL, 10) : 0;
    long left = (long)n - power;
    return left < 0 ? 0 : left > 100 ? 100 : (int)left;
}

/* Digits before the point, with the sign. */
static int whole_width(const char *text)
{
    size_t sign = *text == '-';
    text += strspn(text, "+ ") + sign;
    size_t n = strcspn(text, ".eE");
    return (int)(n ? n : 1) + (int)sign;
}

static bool parse_number(struct seq *s, const char *text, long double *out)
{
    char *end;
    *out = strtold(text, &end);
    if (end == text || *end) {
        cmd_err(s->c, "invalid floating point argument: %s", quote(s->c, text));
        return !try_help(s->c, 1);
    }
    if (isnan(*out)) {
        cmd_err(s->c, "invalid 'not-a-number' argument: %s", quote(s->c, text));
        return !try_help(s->c, 1);
    }
    return true;
}

/* "1": 1 1 LAST; "1 5": FIRST 1 LAST; three: FIRST STEP LAST. */
static bool parse_operands(struct seq *s)
{
    char **v = s->c->argv;
    int n = s->c->argc;
    s->first = s->step = 1;
    if (!parse_number(s, v[0], n == 1 ? &s->last : &s->first) ||
            (n > 1 && !parse_number(s, v[n - 1], &s->last)) ||
            (n > 2 && !parse_number(s, v[1], &s->step)))
        return false;
    if (!s->step) {
        cmd_err(s->c, "invalid Zero increment value: %s", quote(s->c, v[1]));
        return !try_help(s->c, 1);
    }
    int first = n > 1 ? decimals(v[0]) : 0, step = n > 2 ? decimals(v[1]) : 0;
    s->precision = first > step ? first : step;
    int width = n > 1 ? whole_width(v[0]) : 1, last = whole_width(v[n - 1]);
    s->width = (width > last ? width : last) + (s->precision ? s->precision + 1 : 0);
    const long double most = 9e18L;
    s->integers = !s->precision && truncl(s->first) == s->first &&
                  truncl(s->step) == s->step && fabsl(s->first) < most &&
                  fabsl(s->step) < most && (fabsl(s->last) < most || isinf(s->last));
    return true;
}

static bool bad_format(struct seq *s, const char *why)
{
    cmd_err(s->c, "format %s %s", quote(s->c, s->format), why);
    return false;
}

/* Takes the text up to a single '%', with "%%" made one; *at is moved to the '%' or end.
 */
static char *take_text(struct arena *arena, const char **at)
{
    auto_buf text = BUF(65536);
    for (; **at && (**at != '%' || (*at)[1] == '%'); ++*at) {
        *at += **at == '%';
        buf_addc(&text, **at);
    }
    return arena_cstr(arena, buf_str(&text));
}

static bool parse_format(struct seq *s)
{
    const char *at = s->format;
    s->before = take_text(s->c->arena, &at);
    if (!*at)
        return bad_format(s, "has no % directive");
    size_t len = 1 + strspn(at + 1, "-+ #0'");
    len += strspn(at + len, "0123456789");
    if (at[len] == '.')
        len += 1 + strspn(at + len + 1, "0123456789");
    const char *letter = at + len + (at[len] == 'L');
    if (!*letter)
        return bad_format(s, "ends in %");
    if (!strchr("efgaEFGA", *letter))
        return bad_format(
                s, arena_printf(s->c->arena, "has unknown %%%c directive", *letter));
    if (len + 3 > sizeof(s->spec))
        return bad_format(s, "has too long a directive");
    snprintf(s->spec, sizeof(s->spec), "%.*sL%c", (int)len, at, *letter);
    at = letter + 1;
    s->after = take_text(s->c->arena, &at);
    return !*at || bad_format(s, "has too many % directives");
}

/* By a pointer, since the format is the user's (checked above: one number, no width *).
 */
static int (*const print_number)(char *, size_t, const char *, ...) = snprintf;

static struct str format_number(struct seq *s, long double value, char *text, size_t size)
{
    int n;
    if (s->format) {
        char number[512];
        print_number(number, sizeof(number), s->spec, value);
        n = snprintf(text, size, "%s%s%s", s->before, number, s->after);
    } else if (s->integers) {
        n = snprintf(text, size, "%0*lld", s->width, (long long)value);
    } else {
        n = snprintf(text, size, "%0*.*Lf", s->width, s->precision, value);
    }
    return (struct str){ text, n < 0 ? 0 : (size_t)n < size ? (size_t)n : size - 1 };
}

/* Add one to a decimal number of `len` digits that ends before `end`. */
static size_t increment(char *end, size_t len)
{
    for (size_t i = 1; i <= len; i++) {
        if (end[-(ptrdiff_t)i] != '9') {
            end[-(ptrdiff_t)i]++;
            return len;
        }
        end[-(ptrdiff_t)i] = '0';
    }
    end[-(ptrdiff_t)len - 1] = '1';
    return len + 1;
}

/* The common case, 1 by 1 upwards, without printf. */
static bool count_up(struct seq *s, bool *any)
{
    char digits[32], block[8192];
    char *end = digits + sizeof(digits) - 1;
    *end = '\n';
    char text[32];
    size_t len = (size_t)snprintf(text, sizeof(text), "%lld", (long long)s->first),
           used = 0;
    memcpy(end - len, text, len);
    for (int64_t n = (int64_t)s->first; n <= s->last && cmd_tick(s->c); n++) {
        if (used + len + 1 > sizeof(block)) {
            if (!cmd_put(s->c, (struct str){ block, used }))
                return false;
            used = 0;
        }
        memcpy(block + used, end - len, len + 1);
        used += len + 1;
        len = increment(end, len);
        *any = true;
    }
    return cmd_put(s->c, (struct str){ block, used });
}

static bool count(struct seq *s, bool *any)
{
    char text[8192];
    for (uint64_t i = 0; cmd_tick(s->c); i++) {
        long double value = s->first + (long double)i * s->step;
        struct str number = format_number(s, value, text, sizeof(text));
        /* A value just past the end that prints as the end is wanted: 0 0.1 0.3. */
        bool past = s->step > 0 ? value > s->last : value < s->last;
        if (past) {
            char last[8192];
            if (s->integers || isinf(s->last) ||
                    !str_eq(number, format_number(s, s->last, last, sizeof(last))))
                return true;
            if (fabsl(value - s->last) > fabsl(s->step) / 2)
                return true;
        }
        if ((*any && !cmd_put(s->c, str_of(s->separator))) || !cmd_put(s->c, number))
            return false;
        *any = true;
        if (past)
            return true;
    }
    return false;
}

static int cmd_seq(struct cmd *c)
{
    struct seq s = { .c = c, .separator = "\n" };
    bool equal = false, any = false;
    /* A negative number is no option. */
    struct cmd_options o = cmd_options(c);
    o.stop_early = true;
    for (int k; o.index >= c->argc || !c->argv[o.index] || c->argv[o.index][0] != '-' ||
                !strchr("0123456789.", c->argv[o.index][1]) || !c->argv[o.index][1];) {
        if ((k = cmd_next(&o)) == CMD_END)
            break;
        if (k == CMD_BAD)
            return 1;
        s.format = k == 'f' ? o.value : s.format;
        s.separator = k == 's' ? o.value : s.separator;
        equal |= k == 'w';
    }
    if (c->argc && c->argv[0] == c->name) { /* stopped before a number */
        c->argv += o.index;
        c->argc -= o.index;
    }
    if (!c->argc)
        return missing_operand(c);
    if (c->argc > 3)
        return extra_operand(c, c->argv[3]);
    if (s.format && equal) {
        cmd_err(c,
                "format string may not be specified when printing equal width strings");
        return try_help(c, 1);
    }
    if (!parse_operands(&s) || (s.format && !parse_format(&s)))
        return 1;
    if (!equal)
        s.width = 0;
    bool simple = s.integers && !s.format && !equal && s.step == 1 && s.first >= 0 &&
                  s.last < 9e18L && !strcmp(s.separator, "\n");
    bool ok = simple ? count_up(&s, &any) : count(&s, &any);
    return ok && (simple || !any || cmd_putc(c, '\n')) ? 0 : 1;
}

const struct command command_seq = {
    "seq",
    cmd_seq,
    options,
    "[OPTION]... [FIRST [INCREMENT]] LAST",
    "Print the numbers from FIRST to LAST.",
    0,
};
