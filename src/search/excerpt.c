#include "search/excerpt.h"

#include "base/utf8.h"

/* Where the part begins: a third of it stands before a match that is far in the line. */
static size_t part_start(struct str line, size_t max, struct regex *re)
{
    struct regex_match m;
    if (!re || regex_search(re, line, 0, false, &m) != REGEX_YES ||
            (size_t)m.end[0] <= utf8_offset(line, max))
        return 0;
    size_t at = (size_t)m.start[0];
    for (size_t i = 0; i < max / 3 && at; i++)
        do
            at--;
        while (at && (line.data[at] & 0xC0) == 0x80);
    return at;
}

void excerpt_add(struct str line, size_t max, struct regex *re, struct buf *out)
{
    if (line.len <= max || utf8_offset(line, max) == line.len) {
        buf_add(out, line);
        return;
    }
    size_t from = part_start(line, max, re);
    struct str rest = str_from(line, from);
    buf_addf(out, "%s%.*s [truncated: line too long]", from ? "[...] " : "",
            STR_ARG(str_sub(rest, 0, utf8_offset(rest, max))));
}
