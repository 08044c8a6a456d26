/* printf of awk: C's, with %c of numbers and texts, and nothing that reads memory. */
#include "shell/builtin/awk/awk.h"

#include "base/utf8.h"

#include <math.h>
#include <stdio.h>

#define MAX_WIDTH 100000

struct spec {
    char flags[8];
    int width, precision; /* -1: none */
    char conversion;
};

struct arguments {
    struct awk *awk;
    struct awk_value *items;
    size_t count, used;
    bool missing; /* the format asked for more than there are */
};

static struct awk_value *next_argument(struct arguments *args)
{
    static struct awk_value none = { .kind = AWK_UNSET };
    if (args->used < args->count)
        return &args->items[args->used++];
    args->missing = true;
    return &none;
}

static int limited(double n)
{
    return n > MAX_WIDTH ? MAX_WIDTH : n < -MAX_WIDTH ? -MAX_WIDTH : (int)n;
}

static int read_number(struct str f, size_t *at, struct arguments *args)
{
    if (*at < f.len && f.data[*at] == '*') {
        (*at)++;
        return limited(awk_value_to_number(next_argument(args)));
    }
    int n = 0;
    for (; *at < f.len && f.data[*at] >= '0' && f.data[*at] <= '9'; (*at)++)
        n = limited(n * 10.0 + (f.data[*at] - '0'));
    return n;
}

static void set_flag(struct spec *s, char flag)
{
    size_t n = strlen(s->flags);
    if (!strchr(s->flags, flag) && n + 1 < sizeof(s->flags))
        s->flags[n] = flag;
}

static struct spec read_spec(struct str f, size_t *at, struct arguments *args)
{
    struct spec s = { .width = 0, .precision = -1 };
    while (*at < f.len && strchr("-+ #0'", f.data[*at])) {
        if (f.data[*at] != '\'')
            set_flag(&s, f.data[*at]);
        (*at)++;
    }
    s.width = read_number(f, at, args);
    if (s.width < 0) {
        set_flag(&s, '-');
        s.width = -s.width;
    }
    if (*at < f.len && f.data[*at] == '.') {
        (*at)++;
        s.precision = read_number(f, at, args);
    }
    while (*at < f.len && strchr("hlLqjzt", f.data[*at]))
        (*at)++;
    s.conversion = *at < f.len ? f.data[(*at)++] : 0;
    return s;
}

/* The conversion as a format for snprintf, whose pieces are all ours. */
static void rebuild(const struct spec *s, const char *conversion, char *out, size_t size)
{
    int n = snprintf(out, size, "%%%s", s->flags);
    if (s->width)
        n += snprintf(out + n, size - (size_t)n, "%d", s->width);
    if (s->precision >= 0)
        n += snprintf(out + n, size - (size_t)n, ".%d", s->precision);
    snprintf(out + n, size - (size_t)n, "%s", conversion);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void add_integer(struct spec *s, double n, struct buf *out)
{
    char format[64];
    bool is_signed = s->conversion == 'd' || s->conversion == 'i';
    char conversion[4] = { 'l', 'l', s->conversion, 0 };
    if (isnan(n) || isinf(n) || n >= 9.3e18 || n <= -9.3e18) {
        s->precision = 0;
        rebuild(s, "f", format, sizeof(format));
        buf_addf(out, format, n);
        return;
    }
    n = trunc(n);
    rebuild(s, conversion, format, sizeof(format));
    if (is_signed)
        buf_addf(out, format, (long long)n);
    else
        buf_addf(out, format,
                n < 0 ? (unsigned long long)(long long)n : (unsigned long long)n);
}

static void add_float(const struct spec *s, double n, struct buf *out)
{
    char format[64];
    char conversion[2] = { s->conversion, 0 };
    rebuild(s, conversion, format, sizeof(format));
    buf_addf(out, format, n);
}

#pragma GCC diagnostic pop

/* Width and precision count characters, not bytes. */
static void add_text(const struct spec *s, struct str text, struct buf *out)
{
    if (s->precision >= 0)
        text = str_sub(text, 0, utf8_offset(text, (size_t)s->precision));
    size_t width = utf8_count(text);
    size_t pad = (size_t)s->width > width ? (size_t)s->width - width : 0;
    bool left = strchr(s->flags, '-');
    for (size_t i = 0; !left && i < pad; i++)
        buf_addc(out, ' ');
    buf_add(out, text);
    for (size_t i = 0; left && i < pad; i++)
        buf_addc(out, ' ');
}

static void add_char(struct arguments *args, struct spec *s, struct buf *out)
{
    struct awk_value *v = next_argument(args);
    char utf8[4];
    s->precision = -1;
    if (v->kind == AWK_STRING) {
        struct str text = awk_string_str(v->string);
        add_text(s, str_sub(text, 0, utf8_offset(text, 1)), out);
        return;
    }
    double n = awk_value_to_number(v);
    uint32_t code = n >= 0 && n < 0x110000 ? (uint32_t)n : 0xfffd;
    size_t len = utf8_write(code, utf8);
    add_text(s, (struct str){ utf8, len }, out);
}

static bool add_conversion(struct arguments *args, struct spec *s, struct buf *out)
{
    struct awk_string *text;
    struct awk_value copy;
    switch (s->conversion) {
    case 'd':
    case 'i':
    case 'o':
    case 'x':
    case 'X':
    case 'u':
        add_integer(s, awk_value_to_number(next_argument(args)), out);
        return true;
    case 'e':
    case 'E':
    case 'f':
    case 'F':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
        add_float(s, awk_value_to_number(next_argument(args)), out);
        return true;
    case 'c':
        add_char(args, s, out);
        return true;
    case 's':
        text = awk_string_of(args->awk, next_argument(args));
        add_text(s, awk_string_str(text), out);
        copy = awk_value_take(text);
        awk_value_free(&copy);
        return true;
    default:
        return false;
    }
}

bool awk_format(struct awk *a, struct str format, struct awk_value *items, size_t count,
        struct buf *out)
{
    struct arguments args = { a, items, count, 0, false };
    for (size_t at = 0; at < format.len;) {
        const char *percent = memchr(format.data + at, '%', format.len - at);
        size_t end = percent ? (size_t)(percent - format.data) : format.len;
        buf_add(out, str_sub(format, at, end - at));
        if (!percent)
            break;
        at = end + 1;
        if (at < format.len && format.data[at] == '%') {
            buf_addc(out, '%');
            at++;
            continue;
        }
        struct spec s = read_spec(format, &at, &args);
        if (!add_conversion(&args, &s, out))
            buf_add(out, str_sub(format, end, at - end));
        if (args.missing)
            return awk_fatal(a, "not enough arguments to satisfy format string");
    }
    if (out->full)
        budget_stop(a->cmd->budget, BUDGET_MEMORY);
    return !out->full;
}
