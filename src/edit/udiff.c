#include "edit/udiff.h"

#include "base/linediff.h"
#include "base/textline.h"

#define MAX_STEPS 200000000 /* then two texts have too little in common */

enum { CONTEXT = 3 };

/* The part of a text that is compared, in lines. */
struct part {
    struct str text; /* whole */
    size_t from, to;
    struct str *lines; /* with what ends them */
    uint32_t *ids;
    bool *changed;
    size_t count, cap;
};

static void part_finish(struct part *p)
{
    free(p->lines);
    free(p->ids);
    free(p->changed);
}

static size_t common_start(struct str a, struct str b)
{
    size_t max = a.len < b.len ? a.len : b.len, n = 0;
    while (n + 4096 <= max && !memcmp(a.data + n, b.data + n, 4096))
        n += 4096;
    while (n < max && a.data[n] == b.data[n])
        n++;
    return n;
}

static size_t common_end(struct str a, struct str b, size_t max)
{
    size_t n = 0;
    while (n < max && a.data[a.len - 1 - n] == b.data[b.len - 1 - n])
        n++;
    return n;
}

/* Where to begin: context lines before the line in which the texts part; *skipped: lines
 * before that. */
static size_t find_start(struct str text, size_t part_at, size_t *skipped)
{
    size_t starts[CONTEXT + 1] = { 0 }, line = 0, at = 0, next;
    while ((next = textline_next(text, at)) < part_at) {
        at = next;
        starts[++line % (CONTEXT + 1)] = at;
    }
    size_t back = line < CONTEXT ? line : CONTEXT;
    *skipped = line - back;
    return starts[*skipped % (CONTEXT + 1)];
}

/* Where to end: context lines after the line in which they meet again. */
static size_t find_end(struct str text, size_t from, size_t meet_at)
{
    size_t at = from;
    while (at < text.len && at <= meet_at)
        at = textline_next(text, at);
    for (int i = 0; i < CONTEXT && at < text.len; i++)
        at = textline_next(text, at);
    return at;
}

static void choose_parts(struct part parts[2], size_t *skipped)
{
    struct str a = parts[0].text, b = parts[1].text;
    size_t start = find_start(a, common_start(a, b), skipped);
    size_t shorter = a.len < b.len ? a.len : b.len;
    size_t end = common_end(a, b, shorter - start);
    size_t to = find_end(a, start, a.len - end);
    size_t same = a.len - to; /* bytes after the part, in both */
    if (same > end)
        same = end;
    for (int i = 0; i < 2; i++) {
        parts[i].from = start;
        parts[i].to = parts[i].text.len - same;
    }
}

static void split(struct part *p)
{
    struct str text = str_sub(p->text, 0, p->to);
    for (size_t at = p->from, next; at < p->to; at = next) {
        next = textline_next(text, at);
        GROW(p->lines, p->count, p->cap);
        p->lines[p->count++] = str_sub(text, at, next - at);
    }
    p->ids = xcalloc(p->count + 1, sizeof(*p->ids));
    p->changed = xcalloc(p->count + 2, sizeof(*p->changed));
}

static bool compare(struct part parts[2], struct linediff_side sides[2])
{
    struct budget budget = { .steps = MAX_STEPS, .max_steps = MAX_STEPS };
    auto_linediff_table t = { 0 };
    linediff_table_init(&t, parts[0].count + parts[1].count);
    for (int i = 0; i < 2; i++) {
        struct part *p = &parts[i];
        for (size_t j = 0; j < p->count; j++)
            if (!linediff_number(&t, p->lines[j], &budget, &p->ids[j]))
                return false;
        sides[i] = (struct linediff_side){ p->ids, p->changed, p->count };
    }
    return linediff_compare(sides, t.count, &budget);
}

static bool ends_without_break(struct str line)
{
    return textline_end(line, 0) == line.len;
}

static void add_lines(
        const struct part *p, size_t from, size_t to, char mark, struct buf *out)
{
    for (; from < to; from++) {
        struct str line = p->lines[from];
        buf_addc(out, mark);
        buf_add(out, str_sub(line, 0, textline_end(line, 0)));
        buf_addc(out, '\n');
        if (mark != ' ' && ends_without_break(line))
            buf_add(out, STR("\\ No newline at end of file\n"));
    }
}

static void add_view(const struct part parts[2], const struct linediff_view *v,
        size_t skipped, struct buf *out)
{
    buf_add(out, STR("@@ -"));
    linediff_add_range(skipped + v->from[0], skipped + v->to[0], out);
    buf_add(out, STR(" +"));
    linediff_add_range(skipped + v->from[1], skipped + v->to[1], out);
    buf_add(out, STR(" @@\n"));
    size_t at = v->from[0];
    for (const struct linediff_hunk *h = v->first; h <= v->last; h++) {
        size_t end[2] = { h->start[0] + h->count[0], h->start[1] + h->count[1] };
        add_lines(&parts[0], at, h->start[0], ' ', out);
        add_lines(&parts[0], h->start[0], end[0], '-', out);
        add_lines(&parts[1], h->start[1], end[1], '+', out);
        at = end[0];
    }
    add_lines(&parts[0], at, v->to[0], ' ', out);
}

static void add_hunks(const struct part parts[2], const struct linediff_side sides[2],
        size_t skipped, struct buf *out)
{
    size_t count;
    auto_free struct linediff_hunk *hunks = linediff_hunks(sides, &count);
    const struct linediff_hunk *end = count ? hunks + count : hunks; /* may be NULL */
    for (const struct linediff_hunk *h = hunks; h < end;) {
        struct linediff_view v = linediff_view_at(h, end, CONTEXT, parts[0].count);
        add_view(parts, &v, skipped, out);
        h = v.last + 1;
    }
}

void udiff_add(struct str before, struct str after, size_t max, struct buf *out)
{
    struct part parts[2] = { { .text = before }, { .text = after } };
    struct linediff_side sides[2];
    size_t skipped;
    auto_buf text = BUF(max);
    choose_parts(parts, &skipped);
    split(&parts[0]);
    split(&parts[1]);
    if (compare(parts, sides))
        add_hunks(parts, sides, skipped, &text);
    else
        buf_addf(&text, "(the texts differ too much for a diff)\n");
    buf_add(out, buf_str(&text));
    if (text.full)
        buf_addf(out, "\n[truncated: the diff is longer than %zu KB]\n", max >> 10);
    part_finish(&parts[0]);
    part_finish(&parts[1]);
}
