#include "shell/builtin/input.h"
#include "shell/builtin/sort.h"

#include <errno.h>

#define BLOCK       ((size_t)4 << 20)
#define MAX_SOURCES 1000 /* of a merge: each is an open file */

struct block {
    struct block *next;
    size_t used, size;
    char text[];
};

/* A sorted sequence being merged; `line` is its next one. */
struct source {
    struct stream *in;
    struct sort_line line;
    char *path; /* of a run on disk, or NULL */
};

struct sorter {
    struct cmd *c;
    const struct sort_rule *rule;
    char end;
    struct block *blocks; /* the newest first */
    struct sort_line *lines;
    size_t count, cap, bytes;
    struct source *sources;
    size_t source_count, source_cap;
    unsigned runs;
};

/* Equal prefixes say nothing; with `by_prefix` that is left for later. */
static inline bool order_is_right(const struct sort_rule *rule, const struct sort_line *a,
        const struct sort_line *b, bool by_prefix)
{
    if (LIKELY(a->prefix != b->prefix))
        return a->prefix < b->prefix;
    return by_prefix || sort_compare(rule, a, b) <= 0;
}

static void insertion_sort(const struct sort_rule *rule, struct sort_line *lines,
        size_t count, bool by_prefix)
{
    for (size_t i = 1; i < count; i++) {
        struct sort_line line = lines[i];
        size_t j = i;
        for (; j && !order_is_right(rule, &lines[j - 1], &line, by_prefix); j--)
            lines[j] = lines[j - 1];
        lines[j] = line;
    }
}

/* `b` follows `a`. */
static void merge_halves(const struct sort_rule *rule, struct sort_line *to,
        const struct sort_line *a, size_t a_count, const struct sort_line *b,
        size_t b_count, bool by_prefix)
{
    const struct sort_line *a_end = a + a_count, *b_end = b + b_count;
    if (by_prefix) { /* without a branch that is mispredicted half of the time */
        size_t i = 0, j = 0;
        while (i < a_count && j < b_count) {
            bool is_b = b[j].prefix < a[i].prefix;
            *to++ = a[is_b ? a_count + j : i];
            i += !is_b;
            j += is_b;
        }
        a += i;
        b += j;
    }
    while (a < a_end && b < b_end)
        *to++ = order_is_right(rule, a, b, by_prefix) ? *a++ : *b++;
    memcpy(to, a, (size_t)(a_end - a) * sizeof(*a));
    memcpy(to + (a_end - a), b, (size_t)(b_end - b) * sizeof(*b));
}

#define SMALL_RUN ((size_t)8)

static bool merge_sort(struct cmd *c, const struct sort_rule *rule,
        struct sort_line *lines, struct sort_line *scratch, size_t count, bool by_prefix)
{
    for (size_t i = 0; i < count; i += SMALL_RUN)
        insertion_sort(rule, lines + i, count - i < SMALL_RUN ? count - i : SMALL_RUN,
                by_prefix);
    struct sort_line *from = lines, *to = scratch;
    for (size_t width = SMALL_RUN; width < count; width *= 2) {
        for (size_t i = 0; i < count; i += 2 * width) {
            size_t middle = count - i < width ? count : i + width;
            size_t end = count - i < 2 * width ? count : i + 2 * width;
            if (!budget_spend(c->budget, (end - i) / 64 + 1))
                return false;
            merge_halves(rule, to + i, from + i, middle - i, from + middle, end - middle,
                    by_prefix);
        }
        struct sort_line *swap = from;
        from = to;
        to = swap;
    }
    if (from != lines)
        memcpy(lines, from, count * sizeof(*lines));
    return true;
}

#define MAX_LEVEL 6 /* of eight bytes each */

/*
 * By eight bytes of the key at a time: lines that are equal so far are sorted by their
 * next eight, which is much cheaper than comparing texts all over memory.
 */
static bool sort_by_parts(struct cmd *c, const struct sort_rule *rule,
        struct sort_line *lines, struct sort_line *scratch, size_t count, int level)
{
    sort_lines_sharpen(rule, lines, count);
    if (!merge_sort(c, rule, lines, scratch, count, true))
        return false;
    for (size_t i = 0, end; i < count; i = end) {
        bool exact = lines[i].exact;
        for (end = i + 1; end < count && lines[end].prefix == lines[i].prefix; end++)
            exact &= lines[end].exact;
        if (end - i == 1 || (exact && !rule->key_count)) /* equal lines */
            continue;
        bool deeper = !exact && level < MAX_LEVEL && end - i > SMALL_RUN;
        if (!(deeper ? sort_by_parts(c, rule, lines + i, scratch, end - i, level + 1)
                     : merge_sort(c, rule, lines + i, scratch, end - i, false)))
            return false;
    }
    return true;
}

bool sort_lines(struct cmd *c, const struct sort_rule *rule, struct sort_line *lines,
        struct sort_line *scratch, size_t count)
{
    if (!sort_rule_is_bytes(rule))
        return merge_sort(c, rule, lines, scratch, count, false);
    if (!sort_by_parts(c, rule, lines, scratch, count, 0))
        return false;
    /* The prefixes are of different places now. */
    for (size_t i = 0; i < count; i++) {
        lines[i].prefix = 0;
        lines[i].exact = 0;
    }
    return true;
}

static void free_lines(struct sorter *s)
{
    while (s->blocks) {
        struct block *next = s->blocks->next;
        free(s->blocks);
        s->blocks = next;
    }
    s->count = s->bytes = 0;
}

/* Room for a line of `len` bytes with its end. */
static char *line_room(struct sorter *s, size_t len)
{
    if (!s->blocks || s->blocks->size - s->blocks->used < len) {
        size_t most = s->c->budget->max_memory / 16;
        size_t size = BLOCK < most ? BLOCK : most;
        size = len > size ? len : size;
        struct block *block = xmalloc(sizeof(*block) + size);
        *block = (struct block){ .next = s->blocks, .size = size };
        s->blocks = block;
        s->bytes += size;
    }
    char *at = s->blocks->text + s->blocks->used;
    s->blocks->used += len;
    return at;
}

static void add_line(struct sorter *s, struct str text)
{
    char *at = line_room(s, text.len + 1);
    if (text.len)
        memcpy(at, text.data, text.len);
    at[text.len] = s->end;
    GROW(s->lines, s->count, s->cap);
    struct sort_line *line = &s->lines[s->count++];
    *line = (struct sort_line){ .text = at, .len = (uint32_t)text.len };
    sort_line_prepare(s->rule, line);
}

static bool sort_in_memory(struct sorter *s)
{
    if (!s->count)
        return true;
    struct sort_line *scratch = xmalloc(s->count * sizeof(*scratch) + 1);
    bool ok = sort_lines_parallel(s->c, s->rule, s->lines, scratch, s->count);
    free(scratch);
    return ok;
}

/* Writes lines that come in order; drops repeated ones for -u. */
struct writer {
    struct sorter *s;
    struct stream *out; /* NULL: the command's stdout */
    bool has_last;
    struct sort_line last;
    struct buf last_text; /* its copy, when lines do not stay where they are */
};

static bool put(struct writer *w, struct str text)
{
    if (!w->out)
        return cmd_put(w->s->c, text);
    if (stream_write(w->out, text))
        return true;
    cmd_err(w->s->c, "write failed: %s", strerror(stream_error(w->out)));
    return false;
}

static void remember(struct writer *w, const struct sort_line *line, bool copy)
{
    w->has_last = true;
    w->last = *line;
    if (copy) {
        buf_clear(&w->last_text);
        buf_add(&w->last_text, (struct str){ line->text, line->len });
        w->last.text = buf_str(&w->last_text).data;
    }
}

static bool write_line(struct writer *w, const struct sort_line *line, bool lines_stay)
{
    if (w->s->rule->unique) {
        if (w->has_last && !sort_compare(w->s->rule, &w->last, line))
            return true;
        remember(w, line, !lines_stay);
    }
    if (lines_stay) /* its end follows it */
        return put(w, (struct str){ line->text, (size_t)line->len + 1 });
    return put(w, (struct str){ line->text, line->len }) &&
           put(w, (struct str){ &w->s->end, 1 });
}

static bool write_memory(struct sorter *s, struct stream *out)
{
    struct writer w = { .s = s, .out = out };
    for (size_t i = 0; i < s->count; i++)
        if (!cmd_tick(s->c) || !write_line(&w, &s->lines[i], true))
            return false;
    return true;
}

static bool spill_failed(struct sorter *s, int errnum)
{
    cmd_err(s->c,
            "more than %llu MiB to sort, and no temporary file can be made in the "
            "working "
            "directory: %s",
            (unsigned long long)(s->c->budget->max_memory >> 20), strerror(errnum));
    return false;
}

/* A new file in the working directory, open for writing. */
static int create_run(struct sorter *s, char **path, struct stream **out)
{
    int errnum = EEXIST;
    for (int attempt = 0; attempt < 100 && errnum == EEXIST; attempt++) {
        *path = arena_printf(s->c->arena, ".paddock-sort-%06x%u",
                (unsigned)random() & 0xffffff, s->runs);
        errnum = cmd_create(
                s->c, *path, VFS_READ | VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE, out);
    }
    return errnum;
}

static void add_source(struct sorter *s, struct stream *in, char *path)
{
    GROW(s->sources, s->source_count, s->source_cap);
    s->sources[s->source_count++] = (struct source){ .in = in, .path = path };
}

static void remove_run(struct sorter *s, const char *path)
{
    struct vpath where;
    if (!cmd_path(s->c, path, &where)) {
        int unused UNUSED = vfs_unlink(s->c->vfs, where);
    }
}

/* Sort what is in memory and put it into a file of its own. */
static bool spill(struct sorter *s)
{
    char *path = NULL;
    struct stream *out;
    if (s->source_count >= MAX_SOURCES)
        return spill_failed(s, EMFILE);
    int errnum = create_run(s, &path, &out);
    if (errnum)
        return spill_failed(s, errnum);
    s->runs++;
    add_source(s, NULL, path); /* so that it is removed whatever happens */
    bool ok = sort_in_memory(s) && write_memory(s, out);
    if (ok && !stream_flush(out))
        ok = spill_failed(s, stream_error(out));
    stream_unref(out);
    free_lines(s);
    return ok;
}

static bool is_full(const struct sorter *s)
{
    size_t lines = s->count * sizeof(*s->lines) * 2; /* and scratch for sorting */
    return s->bytes + lines > s->c->budget->max_memory;
}

bool sorter_read(struct sorter *s, struct stream *in)
{
    struct str line;
    while (input_line(s->c, in, s->end, &line, NULL)) {
        add_line(s, line);
        if (is_full(s) && !spill(s))
            return false;
    }
    return !budget_stopped(s->c->budget);
}

void sorter_add_sorted(struct sorter *s, struct stream *in)
{
    add_source(s, in, NULL);
}

static bool advance(struct sorter *s, struct source *source)
{
    struct str text;
    if (!input_line(s->c, source->in, s->end, &text, NULL))
        return false;
    source->line = (struct sort_line){ .text = text.data, .len = (uint32_t)text.len };
    sort_line_prepare(s->rule, &source->line);
    return true;
}

/* Equal lines come from the earlier source first. */
static bool is_before(
        const struct sorter *s, const struct source *a, const struct source *b)
{
    int order = sort_compare(s->rule, &a->line, &b->line);
    return order ? order < 0 : a < b;
}

static void sift_down(
        const struct sorter *s, struct source **heap, size_t count, size_t i)
{
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= count)
            return;
        if (child + 1 < count && is_before(s, heap[child + 1], heap[child]))
            child++;
        if (is_before(s, heap[i], heap[child]))
            return;
        struct source *swap = heap[i];
        heap[i] = heap[child];
        heap[child] = swap;
        i = child;
    }
}

/* Open the runs; what stayed in memory becomes the last one. */
static bool open_sources(struct sorter *s)
{
    if (s->count && !spill(s))
        return false;
    for (size_t i = 0; i < s->source_count; i++) {
        struct source *source = &s->sources[i];
        int errnum = source->in ? 0 : cmd_open(s->c, source->path, false, &source->in);
        if (errnum)
            return spill_failed(s, errnum);
    }
    return true;
}

static bool merge_sources(struct sorter *s, struct stream *out)
{
    struct writer w = { .s = s, .out = out, .last_text = BUF(SIZE_MAX / 4) };
    struct source **heap = xmalloc((s->source_count + 1) * sizeof(*heap));
    size_t count = 0;
    bool ok = true;
    for (size_t i = 0; i < s->source_count; i++)
        if (advance(s, &s->sources[i]))
            heap[count++] = &s->sources[i];
    for (size_t i = count / 2; i--;)
        sift_down(s, heap, count, i);
    while (ok && count) {
        ok = write_line(&w, &heap[0]->line, false);
        if (!advance(s, heap[0]))
            heap[0] = heap[--count];
        sift_down(s, heap, count, 0);
    }
    free(heap);
    buf_finish(&w.last_text);
    return ok && !budget_stopped(s->c->budget);
}

bool sorter_write(struct sorter *s, struct stream *out)
{
    if (!s->source_count)
        return sort_in_memory(s) && write_memory(s, out);
    return open_sources(s) && merge_sources(s, out);
}

struct sorter *sorter_create(struct cmd *c, const struct sort_rule *rule, char end)
{
    struct sorter *s = xcalloc(1, sizeof(*s));
    *s = (struct sorter){ .c = c, .rule = rule, .end = end };
    return s;
}

void sorter_destroy(struct sorter *s)
{
    free_lines(s);
    free(s->lines);
    for (size_t i = 0; i < s->source_count; i++) {
        stream_unref(s->sources[i].in);
        if (s->sources[i].path)
            remove_run(s, s->sources[i].path);
    }
    free(s->sources);
    free(s);
}
