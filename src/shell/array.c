#include "shell/value.h"

#define LEAF_CELLS 64

struct cell {
    int64_t index;
    struct value *value;
};

struct leaf {
    size_t count; /* never 0 */
    struct cell cells[LEAF_CELLS];
};

struct array {
    int refs;
    struct leaf **leaves;
    size_t leaf_count, leaf_cap;
    size_t count;
};

struct place {
    size_t leaf, cell;
    bool found; /* else: where the cell would go */
};

struct array *array_create(void)
{
    struct array *a = xcalloc(1, sizeof(*a));
    a->refs = 1;
    return a;
}

struct array *array_ref(struct array *a)
{
    a->refs++;
    return a;
}

void array_unref(struct array *a)
{
    if (!a || --a->refs)
        return;
    for (size_t l = 0; l < a->leaf_count; l++) {
        for (size_t c = 0; c < a->leaves[l]->count; c++)
            value_unref(a->leaves[l]->cells[c].value);
        free(a->leaves[l]);
    }
    free(a->leaves);
    free(a);
}

struct array *array_own(struct array *a)
{
    if (a->refs == 1)
        return a;
    struct array *copy = array_create();
    copy->count = a->count;
    copy->leaf_count = copy->leaf_cap = a->leaf_count;
    copy->leaves = xmalloc(copy->leaf_cap * sizeof(*copy->leaves) + 1);
    for (size_t l = 0; l < a->leaf_count; l++) {
        struct leaf *leaf = copy->leaves[l] = xmalloc(sizeof(*leaf));
        *leaf = *a->leaves[l];
        for (size_t c = 0; c < leaf->count; c++)
            value_ref(leaf->cells[c].value);
    }
    array_unref(a);
    return copy;
}

size_t array_count(const struct array *a)
{
    return a->count;
}

int64_t array_end(const struct array *a)
{
    if (!a->count)
        return 0;
    const struct leaf *last = a->leaves[a->leaf_count - 1];
    return last->cells[last->count - 1].index + 1;
}

/* The last leaf whose first index is not beyond `index`; 0 if there is none. */
static size_t find_leaf(const struct array *a, int64_t index)
{
    size_t low = 0, high = a->leaf_count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (a->leaves[middle]->cells[0].index <= index)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static struct place find(const struct array *a, int64_t index)
{
    size_t guess = (size_t)index / LEAF_CELLS, offset = (size_t)index % LEAF_CELLS;
    if (guess < a->leaf_count && offset < a->leaves[guess]->count &&
            a->leaves[guess]->cells[offset].index == index)
        return (struct place){ guess, offset, true };
    if (!a->leaf_count || index >= array_end(a)) {
        size_t last = a->leaf_count ? a->leaf_count - 1 : 0;
        return (struct place){ last, a->leaf_count ? a->leaves[last]->count : 0, false };
    }
    size_t l = find_leaf(a, index), low = 0, high = a->leaves[l]->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (a->leaves[l]->cells[middle].index < index)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < a->leaves[l]->count && a->leaves[l]->cells[low].index == index;
    return (struct place){ l, low, found };
}

struct value *array_get(const struct array *a, int64_t index)
{
    struct place p = find(a, index);
    return p.found ? a->leaves[p.leaf]->cells[p.cell].value : NULL;
}

static void insert_leaf(struct array *a, size_t at)
{
    GROW(a->leaves, a->leaf_count, a->leaf_cap);
    memmove(a->leaves + at + 1, a->leaves + at,
            (a->leaf_count - at) * sizeof(*a->leaves));
    a->leaves[at] = xcalloc(1, sizeof(**a->leaves));
    a->leaf_count++;
}

/* Make room at a full leaf.  At the end of the array a new leaf is begun, so that arrays
 * that grow in order have full leaves; elsewhere the leaf is halved. */
static struct place make_room(struct array *a, struct place p)
{
    insert_leaf(a, p.leaf + 1);
    if (p.leaf + 2 == a->leaf_count && p.cell == LEAF_CELLS)
        return (struct place){ p.leaf + 1, 0, false };
    struct leaf *left = a->leaves[p.leaf], *right = a->leaves[p.leaf + 1];
    size_t half = LEAF_CELLS / 2;
    memcpy(right->cells, left->cells + half, half * sizeof(left->cells[0]));
    left->count = right->count = half;
    if (p.cell > half)
        return (struct place){ p.leaf + 1, p.cell - half, false };
    return p;
}

void array_set(struct array *a, int64_t index, struct value *value)
{
    struct place p = find(a, index);
    if (p.found) {
        struct cell *cell = &a->leaves[p.leaf]->cells[p.cell];
        value_unref(cell->value);
        cell->value = value;
        return;
    }
    if (!a->leaf_count)
        insert_leaf(a, 0);
    if (a->leaves[p.leaf]->count == LEAF_CELLS)
        p = make_room(a, p);
    struct leaf *leaf = a->leaves[p.leaf];
    memmove(leaf->cells + p.cell + 1, leaf->cells + p.cell,
            (leaf->count - p.cell) * sizeof(leaf->cells[0]));
    leaf->cells[p.cell] = (struct cell){ index, value };
    leaf->count++;
    a->count++;
}

bool array_remove(struct array *a, int64_t index)
{
    struct place p = find(a, index);
    if (!p.found)
        return false;
    struct leaf *leaf = a->leaves[p.leaf];
    value_unref(leaf->cells[p.cell].value);
    leaf->count--;
    a->count--;
    memmove(leaf->cells + p.cell, leaf->cells + p.cell + 1,
            (leaf->count - p.cell) * sizeof(leaf->cells[0]));
    if (!leaf->count) {
        free(leaf);
        a->leaf_count--;
        memmove(a->leaves + p.leaf, a->leaves + p.leaf + 1,
                (a->leaf_count - p.leaf) * sizeof(*a->leaves));
    }
    return true;
}

bool array_next(const struct array *a, size_t at[2], int64_t *index, struct value **value)
{
    if (at[0] < a->leaf_count && at[1] >= a->leaves[at[0]]->count) {
        at[0]++;
        at[1] = 0;
    }
    if (at[0] >= a->leaf_count)
        return false;
    const struct cell *cell = &a->leaves[at[0]]->cells[at[1]++];
    *index = cell->index;
    *value = cell->value;
    return true;
}
