/*
 * decimal.h - decimal numbers of any length, for bc: a sign, digits, and how many of them
 * stand after the point.  They live in an arena.  Long work spends budget; when that ends
 * the results are of no use, and nobody asks for them.
 */
#ifndef SHELL_BUILTIN_BC_DECIMAL_H
#define SHELL_BUILTIN_BC_DECIMAL_H

#include "base/arena.h"
#include "base/budget.h"

struct decimal {
    bool negative;
    size_t count;                /* of digits, no leading zeros beyond the point */
    size_t scale;                /* how many of them are after the point: <= count */
    const unsigned char *digits; /* 0..9, the least significant first */
};

struct decimals { /* what the functions need */
    struct arena *arena;
    struct budget *budget;
};

struct decimal decimal_from_int(struct decimals *d, int64_t n);

/* "12.50", ".5"; digits A to F count as 10 to 15 in their place. */
struct decimal decimal_parse(struct decimals *d, struct str text);

int decimal_cmp(struct decimal a, struct decimal b);
bool decimal_is_zero(struct decimal a);
struct decimal decimal_negate(struct decimal a);
struct decimal decimal_add(struct decimals *d, struct decimal a, struct decimal b);
struct decimal decimal_sub(struct decimals *d, struct decimal a, struct decimal b);

/* With so many digits after the point; more are cut off. */
struct decimal decimal_rescale(struct decimals *d, struct decimal a, size_t scale);
struct decimal decimal_mul(
        struct decimals *d, struct decimal a, struct decimal b, size_t scale);

/* `b` is not zero. */
struct decimal decimal_div(
        struct decimals *d, struct decimal a, struct decimal b, size_t scale);

/* `a` is not negative. */
struct decimal decimal_sqrt(struct decimals *d, struct decimal a, size_t scale);

/* The integer part; false: too large. */
MUST_CHECK bool decimal_to_int(struct decimal a, int64_t *out);

/* As bc prints it: no zero before the point. */
void decimal_print(struct decimal a, struct buf *out);

#endif
