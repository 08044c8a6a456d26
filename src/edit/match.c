#include "edit/match.h"

static const char *find_byte(struct str s, char c)
{
    return s.len ? memchr(s.data, c, s.len) : NULL;
}

static bool has_byte(struct str s, char c)
{
    return find_byte(s, c) != NULL;
}

static bool is_crlf(struct str s, size_t at)
{
    return at + 1 < s.len && s.data[at] == '\r' && s.data[at + 1] == '\n';
}

enum eol eol_main(struct str text)
{
    size_t breaks = 0, crlf = 0;
    char before = 0;
    /* Counted byte by byte: lines are too short for memchr() to pay. */
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        breaks += c == '\n';
        crlf += c == '\n' && before == '\r';
        before = c;
    }
    if (breaks)
        return 2 * crlf > breaks ? EOL_CRLF : EOL_LF;
    return has_byte(text, '\r') ? EOL_CR : EOL_NONE;
}

char *eol_flatten(struct str s, bool lone_cr, size_t *len)
{
    if (!has_byte(s, '\r'))
        return NULL;
    char *flat = xmalloc(s.len);
    size_t n = 0;
    for (size_t i = 0; i < s.len; i++) {
        if (is_crlf(s, i))
            continue;
        flat[n++] = lone_cr && s.data[i] == '\r' ? '\n' : s.data[i];
    }
    *len = n;
    return flat;
}

static bool search(const struct finder *f, size_t from, size_t *at)
{
    struct str rest = str_from(f->in, from);
    const char *hit =
            rest.len ? memmem(rest.data, rest.len, f->what.data, f->what.len) : NULL;
    if (hit)
        *at = (size_t)(hit - f->in.data);
    return hit != NULL;
}

/* Would the match take one half of a CRLF? */
static bool splits_crlf(const struct finder *f, size_t at)
{
    if (f->crossed || f->main == EOL_CR)
        return false;
    return (at && is_crlf(f->text, at - 1)) || is_crlf(f->text, at + f->what.len - 1);
}

static bool next_in(struct finder *f, size_t *at)
{
    for (; search(f, f->at, at); f->at = *at + 1) {
        if (!splits_crlf(f, *at))
            return true;
    }
    return false;
}

static void cross_line_endings(struct finder *f)
{
    struct str needle = f->needle;
    size_t len = f->text.len;
    if (!has_byte(needle, '\n') && !has_byte(needle, '\r'))
        return;
    f->flat = eol_flatten(f->text, f->main == EOL_CR, &len);
    f->in = f->flat ? (struct str){ f->flat, len } : f->text;
    f->flat_needle = eol_flatten(needle, !has_byte(needle, '\n'), &len);
    f->what = f->flat_needle ? (struct str){ f->flat_needle, len } : needle;
    f->crossed = true;
}

void finder_init(struct finder *f, struct str text, enum eol main, struct str needle)
{
    *f = (struct finder){
        .text = text, .needle = needle, .in = text, .what = needle, .main = main
    };
    size_t at;
    if (!next_in(f, &at))
        cross_line_endings(f);
    finder_rewind(f);
}

void finder_finish(struct finder *f)
{
    free(f->flat);
    free(f->flat_needle);
    f->flat = f->flat_needle = NULL;
}

void finder_rewind(struct finder *f)
{
    f->at = f->flat_seen = f->raw = 0;
    f->eol_from = f->eol_to = 0;
}

/* The place in `text` of a place in `in` that is not before the last one asked for. */
static size_t raw_of(struct finder *f, size_t at)
{
    if (f->in.len == f->text.len)
        return at;
    while (f->flat_seen < at) {
        struct str part = str_sub(f->text, f->raw, at - f->flat_seen);
        const char *cr = find_byte(part, '\r');
        size_t plain = cr ? (size_t)(cr - part.data) : part.len;
        f->raw += plain;
        f->flat_seen += plain;
        if (cr) {
            f->raw += is_crlf(f->text, f->raw) ? 2 : 1;
            f->flat_seen++;
        }
    }
    return f->raw;
}

bool finder_next(struct finder *f, struct span *out)
{
    size_t at;
    if (!next_in(f, &at))
        return false;
    size_t end = at + f->what.len, from = raw_of(f, at);
    size_t flat_seen = f->flat_seen, raw = f->raw;
    *out = (struct span){ from, raw_of(f, end) - from };
    f->at = f->overlapping ? at + 1 : end;
    if (f->overlapping) {
        f->flat_seen = flat_seen;
        f->raw = raw;
    }
    return true;
}

/* The line ending at or after `from`, or the last one; asked for in ascending order. */
static enum eol eol_after(struct finder *f, size_t from)
{
    if (from >= f->eol_from && from < f->eol_to)
        return f->eol;
    char last = f->main == EOL_CR ? '\r' : '\n';
    struct str rest = str_from(f->text, from);
    const char *at = find_byte(rest, last);
    f->eol_from = from;
    f->eol_to = at ? (size_t)(at - f->text.data) + 1 : f->text.len + 1;
    if (!at && f->text.len)
        at = memrchr(f->text.data, last, f->text.len);
    if (!at)
        f->eol = f->main;
    else if (last == '\r')
        f->eol = EOL_CR;
    else
        f->eol = at > f->text.data && at[-1] == '\r' ? EOL_CRLF : EOL_LF;
    return f->eol;
}

struct insertion insertion_at(
        struct finder *f, struct str old_text, struct str new_text, struct span at)
{
    bool has_lf = has_byte(new_text, '\n'), has_cr = has_byte(new_text, '\r');
    struct insertion i = { .text = new_text };
    if (!has_lf && !has_cr)
        return i;
    if (!f->crossed && (has_cr || has_byte(old_text, '\r')))
        return i;
    i.to = eol_after(f, at.from);
    i.lone_cr = f->crossed && !has_lf;
    return i;
}

static size_t eol_len(const struct insertion *i, size_t at)
{
    char c = i->text.data[at];
    if (i->to == EOL_NONE || (c != '\n' && c != '\r'))
        return 0;
    if (c == '\n')
        return 1;
    return is_crlf(i->text, at) ? 2 : i->lone_cr;
}

size_t insertion_size(const struct insertion *i)
{
    size_t size = i->text.len;
    for (size_t at = 0, len; at < i->text.len; at += len ? len : 1) {
        len = eol_len(i, at);
        if (len)
            size += (i->to == EOL_CRLF ? 2 : 1) - len;
    }
    return size;
}

void insertion_write(const struct insertion *i, char *to)
{
    for (size_t at = 0, len; at < i->text.len; at += len ? len : 1) {
        len = eol_len(i, at);
        if (!len)
            *to++ = i->text.data[at];
        if (len && i->to != EOL_LF)
            *to++ = '\r';
        if (len && i->to != EOL_CR)
            *to++ = '\n';
    }
}
