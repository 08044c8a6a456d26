/* Numbers for lines, and what of two texts is shown together. */
#include "base/linediff.h"

static uint64_t hash(struct str s)
{
    uint64_t h = 0x9e3779b97f4a7c15u;
    size_t i = 0;
    for (; i + 8 <= s.len; i += 8) {
        uint64_t word;
        memcpy(&word, s.data + i, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    for (; i < s.len; i++)
        h = (h ^ (unsigned char)s.data[i]) * 0x100000001b3u;
    return h ^ h >> 29;
}

void linediff_table_init(struct linediff_table *t, size_t max_lines)
{
    size_t slots = 16;
    while (slots < max_lines * 2)
        slots *= 2;
    *t = (struct linediff_table){
        .keys = xcalloc(max_lines + 1, sizeof(*t->keys)),
        .hashes = xcalloc(max_lines + 1, sizeof(*t->hashes)),
        .slots = xcalloc(slots, sizeof(*t->slots)),
        .mask = slots - 1,
    };
}

void linediff_table_finish(struct linediff_table *t)
{
    free(t->keys);
    free(t->hashes);
    free(t->slots);
}

bool linediff_number(
        struct linediff_table *t, struct str key, struct budget *budget, uint32_t *out)
{
    uint64_t h = hash(key);
    for (size_t at = h & t->mask;; at = (at + 1) & t->mask) {
        if (!budget_spend(budget, 1))
            return false;
        if (!t->slots[at]) {
            t->keys[t->count] = key;
            t->hashes[t->count] = h;
            t->slots[at] = ++t->count;
        }
        uint32_t id = t->slots[at] - 1;
        if (t->hashes[id] == h && str_eq(t->keys[id], key)) {
            *out = id;
            return true;
        }
    }
}

static size_t count_changed(const struct linediff_side *f, size_t from)
{
    size_t n = 0;
    while (from + n < f->count && f->changed[from + n])
        n++;
    return n;
}

struct linediff_hunk *linediff_hunks(const struct linediff_side sides[2], size_t *count)
{
    const struct linediff_side *a = &sides[0], *b = &sides[1];
    struct linediff_hunk *hunks = NULL;
    size_t cap = 0;
    *count = 0;
    for (size_t i = 0, j = 0; i < a->count || j < b->count; i++, j++) {
        struct linediff_hunk h = { .start = { i, j },
            .count = { count_changed(a, i), count_changed(b, j) } };
        i += h.count[0];
        j += h.count[1];
        if (!h.count[0] && !h.count[1])
            continue;
        GROW(hunks, *count, cap);
        hunks[(*count)++] = h;
    }
    return hunks;
}

struct linediff_view linediff_view_at(const struct linediff_hunk *first,
        const struct linediff_hunk *end, size_t context, size_t lines)
{
    struct linediff_view v = { .first = first, .last = first };
    while (v.last + 1 < end) {
        size_t between = v.last[1].start[0] - v.last->start[0] - v.last->count[0];
        size_t reach = v.last[1].is_ignored ? context : 2 * context;
        if (between > reach || (between == reach && v.last[1].is_ignored))
            break;
        v.last++;
    }
    size_t before = first->start[0], after = v.last->start[0] + v.last->count[0];
    size_t rest = lines - after;
    size_t up = before < context ? before : context;
    size_t down = rest < context ? rest : context;
    if (first->start[1] < up)
        up = first->start[1];
    for (int i = 0; i < 2; i++) {
        v.from[i] = first->start[i] - up;
        v.to[i] = v.last->start[i] + v.last->count[i] + down;
    }
    return v;
}

void linediff_add_range(size_t from, size_t to, struct buf *out)
{
    size_t count = to - from;
    buf_addf(out, "%zu", count ? from + 1 : from);
    if (count != 1)
        buf_addf(out, ",%zu", count);
}
