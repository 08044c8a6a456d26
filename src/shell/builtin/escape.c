#include "shell/builtin/escape.h"

static int digit_value(char ch)
{
    if (ch >= '0' && ch <= '9')
        return ch - '0';
    char lower = (char)(ch | 0x20);
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 99;
}

static size_t read_digits(struct str s, size_t from, size_t most, int base, char *out)
{
    int value = 0;
    size_t i = from;
    for (; i < s.len && i < from + most && digit_value(s.data[i]) < base; i++)
        value = value * base + digit_value(s.data[i]);
    if (i > from)
        *out = (char)value;
    return i > from ? i : 0;
}

size_t escape_read(struct str s, char *out)
{
    static const char letters[] = "abefnrtv\\\"", values[] = "\a\b\033\f\n\r\t\v\\\"";
    const char *at = s.len ? memchr(letters, s.data[0], sizeof(letters) - 1) : NULL;
    if (at) {
        *out = values[at - letters];
        return 1;
    }
    if (s.len && s.data[0] == 'x')
        return read_digits(s, 1, 2, 16, out);
    return read_digits(s, 0, 3, 8, out);
}
