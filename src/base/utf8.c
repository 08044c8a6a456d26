#include "base/utf8.h"

static bool is_tail(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

/* How many bytes the lead byte `c` announces, and the allowed range of the second. */
static size_t announced(unsigned char c, unsigned char *low, unsigned char *high)
{
    *low = 0x80;
    *high = 0xbf;
    if (c < 0x80)
        return 1;
    if (c < 0xc2)
        return 0;
    if (c < 0xe0)
        return 2;
    if (c < 0xf0) {
        if (c == 0xe0)
            *low = 0xa0;
        if (c == 0xed)
            *high = 0x9f;
        return 3;
    }
    if (c < 0xf5) {
        if (c == 0xf0)
            *low = 0x90;
        if (c == 0xf4)
            *high = 0x8f;
        return 4;
    }
    return 0;
}

/* Valid bytes at the start of `s` that belong to one sequence; `*need`: its full length.
 */
static size_t valid_part(struct str s, size_t *need)
{
    const unsigned char *p = (const unsigned char *)s.data;
    unsigned char low, high;
    *need = s.len ? announced(p[0], &low, &high) : 0;
    if (!*need)
        return 0;
    size_t i = 1;
    if (i < *need && i < s.len && p[i] >= low && p[i] <= high)
        for (i++; i < *need && i < s.len && is_tail(p[i]); i++)
            ;
    return i;
}

size_t utf8_decode(struct str s, uint32_t *code)
{
    const unsigned char *p = (const unsigned char *)s.data;
    size_t need;
    if (valid_part(s, &need) < need || !need)
        return 0;
    uint32_t c = need == 1 ? p[0] : p[0] & (0x7fu >> need);
    for (size_t i = 1; i < need; i++)
        c = c << 6 | (p[i] & 0x3fu);
    *code = c;
    return need;
}

size_t utf8_write(uint32_t code, char out[4])
{
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xc0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xe0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3f));
        out[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3f));
    out[2] = (char)(0x80 | (code >> 6 & 0x3f));
    out[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Length of the plain ASCII at the start of `s`, eight bytes at a time. */
static size_t ascii_run(struct str s)
{
    size_t i = 0;
    for (uint64_t word; i + 8 <= s.len; i += 8) {
        memcpy(&word, s.data + i, 8);
        if (word & 0x8080808080808080u)
            break;
    }
    while (i < s.len && !(s.data[i] & 0x80))
        i++;
    return i;
}

size_t utf8_valid_len(struct str s)
{
    struct str rest = s;
    for (;;) {
        rest = str_from(rest, ascii_run(rest));
        uint32_t code;
        size_t n = rest.len ? utf8_decode(rest, &code) : 0;
        if (!n)
            return s.len - rest.len;
        rest = str_from(rest, n);
    }
}

size_t utf8_count(struct str s)
{
    size_t count = 0;
    while (s.len) {
        size_t ascii = ascii_run(s);
        count += ascii;
        s = str_from(s, ascii);
        if (!s.len)
            break;
        uint32_t code;
        size_t n = utf8_decode(s, &code);
        s = str_from(s, n ? n : 1);
        count++;
    }
    return count;
}

size_t utf8_offset(struct str s, size_t chars)
{
    size_t at = 0;
    while (chars && at < s.len) {
        uint32_t code;
        size_t n = utf8_decode(str_from(s, at), &code);
        at += n ? n : 1;
        chars--;
    }
    return at;
}

static size_t cost_of(size_t bytes)
{
    return bytes > 2 ? bytes : 1;
}

size_t utf8_cost(struct str s)
{
    size_t cost = 0;
    for (struct str rest = s; rest.len;) {
        size_t ascii = ascii_run(rest);
        uint32_t code;
        cost += ascii;
        rest = str_from(rest, ascii);
        size_t n = rest.len ? utf8_decode(rest, &code) : 0;
        cost += rest.len ? cost_of(n) : 0;
        rest = str_from(rest, n ? n : rest.len ? 1 : 0);
    }
    return cost;
}

size_t utf8_cost_offset(struct str s, size_t cost)
{
    size_t at = 0;
    while (at < s.len) {
        uint32_t code;
        size_t n = utf8_decode(str_from(s, at), &code);
        if (cost_of(n) > cost)
            break;
        cost -= cost_of(n);
        at += n ? n : 1;
    }
    return at;
}

size_t utf8_cost_tail(struct str s, size_t cost)
{
    size_t at = s.len;
    while (at) {
        uint32_t code;
        size_t n = 1;
        while (n < 4 && n < at && ((unsigned char)s.data[at - n] & 0xc0) == 0x80)
            n++;
        if (utf8_decode(str_sub(s, at - n, n), &code) != n)
            n = 1;
        if (cost_of(n) > cost)
            break;
        cost -= cost_of(n);
        at -= n;
    }
    return s.len - at;
}

void utf8_repair(struct str s, struct buf *out)
{
    while (s.len) {
        size_t ascii = ascii_run(s);
        buf_add(out, str_sub(s, 0, ascii));
        s = str_from(s, ascii);
        if (!s.len)
            return;
        size_t need;
        size_t got = valid_part(s, &need);
        if (got && got == need)
            buf_add(out, str_sub(s, 0, got));
        else
            buf_add(out, STR("\xef\xbf\xbd"));
        s = str_from(s, got ? got : 1);
    }
}
