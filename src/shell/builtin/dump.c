#include "shell/builtin/dump.h"

#include <errno.h>

struct dump dump_open(struct cmd *c, uint64_t max)
{
    return (struct dump){ .in = inputs_open(c), .left = max };
}

/* Is there a byte to read? */
static bool look(struct dump *d, struct str *view)
{
    while (cmd_tick(d->in.c)) {
        if (d->is_open && stream_peek(d->in.stream, view))
            return true;
        d->is_open = inputs_next(&d->in);
        if (!d->is_open)
            return false;
    }
    return false;
}

size_t dump_read(struct dump *d, unsigned char *to, size_t size)
{
    size_t got = 0;
    struct str view;
    while (got < size && d->left && look(d, &view)) {
        size_t n = view.len < size - got ? view.len : size - got;
        if (n > d->left)
            n = (size_t)d->left;
        memcpy(to + got, view.data, n);
        stream_consume(d->in.stream, n);
        got += n;
        d->left -= n;
    }
    return got;
}

bool dump_skip(struct dump *d, uint64_t n)
{
    struct str view;
    while (n && look(d, &view)) {
        size_t take = view.len < n ? view.len : (size_t)n;
        stream_consume(d->in.stream, take);
        n -= take;
    }
    return !n;
}

bool dump_number(const char *text, uint64_t *out)
{
    static const struct {
        const char *suffix;
        uint64_t factor;
    } units[] = { { "", 1 }, { "b", 512 }, { "k", 1 << 10 }, { "K", 1 << 10 },
        { "kB", 1000 }, { "m", 1 << 20 }, { "M", 1 << 20 }, { "MB", 1000000 },
        { "G", 1 << 30 } };
    char *end;
    errno = 0;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long long n = strtoull(text, &end, 0);
    for (size_t i = 0; !errno && i < ARRAY_LEN(units); i++)
        if (!strcmp(end, units[i].suffix) && n <= UINT64_MAX / units[i].factor) {
            *out = n * units[i].factor;
            return true;
        }
    return false;
}
