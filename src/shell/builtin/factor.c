#include "shell/builtin/input.h"
#include "shell/builtin/quote.h"

#include <errno.h>

static const struct cmd_opt options[] = { { 0 } };

#define MAX_FACTORS 64
#define TRIAL_LIMIT 4096

struct factors {
    uint64_t items[MAX_FACTORS];
    size_t count;
};

static uint64_t multiply(uint64_t a, uint64_t b, uint64_t n)
{
    return (uint64_t)((unsigned __int128)a * b % n);
}

static uint64_t power(uint64_t base, uint64_t exponent, uint64_t n)
{
    uint64_t result = 1 % n;
    for (base %= n; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = multiply(result, base, n);
        base = multiply(base, base, n);
    }
    return result;
}

/* Miller and Rabin's test with bases that leave no doubt below 2^64. */
static bool is_prime(uint64_t n)
{
    static const uint64_t bases[] = { 2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37 };
    uint64_t d = n - 1;
    int twos = 0;
    if (n < 2 || n % 2 == 0)
        return n == 2;
    for (; d % 2 == 0; twos++)
        d /= 2;
    for (size_t i = 0; i < ARRAY_LEN(bases); i++) {
        if (bases[i] % n == 0)
            continue;
        uint64_t x = power(bases[i], d, n);
        bool passes = x == 1 || x == n - 1;
        for (int k = 1; k < twos && !passes; k++) {
            x = multiply(x, x, n);
            passes = x == n - 1;
        }
        if (!passes)
            return false;
    }
    return true;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* A divisor of the composite n, by Pollard's rho; 0: the budget is spent. */
static uint64_t find_divisor(struct cmd *c, uint64_t n)
{
    for (uint64_t add = 1;; add++) {
        uint64_t slow = 2, fast = 2, d = 1;
        while (d == 1) {
            if (!cmd_tick(c))
                return 0;
            slow = (uint64_t)(((unsigned __int128)slow * slow + add) % n);
            fast = (uint64_t)(((unsigned __int128)fast * fast + add) % n);
            fast = (uint64_t)(((unsigned __int128)fast * fast + add) % n);
            d = gcd(slow > fast ? slow - fast : fast - slow, n);
        }
        if (d != n)
            return d;
    }
}

/* Without a small factor; adds the prime ones.  False: the budget is spent. */
static bool split(struct cmd *c, uint64_t n, struct factors *f)
{
    if (n == 1)
        return true;
    if (is_prime(n)) {
        f->items[f->count++] = n;
        return true;
    }
    uint64_t d = find_divisor(c, n);
    return d && split(c, d, f) && split(c, n / d, f);
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static bool print_factors(struct cmd *c, uint64_t n)
{
    struct factors f = { .count = 0 };
    auto_buf out = BUF(4096);
    buf_addf(&out, "%llu:", (unsigned long long)n);
    for (uint64_t d = 2; d < TRIAL_LIMIT && n > 1; d++)
        for (; n % d == 0; n /= d)
            f.items[f.count++] = d;
    if (n > 1 && !split(c, n, &f))
        return false;
    qsort(f.items, f.count, sizeof(*f.items), by_size);
    for (size_t i = 0; i < f.count; i++)
        buf_addf(&out, " %llu", (unsigned long long)f.items[i]);
    buf_addc(&out, '\n');
    return cmd_put(c, buf_str(&out));
}

/* False: it is no number (reported), or stdout failed. */
static bool factor(struct cmd *c, const char *text)
{
    const char *p = text + strspn(text, " \t");
    p += *p == '+';
    char *end;
    errno = 0;
    unsigned long long n = strtoull(p, &end, 10);
    if (*p < '0' || *p > '9' || *end) {
        cmd_err(c, "%s is not a valid positive integer", quote(c, text));
        return false;
    }
    if (errno) {
        cmd_err(c, "%s is too large", quote(c, text));
        return false;
    }
    if (!n)
        return cmd_put(c, STR("0:\n"));
    return print_factors(c, n);
}

static int factor_input(struct cmd *c)
{
    struct str line;
    int status = 0;
    while (input_line(c, c->in, '\n', &line, NULL)) {
        char *save, *text = arena_cstr(c->arena, line);
        for (char *word = strtok_r(text, " \t", &save); word && !c->out_failed;
                word = strtok_r(NULL, " \t", &save))
            if (!factor(c, word))
                status = 1;
    }
    return status;
}

static int cmd_factor(struct cmd *c)
{
    int status = 0;
    struct cmd_options o = cmd_options(c);
    if (cmd_next(&o) != CMD_END)
        return 1;
    if (!c->argc)
        return factor_input(c);
    for (int i = 0; i < c->argc && !c->out_failed && cmd_tick(c); i++)
        if (!factor(c, c->argv[i]))
            status = 1;
    return status;
}

const struct command command_factor = {
    "factor",
    cmd_factor,
    options,
    "[NUMBER]...",
    "Print the prime factors of each number (below 2^64).",
    0,
};
