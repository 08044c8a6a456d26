#include "shell/builtin/ranges.h"

#include "shell/builtin/number.h"

#include <stdlib.h>

static void add(struct ranges *r, uint64_t first, uint64_t last)
{
    GROW(r->items, r->count, r->cap);
    r->items[r->count++] = (struct range){ first, last };
}

static int compare(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return (x->first > y->first) - (x->first < y->first);
}

static void merge(struct ranges *r, bool apart)
{
    size_t kept = 0;
    qsort(r->items, r->count, sizeof(*r->items), compare);
    for (size_t i = 0; i < r->count; i++) {
        struct range *last = kept ? &r->items[kept - 1] : NULL;
        bool joins = last && (apart ? r->items[i].first <= last->last
                                    : r->items[i].first - 1 <= last->last);
        if (!joins)
            r->items[kept++] = r->items[i];
        else if (r->items[i].last > last->last)
            last->last = r->items[i].last;
    }
    r->count = kept;
}

static void invert(struct ranges *r)
{
    struct ranges rest = { 0 };
    uint64_t next = 1;
    for (size_t i = 0; i < r->count; i++) {
        if (r->items[i].first > next)
            add(&rest, next, r->items[i].first - 1);
        next = r->items[i].last + 1; /* 0 after UINT64_MAX */
        if (!next)
            break;
    }
    if (next)
        add(&rest, next, UINT64_MAX);
    free(r->items);
    *r = rest;
}

static bool is_field(const char *what)
{
    return !strcmp(what, "field");
}

/* N, N-, -M, N-M */
static bool parse_one(
        struct str part, const char *what, struct ranges *out, struct error *err)
{
    struct str rest = part, head = str_cut(&rest, '-');
    bool dash = head.len < part.len;
    uint64_t first = 1, last = UINT64_MAX;
    if (head.len && !number_plain(head, &first))
        return is_field(what)
                       ? error_set(err, ERR_INVALID, "invalid field value '%.*s'",
                                 STR_ARG(part))
                       : error_set(err, ERR_INVALID,
                                 "invalid byte/character position '%.*s'", STR_ARG(part));
    if (rest.len && !number_plain(rest, &last))
        return is_field(what)
                       ? error_set(err, ERR_INVALID, "invalid field value '%.*s'",
                                 STR_ARG(rest))
                       : error_set(err, ERR_INVALID,
                                 "invalid byte/character position '%.*s'", STR_ARG(rest));
    if (dash && !head.len && !rest.len)
        return error_set(err, ERR_INVALID, "invalid range with no endpoint: -");
    if ((head.len && !first) || (!head.len && !dash) || (rest.len && !last && !head.len))
        return error_set(err, ERR_INVALID,
                is_field(what) ? "fields are numbered from 1"
                               : "byte/character positions are numbered from 1");
    if (!dash)
        last = first;
    if (last < first)
        return error_set(err, ERR_INVALID, "invalid decreasing range");
    add(out, first, last);
    return true;
}

bool ranges_parse(struct str text, const char *what, bool complement, bool apart,
        struct ranges *out, struct error *err)
{
    struct ranges r = { 0 };
    bool ok = true;
    struct str rest = text;
    do {
        size_t len = 0;
        while (len < rest.len && !strchr(", \t", rest.data[len]))
            len++;
        bool more = len < rest.len;
        ok = ok && parse_one(str_sub(rest, 0, len), what, &r, err);
        rest = str_from(rest, len + more);
        if (!more)
            break;
    } while (ok);
    if (!ok) {
        free(r.items);
        return false;
    }
    merge(&r, apart);
    if (complement)
        invert(&r);
    *out = r;
    return true;
}
