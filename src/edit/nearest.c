/*
 * The place in a file that old_text most likely means, when its text is not there.
 *
 * Lines are compared by the hash of their skeletons.  A line of the file that equals line
 * j of old_text votes for "old_text begins j lines above"; the place with most votes
 * wins.  Lines that say little (a brace) vote with less.  Everything is linear in the
 * file; a line of old_text that repeats is only counted for its first places.
 */
#include "edit/internal.h"

enum {
    MAX_REPEATS = 4,
    MAX_CHAIN = 32,    /* looked at of one slot: hashes can be made to collide */
    TABLE_SIZE = 4096, /* of hashes of old_text's lines */
    MAX_OLD_LINES = 2000,
    WEIGHT_COMMON = 1,
    WEIGHT_TELLING = 8,
};

struct old_line {
    struct str text;
    uint32_t hash;
    unsigned weight;
    int next; /* with the same slot, or -1 */
};

struct old_lines {
    struct old_line *lines;
    size_t count;
    int slots[TABLE_SIZE];
};

static unsigned weight_of(struct str text)
{
    unsigned letters = 0;
    for (size_t i = 0; i < text.len && letters < 4; i++) {
        unsigned char c = (unsigned char)text.data[i];
        letters += c >= 0x80 || (c >= '0' && c <= '9') ||
                   ((c | 32) >= 'a' && (c | 32) <= 'z');
    }
    return letters < 4 ? WEIGHT_COMMON : WEIGHT_TELLING;
}

static void index_old_lines(struct str old_text, struct old_lines *out)
{
    enum eol main = eol_main(old_text);
    size_t cap = 0;
    for (size_t i = 0; i < TABLE_SIZE; i++)
        out->slots[i] = -1;
    for (size_t at = 0; at < old_text.len && out->count < MAX_OLD_LINES;) {
        struct line line = line_at(old_text, at, 0, main);
        GROW(out->lines, out->count, cap);
        struct old_line *old = &out->lines[out->count++];
        *old = (struct old_line){ line.text, skeleton_hash(line.text),
            weight_of(line.text), -1 };
        at = line.next;
    }
    /* Backwards, so that the chain of a slot begins with the first line. */
    for (size_t i = out->count; i-- > 0;) {
        int *slot = &out->slots[out->lines[i].hash % TABLE_SIZE];
        out->lines[i].next = *slot;
        *slot = (int)i;
    }
}

/* votes[k]: for old_text beginning `count` - k lines before the first line. */
struct votes {
    uint32_t *at;
    size_t len, cap;
    size_t best;
};

static void vote(struct votes *v, size_t place, unsigned weight)
{
    while (place >= v->len) {
        GROW(v->at, v->len, v->cap);
        v->at[v->len++] = 0;
    }
    v->at[place] += weight;
    if (v->at[place] > v->at[v->best])
        v->best = place;
}

static void count_votes(
        struct str text, enum eol main, const struct old_lines *old, struct votes *v)
{
    size_t number = 0;
    for (size_t at = 0; at < text.len; number++) {
        struct line line = line_at(text, at, 0, main);
        at = line.next;
        uint32_t hash = skeleton_hash(line.text);
        int repeats = 0, looked = 0;
        if (!hash)
            continue;
        for (int j = old->slots[hash % TABLE_SIZE];
                j >= 0 && repeats < MAX_REPEATS && looked++ < MAX_CHAIN;
                j = old->lines[j].next) {
            if (old->lines[j].hash != hash)
                continue;
            vote(v, number + old->count - (size_t)j, old->lines[j].weight);
            repeats++;
        }
    }
}

static size_t offset_of_line(struct str text, enum eol main, size_t number)
{
    size_t at = 0;
    while (number-- > 1 && at < text.len)
        at = line_at(text, at, 0, main).next;
    return at;
}

/* The first line of the passage, and which of its lines are those of old_text. */
struct passage {
    size_t first, from, to; /* line number, bytes */
    size_t same;            /* lines with the same skeleton */
    size_t skipped;         /* lines of old_text above the file's first line */
    size_t blanks;          /* of them that differ in what a skeleton leaves out */
    size_t blanks_at;       /* the first of those, in the text */
    struct str blanks_old;
    struct str differs_old, differs_here;
    size_t differs_at;   /* line number in the file, 0: none */
    size_t differs_line; /* in old_text, from 1 */
};

static void compare_passage(
        struct str text, enum eol main, const struct old_lines *old, struct passage *p)
{
    size_t at = p->from, number = p->first;
    for (size_t j = p->skipped; j < old->count && at < text.len; j++, number++) {
        struct line line = line_at(text, at, number, main);
        bool same = skeleton_hash(line.text) == old->lines[j].hash;
        p->same += same && old->lines[j].hash;
        if (same && !str_eq(line.text, old->lines[j].text) && !p->blanks++) {
            p->blanks_at = at;
            p->blanks_old = old->lines[j].text;
        }
        if (!same && !p->differs_at) {
            p->differs_at = number;
            p->differs_here = line.text;
            p->differs_old = old->lines[j].text;
            p->differs_line = j + 1;
        }
        at = line.next;
    }
    p->to = at;
}

enum { MAX_SHOWN_TEXT = 160 };

static void show_quoted(struct str text, struct buf *out)
{
    size_t len = text.len < MAX_SHOWN_TEXT ? text.len : MAX_SHOWN_TEXT;
    while (len && len < text.len && ((unsigned char)text.data[len] & 0xC0) == 0x80)
        len--;
    buf_add(out, str_sub(text, 0, len));
    if (len < text.len)
        buf_addf(out, " ...");
}

/* A line that is there, but for what is hard to see. */
static void show_blanks(const struct miss *m, const struct passage *p, struct buf *out)
{
    struct miss line = *m;
    line.old_text = p->blanks_old;
    explain_line(&line, p->blanks_at, out);
    if (p->blanks > 1)
        buf_addf(out, "\n(and %zu more such line%s)", p->blanks - 1,
                p->blanks > 2 ? "s" : "");
}

static void show_passage(
        const struct miss *m, const struct passage *p, size_t old_count, struct buf *out)
{
    const char *name = m->words->old_name;
    buf_addf(out, "Nearest passage: %zu of the %zu lines of %s %s there.\n", p->same,
            old_count, name, p->same == 1 ? "is" : "are");
    auto_buf region = BUF(32 << 10);
    show_region(m->text, m->main, p->from, p->to, 0, &region);
    buf_add(out, buf_str(&region));
    if (p->blanks)
        show_blanks(m, p, out);
    if (!p->differs_at)
        return;
    buf_addf(out, "\nFirst difference at line %zu (line %zu of %s):\n  file:       ",
            p->differs_at, p->differs_line, name);
    show_quoted(p->differs_here, out);
    buf_addf(out, "\n  %s: %*s", name, 10 - (int)strlen(name), "");
    show_quoted(p->differs_old, out);
    buf_addf(out, "\n%s may be from before a change: read the file again.", name);
}

static bool show_voted(const struct miss *m, const struct old_lines *old, struct buf *out)
{
    struct str text = m->text;
    enum eol main = m->main;
    struct votes v = { 0 };
    count_votes(text, main, old, &v);
    bool found = v.len && v.at[v.best] >= WEIGHT_TELLING;
    if (found) {
        struct passage p = { 0 };
        if (v.best < old->count)
            p.skipped = old->count - v.best;
        p.first = v.best + p.skipped - old->count + 1;
        p.from = offset_of_line(text, main, p.first);
        compare_passage(text, main, old, &p);
        show_passage(m, &p, old->count, out);
    }
    free(v.at);
    return found;
}

/* Pairs of neighbouring bytes that a line has, as a set of bits. */
enum { PAIR_BITS = 4096 };

struct pairs {
    uint64_t bits[PAIR_BITS / 64];
    size_t count;
};

static size_t pair_at(struct str s, size_t at)
{
    unsigned a = (unsigned char)s.data[at] | 32u, b = (unsigned char)s.data[at + 1] | 32u;
    return (a * 67u + b) % PAIR_BITS;
}

static void collect_pairs(struct str line, struct pairs *out)
{
    *out = (struct pairs){ 0 };
    for (size_t i = 0; i + 1 < line.len; i++) {
        size_t pair = pair_at(line, i);
        out->bits[pair / 64] |= (uint64_t)1 << pair % 64;
    }
    out->count = line.len > 1 ? line.len - 1 : 0;
}

/* How alike, 0 to 100: shared pairs of both sides' pairs. */
static unsigned similarity(const struct pairs *wanted, struct str line)
{
    size_t hits = 0;
    if (line.len < 2 || line.len > 4 * wanted->count + 64)
        return 0;
    for (size_t i = 0; i + 1 < line.len; i++) {
        size_t pair = pair_at(line, i);
        hits += wanted->bits[pair / 64] >> pair % 64 & 1;
    }
    if (hits > wanted->count)
        hits = wanted->count;
    return (unsigned)(200 * hits / (wanted->count + line.len - 1));
}

static struct str trim(struct str s)
{
    while (s.len && (unsigned char)s.data[0] <= ' ')
        s = str_from(s, 1);
    while (s.len && (unsigned char)s.data[s.len - 1] <= ' ')
        s.len--;
    return s;
}

enum { ALIKE = 60, MAX_COMPARED = 1000 };

static const struct old_line *most_telling(const struct old_lines *old)
{
    const struct old_line *best = NULL;
    for (size_t i = 0; i < old->count; i++) {
        if (!best || trim(old->lines[i].text).len > trim(best->text).len)
            best = &old->lines[i];
    }
    return best;
}

/* No line is the same: the line most like the longest one of old_text. */
static bool show_similar(
        const struct miss *m, const struct old_lines *old, struct buf *out)
{
    struct str text = m->text;
    enum eol main = m->main;
    const struct old_line *wanted = most_telling(old);
    struct str want = wanted ? str_sub(trim(wanted->text), 0, MAX_COMPARED) : STR("");
    if (want.len < 4)
        return false;
    struct pairs pairs;
    collect_pairs(want, &pairs);
    unsigned best = 0;
    size_t best_at = 0, best_number = 0, number = 1;
    for (size_t at = 0; at < text.len; number++) {
        struct line line = line_at(text, at, number, main);
        unsigned alike = similarity(&pairs, trim(line.text));
        if (alike > best) {
            best = alike;
            best_at = at;
            best_number = number;
        }
        at = line.next;
    }
    if (best < ALIKE)
        return false;
    buf_addf(out, "No line of %s is in the file; most like it is line %zu:\n",
            m->words->old_name, best_number);
    auto_buf region = BUF(16 << 10);
    size_t end = line_at(text, best_at, best_number, main).next;
    show_region(text, main, best_at, end, 2, &region);
    buf_add(out, buf_str(&region));
    return true;
}

bool show_nearest(const struct miss *m, struct buf *out)
{
    struct old_lines *old = xcalloc(1, sizeof(*old));
    index_old_lines(m->old_text, old);
    bool found = show_voted(m, old, out) || show_similar(m, old, out);
    free(old->lines);
    free(old);
    return found;
}
