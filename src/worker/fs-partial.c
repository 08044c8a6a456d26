#include "worker/fs-partial.h"

#include "base/textline.h"
#include "base/utf8.h"

#include <stdlib.h>

#define MAX_TEXT  ((size_t)64 << 20)
#define MAX_LINES 10000 /* of what is wanted */

enum { MAX_SHOWN = 5, MAX_BLOCK = 40 /* lines */, MAX_LINE = 300 /* characters */ };

static const char *const pass_names[] = { "exact", "whitespace-normalized",
    "alnum-only" };

/* What counts of a byte in a pass, or 0. */
static unsigned char byte_in_pass(unsigned char c, size_t pass)
{
    bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
    unsigned char lower = letter ? c | 32 : c;
    if (pass == 0)
        return c;
    if (pass == 1)
        return c == ' ' || (c >= '\t' && c <= '\r') ? 0 : lower;
    return letter || (c >= '0' && c <= '9') ? lower : 0;
}

/* A number that lines share which are the same in a pass; 0: nothing is left of it. */
static uint64_t hash_line(struct str line, size_t pass)
{
    uint64_t hash = 0xcbf29ce484222325u;
    bool any = false;
    for (size_t i = 0; i < line.len; i++) {
        unsigned char c = byte_in_pass((unsigned char)line.data[i], pass);
        if (!c)
            continue;
        hash = (hash ^ c) * 0x100000001b3u;
        any = true;
    }
    return any ? hash | 1 : 0;
}

static struct str next_line(struct str text, size_t *at)
{
    struct str line = str_sub(text, *at, textline_end(text, *at) - *at);
    *at = textline_next(text, *at);
    return line;
}

struct wanted {
    uint64_t hash;
    bool found; /* somewhere in the text */
};

static int compare_hashes(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    return (x->hash > y->hash) - (x->hash < y->hash);
}

struct partial {
    struct str text;
    size_t width;          /* lines of what is wanted */
    struct wanted *wanted; /* lines, sorted */
    size_t wanted_count, found;
    uint32_t *before; /* of each line of the text: lines before it that are wanted */
    size_t count;
};

static void index_wanted(struct partial *p, struct str wanted, size_t pass)
{
    p->width = p->wanted_count = p->found = 0;
    for (size_t at = 0; at < wanted.len && p->width < MAX_LINES; p->width++) {
        uint64_t hash = hash_line(next_line(wanted, &at), pass);
        if (hash)
            p->wanted[p->wanted_count++] = (struct wanted){ .hash = hash };
    }
    qsort(p->wanted, p->wanted_count, sizeof(*p->wanted), compare_hashes);
}

static bool is_candidate(const struct partial *p, size_t i)
{
    return p->before[i + 1] > p->before[i];
}

/* Is a line wanted?  Notes that it was found: once for each time that it is wanted. */
static bool find_wanted(struct partial *p, uint64_t hash)
{
    const struct wanted key = { .hash = hash };
    struct wanted *hit = hash ? bsearch(&key, p->wanted, p->wanted_count,
                                        sizeof(*p->wanted), compare_hashes)
                              : NULL;
    if (!hit || hit->found)
        return hit;
    while (hit > p->wanted && hit[-1].hash == hash)
        hit--;
    for (; hit < p->wanted + p->wanted_count && hit->hash == hash; hit++) {
        hit->found = true;
        p->found++;
    }
    return true;
}

/* True: some lines of the text are wanted. */
static bool index_text(struct partial *p, size_t pass)
{
    size_t cap = p->count;
    p->count = 0;
    for (size_t at = 0; at < p->text.len;) {
        uint64_t hash = hash_line(next_line(p->text, &at), pass);
        bool found = find_wanted(p, hash);
        if (p->count + 1 >= cap) {
            cap = cap ? cap * 2 : 256;
            p->before = xrealloc(p->before, cap * sizeof(*p->before));
        }
        if (!p->count)
            p->before[0] = 0;
        p->before[p->count + 1] = p->before[p->count] + found;
        p->count++;
    }
    return p->count && p->before[p->count];
}

/* How many of the lines around it are wanted too, never more than were found at all. */
static size_t score_of(const struct partial *p, size_t i)
{
    size_t from = i + 1 > p->width ? i + 1 - p->width : 0;
    size_t to = i + p->width < p->count ? i + p->width : p->count;
    size_t score = p->before[to] - p->before[from];
    return score < p->found ? score : p->found;
}

struct place {
    size_t line, score;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return (x->line > y->line) - (x->line < y->line);
}

static bool is_near(
        const struct place *kept, size_t count, const struct place *place, size_t width)
{
    for (size_t i = 0; i < count; i++) {
        size_t a = kept[i].line, b = place->line;
        if ((a > b ? a - b : b - a) < width)
            return true;
    }
    return false;
}

/* The best places, none closer to a better one than the text is long; *total: of all. */
static size_t choose_places(
        const struct partial *p, struct place kept[MAX_SHOWN], size_t *total)
{
    struct place *all = xcalloc(p->before[p->count], sizeof(*all));
    size_t count = 0, shown = 0;
    for (size_t i = 0; i < p->count; i++)
        if (is_candidate(p, i))
            all[count++] = (struct place){ i, score_of(p, i) };
    qsort(all, count, sizeof(*all), compare_places);
    *total = count;
    for (size_t i = 0; i < count && shown < MAX_SHOWN; i++) {
        if (is_near(kept, shown, &all[i], p->width))
            --*total;
        else
            kept[shown++] = all[i];
    }
    free(all);
    return shown;
}

void fs_partial_lines(struct str text, size_t first, size_t last, struct buf *out)
{
    size_t at = 0, line = 1;
    for (; line < first && at < text.len; line++)
        at = textline_next(text, at);
    for (; line <= last && at < text.len; line++) {
        struct str whole = next_line(text, &at);
        struct str part = str_sub(whole, 0, utf8_offset(whole, MAX_LINE));
        buf_addf(out, "  %4zu| ", line);
        buf_add(out, part);
        if (part.len < whole.len)
            buf_addf(out, " [truncated: line too long]");
        buf_addc(out, '\n');
    }
}

static void tell(const struct partial *p, size_t pass, struct buf *out)
{
    struct place kept[MAX_SHOWN];
    size_t total, shown = choose_places(p, kept, &total);
    size_t block = p->width < MAX_BLOCK ? p->width : MAX_BLOCK;
    buf_addf(out, "No exact match. Showing %zu of %zu partial matches (%s):\n", shown,
            total, pass_names[pass]);
    for (size_t i = 0; i < shown; i++) {
        size_t line = kept[i].line + 1;
        buf_addf(out, "\nNear line %zu (score: %zu/%zu lines):\n", line, kept[i].score,
                p->width);
        fs_partial_lines(p->text, line > 1 ? line - 1 : 1, line + block - 1, out);
    }
}

bool fs_partial_add(struct str text, struct str wanted, struct buf *out)
{
    struct partial p = { .text = text };
    if (text.len > MAX_TEXT)
        return false;
    p.wanted = xcalloc(MAX_LINES, sizeof(*p.wanted));
    bool found = false;
    for (size_t pass = 0; pass < ARRAY_LEN(pass_names) && !found; pass++) {
        index_wanted(&p, wanted, pass);
        found = index_text(&p, pass);
        if (found)
            tell(&p, pass, out);
    }
    free(p.wanted);
    free(p.before);
    return found;
}
