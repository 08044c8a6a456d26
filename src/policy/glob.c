#include "base/utf8.h"
#include "policy/deny.h"

/* Bytes that are not UTF-8 are characters of their own beyond Unicode. */
#define BAD_BYTE 0x110000u

static size_t next_char(struct str s, size_t at, uint32_t *code)
{
    unsigned char c = (unsigned char)s.data[at];
    if (c < 0x80) {
        *code = c;
        return at + 1;
    }
    size_t len = utf8_decode(str_from(s, at), code);
    if (len)
        return at + len;
    *code = BAD_BYTE + c;
    return at + 1;
}

/* Characters that case-ignoring file systems skip when they compare names. */
static bool is_ignorable(uint32_t c)
{
    return c == 0xAD || c == 0x34F || c == 0x61C || (c >= 0x115F && c <= 0x1160) ||
           (c >= 0x17B4 && c <= 0x17B5) || (c >= 0x180B && c <= 0x180F) ||
           (c >= 0x200B && c <= 0x200F) || (c >= 0x202A && c <= 0x202E) ||
           (c >= 0x2060 && c <= 0x206F) || c == 0x3164 || (c >= 0xFE00 && c <= 0xFE0F) ||
           c == 0xFEFF || c == 0xFFA0 || (c >= 0xFFF0 && c <= 0xFFF8) ||
           (c >= 0x1BCA0 && c <= 0x1BCA3) || (c >= 0x1D173 && c <= 0x1D17A) ||
           (c >= 0xE0000 && c <= 0xE0FFF);
}

static uint32_t fold_char(uint32_t c)
{
    if (c >= 'A' && c <= 'Z')
        return c + ('a' - 'A');
    if (c == 0x17F)
        return 's';
    if (c == 0x212A)
        return 'k';
    return c;
}

/* Of a character that becomes several letters when case is ignored; or NULL. */
static const char *fold_letters(uint32_t c)
{
    static const char *const ligatures[] = { "ff", "fi", "fl", "ffi", "ffl", "st", "st" };
    if (c == 0xDF || c == 0x1E9E) /* sharp s */
        return "ss";
    return c >= 0xFB00 && c < 0xFB00 + ARRAY_LEN(ligatures) ? ligatures[c - 0xFB00]
                                                            : NULL;
}

static uint32_t upper_ascii(uint32_t c)
{
    return c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c;
}

/* The next character of the text that counts; false at the end. */
static bool take_char(struct str text, size_t *at, bool fold, uint32_t *code)
{
    while (*at < text.len) {
        *at = next_char(text, *at, code);
        if (!fold)
            return true;
        if (*code < 0x80 || !is_ignorable(*code)) {
            *code = fold_char(*code);
            return true;
        }
    }
    return false;
}

size_t deny_fold(struct str text, char *out)
{
    size_t len = 0;
    for (size_t at = 0, end; at < text.len; at = end) {
        uint32_t code;
        end = next_char(text, at, &code);
        if (code >= 0x80 && is_ignorable(code))
            continue;
        uint32_t folded = fold_char(code);
        const char *letters = fold_letters(code);
        if (folded < 0x80) {
            out[len++] = (char)folded;
            continue;
        }
        struct str same = letters ? str_of(letters) : str_sub(text, at, end - at);
        memcpy(out + len, same.data, same.len);
        len += same.len;
    }
    return len;
}

/* `[...]` at `at`: the place after it, or 0 if it has no end (then `[` is literal). */
static size_t match_set(
        struct str pattern, size_t at, uint32_t code, bool fold, bool *matched)
{
    size_t i = at + 1;
    bool negated = i < pattern.len && (pattern.data[i] == '!' || pattern.data[i] == '^');
    i += negated;
    bool hit = false;
    for (size_t first = i; i < pattern.len;) {
        if (pattern.data[i] == ']' && i > first) {
            *matched = hit != negated;
            return i + 1;
        }
        uint32_t low, high;
        i = next_char(pattern, i, &low);
        high = low;
        if (i + 1 < pattern.len && pattern.data[i] == '-' && pattern.data[i + 1] != ']')
            i = next_char(pattern, i + 1, &high);
        uint32_t upper = upper_ascii(code);
        hit |= (code >= low && code <= high) || (fold && upper >= low && upper <= high);
    }
    return 0;
}

/* One pattern item that is no star against one character: the place after it, or 0. */
static size_t match_item(struct str pattern, size_t at, uint32_t code, bool fold)
{
    if (pattern.data[at] == '?')
        return at + 1;
    if (pattern.data[at] == '[') {
        bool matched = false;
        size_t after = match_set(pattern, at, code, fold, &matched);
        if (after)
            return matched ? after : 0;
    }
    uint32_t want;
    size_t after = next_char(pattern, at, &want);
    return (fold ? fold_char(want) : want) == code ? after : 0;
}

/*
 * Only the last star is ever reconsidered: an earlier one that took more could not make
 * more of the text match.
 */
bool glob_component_match(struct str pattern, struct str text, bool fold)
{
    size_t p = 0, t = 0, star = SIZE_MAX, retry = 0;
    uint32_t code = 0;
    for (;;) {
        if (p < pattern.len && pattern.data[p] == '*') {
            star = ++p;
            retry = t;
            continue;
        }
        size_t before = t;
        if (!take_char(text, &t, fold, &code)) {
            if (p == pattern.len)
                return true;
        } else {
            size_t after = p < pattern.len ? match_item(pattern, p, code, fold) : 0;
            if (after) {
                p = after;
                continue;
            }
        }
        /* Let the star take one character more. */
        if (star == SIZE_MAX || before >= text.len ||
                !take_char(text, &retry, fold, &code))
            return false;
        p = star;
        t = retry;
    }
}
