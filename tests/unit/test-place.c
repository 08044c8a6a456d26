#include "command-world.h"
#include "unit.h"

#include "policy/place.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int setup(void **state)
{
    struct world *w = xcalloc(1, sizeof(*w));
    world_create(w);
    *state = w;
    return 0;
}

static int teardown(void **state)
{
    world_destroy(*state);
    free(*state);
    return 0;
}

static void test_missing(void **state)
{
    struct world *w = *state;
    struct str base = str_of(world_path(w, "ws"));
    static const struct {
        const char *path, *ends; /* below the root */
        bool exists, has_parent;
    } table[] = {
        { "notes.txt", "ws/notes.txt", true, true },
        { "new", "ws/new", false, true },
        { "new/", "ws/new", false, true },
        { "new/x", "ws/new/x", false, false },
        { "new/../notes.txt", "ws/notes.txt", true, true },
        { "new/../../out/x", "out/x", false, true },
        { "outlink", "out/secret.txt", true, true },
        { "./outlink/../x", "out/x", false, true },
        { "new/outlink", "ws/new/outlink", false, false },
        { "src//main.c/.", "ws/src/main.c", true, true },
        { "notes.txt/x", "ws/notes.txt/x", false, true },
        { "", "ws", true, true },
        { "../../../../../../../../..", NULL, true, true },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        unsigned budget = 1000;
        struct place place;
        assert_true(place_find(
                base, str_of(table[i].path), PLACE_FOLLOW, w->arena, &budget, &place));
        const char *ends = table[i].ends ? world_path(w, table[i].ends) : "/";
        assert_string_equal(place.path.data, ends);
        if (place.exists != table[i].exists || place.parent_exists != table[i].has_parent)
            fail_msg("%s", table[i].path);
    }
}

static void test_by_name(void **state)
{
    struct world *w = *state;
    struct str base = str_of(world_path(w, "ws"));
    unsigned budget = 1000;
    struct place place;
    assert_true(place_find(
            base, STR("outlink/../notes.txt"), PLACE_BY_NAME, w->arena, &budget, &place));
    assert_string_equal(place.path.data, world_path(w, "ws/notes.txt"));
    assert_true(
            place_find(base, STR("outlink"), PLACE_BY_NAME, w->arena, &budget, &place));
    assert_string_equal(place.path.data, world_path(w, "ws/outlink"));
    assert_true(place.exists);
}

static void test_bounds(void **state)
{
    struct world *w = *state;
    struct str base = str_of(world_path(w, "ws"));
    struct place place;
    unsigned budget = 1;
    assert_false(
            place_find(base, STR("a/b/c/d"), PLACE_FOLLOW, w->arena, &budget, &place));
    assert_int_equal(budget, 0);
    world_link(w, "b", "ws/a");
    world_link(w, "a", "ws/b");
    budget = 1000;
    assert_false(place_find(base, STR("a"), PLACE_FOLLOW, w->arena, &budget, &place));
    assert_true(place_find(base, STR("a"), PLACE_BY_NAME, w->arena, &budget, &place));
    char name[NAME_MAX + 2];
    memset(name, 'x', sizeof(name));
    struct str longest = { name, NAME_MAX }, longer = { name, NAME_MAX + 1 };
    assert_true(place_find(base, longest, PLACE_FOLLOW, w->arena, &budget, &place));
    assert_true(!place.exists && place.parent_exists);
    assert_true(place_find(base, longer, PLACE_FOLLOW, w->arena, &budget, &place));
    assert_true(!place.exists && !place.parent_exists);
}

static const char *const names[] = { "a", "b", "c", "d" };

static unsigned pick(unsigned *seed, unsigned n)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % n;
}

static const char *random_path(struct world *w, unsigned *seed, unsigned most)
{
    auto_buf path = BUF(4096);
    unsigned count = 1 + pick(seed, most);
    for (unsigned i = 0; i < count; i++) {
        unsigned k = pick(seed, 8);
        buf_addf(&path, "%s%s", i ? "/" : "", k < 4 ? names[k] : k < 6 ? ".." : ".");
    }
    return arena_str(w->arena, buf_str(&path)).data;
}

/* A folder `root` full of folders, files and links to anywhere; how many links. */
static unsigned grow(struct world *w, const char *root, unsigned *seed)
{
    unsigned made = 0;
    for (unsigned i = 0; i < 200; i++) {
        const char *at = arena_printf(w->arena, "%s/%s", root, random_path(w, seed, 4));
        const char *to = random_path(w, seed, 3);
        switch (pick(seed, 4)) {
        case 0:
            if (pick(seed, 2))
                to = arena_printf(w->arena, "%s/%s", root, to);
            made += !symlink(to, at);
            break;
        case 1: {
            FILE *f = fopen(at, "axe");
            if (f)
                fclose(f);
            break;
        }
        default:
            mkdir(at, 0755);
        }
    }
    return made;
}

/* Where the kernel finds something, so do we. */
static void test_oracle(void **state)
{
    struct world *w = *state;
    unsigned seed = 7, found = 0, links = 0;
    for (unsigned tree = 0; tree < 20; tree++) {
        const char *name = arena_printf(w->arena, "tree%u/x/y", tree);
        world_file(w, arena_printf(w->arena, "%s/z", name), "", 0644);
        const char *root = world_path(w, name);
        links += grow(w, root, &seed);
        for (unsigned i = 0; i < 500; i++) {
            const char *path = random_path(w, &seed, 7);
            char real[PATH_MAX];
            bool there = realpath(arena_printf(w->arena, "%s/%s", root, path), real);
            unsigned budget = 10000;
            struct place place;
            bool ok = place_find(
                    str_of(root), str_of(path), PLACE_FOLLOW, w->arena, &budget, &place);
            if (there && (!ok || !place.exists || strcmp(place.path.data, real) != 0))
                fail_msg("%s/%s ends at %s", root, path, real);
            if (ok && place.exists)
                assert_int_equal(access(place.path.data, F_OK), 0);
            struct place below;
            assert_int_equal(place_find_below(str_of(root), str_of(path), PLACE_FOLLOW,
                                     w->arena, &budget, &below),
                    ok);
            assert_true(!ok || str_eq(place.path, below.path));
            found += there;
        }
    }
    assert_true(links > 50 && found > 500);
}

static void test_folders(void **state)
{
    struct world *w = *state;
    struct str inside = str_of(world_path(w, "ws/.pyddock/x"));
    assert_ptr_equal(place_protected(&w->policy, inside), &w->protected[0]);
    assert_null(place_protected(&w->policy, str_of(world_path(w, "ws/.pyddock/tmp/x"))));
    assert_non_null(
            place_protected(&w->policy, str_of(world_path(w, "ws/.pyddock/tmpx"))));
    assert_true(place_is_writable(&w->policy, inside));
    assert_false(place_is_writable(&w->policy, str_of(world_path(w, "out"))));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_missing, setup, teardown),
        cmocka_unit_test_setup_teardown(test_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bounds, setup, teardown),
        cmocka_unit_test_setup_teardown(test_oracle, setup, teardown),
        cmocka_unit_test_setup_teardown(test_folders, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
