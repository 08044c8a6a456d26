#include "search/text.h"

#include "base/textline.h"
#include "base/utf8.h"

enum { RAW_SIZE = 64 << 10, LOOKED_AT = 8192, LONGEST = 4 /* bytes of a character */ };

#define REPLACEMENT STR("\xEF\xBF\xBD")

void text_reader_finish(struct text_reader *r)
{
    free(r->raw);
    r->raw = NULL;
}

static struct str rest(const struct text_reader *r)
{
    return (struct str){ r->raw + r->at, r->len - r->at };
}

/* More bytes behind those that are left, as much as there is room for. */
static int fill(struct text_reader *r)
{
    size_t got = 0;
    if (r->at) {
        memmove(r->raw, r->raw + r->at, r->len - r->at);
        r->len -= r->at;
        r->at = 0;
    }
    int error = vfile_read(r->file, r->raw + r->len, RAW_SIZE - r->len, &got);
    r->len += got;
    r->offset += got;
    r->at_eof = !got;
    return error;
}

static void decide_encoding(struct text_reader *r)
{
    struct str start = rest(r);
    if (str_starts(start, STR("\xEF\xBB\xBF"))) {
        r->at += 3;
    } else if (str_starts(start, STR("\xFF\xFE")) || str_starts(start, STR("\xFE\xFF"))) {
        r->encoding = start.data[0] == '\xFF' ? TEXT_UTF16_LE : TEXT_UTF16_BE;
        r->at += 2;
    }
    struct str looked_at = str_sub(start, 0, LOOKED_AT);
    r->has_nul = r->encoding == TEXT_UTF8 && looked_at.len &&
                 memchr(looked_at.data, 0, looked_at.len);
}

int text_start(struct text_reader *r, struct vfile *file)
{
    char *raw = r->raw ? r->raw : xmalloc(RAW_SIZE);
    *r = (struct text_reader){ .file = file, .raw = raw, .bad_at = TEXT_FINE };
    int error = fill(r);
    if (!error)
        decide_encoding(r);
    return error;
}

static void note_bad(struct text_reader *r)
{
    if (r->bad_at == TEXT_FINE)
        r->bad_at = r->offset - (r->len - r->at);
}

static size_t put(char *to, struct str s)
{
    memcpy(to, s.data, s.len);
    return s.len;
}

/* What stands at the front of the rest and is not plain: its bytes in the text. */
static size_t decode_char(struct text_reader *r, char *to)
{
    struct str here = rest(r);
    uint32_t code;
    size_t len = textline_break(here, 0);
    if (len) {
        *to = '\n';
        r->at += len;
        return 1;
    }
    len = utf8_decode(here, &code);
    if (!len) {
        note_bad(r);
        r->at++;
        return put(to, REPLACEMENT);
    }
    r->at += len;
    return put(to, str_sub(here, 0, len));
}

static size_t decode_utf8(struct text_reader *r, char *to, size_t size)
{
    size_t out = 0;
    while (size - out >= LONGEST && (r->len - r->at >= LONGEST || r->at_eof) &&
            r->at < r->len) {
        size_t plain = textline_plain(str_sub(rest(r), 0, size - out));
        out += put(to + out, str_sub(rest(r), 0, plain));
        r->at += plain;
        if (!plain)
            out += decode_char(r, to + out);
    }
    return out;
}

static uint32_t unit_at(const struct text_reader *r, size_t at)
{
    const unsigned char *p = (const unsigned char *)r->raw + at;
    return r->encoding == TEXT_UTF16_LE ? (uint32_t)(p[0] | p[1] << 8)
                                        : (uint32_t)(p[0] << 8 | p[1]);
}

static bool is_low_surrogate(uint32_t unit)
{
    return unit >= 0xDC00 && unit < 0xE000;
}

/* One character of UTF-16; 0xFFFD for half of one. */
static uint32_t take_utf16(struct text_reader *r)
{
    size_t left = r->len - r->at;
    uint32_t unit = left > 1 ? unit_at(r, r->at) : 0xDC00;
    uint32_t next = left > 3 ? unit_at(r, r->at + 2) : 0;
    if (unit >= 0xD800 && unit < 0xDC00 && is_low_surrogate(next)) {
        r->at += 4;
        return 0x10000 + ((unit - 0xD800) << 10 | (next - 0xDC00));
    }
    bool half = unit >= 0xD800 && unit < 0xE000;
    if (half)
        note_bad(r);
    if (unit == '\r' && next == '\n')
        r->at += 2;
    r->at += left > 1 ? 2 : 1;
    return half ? 0xFFFD : unit;
}

static size_t decode_utf16(struct text_reader *r, char *to, size_t size)
{
    size_t out = 0;
    while (size - out >= LONGEST && (r->len - r->at >= LONGEST || r->at_eof) &&
            r->at < r->len) {
        char bytes[4];
        size_t len = utf8_write(take_utf16(r), bytes);
        bool is_break = textline_break((struct str){ bytes, len }, 0) > 0;
        out += put(to + out, is_break ? STR("\n") : (struct str){ bytes, len });
    }
    return out;
}

int text_read(struct text_reader *r, char *to, size_t size, size_t *got)
{
    *got = 0;
    while (!*got && !(r->at_eof && r->at == r->len)) {
        if (r->len - r->at < LONGEST && !r->at_eof) {
            int error = fill(r);
            if (error)
                return error;
        }
        *got = r->encoding == TEXT_UTF8 ? decode_utf8(r, to, size)
                                        : decode_utf16(r, to, size);
    }
    return 0;
}

void text_lines_finish(struct text_lines *l)
{
    text_reader_finish(&l->reader);
    free(l->data);
    l->data = NULL;
}

int text_lines_start(struct text_lines *l, struct vfile *file)
{
    if (!l->data)
        l->data = xmalloc(RAW_SIZE);
    l->at = l->len = 0;
    l->error = 0;
    return text_start(&l->reader, file);
}

bool text_lines_next(struct text_lines *l, struct str *part, bool *ended)
{
    if (l->at == l->len) {
        l->at = 0;
        l->error = text_read(&l->reader, l->data, RAW_SIZE, &l->len);
        if (l->error || !l->len)
            return false;
    }
    struct str left = { l->data + l->at, l->len - l->at };
    size_t whole = left.len;
    *part = str_cut(&left, '\n');
    *ended = part->len < whole;
    l->at = l->len - left.len;
    return true;
}
