#include "base/utf8.h"
#include "shell/assign.h"
#include "shell/builtin/backslash.h"
#include "shell/builtin/letters.h"
#include "shell/builtin/shquote.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

#define MAX_WIDTH 1000000 /* of one conversion */

static const char usage[] = "printf [-v var] format [arguments]";

struct printer {
    struct cmd *c;
    struct buf out;
    char **args;
    int count, next;
    int status;
    bool stop; /* \c, or a format that cannot be used */
};

/* One conversion: %[flags][width][.precision]letter */
struct conversion {
    char flags[8];
    int width, precision; /* precision -1: none */
    struct str time_format;
    char letter;
};

static const char *next_arg(struct printer *p)
{
    return p->next < p->count ? p->args[p->next++] : NULL;
}

static void complain(struct printer *p, const char *arg, const char *message)
{
    cmd_err(p->c, "%s: %s", arg, message);
    p->status = 1;
}

/* 'x and "x are the code of x. */
static bool char_code(const char *arg, int64_t *value)
{
    if (!arg || (arg[0] != '\'' && arg[0] != '"'))
        return false;
    uint32_t code = 0;
    struct str rest = str_of(arg + 1);
    if (rest.len && !utf8_decode(rest, &code))
        code = (unsigned char)rest.data[0];
    *value = code;
    return true;
}

static void check_number(struct printer *p, const char *arg, const char *end, bool empty)
{
    if (empty && *arg)
        complain(p, arg, "invalid number");
    else if (*end)
        complain(p, arg,
                arg[0] == '0' && end[0] >= '8' && end[0] <= '9' ? "invalid octal number"
                                                                : "invalid number");
}

static int64_t integer_arg(struct printer *p, bool is_unsigned)
{
    const char *arg = next_arg(p);
    int64_t value = 0;
    if (!arg || char_code(arg, &value))
        return value;
    char *end;
    errno = 0;
    value = is_unsigned && !strchr(arg, '-') ? (int64_t)strtoull(arg, &end, 0)
                                             : strtoll(arg, &end, 0);
    check_number(p, arg, end, end == arg);
    if (errno == ERANGE)
        cmd_err(p->c, "warning: %s: %s", arg, strerror(ERANGE));
    return value;
}

static long double float_arg(struct printer *p)
{
    const char *arg = next_arg(p);
    int64_t code;
    if (!arg)
        return 0;
    if (char_code(arg, &code))
        return (long double)code;
    char *end;
    long double value = strtold(arg, &end);
    check_number(p, arg, end, end == arg);
    return value;
}

/* Text cut to the precision and padded to the width; both count bytes, as bash does. */
static void put_text(struct printer *p, const struct conversion *v, struct str text)
{
    if (v->precision >= 0)
        text = str_sub(text, 0, (size_t)v->precision);
    size_t pad =
            v->width > 0 && (size_t)v->width > text.len ? (size_t)v->width - text.len : 0;
    bool left = strchr(v->flags, '-');
    for (size_t i = 0; !left && i < pad; i++)
        buf_addc(&p->out, ' ');
    buf_add(&p->out, text);
    for (size_t i = 0; left && i < pad; i++)
        buf_addc(&p->out, ' ');
}

/* snprintf's own formats, made from parts that were checked. */
static void format_spec(
        const struct conversion *v, const char *length, char *spec, size_t size)
{
    char precision[16] = "";
    if (v->precision >= 0)
        snprintf(precision, sizeof(precision), ".%d", v->precision);
    char width[16] = "";
    if (v->width)
        snprintf(width, sizeof(width), "%d", v->width);
    snprintf(spec, size, "%%%s%s%s%s%c", v->flags, width, precision, length, v->letter);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void put_integer(struct printer *p, const struct conversion *v)
{
    char spec[64];
    format_spec(v, "ll", spec, sizeof(spec));
    bool is_signed = v->letter == 'd' || v->letter == 'i';
    buf_addf(&p->out, spec, (long long)integer_arg(p, !is_signed));
}

static void put_float(struct printer *p, const struct conversion *v)
{
    char spec[64];
    format_spec(v, "L", spec, sizeof(spec));
    buf_addf(&p->out, spec, float_arg(p));
}
#pragma GCC diagnostic pop

static void put_escaped(struct printer *p, const struct conversion *v)
{
    auto_buf text = BUF(p->out.max);
    const char *arg = next_arg(p);
    p->stop = !escape_all(str_of(arg ? arg : ""), ESCAPE_B, &text);
    put_text(p, v, buf_str(&text));
}

static void put_quoted(struct printer *p, struct conversion *v)
{
    const char *arg = next_arg(p);
    struct str text = str_of(arg ? arg : "");
    if (v->letter == 'Q' && v->precision >= 0) {
        text = str_sub(text, 0, (size_t)v->precision);
        v->precision = -1;
    }
    put_text(p, v, quote_backslash(text, p->c->arena));
}

static void put_char(struct printer *p, const struct conversion *v)
{
    const char *arg = next_arg(p);
    struct conversion one = *v;
    one.precision = -1;
    put_text(p, &one, arg && *arg ? str_sub(str_of(arg), 0, 1) : (struct str){ "", 1 });
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void put_time(struct printer *p, const struct conversion *v)
{
    time_t when = time(NULL);
    if (p->next < p->count) {
        int64_t n = integer_arg(p, false);
        if (n >= 0 || n < -2)
            when = (time_t)n;
    }
    struct tm tm;
    char text[512] = "";
    const char *format =
            v->time_format.len ? arena_cstr(p->c->arena, v->time_format) : "%X";
    if (localtime_r(&when, &tm))
        strftime(text, sizeof(text), format, &tm);
    put_text(p, v, str_of(text));
}
#pragma GCC diagnostic pop

static bool convert(struct printer *p, struct conversion *v)
{
    const char *arg;
    if (v->letter && strchr("diouxX", v->letter)) {
        put_integer(p, v);
        return true;
    }
    if (v->letter && strchr("eEfFgGaA", v->letter)) {
        put_float(p, v);
        return true;
    }
    switch (v->letter) {
    case 's':
        arg = next_arg(p);
        put_text(p, v, str_of(arg ? arg : ""));
        return true;
    case 'c':
        put_char(p, v);
        return true;
    case 'b':
        put_escaped(p, v);
        return true;
    case 'q':
    case 'Q':
        put_quoted(p, v);
        return true;
    case 'T':
        put_time(p, v);
        return true;
    case 'n':
        next_arg(p);
        return true;
    default:
        return false;
    }
}

/* A number in the format, or `*`; advances *at. */
static int read_size(struct printer *p, struct str format, size_t *at)
{
    if (*at < format.len && format.data[*at] == '*') {
        ++*at;
        int64_t n = integer_arg(p, false);
        return n > MAX_WIDTH ? MAX_WIDTH : n < -MAX_WIDTH ? -MAX_WIDTH : (int)n;
    }
    int n = 0;
    for (; *at < format.len && format.data[*at] >= '0' && format.data[*at] <= '9'; ++*at)
        n = n < MAX_WIDTH ? n * 10 + format.data[*at] - '0' : MAX_WIDTH;
    return n > MAX_WIDTH ? MAX_WIDTH : n;
}

static void add_flag(struct conversion *v, char flag)
{
    size_t n = strlen(v->flags);
    if (n + 1 < sizeof(v->flags) && !strchr(v->flags, flag))
        v->flags[n] = flag;
}

/* %(fmt)T */
static bool read_time_format(struct str format, size_t *at, struct conversion *v)
{
    struct str rest = str_from(format, *at + 1);
    v->time_format = str_cut(&rest, ')');
    *at += v->time_format.len + 2;
    return *at < format.len && format.data[*at] == 'T';
}

static bool bad_conversion(struct printer *p, struct str format, size_t at)
{
    if (at < format.len)
        cmd_err(p->c, "`%c': invalid format character", format.data[at]);
    else
        cmd_err(p->c, "`%.*s': missing format character", STR_ARG(format));
    p->status = 1;
    p->stop = true;
    return false;
}

/* `format` begins with %; its length, or 0 after a failure. */
static size_t one_conversion(struct printer *p, struct str format)
{
    struct conversion v = { .precision = -1 };
    size_t at = 1;
    for (; at < format.len && strchr("-+ #0'", format.data[at]); at++)
        add_flag(&v, format.data[at]);
    v.width = read_size(p, format, &at);
    if (v.width < 0) {
        add_flag(&v, '-');
        v.width = -v.width;
    }
    if (at < format.len && format.data[at] == '.') {
        at++;
        v.precision = read_size(p, format, &at);
    }
    while (at < format.len && strchr("hlLqjzt", format.data[at]) &&
            !(format.data[at] == 'q'))
        at++;
    if (at < format.len && format.data[at] == '(' && !read_time_format(format, &at, &v))
        return bad_conversion(p, format, at);
    v.letter = at < format.len ? format.data[at] : 0;
    if (v.letter == '%' && at == 1) {
        buf_addc(&p->out, '%');
        return 2;
    }
    if (!v.letter || !convert(p, &v))
        return bad_conversion(p, format, at);
    return at + 1;
}

/* The format once, from the first character to the last. */
static void one_pass(struct printer *p, struct str format)
{
    bool stop_text = false;
    while (format.len && !p->stop && !p->out.full) {
        size_t used = 1;
        if (format.data[0] == '%')
            used = one_conversion(p, format);
        else if (format.data[0] == '\\')
            used = escape_one(format, ESCAPE_FORMAT, &p->out, &stop_text);
        else
            buf_addc(&p->out, format.data[0]);
        format = str_from(format, used);
    }
}

static int store(struct cmd *c, const char *variable, struct str text)
{
    struct str name = str_of(variable);
    struct str rest = name;
    struct str base = str_cut(&rest, '[');
    if (!var_name_is_valid(base) || (base.len < name.len && !str_ends(rest, STR("]")))) {
        cmd_err(c, "`%s': not a valid identifier", variable);
        return 2;
    }
    const char *nul = text.len ? memchr(text.data, 0, text.len) : NULL;
    if (nul) /* no value has one */
        text.len = (size_t)(nul - text.data);
    return assign_text(c->shell, "printf", name, text) ? 0 : 1;
}

static int cmd_printf_(struct cmd *c)
{
    const char *variable = NULL;
    struct letters l = letters_of(c, "v:", usage);
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        variable = l.value;
    }
    if (l.index >= c->argc)
        return letters_usage(c, usage);
    if (variable && store(c, variable, STR("")) == 2)
        return 2;
    struct printer p = { .c = c,
        .out = BUF(c->budget->max_memory),
        .args = c->argv + l.index + 1,
        .count = c->argc - l.index - 1 };
    struct str format = str_of(c->argv[l.index]);
    for (int before = -1;
            !p.stop && (before < 0 || (p.next < p.count && before < p.next));) {
        before = p.next;
        one_pass(&p, format);
        if (!cmd_tick(c))
            break;
    }
    if (p.out.full)
        budget_stop(c->budget, BUDGET_MEMORY);
    else if (variable)
        p.status = store(c, variable, buf_str(&p.out)) ? 1 : p.status;
    else if (p.out.len && !cmd_put(c, buf_str(&p.out)))
        p.status = 1;
    buf_finish(&p.out);
    return p.status;
}

const struct command command_printf = {
    .name = "printf",
    .run = cmd_printf_,
    .usage = "[-v VAR] FORMAT [ARG]...",
    .summary =
            "Print the arguments under the control of FORMAT, which is used again while "
            "arguments are left.",
    .flags = CMD_BUILTIN,
};
