#include "shell/builtin/input.h"
#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = { { 0 } };

struct edge {
    uint32_t to, next; /* index + 1 of the next edge; 0: none */
};

struct item {
    struct str name;
    uint32_t before; /* how many items must come first */
    uint32_t first;  /* index + 1 of its first edge; 0: none */
    bool done;
};

struct tsort {
    struct cmd *c;
    struct item *items;
    size_t count, cap;
    struct edge *edges;
    size_t edge_count, edge_cap;
    uint32_t *slots; /* index + 1 */
    size_t mask;
};

static size_t hash(struct str s)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.data[i]) * 1099511628211u;
    return (size_t)(h ^ h >> 32);
}

static void put_slot(struct tsort *t, uint32_t index)
{
    size_t at = hash(t->items[index].name) & t->mask;
    while (t->slots[at])
        at = (at + 1) & t->mask;
    t->slots[at] = index + 1;
}

static void grow(struct tsort *t)
{
    free(t->slots);
    t->mask = t->mask ? t->mask * 2 + 1 : 63;
    t->slots = xcalloc(t->mask + 1, sizeof(*t->slots));
    for (size_t i = 0; i < t->count; i++)
        put_slot(t, (uint32_t)i);
}

/* The item of that name, a new one if need be; false: the budget is spent. */
static bool find_item(struct tsort *t, struct str name, uint32_t *out)
{
    if (t->count * 2 >= t->mask)
        grow(t);
    for (size_t at = hash(name) & t->mask; t->slots[at]; at = (at + 1) & t->mask) {
        *out = t->slots[at] - 1;
        if (!cmd_tick(t->c))
            return false;
        if (str_eq(t->items[*out].name, name))
            return true;
    }
    GROW(t->items, t->count, t->cap);
    t->items[t->count] = (struct item){ .name = arena_str(t->c->arena, name) };
    *out = (uint32_t)t->count++;
    put_slot(t, *out);
    return true;
}

static void add_edge(struct tsort *t, uint32_t from, uint32_t to)
{
    GROW(t->edges, t->edge_count, t->edge_cap);
    t->edges[t->edge_count++] = (struct edge){ to, t->items[from].first };
    t->items[from].first = (uint32_t)t->edge_count;
    t->items[to].before++;
}

static bool next_word(struct str *rest, struct str *word)
{
    size_t i = 0, from;
    while (i < rest->len && strchr(" \t\n", rest->data[i]))
        i++;
    for (from = i; i < rest->len && !strchr(" \t\n", rest->data[i]);)
        i++;
    *word = str_sub(*rest, from, i - from);
    *rest = str_from(*rest, i);
    return word->len > 0;
}

static bool read_pairs(struct tsort *t, const char *name, struct str text)
{
    struct str a, b;
    uint32_t from, to;
    while (next_word(&text, &a)) {
        if (!next_word(&text, &b)) {
            cmd_err(t->c, "%s: input contains an odd number of tokens", name);
            return false;
        }
        if (t->edge_count >= (1u << 27) || !find_item(t, a, &from) ||
                !find_item(t, b, &to))
            return budget_stop(t->c->budget, BUDGET_MEMORY);
        if (from != to)
            add_edge(t, from, to);
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    return str_cmp((*(struct item *const *)a)->name, (*(struct item *const *)b)->name);
}

struct queue {
    uint32_t *items;
    size_t head, tail;
};

static bool take_all(struct tsort *t, struct queue *q)
{
    while (q->head < q->tail) {
        struct item *item = &t->items[q->items[q->head++]];
        item->done = true;
        if (!cmd_tick(t->c) || !cmd_printf(t->c, "%.*s\n", STR_ARG(item->name)))
            return false;
        for (uint32_t e = item->first; e; e = t->edges[e - 1].next) {
            uint32_t to = t->edges[e - 1].to;
            if (!--t->items[to].before && !t->items[to].done)
                q->items[q->tail++] = to;
        }
    }
    return true;
}

/* For each item that is left, one that must come before it. */
static bool find_causes(struct tsort *t, uint32_t *causes)
{
    for (size_t i = 0; i < t->count; i++) {
        if (!cmd_tick(t->c))
            return false;
        for (uint32_t e = t->items[i].done ? 0 : t->items[i].first; e;
                e = t->edges[e - 1].next)
            if (!t->items[t->edges[e - 1].to].done)
                causes[t->edges[e - 1].to] = (uint32_t)i;
    }
    return true;
}

/* Report the circle that is behind item `at`; returns its first member. */
static uint32_t report_loop(struct tsort *t, const uint32_t *causes, uint32_t at)
{
    auto_free bool *seen = xcalloc(t->count, sizeof(*seen));
    auto_free uint32_t *loop = xcalloc(t->count, sizeof(*loop));
    size_t n = 0, first = 0;
    for (; !seen[at]; at = causes[at])
        seen[at] = true;
    do {
        loop[n++] = at;
        if (at < loop[first])
            first = n - 1;
        at = causes[at];
    } while (at != loop[0]);
    for (size_t i = 0; i < n; i++) /* backwards: causes come before */
        cmd_err(t->c, "%.*s", STR_ARG(t->items[loop[(first + n - i) % n]].name));
    return loop[first];
}

/* Print a circle, and go on as if nothing had to come before its first member. */
static bool break_loop(struct tsort *t, const char *name, struct queue *q, size_t *from)
{
    auto_free uint32_t *causes = xcalloc(t->count, sizeof(*causes));
    while (*from < t->count && t->items[*from].done)
        ++*from;
    if (*from == t->count || !find_causes(t, causes))
        return false;
    cmd_err(t->c, "%s: input contains a loop:", name);
    uint32_t first = report_loop(t, causes, (uint32_t)*from);
    t->items[first].before = 0;
    t->items[first].done = true;
    q->items[q->tail++] = first;
    return true;
}

static int print_order(struct tsort *t, const char *name)
{
    auto_free uint32_t *order = xcalloc(t->count + 1, sizeof(*order));
    auto_free struct item **sorted = xcalloc(t->count + 1, sizeof(struct item *));
    struct queue q = { .items = order };
    size_t from = 0;
    int status = 0;
    for (size_t i = 0; i < t->count; i++)
        sorted[i] = &t->items[i];
    qsort(sorted, t->count, sizeof(struct item *), by_name);
    for (size_t i = 0; i < t->count; i++)
        if (!sorted[i]->before)
            q.items[q.tail++] = (uint32_t)(sorted[i] - t->items);
    do {
        if (!take_all(t, &q))
            return 1;
        status |= q.tail < t->count;
    } while (q.tail < t->count && break_loop(t, name, &q, &from));
    return status;
}

static int cmd_tsort(struct cmd *c)
{
    struct tsort t = { .c = c };
    struct cmd_options o = cmd_options(c);
    if (cmd_next(&o) != CMD_END)
        return 1;
    if (c->argc > 1)
        return extra_operand(c, c->argv[1]);
    auto_buf text = BUF(c->budget->max_memory);
    struct inputs in = inputs_open(c);
    int status = 0;
    while (inputs_next(&in)) {
        const char *name = in.name;
        if (!stream_read_all(in.stream, &text) || !read_pairs(&t, name, buf_str(&text)))
            status = 1;
        else
            status = print_order(&t, name);
    }
    free(t.items);
    free(t.edges);
    free(t.slots);
    return status ? status : in.status;
}

const struct command command_tsort = {
    "tsort",
    cmd_tsort,
    options,
    "[FILE]",
    "Order items so that the first of each pair comes before the second.",
    0,
};
