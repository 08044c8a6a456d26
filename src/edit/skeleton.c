#include "base/utf8.h"
#include "edit/internal.h"

#define BAD_BYTE 0x110000u

static bool is_blank(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xA0 ||
           c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
           c == 0x202F || c == 0x205F || c == 0x3000;
}

static bool is_invisible(uint32_t c)
{
    return c == 0xAD || (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x2069) || (c >= 0xFE00 && c <= 0xFE0F) || c == 0xFEFF;
}

struct glyph glyph_at(struct str text, size_t at)
{
    struct glyph g = { .len = 1, .code = (unsigned char)text.data[at] };
    if (g.code >= 0x80) {
        g.len = utf8_decode(str_from(text, at), &g.code);
        if (!g.len) {
            g.len = 1;
            g.code = BAD_BYTE + (unsigned char)text.data[at];
        }
    }
    g.filler = is_blank(g.code) || is_invisible(g.code);
    return g;
}

/* The ASCII kin of typographic quotes and dashes, else the character. */
static uint32_t plain_of(uint32_t c)
{
    switch (c) {
    case 0x2018:
    case 0x2019:
    case 0x201A:
    case 0x201B:
    case 0x2032:
    case 0xB4:
        return '\'';
    case 0x201C:
    case 0x201D:
    case 0x201E:
    case 0x201F:
    case 0x2033:
    case 0xAB:
    case 0xBB:
        return '"';
    case 0x2010:
    case 0x2011:
    case 0x2012:
    case 0x2013:
    case 0x2014:
    case 0x2015:
    case 0x2212:
        return '-';
    default:
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    }
}

/* Put what a skeleton keeps of a character at `to`: its length, 0 to 4. */
static size_t put_kept(const char *from, const struct glyph *g, char *to)
{
    if (g->filler)
        return 0;
    if (g->code == 0x2026) {
        memcpy(to, "...", 3);
        return 3;
    }
    uint32_t plain = plain_of(g->code);
    if (plain < 0x80) {
        *to = (char)plain;
        return 1;
    }
    memcpy(to, from, g->len);
    return g->len;
}

/* May the character that begins with these bytes be one that changes? */
static bool is_suspect(struct str text, size_t at)
{
    unsigned char c = (unsigned char)text.data[at];
    unsigned char d = at + 1 < text.len ? (unsigned char)text.data[at + 1] : 0;
    return c == 0xC2 || (c == 0xE1 && d == 0x9A) || (c == 0xE2 && d <= 0x88) ||
           (c == 0xE3 && d == 0x80) || (c == 0xEF && d >= 0xB8);
}

/* One character of the text, or one byte of it where that comes to the same. */
static size_t next_kept(struct str text, size_t *at, char *to)
{
    unsigned char c = (unsigned char)text.data[*at];
    if (LIKELY(c < 0x80)) {
        ++*at;
        *to = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        return c == ' ' || (c >= '\t' && c <= '\r') ? 0 : 1;
    }
    if (!is_suspect(text, *at)) {
        *to = (char)c;
        ++*at;
        return 1;
    }
    struct glyph g = glyph_at(text, *at);
    size_t kept = put_kept(text.data + *at, &g, to);
    *at += g.len;
    return kept;
}

void skeleton_make(struct str text, struct skeleton *out)
{
    out->data = xmalloc(text.len + 4);
    out->len = 0;
    for (size_t at = 0; at < text.len;)
        out->len += next_kept(text, &at, out->data + out->len);
}

void skeleton_finish(struct skeleton *s)
{
    free(s->data);
    s->data = NULL;
}

size_t skeleton_raw(struct str text, size_t at, size_t *seen, size_t *raw)
{
    while (*raw < text.len) {
        char kept[4];
        size_t next = *raw, len = next_kept(text, &next, kept);
        if (len && *seen + len > at)
            break;
        *seen += len;
        *raw = next;
    }
    return *raw;
}

uint32_t skeleton_hash(struct str text)
{
    uint32_t hash = 2166136261u;
    bool any = false;
    for (size_t at = 0; at < text.len;) {
        char kept[4];
        size_t len = next_kept(text, &at, kept);
        for (size_t i = 0; i < len; i++)
            hash = (hash ^ (unsigned char)kept[i]) * 16777619u;
        any |= len;
    }
    return any ? (hash ? hash : 1) : 0;
}

static const struct {
    uint32_t code;
    const char *name;
} names[] = {
    { 0x00A0, "no-break space" },
    { 0x00AD, "soft hyphen" },
    { 0x200B, "zero-width space" },
    { 0x200C, "zero-width non-joiner" },
    { 0x200D, "zero-width joiner" },
    { 0x200E, "left-to-right mark" },
    { 0x200F, "right-to-left mark" },
    { 0x2010, "hyphen" },
    { 0x2011, "non-breaking hyphen" },
    { 0x2013, "en dash" },
    { 0x2014, "em dash" },
    { 0x2018, "left single quotation mark" },
    { 0x2019, "right single quotation mark" },
    { 0x201C, "left double quotation mark" },
    { 0x201D, "right double quotation mark" },
    { 0x2026, "ellipsis" },
    { 0x202F, "narrow no-break space" },
    { 0x2060, "word joiner" },
    { 0x2212, "minus sign" },
    { 0x3000, "ideographic space" },
    { 0xFEFF, "byte order mark" },
};

void show_glyph(uint32_t code, struct buf *out)
{
    if (code >= BAD_BYTE) {
        buf_addf(out, "byte 0x%02X", code - BAD_BYTE);
        return;
    }
    if (code > ' ' && code < 0x7F) {
        buf_addf(out, "'%c'", (int)code);
        return;
    }
    buf_addf(out, "U+%04X", code);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i].code == code)
            buf_addf(out, " (%s)", names[i].name);
    }
}
