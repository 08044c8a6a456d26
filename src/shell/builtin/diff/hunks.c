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
        const struct diff *d, const struct diff_pair *pair, const struct linediff_hunk *h)
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

struct linediff_hunk *diff_hunks(
        struct diff *d, const struct diff_pair *pair, size_t *count)
{
    struct linediff_side sides[2];
    for (int i = 0; i < 2; i++) {
        const struct diff_file *f = &pair->files[i];
        sides[i] = (struct linediff_side){ f->ids, f->changed, f->count };
    }
    struct linediff_hunk *hunks = linediff_hunks(sides, count);
    arena_defer(d->c->arena, free, hunks);
    for (size_t i = 0; i < *count; i++)
        hunks[i].is_ignored = is_ignored(d, pair, &hunks[i]);
    return hunks;
}
