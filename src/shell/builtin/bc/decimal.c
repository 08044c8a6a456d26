#include "shell/builtin/bc/decimal.h"

static unsigned char *new_digits(struct decimals *d, size_t count)
{
    if (count > d->budget->max_memory / 4) {
        budget_stop(d->budget, BUDGET_MEMORY);
        count = 1;
    }
    return arena_zalloc(d->arena, count + 1);
}

static int digit(struct decimal a, size_t shift, size_t i)
{
    return i >= shift && i - shift < a.count ? a.digits[i - shift] : 0;
}

/* Zeros in front are dropped, down to the point. */
static struct decimal trim(struct decimal a)
{
    while (a.count > a.scale && !a.digits[a.count - 1])
        a.count--;
    return a;
}

bool decimal_is_zero(struct decimal a)
{
    for (size_t i = 0; i < a.count; i++)
        if (a.digits[i])
            return false;
    return true;
}

struct decimal decimal_from_int(struct decimals *d, int64_t n)
{
    uint64_t rest = n < 0 ? -(uint64_t)n : (uint64_t)n;
    unsigned char *digits = new_digits(d, 20);
    size_t count = 0;
    for (; rest; rest /= 10)
        digits[count++] = (unsigned char)(rest % 10);
    return (struct decimal){ n < 0, count, 0, digits };
}

struct decimal decimal_parse(struct decimals *d, struct str text)
{
    unsigned char *digits = new_digits(d, text.len);
    size_t count = 0, scale = 0;
    bool single = text.len == 1;
    for (size_t i = text.len; i-- && budget_spend(d->budget, 1);) {
        char ch = text.data[i];
        if (ch == '.')
            scale = count;
        else if (ch >= 'A' && single)
            return decimal_from_int(d, ch - 'A' + 10);
        else
            digits[count++] = ch >= 'A' ? 9 : (unsigned char)(ch - '0');
    }
    return trim((struct decimal){ false, count, scale, digits });
}

/* Without signs. */
static int cmp_size(struct decimal a, struct decimal b)
{
    size_t scale = a.scale > b.scale ? a.scale : b.scale;
    size_t x = scale - a.scale, y = scale - b.scale;
    size_t n = a.count + x > b.count + y ? a.count + x : b.count + y;
    while (n--) {
        int order = digit(a, x, n) - digit(b, y, n);
        if (order)
            return order;
    }
    return 0;
}

int decimal_cmp(struct decimal a, struct decimal b)
{
    if (decimal_is_zero(a) && decimal_is_zero(b))
        return 0;
    if (a.negative != b.negative)
        return a.negative ? -1 : 1;
    return a.negative ? -cmp_size(a, b) : cmp_size(a, b);
}

struct decimal decimal_negate(struct decimal a)
{
    a.negative = !a.negative && !decimal_is_zero(a);
    return a;
}

/* |a| + |b|, or |a| - |b| if that is not below zero. */
static struct decimal combine(
        struct decimals *d, struct decimal a, struct decimal b, bool subtract)
{
    size_t scale = a.scale > b.scale ? a.scale : b.scale;
    size_t x = scale - a.scale, y = scale - b.scale;
    size_t n = (a.count + x > b.count + y ? a.count + x : b.count + y) + 1;
    unsigned char *digits = new_digits(d, n);
    if (!budget_spend(d->budget, n))
        return (struct decimal){ .digits = digits };
    for (size_t i = 0, carry = 0; i < n; i++) {
        int sum = subtract ? digit(a, x, i) - digit(b, y, i) - (int)carry
                           : digit(a, x, i) + digit(b, y, i) + (int)carry;
        carry = subtract ? sum < 0 : sum > 9;
        digits[i] = (unsigned char)(subtract ? (sum + 10) % 10 : sum % 10);
    }
    return trim((struct decimal){ false, n, scale, digits });
}

struct decimal decimal_add(struct decimals *d, struct decimal a, struct decimal b)
{
    struct decimal sum;
    if (a.negative == b.negative) {
        sum = combine(d, a, b, false);
        sum.negative = a.negative;
        return sum;
    }
    bool a_is_larger = cmp_size(a, b) >= 0;
    sum = a_is_larger ? combine(d, a, b, true) : combine(d, b, a, true);
    sum.negative = (a_is_larger ? a.negative : b.negative) && !decimal_is_zero(sum);
    return sum;
}

struct decimal decimal_sub(struct decimals *d, struct decimal a, struct decimal b)
{
    return decimal_add(d, a, decimal_negate(b));
}

struct decimal decimal_rescale(struct decimals *d, struct decimal a, size_t scale)
{
    if (scale <= a.scale) {
        size_t cut = a.scale - scale;
        a.digits += cut;
        a.count -= cut;
        a.scale = scale;
        a.negative = a.negative && !decimal_is_zero(a);
        return a;
    }
    size_t more = scale - a.scale;
    unsigned char *digits = new_digits(d, a.count + more);
    if (!budget_spend(d->budget, a.count + more))
        return (struct decimal){ .digits = digits };
    memcpy(digits + more, a.digits, a.count);
    return (struct decimal){ a.negative, a.count + more, scale, digits };
}

struct decimal decimal_mul(
        struct decimals *d, struct decimal a, struct decimal b, size_t scale)
{
    size_t n = a.count + b.count;
    unsigned char *digits = new_digits(d, n);
    for (size_t i = 0; i < a.count; i++) {
        if (!budget_spend(d->budget, b.count / 8 + 1))
            return (struct decimal){ .digits = digits };
        unsigned carry = 0;
        for (size_t k = 0; k < b.count; k++) {
            unsigned sum = digits[i + k] + a.digits[i] * b.digits[k] + carry;
            digits[i + k] = (unsigned char)(sum % 10);
            carry = sum / 10;
        }
        digits[i + b.count] = (unsigned char)carry;
    }
    struct decimal all = { a.negative != b.negative, n, a.scale + b.scale, digits };
    all = trim(all);
    all.negative = all.negative && !decimal_is_zero(all);
    return all.scale > scale ? trim(decimal_rescale(d, all, scale)) : all;
}

/* rest -= b as often as it goes, `at` digits up; returns how often. */
static unsigned char take_away(
        unsigned char *rest, size_t n, const unsigned char *b, size_t len, size_t at)
{
    for (unsigned char times = 0;; times++) {
        bool less = at + len >= n || !rest[at + len];
        for (size_t i = len; less && i--;)
            if (rest[at + i] != b[i]) {
                if (rest[at + i] < b[i])
                    return times;
                less = false;
            }
        int borrow = 0;
        for (size_t i = 0; i <= len && at + i < n; i++) {
            int value = rest[at + i] - (i < len ? b[i] : 0) - borrow;
            borrow = value < 0;
            rest[at + i] = (unsigned char)(value + 10 * borrow);
        }
    }
}

struct decimal decimal_div(
        struct decimals *d, struct decimal a, struct decimal b, size_t scale)
{
    bool negative = a.negative != b.negative;
    size_t len = b.count;
    while (len && !b.digits[len - 1])
        len--;
    /* a * 10^(scale + b.scale - a.scale), as an integer, by b's digits */
    struct decimal top = decimal_rescale(d, a, scale + b.scale);
    size_t n = top.count;
    unsigned char *rest = new_digits(d, n), *digits = new_digits(d, n);
    if (budget_stopped(d->budget))
        return (struct decimal){ .digits = digits };
    memcpy(rest, top.digits, n);
    for (size_t at = n; at-- && budget_spend(d->budget, len + 1);)
        if (at + len <= n)
            digits[at] = take_away(rest, n, b.digits, len, at);
    size_t count = n > scale ? n : scale;
    if (count > n) {
        unsigned char *longer = new_digits(d, count);
        memcpy(longer, digits, n);
        digits = longer;
    }
    struct decimal q = trim((struct decimal){ negative, count, scale, digits });
    q.negative = q.negative && !decimal_is_zero(q);
    return q;
}

struct decimal decimal_sqrt(struct decimals *d, struct decimal a, size_t scale)
{
    if (decimal_is_zero(a))
        return decimal_rescale(d, a, scale);
    size_t work = scale + 2, whole = a.count - a.scale;
    struct decimal two = decimal_from_int(d, 2), x;
    unsigned char *digits = new_digits(d, whole / 2 + 2);
    digits[whole / 2 + 1] = 1; /* above the root: Newton's steps only go down */
    x = (struct decimal){ false, whole / 2 + 2, 0, digits };
    while (budget_spend(d->budget, 1)) {
        struct decimal sum = decimal_add(d, x, decimal_div(d, a, x, work));
        struct decimal next = decimal_div(d, sum, two, work);
        if (decimal_cmp(next, x) >= 0)
            break;
        x = next;
    }
    return trim(decimal_rescale(d, x, scale));
}

bool decimal_to_int(struct decimal a, int64_t *out)
{
    int64_t n = 0;
    for (size_t i = a.count; i-- > a.scale;)
        if (__builtin_mul_overflow(n, 10, &n) ||
                __builtin_add_overflow(n, a.digits[i], &n))
            return false;
    *out = a.negative ? -n : n;
    return true;
}

void decimal_print(struct decimal a, struct buf *out)
{
    if (decimal_is_zero(a)) {
        buf_addc(out, '0');
        return;
    }
    if (a.negative)
        buf_addc(out, '-');
    for (size_t i = a.count; i--;) {
        if (i + 1 == a.scale)
            buf_addc(out, '.');
        buf_addc(out, (char)('0' + a.digits[i]));
    }
}
