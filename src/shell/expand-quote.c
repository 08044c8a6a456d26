#include "shell/expand.h"
#include "shell/letter.h"

#include "base/arena.h"

#include <wctype.h>

/* Must it be written as $'...'? */
static bool has_control(struct str text)
{
    uint32_t code;
    for (size_t i = 0; i < text.len; i += letter_decode(str_from(text, i), &code))
        if (letter_decode(str_from(text, i), &code) &&
                (code > 0x10ffff || iswcntrl(code)))
            return true;
    return false;
}

static void add_ansi(struct buf *out, struct str c)
{
    static const char names[] = "abtnvfr";
    unsigned char byte = (unsigned char)c.data[0];
    uint32_t code;
    letter_decode(c, &code);
    if (byte >= 7 && byte <= 13)
        buf_addf(out, "\\%c", names[byte - 7]);
    else if (byte == 27)
        buf_add(out, STR("\\E"));
    else if (byte == '\\' || byte == '\'')
        buf_addf(out, "\\%c", byte);
    else if (code > 0x10ffff || iswcntrl(code))
        for (size_t i = 0; i < c.len; i++)
            buf_addf(out, "\\%03o", (unsigned char)c.data[i]);
    else
        buf_add(out, c);
}

static struct str quote_ansi(struct str text, struct arena *arena)
{
    auto_buf out = BUF(text.len * 4 + 8);
    uint32_t code;
    buf_add(&out, STR("$'"));
    for (size_t len; text.len; text = str_from(text, len)) {
        len = letter_decode(text, &code);
        add_ansi(&out, str_sub(text, 0, len));
    }
    buf_addc(&out, '\'');
    return arena_str(arena, buf_str(&out));
}

struct str expand_quote(struct str text, struct arena *arena)
{
    if (has_control(text))
        return quote_ansi(text, arena);
    auto_buf out = BUF(text.len * 4 + 4);
    buf_addc(&out, '\'');
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] == '\'')
            buf_add(&out, STR("'\\'"));
        buf_addc(&out, text.data[i]);
    }
    buf_addc(&out, '\'');
    return arena_str(arena, buf_str(&out));
}

static bool needs_backslash(struct str text, size_t i)
{
    char c = text.data[i];
    if (c == '#')
        return i == 0;
    if (c == '~')
        return i == 0 || text.data[i - 1] == ':' || text.data[i - 1] == '=';
    return c && strchr(" '\"\\|&;()<>!{}*[]?^$`,", c);
}

struct str expand_quote_backslash(struct str text, struct arena *arena)
{
    if (!text.len)
        return STR("''");
    if (has_control(text))
        return quote_ansi(text, arena);
    auto_buf out = BUF(text.len * 2);
    for (size_t i = 0; i < text.len; i++) {
        if (needs_backslash(text, i))
            buf_addc(&out, '\\');
        buf_addc(&out, text.data[i]);
    }
    return arena_str(arena, buf_str(&out));
}

struct str expand_quote_double(struct str text, struct arena *arena)
{
    if (has_control(text))
        return quote_ansi(text, arena);
    auto_buf out = BUF(text.len * 2 + 2);
    buf_addc(&out, '"');
    for (size_t i = 0; i < text.len; i++) {
        if (text.data[i] && strchr("\"\\$`", text.data[i]))
            buf_addc(&out, '\\');
        buf_addc(&out, text.data[i]);
    }
    buf_addc(&out, '"');
    return arena_str(arena, buf_str(&out));
}
