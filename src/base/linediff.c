/*
 * The O(ND) method of E. Myers in linear space.  Lines that the other side does not have
 * at all are left out first.  Where the shortest way would cost too much, the best way
 * found so far is taken.
 */
#include "base/linediff.h"

#define COST_LIMIT 2048 /* changes of one box that are looked for in earnest */

struct sequence { /* the lines that are compared */
    uint32_t *ids;
    uint32_t *lines; /* their numbers in the file */
    bool *changed;   /* of the file */
};

struct search {
    struct budget *budget;
    struct sequence a, b;
    int64_t *forward, *backward; /* by diagonal x - y, from -(m+1) to n+1: farthest x */
};

struct box {
    int64_t a, a_end, b, b_end;
};

struct split {
    int64_t x, y;
};

static void mark(const struct sequence *s, int64_t from, int64_t to)
{
    for (; from < to; from++)
        s->changed[s->lines[from]] = true;
}

static int64_t slide_down(
        const struct search *s, const struct box *box, int64_t x, int64_t y)
{
    while (x < box->a_end && y < box->b_end && s->a.ids[x] == s->b.ids[y]) {
        x++;
        y++;
    }
    return x;
}

static int64_t slide_up(
        const struct search *s, const struct box *box, int64_t x, int64_t y)
{
    while (x > box->a && y > box->b && s->a.ids[x - 1] == s->b.ids[y - 1]) {
        x--;
        y--;
    }
    return x;
}

/* One round of a direction: the diagonals that `cost` changes can reach. */
struct front {
    int64_t low, high; /* diagonals of this round */
    int64_t min, max;  /* of the box */
};

static void widen(struct front *f, int64_t *reach, int64_t nothing)
{
    if (f->low > f->min)
        reach[--f->low - 1] = nothing;
    else
        f->low++;
    if (f->high < f->max)
        reach[++f->high + 1] = nothing;
    else
        f->high--;
}

static bool step_forward(struct search *s, const struct box *box, struct front *f,
        const struct front *other, bool odd, struct split *out)
{
    widen(f, s->forward, -1);
    for (int64_t k = f->high; k >= f->low; k -= 2) {
        int64_t below = s->forward[k - 1], above = s->forward[k + 1];
        int64_t x = slide_down(s, box, below >= above ? below + 1 : above,
                (below >= above ? below + 1 : above) - k);
        s->forward[k] = x;
        if (odd && k >= other->low && k <= other->high && s->backward[k] <= x) {
            *out = (struct split){ x, x - k };
            return true;
        }
    }
    return false;
}

static bool step_backward(struct search *s, const struct box *box, struct front *f,
        const struct front *other, bool odd, struct split *out)
{
    widen(f, s->backward, INT64_MAX);
    for (int64_t k = f->high; k >= f->low; k -= 2) {
        int64_t below = s->backward[k - 1], above = s->backward[k + 1];
        int64_t x = below < above ? below : above - 1;
        x = slide_up(s, box, x, x - k);
        s->backward[k] = x;
        if (!odd && k >= other->low && k <= other->high && x <= s->forward[k]) {
            *out = (struct split){ x, x - k };
            return true;
        }
    }
    return false;
}

/* The point that the forward search brought farthest. */
static struct split farthest(
        const struct search *s, const struct box *box, const struct front *f)
{
    struct split best = { box->a, box->b };
    for (int64_t k = f->low; k <= f->high; k += 2) {
        int64_t x = s->forward[k] < box->a_end ? s->forward[k] : box->a_end, y = x - k;
        if (y > box->b_end) {
            y = box->b_end;
            x = y + k;
        }
        if (x + y > best.x + best.y)
            best = (struct split){ x, y };
    }
    return best;
}

/* A point on the shortest way through the box; false: the budget is spent. */
static bool find_split(struct search *s, const struct box *box, struct split *out)
{
    int64_t min = box->a - box->b_end, max = box->a_end - box->b;
    int64_t start = box->a - box->b, end = box->a_end - box->b_end;
    struct front forward = { start, start, min, max };
    struct front backward = { end, end, min, max };
    bool odd = (start - end) & 1;
    s->forward[start] = box->a;
    s->backward[end] = box->a_end;
    for (int64_t cost = 1; budget_spend(s->budget, (uint64_t)cost); cost++) {
        if (step_forward(s, box, &forward, &backward, odd, out) ||
                step_backward(s, box, &backward, &forward, odd, out))
            return true;
        if (cost >= COST_LIMIT) {
            *out = farthest(s, box, &forward);
            return true;
        }
    }
    return false;
}

static bool compare_box(struct search *s, struct box box)
{
    for (;;) {
        int64_t down = slide_down(s, &box, box.a, box.b) - box.a;
        box.a += down;
        box.b += down;
        int64_t up = box.a_end - slide_up(s, &box, box.a_end, box.b_end);
        box.a_end -= up;
        box.b_end -= up;
        if (!budget_spend(s->budget, (uint64_t)(down + up) + 1))
            return false;
        if (box.a == box.a_end || box.b == box.b_end) {
            mark(&s->a, box.a, box.a_end);
            mark(&s->b, box.b, box.b_end);
            return true;
        }
        struct split at;
        if (!find_split(s, &box, &at))
            return false;
        struct box first = { box.a, at.x, box.b, at.y };
        struct box last = { at.x, box.a_end, at.y, box.b_end };
        bool first_is_small =
                at.x + at.y - box.a - box.b < box.a_end + box.b_end - at.x - at.y;
        /* The smaller one by recursion, so that its depth is a logarithm. */
        if (!compare_box(s, first_is_small ? first : last))
            return false;
        box = first_is_small ? last : first;
    }
}

static size_t keep_shared(
        struct linediff_side *f, const bool *in_other, struct sequence *out)
{
    size_t n = 0;
    out->ids = xcalloc(f->count + 1, sizeof(*out->ids));
    out->lines = xcalloc(f->count + 1, sizeof(*out->lines));
    out->changed = f->changed;
    for (size_t i = 0; i < f->count; i++) {
        f->changed[i] = !in_other[f->ids[i]];
        if (f->changed[i])
            continue;
        out->ids[n] = f->ids[i];
        out->lines[n++] = (uint32_t)i;
    }
    return n;
}

static bool *ids_in(const struct linediff_side *f, uint32_t count)
{
    bool *in = xcalloc(count + 1, sizeof(*in));
    for (size_t i = 0; i < f->count; i++)
        in[f->ids[i]] = true;
    return in;
}

/* How many changed lines `f` has before each of its unchanged ones, and at the end. */
static uint32_t *gaps_of(const struct linediff_side *f)
{
    uint32_t *gaps = xcalloc(f->count + 1, sizeof(*gaps));
    size_t n = 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->changed[i])
            gaps[n]++;
        else
            n++;
    return gaps;
}

struct group { /* changed lines [start, end); `gap`: unchanged ones before them */
    size_t start, end, gap;
};

static void move_up(struct linediff_side *f, struct group *g)
{
    f->changed[--g->start] = true;
    f->changed[--g->end] = false;
    g->gap--;
}

static void move_down(struct linediff_side *f, struct group *g)
{
    f->changed[g->start++] = false;
    f->changed[g->end++] = true;
    g->gap++;
}

/*
 * A run of changed lines whose neighbours are equal to them can lie higher or lower: put
 * it as low as it goes, together with others that it meets, but beside a change of the
 * other file if there is one on the way.
 */
static void settle(struct linediff_side *f, const uint32_t *other_gaps, struct group *g)
{
    size_t length, beside;
    do {
        length = g->end - g->start;
        while (g->start && f->ids[g->start - 1] == f->ids[g->end - 1]) {
            move_up(f, g);
            while (g->start && f->changed[g->start - 1])
                g->start--;
        }
        beside = other_gaps[g->gap] ? g->end : f->count + 1;
        while (g->end < f->count && f->ids[g->start] == f->ids[g->end]) {
            move_down(f, g);
            while (g->end < f->count && f->changed[g->end])
                g->end++;
            if (other_gaps[g->gap])
                beside = g->end;
        }
    } while (length != g->end - g->start);
    while (beside < g->end)
        move_up(f, g);
}

static bool settle_all(
        struct budget *budget, struct linediff_side *f, const struct linediff_side *other)
{
    auto_free uint32_t *gaps = gaps_of(other);
    struct group g = { 0 };
    for (size_t i = 0, unchanged = 0; i < f->count; i = g.end) {
        if (!budget_spend(budget, 1))
            return false;
        if (!f->changed[i]) {
            g.end = i + 1;
            unchanged++;
            continue;
        }
        g = (struct group){ i, i, unchanged };
        while (g.end < f->count && f->changed[g.end])
            g.end++;
        settle(f, gaps, &g);
        unchanged = g.gap;
    }
    return true;
}

bool linediff_compare(
        struct linediff_side sides[2], uint32_t id_count, struct budget *budget)
{
    struct search s = { .budget = budget };
    auto_free bool *in_a = ids_in(&sides[0], id_count);
    auto_free bool *in_b = ids_in(&sides[1], id_count);
    int64_t n = (int64_t)keep_shared(&sides[0], in_b, &s.a);
    int64_t m = (int64_t)keep_shared(&sides[1], in_a, &s.b);
    size_t diagonals = (size_t)(n + m) + 5;
    auto_free int64_t *forward = xcalloc(diagonals, sizeof(*forward));
    auto_free int64_t *backward = xcalloc(diagonals, sizeof(*backward));
    s.forward = forward + m + 2;
    s.backward = backward + m + 2;
    bool ok = compare_box(&s, (struct box){ 0, n, 0, m }) &&
              settle_all(budget, &sides[0], &sides[1]) &&
              settle_all(budget, &sides[1], &sides[0]);
    free(s.a.ids);
    free(s.a.lines);
    free(s.b.ids);
    free(s.b.lines);
    return ok;
}
