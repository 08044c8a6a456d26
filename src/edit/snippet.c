/* Numbered lines: of what was changed, and of what comes nearest. */
#include "edit/internal.h"

/* A line longer than this is cut, a passage longer than that loses its middle. */
enum { MAX_LINE = 2000, MAX_LINES = 60, KEPT_HEAD = 40, KEPT_TAIL = 15 };

static char last_byte(enum eol main)
{
    return main == EOL_CR ? '\r' : '\n';
}

struct line line_at(struct str text, size_t at, size_t number, enum eol main)
{
    struct str rest = str_from(text, at);
    const char *end = rest.len ? memchr(rest.data, last_byte(main), rest.len) : NULL;
    size_t len = end ? (size_t)(end - rest.data) : rest.len;
    struct line line = { number, { rest.data, len }, at + len + (end ? 1 : 0) };
    if (len && end && main != EOL_CR && rest.data[len - 1] == '\r')
        line.text.len--;
    return line;
}

size_t line_start(struct str text, size_t at, enum eol main)
{
    const char *before = at ? memrchr(text.data, last_byte(main), at) : NULL;
    return before ? (size_t)(before - text.data) + 1 : 0;
}

size_t line_number(struct str text, size_t at, enum eol main)
{
    size_t number = 1;
    char last = last_byte(main);
    for (size_t i = 0; i < at; i++)
        number += text.data[i] == last;
    return number;
}

static size_t cut_length(struct str text)
{
    size_t len = MAX_LINE;
    while (len > MAX_LINE - 4 && ((unsigned char)text.data[len] & 0xC0) == 0x80)
        len--;
    return len;
}

void show_line(const struct line *line, struct buf *out)
{
    struct str text = line->text;
    buf_addf(out, "%s%6zu\t", out->len ? "\n" : "", line->number);
    if (text.len <= MAX_LINE) {
        buf_add(out, text);
        return;
    }
    size_t len = cut_length(text);
    buf_add(out, str_sub(text, 0, len));
    buf_addf(out, " ... (%zu more bytes)", text.len - len);
}

void show_region(struct str text, enum eol main, size_t from, size_t to, size_t context,
        struct buf *out)
{
    size_t at = line_start(text, from, main);
    size_t number = line_number(text, at, main);
    for (size_t i = 0; i < context && at; i++, number--)
        at = line_start(text, at - 1, main);
    size_t last = line_number(text, to > from ? to - 1 : to, main) + context;
    size_t first = number, count = last + 1 - first;
    while (at < text.len && number <= last) {
        struct line line = line_at(text, at, number, main);
        size_t index = number - first;
        if (count <= MAX_LINES || index < KEPT_HEAD || index >= count - KEPT_TAIL)
            show_line(&line, out);
        else if (index == KEPT_HEAD)
            buf_addf(out, "\n   ...\t(%zu lines)", count - KEPT_HEAD - KEPT_TAIL);
        at = line.next;
        number++;
    }
}

void show_places(struct str text, enum eol main, const size_t *at, size_t shown,
        size_t total, struct buf *out)
{
    buf_addf(out, total == 1 ? "line" : "lines");
    size_t number = 1, from = 0;
    for (size_t i = 0; i < shown; i++) {
        number += line_number(str_from(text, from), at[i] - from, main) - 1;
        from = at[i];
        bool final = i + 1 == total;
        buf_addf(out, "%s%zu", !i ? " " : final ? " and " : ", ", number);
    }
    if (shown < total)
        buf_addf(out, " and %zu more", total - shown);
}
