#include "base/str.h"

#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>

char *str_copy(struct str s)
{
    char *copy = xmalloc(s.len + 1);
    if (s.len)
        memcpy(copy, s.data, s.len);
    copy[s.len] = '\0';
    return copy;
}

bool str_starts(struct str s, struct str prefix)
{
    return s.len >= prefix.len &&
           (!prefix.len || !memcmp(s.data, prefix.data, prefix.len));
}

bool str_ends(struct str s, struct str suffix)
{
    return s.len >= suffix.len &&
           (!suffix.len || !memcmp(s.data + s.len - suffix.len, suffix.data, suffix.len));
}

int str_cmp(struct str a, struct str b)
{
    size_t n = a.len < b.len ? a.len : b.len;
    int order = n ? memcmp(a.data, b.data, n) : 0;
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

struct str str_from(struct str s, size_t from)
{
    if (from > s.len)
        from = s.len;
    return from ? (struct str){ s.data + from, s.len - from } : s; /* data may be NULL */
}

struct str str_sub(struct str s, size_t from, size_t len)
{
    s = str_from(s, from);
    if (s.len > len)
        s.len = len;
    return s;
}

struct str str_cut(struct str *rest, char sep)
{
    const char *at = rest->len ? memchr(rest->data, sep, rest->len) : NULL;
    struct str head = *rest;
    if (!at) {
        *rest = str_from(*rest, rest->len);
        return head;
    }
    head.len = (size_t)(at - rest->data);
    *rest = str_from(*rest, head.len + 1);
    return head;
}

size_t str_count(struct str s, char c)
{
    size_t count = 0;
    if (!s.len)
        return 0; /* `data` may be NULL, which is nowhere to count from */
    for (const char *at = s.data, *end = at + s.len;
            at < end && (at = memchr(at, c, (size_t)(end - at))); at++)
        count++;
    return count;
}

size_t str_which(struct str s, const char *const *words, size_t count)
{
    size_t i = 0;
    while (i < count && !str_is(s, words[i]))
        i++;
    return i;
}

bool str_int(struct str s, int64_t *out)
{
    bool negative = s.len && s.data[0] == '-';
    size_t i = s.len && (negative || s.data[0] == '+') ? 1 : 0;
    if (i == s.len)
        return false;
    uint64_t n = 0, max = (uint64_t)INT64_MAX + negative;
    for (size_t safe = i + 18; i < s.len && i < safe; i++) { /* cannot overflow */
        unsigned digit = (unsigned)(s.data[i] - '0');
        if (digit > 9)
            return false;
        n = n * 10 + digit;
    }
    for (; i < s.len; i++) {
        unsigned digit = (unsigned)(s.data[i] - '0');
        if (digit > 9 || n > (max - digit) / 10)
            return false;
        n = n * 10 + digit;
    }
    *out = (int64_t)(negative ? 0 - n : n);
    return true;
}

struct str str_of_int(int64_t n, char text[STR_INT_MAX])
{
    uint64_t rest = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;
    size_t at = STR_INT_MAX;
    do
        text[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (n < 0)
        text[--at] = '-';
    return (struct str){ text + at, STR_INT_MAX - at };
}

void buf_finish(struct buf *b)
{
    free(b->data);
    *b = BUF(b->max);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->full = false;
    if (b->data)
        b->data[0] = 0;
}

char *buf_reserve(struct buf *b, size_t n)
{
    if (b->full || n > b->max - b->len) {
        b->full = true;
        return NULL;
    }
    if (b->len + n + 1 > b->cap) {
        size_t cap = b->cap ? b->cap * 2 : 64;
        if (cap < b->len + n + 1)
            cap = b->len + n + 1;
        b->data = xrealloc(b->data, cap);
        b->cap = cap;
    }
    return b->data + b->len;
}

void buf_add(struct buf *b, struct str s)
{
    char *to = buf_reserve(b, s.len);
    if (!to)
        return;
    if (s.len)
        memcpy(to, s.data, s.len);
    b->len += s.len;
    b->data[b->len] = 0;
}

void buf_addc(struct buf *b, char c)
{
    buf_add(b, (struct str){ &c, 1 });
}

void buf_add_hex(struct buf *b, const void *bytes, size_t count)
{
    static const char digits[] = "0123456789abcdef";
    const unsigned char *from = bytes;
    for (size_t i = 0; i < count; i++)
        buf_add(b, (struct str){
                           (char[]){ digits[from[i] >> 4], digits[from[i] & 15] }, 2 });
}

static bool is_control(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f;
}

void buf_add_shown(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        buf_addc(b, is_control(s.data[i]) ? '?' : s.data[i]);
}

void buf_add_escaped(struct buf *b, struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (is_control(s.data[i]))
            buf_addf(b, "\\x%02x", (unsigned char)s.data[i]);
        else
            buf_addc(b, s.data[i]);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *to = n >= 0 ? buf_reserve(b, (size_t)n) : NULL;
    if (to) {
        vsnprintf(to, (size_t)n + 1, fmt, again);
        b->len += (size_t)n;
    }
    va_end(again);
}

void buf_add_u32(struct buf *b, uint32_t n)
{
    char bytes[4] = { (char)n, (char)(n >> 8), (char)(n >> 16), (char)(n >> 24) };
    buf_add(b, (struct str){ bytes, sizeof(bytes) });
}
