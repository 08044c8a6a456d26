#include "shell/builtin/backslash.h"

#include "base/utf8.h"

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Up to `max` digits of base 8 or 16 at `at`; returns how many. */
static size_t digits(struct str s, size_t at, size_t max, int base, uint32_t *value)
{
    size_t n = 0;
    *value = 0;
    while (n < max && at + n < s.len) {
        int digit = hex_value(s.data[at + n]);
        if (digit < 0 || digit >= base)
            break;
        *value = *value * (uint32_t)base + (uint32_t)digit;
        n++;
    }
    return n;
}

static size_t octal(struct str s, size_t at, size_t max, struct buf *out)
{
    uint32_t value;
    size_t n = digits(s, at, max, 8, &value);
    buf_addc(out, (char)value);
    return at + n;
}

/* \xHH, \uHHHH, \UHHHHHHHH; without a digit they stay as they are. */
static size_t hexadecimal(struct str s, size_t max, struct buf *out)
{
    uint32_t value;
    size_t n = digits(s, 2, max, 16, &value);
    if (!n) {
        buf_add(out, str_sub(s, 0, 2));
        return 2;
    }
    char text[4] = { (char)value };
    size_t len = 1;
    if (max > 2 && (value < 0xd800 || (value > 0xdfff && value <= 0x10ffff)))
        len = utf8_write(value, text);
    buf_add(out, (struct str){ text, len });
    return 2 + n;
}

static char simple(char c)
{
    static const char from[] = "abeEfnrtv\\", to[] = "\a\b\033\033\f\n\r\t\v\\";
    const char *at = c ? strchr(from, c) : NULL;
    return at ? to[at - from] : 0;
}

size_t escape_one(struct str s, enum escape_style style, struct buf *out, bool *stop)
{
    char c = s.len > 1 ? s.data[1] : 0;
    if (simple(c)) {
        buf_addc(out, simple(c));
        return 2;
    }
    if (c == 'c' && style != ESCAPE_FORMAT) {
        *stop = true;
        return s.len;
    }
    if (c == 'x')
        return hexadecimal(s, 2, out);
    if (c == 'u')
        return hexadecimal(s, 4, out);
    if (c == 'U')
        return hexadecimal(s, 8, out);
    if (c == '0' && style != ESCAPE_FORMAT)
        return octal(s, 2, 3, out);
    if (c >= '0' && c <= '7' && style != ESCAPE_ECHO)
        return octal(s, 1, 3, out);
    if (style == ESCAPE_FORMAT && (c == '"' || c == '\'' || c == '?')) {
        buf_addc(out, c);
        return 2;
    }
    buf_addc(out, '\\');
    return 1;
}

bool escape_all(struct str text, enum escape_style style, struct buf *out)
{
    bool stop = false;
    while (text.len && !stop) {
        const char *at = memchr(text.data, '\\', text.len);
        size_t plain = at ? (size_t)(at - text.data) : text.len;
        buf_add(out, str_sub(text, 0, plain));
        text = str_from(text, plain);
        if (text.len)
            text = str_from(text, escape_one(text, style, out, &stop));
    }
    return !stop;
}
