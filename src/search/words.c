#include "search/words.h"

#include "base/utf8.h"

#define MIN_WORDS  9
#define MAX_STATES ((size_t)1 << 21)

struct words {
    enum regex_flags flags;
    unsigned char fold[256]; /* what a byte is compared as */
    bool has_empty;          /* one of the texts is empty */

    /* States by number; 0 is the root.  Edges of the root are in `root`, the others in a
     * hash table by state and byte (open addressing; a key of 0 is free). */
    uint32_t root[256];
    uint32_t *keys, *targets;
    size_t mask, edges;
    uint32_t *parent, *fail,
            *shorter; /* shorter: the next end of a text among the fails */
    uint32_t *depth;
    unsigned char *byte; /* of the edge that leads here */
    bool *ends;
    size_t count, cap;
};

static size_t slot_of(const struct words *w, uint32_t key)
{
    size_t at = (key * 2654435769u >> 7) & w->mask;
    while (w->keys[at] && w->keys[at] != key)
        at = (at + 1) & w->mask;
    return at;
}

static uint32_t child(const struct words *w, uint32_t state, unsigned char byte)
{
    if (!state)
        return w->root[byte];
    return w->targets[slot_of(w, state << 8 | byte)];
}

static void grow_table(struct words *w)
{
    uint32_t *keys = w->keys, *targets = w->targets;
    size_t old = keys ? w->mask + 1 : 0;
    w->mask = old ? 2 * old - 1 : 1023;
    w->keys = xcalloc(w->mask + 1, sizeof(*w->keys));
    w->targets = xcalloc(w->mask + 1, sizeof(*w->targets));
    for (size_t i = 0; i < old; i++)
        if (keys[i]) {
            size_t at = slot_of(w, keys[i]);
            w->keys[at] = keys[i];
            w->targets[at] = targets[i];
        }
    free(keys);
    free(targets);
}

static void grow_states(struct words *w)
{
    if (w->count < w->cap)
        return;
    w->cap = w->cap ? 2 * w->cap : 256;
    w->parent = xrealloc(w->parent, w->cap * sizeof(*w->parent));
    w->fail = xrealloc(w->fail, w->cap * sizeof(*w->fail));
    w->shorter = xrealloc(w->shorter, w->cap * sizeof(*w->shorter));
    w->depth = xrealloc(w->depth, w->cap * sizeof(*w->depth));
    w->byte = xrealloc(w->byte, w->cap);
    w->ends = xrealloc(w->ends, w->cap * sizeof(*w->ends));
}

static uint32_t add_state(struct words *w, uint32_t parent, unsigned char byte)
{
    grow_states(w);
    uint32_t state = (uint32_t)w->count++;
    w->parent[state] = parent;
    w->byte[state] = byte;
    w->depth[state] = state ? w->depth[parent] + 1 : 0;
    w->fail[state] = w->shorter[state] = 0;
    w->ends[state] = false;
    if (!state)
        return 0;
    if (!parent) {
        w->root[byte] = state;
        return state;
    }
    if (2 * ++w->edges > w->mask)
        grow_table(w);
    size_t at = slot_of(w, parent << 8 | byte);
    w->keys[at] = parent << 8 | byte;
    w->targets[at] = state;
    return state;
}

static bool add_text(struct words *w, struct str text)
{
    uint32_t state = 0;
    w->has_empty |= !text.len;
    for (size_t i = 0; i < text.len; i++) {
        unsigned char byte = w->fold[(unsigned char)text.data[i]];
        uint32_t next = child(w, state, byte);
        if (!next && w->count >= MAX_STATES)
            return false;
        state = next ? next : add_state(w, state, byte);
    }
    w->ends[state] = state != 0;
    return true;
}

static uint32_t step(const struct words *w, uint32_t state, unsigned char byte)
{
    uint32_t next;
    while (!(next = child(w, state, byte)) && state)
        state = w->fail[state];
    return next;
}

/* Where each state goes on when a byte does not fit: the longest other beginning of a
 * text that it ends with.  Shallow states first, since deeper ones build on them. */
static void link_states(struct words *w)
{
    size_t deepest = 0;
    for (size_t i = 0; i < w->count; i++)
        deepest = w->depth[i] > deepest ? w->depth[i] : deepest;
    auto_free size_t *from = xcalloc(deepest + 2, sizeof(*from));
    auto_free uint32_t *order = xcalloc(w->count, sizeof(*order));
    for (size_t i = 0; i < w->count; i++)
        from[w->depth[i] + 1]++;
    for (size_t i = 1; i <= deepest; i++)
        from[i] += from[i - 1];
    for (size_t i = 0; i < w->count; i++)
        order[from[w->depth[i]]++] = (uint32_t)i;
    for (size_t i = 1; i < w->count; i++) {
        uint32_t s = order[i];
        uint32_t fail = w->depth[s] < 2 ? 0 : step(w, w->fail[w->parent[s]], w->byte[s]);
        w->fail[s] = fail;
        w->shorter[s] = w->ends[fail] ? fail : w->shorter[fail];
    }
}

static size_t count_texts(struct str text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.len; i++)
        n += text.data[i] == '\n';
    return n;
}

static bool is_suitable(struct str text, enum regex_flags flags)
{
    if (!(flags & REGEX_MULTI) || count_texts(text) < MIN_WORDS)
        return false;
    for (size_t i = 0; flags & REGEX_FOLD && i < text.len; i++)
        if ((unsigned char)text.data[i] >= 128)
            return false;
    return true;
}

struct words *words_create(struct str text, enum regex_flags flags)
{
    if (!is_suitable(text, flags))
        return NULL;
    struct words *w = xcalloc(1, sizeof(*w));
    w->flags = flags;
    for (unsigned c = 0; c < 256; c++)
        w->fold[c] =
                (unsigned char)(flags & REGEX_FOLD && c >= 'A' && c <= 'Z' ? c | 32 : c);
    grow_table(w);
    add_state(w, 0, 0);
    bool fits = add_text(w, str_cut(&text, '\n'));
    while (fits && text.len)
        fits = add_text(w, str_cut(&text, '\n'));
    if (!fits || (w->has_empty && flags & REGEX_WORD)) {
        words_destroy(w);
        return NULL;
    }
    link_states(w);
    return w;
}

void words_destroy(struct words *w)
{
    if (!w)
        return;
    free(w->keys);
    free(w->targets);
    free(w->parent);
    free(w->fail);
    free(w->shorter);
    free(w->depth);
    free(w->byte);
    free(w->ends);
    free(w);
}

/* Letters and digits; outside ASCII, whatever is not punctuation or a symbol by block. */
static bool is_word_code(uint32_t c)
{
    if (c < 128)
        return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    if (c < 0xC0)
        return c == 0xAA || c == 0xB5 || c == 0xBA;
    return c != 0xD7 && c != 0xF7 && !(c >= 0x2000 && c < 0x2070) &&
           !(c >= 0x20A0 && c < 0x2100) && !(c >= 0x2190 && c < 0x2C00) &&
           !(c >= 0x3000 && c < 0x3040) && !(c >= 0xFE00 && c < 0xFE70) &&
           !(c >= 0x1F000 && c < 0x20000);
}

static bool is_word_at(struct str s, size_t at)
{
    uint32_t code;
    return utf8_decode(str_from(s, at), &code) && is_word_code(code);
}

static bool is_word_before(struct str s, size_t at)
{
    if (!at)
        return false;
    size_t from = at - 1;
    while (from && at - from < 4 && ((unsigned char)s.data[from] & 0xC0) == 0x80)
        from--;
    return is_word_at(s, from);
}

struct best {
    size_t start, end;
    bool found;
};

/* Look at every text that ends at `end`, in the automaton's `state`. */
static void consider(const struct words *w, struct str s, uint32_t state, size_t end,
        struct best *best)
{
    uint32_t t = w->ends[state] ? state : w->shorter[state];
    for (; t; t = w->shorter[t]) {
        size_t start = end - w->depth[t];
        if (w->flags & REGEX_WORD && (is_word_at(s, end) || is_word_before(s, start)))
            continue;
        if (!best->found || start <= best->start)
            *best = (struct best){ start, end, true };
        return; /* shorter ones start later */
    }
}

static struct best search_text(const struct words *w, struct str s, size_t from, bool any)
{
    struct best best = { 0 };
    uint32_t state = 0;
    for (size_t i = from; i < s.len; i++) {
        state = step(w, state, w->fold[(unsigned char)s.data[i]]);
        if (best.found && i + 1 - w->depth[state] > best.start)
            break;
        if (w->ends[state] || w->shorter[state])
            consider(w, s, state, i + 1, &best);
        if (best.found && any)
            break;
    }
    return best;
}

/* The longest text that begins right at `from`, perhaps the empty one. */
static struct best search_here(const struct words *w, struct str s, size_t from)
{
    struct best best = { from, from, true };
    uint32_t state = 0;
    for (size_t i = from; i < s.len; i++) {
        state = child(w, state, w->fold[(unsigned char)s.data[i]]);
        if (!state)
            break;
        if (w->ends[state])
            best.end = i + 1;
    }
    return best;
}

/* A line that is one of the texts, whole. */
static struct best search_lines(const struct words *w, struct str s, size_t from)
{
    bool lines = w->flags & REGEX_NEWLINE;
    if (from && (!lines || s.data[from - 1] != '\n')) {
        const char *eol = lines ? memchr(s.data + from, '\n', s.len - from) : NULL;
        if (!eol)
            return (struct best){ 0 };
        from = (size_t)(eol + 1 - s.data);
    }
    while (from <= s.len) {
        const char *eol = lines ? memchr(s.data + from, '\n', s.len - from) : NULL;
        size_t end = eol ? (size_t)(eol - s.data) : s.len;
        struct best best = search_here(w, str_sub(s, 0, end), from);
        if (best.end == end && (end > from || w->has_empty))
            return best;
        from = end + 1;
    }
    return (struct best){ 0 };
}

bool words_search(const struct words *w, struct str subject, size_t from, size_t *start,
        size_t *end)
{
    struct best best;
    if (w->flags & REGEX_LINE)
        best = search_lines(w, subject, from);
    else if (w->has_empty)
        best = search_here(w, subject, from);
    else
        best = search_text(w, subject, from, !start);
    if (best.found && start) {
        *start = best.start;
        *end = best.end;
    }
    return best.found;
}
