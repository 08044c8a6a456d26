#include "base/utf8.h"
#include "shell/word.h"

/* The escapes of $'...'. */
struct escapes {
    const char *at, *end;
    char *out;
};

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

/* Up to `max` digits; false if there is none. */
static bool read_digits(struct escapes *e, int base, size_t max, uint32_t *value)
{
    const char *from = e->at;
    *value = 0;
    while (e->at < e->end && max-- && digit_value(*e->at) < base)
        *value = *value * (uint32_t)base + (uint32_t)digit_value(*e->at++);
    return e->at > from;
}

static void put_code(struct escapes *e, uint32_t code)
{
    e->out += code <= 0x10ffff ? utf8_write(code, e->out) : 0;
}

/* \x, \u and \U; `from` is where the backslash stands. */
static void decode_hex(struct escapes *e, char kind, const char *from)
{
    uint32_t value;
    bool braced = kind == 'x' && e->at < e->end && *e->at == '{';
    e->at += braced;
    size_t max = braced ? SIZE_MAX : kind == 'x' ? 2 : kind == 'u' ? 4 : 8;
    if (!read_digits(e, 16, max, &value)) {
        while (from < e->at)
            *e->out++ = *from++;
        return;
    }
    if (braced && e->at < e->end && *e->at == '}')
        e->at++;
    if (kind == 'x')
        *e->out++ = (char)value;
    else
        put_code(e, value);
}

static void decode_control(struct escapes *e)
{
    if (e->at == e->end) {
        *e->out++ = '\\';
        *e->out++ = 'c';
        return;
    }
    char c = *e->at++;
    if (c == '\\' && e->at < e->end && *e->at == '\\')
        e->at++;
    if (c >= 'a' && c <= 'z')
        c = (char)(c - 'a' + 'A');
    *e->out++ = c == '?' ? 0x7f : (char)(c & 0x1f);
}

static void decode_escape(struct escapes *e)
{
    static const char names[] = "abeEfnrtv\\'\"?",
                      values[] = "\a\b\033\033\f\n\r\t\v\\'\"?";
    const char *from = e->at++;
    char c = *e->at++;
    const char *name = c ? strchr(names, c) : NULL;
    uint32_t value;
    if (name) {
        *e->out++ = values[name - names];
    } else if (c >= '0' && c <= '7') {
        e->at--;
        if (read_digits(e, 8, 3, &value))
            *e->out++ = (char)value;
    } else if (c == 'x' || c == 'u' || c == 'U') {
        decode_hex(e, c, from);
    } else if (c == 'c') {
        decode_control(e);
    } else {
        *e->out++ = '\\';
        *e->out++ = c;
    }
}

static struct str decode_ansi(struct parser *p, struct str s)
{
    char *text = arena_alloc(p->arena, s.len + 8);
    struct escapes e = { s.data, s.data + s.len, text };
    while (e.at < e.end) {
        if (*e.at == '\\' && e.at + 1 < e.end)
            decode_escape(&e);
        else
            *e.out++ = *e.at++;
    }
    size_t len = (size_t)(e.out - text);
    /* A NUL ends the text, as in bash. */
    return (struct str){ text, strnlen(text, len) };
}

struct str word_read_ansi(struct parser *p, struct pos open)
{
    struct input *in = p->in;
    size_t from = in->at;
    while (in->at < in->end && in->text.data[in->at] != '\'')
        in->at += in->text.data[in->at] == '\\' ? 2 : 1;
    if (in->at >= in->end) {
        in->at = in->end;
        parse_unclosed(p, open, "'");
        return STR("");
    }
    return decode_ansi(p, lex_slice(p, from, in->at++));
}
