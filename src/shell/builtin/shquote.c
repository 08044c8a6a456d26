#include "shell/builtin/shquote.h"

#include "base/utf8.h"

#define MAX_QUOTED (SIZE_MAX / 4)

static struct str finish(struct buf *text, struct arena *arena)
{
    return arena_str(arena, buf_str(text));
}

/* Bytes that only $'...' can show: control characters and what is not UTF-8. */
static bool needs_ansi(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if ((unsigned char)s.data[i] < 32 || s.data[i] == 127)
            return true;
    return !utf8_valid(s);
}

static void add_ansi_char(struct buf *out, char c)
{
    static const char from[] = "\a\b\033\f\n\r\t\v\\'", to[] = "abEfnrtv\\'";
    const char *at = c ? strchr(from, c) : NULL;
    if (at)
        buf_addf(out, "\\%c", to[at - from]);
    else if ((unsigned char)c < 32 || c == 127)
        buf_addf(out, "\\%03o", (unsigned char)c);
    else
        buf_addc(out, c);
}

static struct str quote_ansi(struct str s, struct arena *arena)
{
    auto_buf out = BUF(MAX_QUOTED);
    buf_add(&out, STR("$'"));
    while (s.len) {
        uint32_t code;
        size_t n = utf8_decode(s, &code);
        if (n > 1)
            buf_add(&out, str_sub(s, 0, n));
        else if (n == 1)
            add_ansi_char(&out, s.data[0]);
        else
            buf_addf(&out, "\\%03o", (unsigned char)s.data[0]);
        s = str_from(s, n ? n : 1);
    }
    buf_addc(&out, '\'');
    return finish(&out, arena);
}

struct str quote_backslash(struct str s, struct arena *arena)
{
    if (!s.len)
        return STR("''");
    if (needs_ansi(s))
        return quote_ansi(s, arena);
    auto_buf out = BUF(MAX_QUOTED);
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        bool at_start =
                i == 0 || (c == '~' && (s.data[i - 1] == '=' || s.data[i - 1] == ':'));
        if (strchr(" !\"$&'()*,;<>?[\\]^`{|}", c) || (at_start && (c == '#' || c == '~')))
            buf_addc(&out, '\\');
        buf_addc(&out, c);
    }
    return finish(&out, arena);
}

struct str quote_double(struct str s, struct arena *arena)
{
    if (needs_ansi(s))
        return quote_ansi(s, arena);
    auto_buf out = BUF(MAX_QUOTED);
    buf_addc(&out, '"');
    for (size_t i = 0; i < s.len; i++) {
        if (strchr("\"$\\`", s.data[i]))
            buf_addc(&out, '\\');
        buf_addc(&out, s.data[i]);
    }
    buf_addc(&out, '"');
    return finish(&out, arena);
}

struct str quote_single(struct str s, struct arena *arena)
{
    auto_buf out = BUF(MAX_QUOTED);
    buf_addc(&out, '\'');
    for (size_t i = 0; i < s.len; i++) {
        if (s.data[i] == '\'')
            buf_add(&out, STR("'\\''"));
        else
            buf_addc(&out, s.data[i]);
    }
    buf_addc(&out, '\'');
    return finish(&out, arena);
}

struct str quote_value(struct str s, struct arena *arena)
{
    if (needs_ansi(s))
        return quote_ansi(s, arena);
    for (size_t i = 0; i < s.len; i++)
        if (strchr(" !\"$&'()*;<>?[\\]^`{|}", s.data[i]) ||
                (i == 0 && (s.data[i] == '#' || s.data[i] == '~')))
            return quote_single(s, arena);
    return s;
}
