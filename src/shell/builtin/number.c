#include "shell/builtin/number.h"

#include <stdio.h>

/* Length of the digits at the start of `s`, and their value (saturated). */
static size_t digits(struct str s, uint64_t *out)
{
    size_t i = 0;
    uint64_t n = 0;
    for (; i < s.len && s.data[i] >= '0' && s.data[i] <= '9'; i++) {
        uint64_t digit = (uint64_t)(s.data[i] - '0');
        n = n > (UINT64_MAX - digit) / 10 ? UINT64_MAX : n * 10 + digit;
    }
    *out = n;
    return i;
}

bool number_plain(struct str s, uint64_t *out)
{
    uint64_t n;
    if (!s.len || digits(s, &n) != s.len)
        return false;
    *out = n;
    return true;
}

static uint64_t scale(uint64_t n, uint64_t unit, unsigned power)
{
    for (; power; power--)
        if (__builtin_mul_overflow(n, unit, &n))
            return UINT64_MAX;
    return n;
}

bool number_size(struct str s, uint64_t *out)
{
    static const char powers[] = "KMGTPEZY";
    uint64_t n;
    struct str suffix = str_from(s, digits(s, &n));
    if (suffix.len == s.len)
        return false;
    if (!suffix.len || str_is(suffix, "b")) {
        *out = scale(n, 512, suffix.len != 0);
        return true;
    }
    char letter = suffix.data[0];
    if (letter == 'k' || letter == 'm')
        letter = (char)(letter - 'a' + 'A');
    const char *at = memchr(powers, letter, sizeof(powers) - 1);
    struct str rest = str_from(suffix, 1);
    if (!at || (rest.len && !str_is(rest, "B") && !str_is(rest, "iB")))
        return false;
    *out = scale(n, str_is(rest, "B") ? 1000 : 1024, (unsigned)(at - powers) + 1);
    return true;
}

void number_human(uint64_t n, unsigned base, char out[16])
{
    static const char letters[] = "KMGTPEZ";
    unsigned __int128 unit = 1;
    int power = -1;
    for (; n / unit >= base; unit *= base)
        power++;
    uint64_t tenths = (uint64_t)(((unsigned __int128)n * 10 + unit - 1) / unit);
    uint64_t whole = (uint64_t)((n + unit - 1) / unit);
    if (whole >= base) { /* rounded up to the next unit */
        power++;
        tenths = 10;
    }
    char letter = power < 0 ? 0 : base == 1000 && !power ? 'k' : letters[power];
    if (power >= 0 && tenths < 100)
        snprintf(
                out, 16, "%u.%u%c", (unsigned)tenths / 10, (unsigned)tenths % 10, letter);
    else
        snprintf(out, 16, "%llu%.1s", (unsigned long long)whole, &letter);
}

size_t number_prefix(struct str s)
{
    size_t i = 0;
    while (i < s.len && (s.data[i] == ' ' || s.data[i] == '\t'))
        i++;
    i += i < s.len && s.data[i] == '-';
    while (i < s.len && s.data[i] >= '0' && s.data[i] <= '9')
        i++;
    i += i < s.len && s.data[i] == '.';
    while (i < s.len && s.data[i] >= '0' && s.data[i] <= '9')
        i++;
    return i;
}

struct str number_column(uint64_t n, unsigned width, char after, char out[64])
{
    assert(width < 40);
    char *end = out + 64, *at = end;
    *--at = after;
    do
        *--at = (char)('0' + n % 10);
    while (n /= 10);
    while ((size_t)(end - at) < width + 1)
        *--at = ' ';
    return (struct str){ at, (size_t)(end - at) };
}
