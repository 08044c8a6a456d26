#include "shell/builtin/diff/diff.h"

static bool is_blank(struct str line)
{
    for (size_t i = 0; i < line.len; i++)
        if (line.data[i] != ' ' && (line.data[i] < '\t' || line.data[i] > '\r'))
            return false;
    return true;
}

/* -B: are all its lines empty (blank, where white space is ignored)? */
static bool is_ignored(
        const struct diff *d, const struct diff_pair *pair, const struct diff_hunk *h)
{
    if (!d->ignore_blank_lines)
        return false;
    for (int f = 0; f < 2; f++)
        for (size_t i = 0; i < h->count[f]; i++) {
            struct str line = pair->files[f].lines[h->start[f] + i];
            if (d->space == SPACE_KEEP ? line.len > 0 : !is_blank(line))
                return false;
        }
    return true;
}

static size_t count_changed(const struct diff_file *f, size_t from)
{
    size_t n = 0;
    while (from + n < f->count && f->changed[from + n])
        n++;
    return n;
}

struct diff_hunk *diff_hunks(struct diff *d, const struct diff_pair *pair, size_t *count)
{
    const struct diff_file *a = &pair->files[0], *b = &pair->files[1];
    size_t n = 0;
    for (size_t i = 0; i < a->count; i++)
        n += a->changed[i];
    for (size_t i = 0; i < b->count; i++)
        n += b->changed[i];
    struct diff_hunk *hunks = arena_alloc(d->c->arena, (n + 1) * sizeof(*hunks));
    *count = 0;
    for (size_t i = 0, j = 0; i < a->count || j < b->count; i++, j++) {
        struct diff_hunk h = { { i, j }, { count_changed(a, i), count_changed(b, j) },
            false };
        i += h.count[0];
        j += h.count[1];
        if (!h.count[0] && !h.count[1])
            continue;
        h.is_ignored = is_ignored(d, pair, &h);
        hunks[(*count)++] = h;
    }
    return hunks;
}
