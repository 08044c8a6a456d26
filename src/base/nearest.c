#include "base/nearest.h"

#define MAX_WORD 32 /* longer words have no near names */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Optimal string alignment: edits between a and b, swapped neighbours count as one. */
static size_t distance(struct str a, struct str b)
{
    size_t d[MAX_WORD + 1][MAX_WORD + 1];
    for (size_t i = 0; i <= a.len; i++)
        d[i][0] = i;
    for (size_t j = 0; j <= b.len; j++)
        d[0][j] = j;
    for (size_t i = 1; i <= a.len; i++) {
        for (size_t j = 1; j <= b.len; j++) {
            size_t change = d[i - 1][j - 1] + (a.data[i - 1] != b.data[j - 1]);
            d[i][j] = least(change, least(d[i - 1][j], d[i][j - 1]) + 1);
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
                    a.data[i - 2] == b.data[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    }
    return d[a.len][b.len];
}

struct str nearest_name(
        struct str word, const void *list, size_t count, nearest_name_at *name_at)
{
    struct str best = { NULL, 0 };
    size_t best_edits = SIZE_MAX;
    for (size_t i = 0; word.len && word.len <= MAX_WORD && i < count; i++) {
        struct str name = name_at(list, i);
        if (!name.len || name.len > MAX_WORD)
            continue;
        size_t longer = word.len > name.len ? word.len : name.len;
        size_t edits = distance(word, name);
        if (edits < best_edits && edits < longer && edits <= (longer + 2) / 3) {
            best = name;
            best_edits = edits;
        }
    }
    return best;
}

static struct str cstr_at(const void *list, size_t i)
{
    return str_of(((const char *const *)list)[i]);
}

struct str nearest_cstr(struct str word, const char *const *names, size_t count)
{
    return nearest_name(word, names, count, cstr_at);
}
