/* Random documents: the merge against its definition, made independently from the text.
 */
#include "policy/config/internal.h"

#include "unit.h"

#define ROUNDS    3000
#define MAX_PATHS 64

/* A document as a list of "path = value" with paths of letters: what a flat model can say
 * about a tree without empty tables. */
struct leaf {
    char path[8]; /* "abc": key c in table b in table a */
    int value;
    bool from_overlay;
};

struct model {
    struct leaf leaves[MAX_PATHS];
    size_t count;
};

static unsigned next_random(unsigned *seed, unsigned below)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % below;
}

static bool is_prefix(const char *a, const char *b)
{
    return strncmp(a, b, strlen(a)) == 0;
}

/* Would a document with both paths be no TOML? */
static bool clashes(const struct model *m, const char *path)
{
    for (size_t i = 0; i < m->count; i++)
        if (is_prefix(m->leaves[i].path, path) || is_prefix(path, m->leaves[i].path))
            return true;
    return false;
}

static void make_model(struct model *m, unsigned *seed, bool overlay)
{
    m->count = 0;
    for (unsigned tries = next_random(seed, 12); tries; tries--) {
        struct leaf *leaf = &m->leaves[m->count];
        size_t depth = 1 + next_random(seed, 3);
        memset(leaf, 0, sizeof(*leaf));
        for (size_t i = 0; i < depth; i++)
            leaf->path[i] = (char)('a' + next_random(seed, 3));
        leaf->value = (int)next_random(seed, 1000);
        leaf->from_overlay = overlay;
        m->count += !clashes(m, leaf->path);
    }
}

static void write_model(const struct model *m, struct buf *out)
{
    for (size_t i = 0; i < m->count; i++) {
        for (const char *p = m->leaves[i].path; *p; p++)
            buf_addf(out, "%s%c", p == m->leaves[i].path ? "" : ".", *p);
        buf_addf(out, " = %d\n", m->leaves[i].value);
    }
}

static const struct leaf *find_leaf(const struct model *m, const char *path)
{
    for (size_t i = 0; i < m->count; i++)
        if (!strcmp(m->leaves[i].path, path))
            return &m->leaves[i];
    return NULL;
}

static bool has_below(const struct model *m, const char *path)
{
    for (size_t i = 0; i < m->count; i++)
        if (is_prefix(path, m->leaves[i].path) && strcmp(path, m->leaves[i].path) != 0)
            return true;
    return false;
}

/* What stands at a path of the merged document: a value of the overlay, else a value of
 * the base that the overlay neither replaces by a table nor hides behind a value. */
static const struct leaf *oracle(
        const struct model *base, const struct model *over, const char *path)
{
    const struct leaf *leaf = find_leaf(over, path);
    if (leaf || has_below(over, path))
        return leaf;
    char above[8];
    for (size_t n = 1; n < strlen(path); n++) {
        memcpy(above, path, n);
        above[n] = 0;
        if (find_leaf(over, above))
            return NULL;
    }
    return find_leaf(base, path);
}

static const struct toml_value *value_at(const struct toml_value *table, const char *path)
{
    for (; *path; path++) {
        const struct toml_item *item = table->type == TOML_TABLE
                                               ? toml_find(table, (struct str){ path, 1 })
                                               : NULL;
        if (!item)
            return NULL;
        table = &item->value;
    }
    return table;
}

static size_t count_leaves(const struct toml_value *v)
{
    size_t count = v->type == TOML_INTEGER;
    for (size_t i = 0; v->type == TOML_TABLE && i < v->count; i++)
        count += count_leaves(&v->items[i].value);
    return count;
}

static void parse(const struct model *m, const char *name, struct arena *arena,
        struct toml_value *out)
{
    auto_buf text = BUF(4096);
    struct error err = { 0 };
    write_model(m, &text);
    if (!toml_parse(arena_str(arena, buf_str(&text)), name, arena, out, &err))
        fail_msg("%s", err.message);
}

static void check_path(const struct model *base, const struct model *over,
        const struct toml_value *merged, const char *path, size_t *leaves)
{
    const struct leaf *want = oracle(base, over, path);
    const struct toml_value *got = value_at(merged, path);
    bool is_leaf = got && got->type == TOML_INTEGER;
    assert_int_equal(is_leaf, want != NULL);
    if (!want)
        return;
    assert_int_equal(got->integer, want->value);
    assert_string_equal(got->origin.file, want->from_overlay ? "over" : "base");
    ++*leaves;
}

static void check_paths(const struct model *base, const struct model *over,
        const struct toml_value *merged)
{
    size_t leaves = 0;
    for (char a = 'a'; a <= 'c'; a++) {
        check_path(base, over, merged, (char[]){ a, 0 }, &leaves);
        for (char b = 'a'; b <= 'c'; b++) {
            check_path(base, over, merged, (char[]){ a, b, 0 }, &leaves);
            for (char c = 'a'; c <= 'c'; c++)
                check_path(base, over, merged, (char[]){ a, b, c, 0 }, &leaves);
        }
    }
    assert_int_equal(leaves, count_leaves(merged)); /* and there is nothing else */
}

/* Keys of the base first, in their order, then new ones, in theirs. */
static void check_order(const struct toml_value *base, const struct toml_value *over,
        const struct toml_value *merged)
{
    size_t next = 0;
    for (size_t i = 0; i < base->count; i++)
        assert_true(str_eq(merged->items[next++].key, base->items[i].key));
    for (size_t i = 0; i < over->count; i++)
        if (!toml_find(base, over->items[i].key))
            assert_true(str_eq(merged->items[next++].key, over->items[i].key));
    assert_int_equal(next, merged->count);
}

static void test_random(void **state UNUSED)
{
    unsigned seed = 1;
    for (unsigned round = 0; round < ROUNDS; round++) {
        auto_arena *arena = arena_create();
        struct model base, over;
        struct toml_value base_tree, over_tree;
        make_model(&base, &seed, false);
        make_model(&over, &seed, true);
        parse(&base, "base", arena, &base_tree);
        parse(&over, "over", arena, &over_tree);
        struct toml_value merged = conf_merge(&base_tree, &over_tree, arena);
        check_paths(&base, &over, &merged);
        check_order(&base_tree, &over_tree, &merged);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_random) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
