#include "base/clean-text.h"

#include "base/utf8.h"

#define ESC '\x1b'
#define BEL '\x07'

static size_t span(struct str s, size_t from, char low, char high)
{
    size_t at = from;
    while (at < s.len && s.data[at] >= low && s.data[at] <= high)
        at++;
    return at;
}

/* Bytes of the control string (a title, a link, an image) at `s`, or only those of its
 * introduction: one that another control character interrupts is none. */
static size_t string_length(struct str s)
{
    for (size_t at = 2; at < s.len; at++) {
        if (s.data[at] == BEL)
            return at + 1;
        if (s.data[at] == ESC && at + 1 < s.len && s.data[at + 1] == '\\')
            return at + 2;
        if (s.data[at] >= 0 && s.data[at] < ' ')
            break;
    }
    return 2;
}

/* Bytes of the escape sequence at the start of `s` (ECMA-48), which begins with ESC. */
static size_t escape_length(struct str s)
{
    if (s.len < 2)
        return 1;
    char second = s.data[1];
    size_t at;
    if (second == '[') {
        at = span(s, 2, '0', '?');
        at = span(s, at, ' ', '/');
        return at < s.len && s.data[at] >= '@' && s.data[at] <= '~' ? at + 1 : at;
    }
    if (memchr("]PX^_", second, 5))
        return string_length(s);
    at = span(s, 1, ' ', '/');
    return at < s.len && s.data[at] >= '0' && s.data[at] <= '~' ? at + 1 : at;
}

static void add_without_escapes(struct str s, struct buf *out)
{
    while (s.len) {
        const char *esc = memchr(s.data, ESC, s.len);
        size_t plain = esc ? (size_t)(esc - s.data) : s.len;
        buf_add(out, str_sub(s, 0, plain));
        s = str_from(s, plain);
        if (s.len)
            s = str_from(s, escape_length(s));
    }
}

/* What is left to see of a line after its carriage returns. */
static struct str last_state(struct str line)
{
    struct str shown = { line.data, 0 };
    while (line.len) {
        struct str part = str_cut(&line, '\r');
        if (part.len)
            shown = part;
    }
    return shown;
}

static void clean_line(struct str line, bool raw, struct buf *scratch, struct buf *out)
{
    if (raw) {
        utf8_repair(line, out);
        return;
    }
    buf_clear(scratch);
    add_without_escapes(line, scratch);
    utf8_repair(last_state(buf_str(scratch)), out);
}

void clean_text(struct str bytes, bool raw, struct buf *out)
{
    auto_buf scratch = BUF(bytes.len + 1);
    while (bytes.len) {
        const char *newline = memchr(bytes.data, '\n', bytes.len);
        size_t len = newline ? (size_t)(newline - bytes.data) : bytes.len;
        bool crlf = newline && len && bytes.data[len - 1] == '\r';
        clean_line(str_sub(bytes, 0, len - crlf), raw, &scratch, out);
        if (newline)
            buf_addc(out, '\n');
        bytes = str_from(bytes, len + (newline != NULL));
    }
}
