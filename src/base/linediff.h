/*
 * linediff.h - which lines of two texts differ, and how they are shown together.
 *
 * Lines are numbers here: equal lines have equal ones, which linediff_number() gives out.
 * linediff_compare() then marks the lines that the other side does not have; what is
 * marked at one place of both sides is a hunk, and hunks whose context meets are a view.
 */
#ifndef BASE_LINEDIFF_H
#define BASE_LINEDIFF_H

#include "base/budget.h"
#include "base/str.h"

struct linediff_table {
    struct str *keys; /* by number, borrowed */
    uint64_t *hashes; /* by number */
    uint32_t *slots;  /* number + 1; 0: free */
    size_t mask;
    uint32_t count; /* numbers given out */
};

/* For at most `max_lines` lines. */
void linediff_table_init(struct linediff_table *t, size_t max_lines);
void linediff_table_finish(struct linediff_table *t);
#define auto_linediff_table AUTO(linediff_table_finish) struct linediff_table

/* False: the budget is spent. */
MUST_CHECK bool linediff_number(
        struct linediff_table *t, struct str key, struct budget *budget, uint32_t *out);

struct linediff_side {
    const uint32_t *ids;
    bool *changed; /* count + 2 of them; filled by linediff_compare() */
    size_t count;
};

/* `id_count`: above every id.  False: the budget is spent. */
MUST_CHECK bool linediff_compare(
        struct linediff_side sides[2], uint32_t id_count, struct budget *budget);

struct linediff_hunk { /* these lines of one for those of the other */
    size_t start[2], count[2];
    bool is_ignored; /* by who made it; never the first or last of a view */
};

/* Yours to free. */
struct linediff_hunk *linediff_hunks(const struct linediff_side sides[2], size_t *count);

struct linediff_view { /* hunks that are shown together, with the lines around them */
    const struct linediff_hunk *first, *last;
    size_t from[2], to[2];
};

/* The view that begins with `first`, which is not ignored; `lines`: of side 0. */
struct linediff_view linediff_view_at(const struct linediff_hunk *first,
        const struct linediff_hunk *end, size_t context, size_t lines);

/* "3,4", "3" for one line: the lines [from, to) in a unified diff. */
void linediff_add_range(size_t from, size_t to, struct buf *out);

#endif
