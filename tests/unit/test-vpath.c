#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "vfs/vfs.h"

#include <errno.h>

static void test_table(void **state)
{
    (void)state;
    static const struct {
        const char *cwd, *text, *expect;
        bool dir;
    } table[] = {
        { "/", "/", "/", true },
        { "/", "a", "/a", false },
        { "/w", "a", "/w/a", false },
        { "/w", "/a", "/a", false },
        { "/w", ".", "/w", true },
        { "/w", "./a/./b", "/w/a/b", false },
        { "/", "//x//y/", "/x/y", true },
        { "/", "a/.", "/a", true },
        { "/", "..", "/", false },
        { "/", "/../../a", "/a", false },
        { "/w", "..", "/w/..", false },
        { "/w", "../b", "/w/../b", false },
        { "/", "a/../b", "/a/../b", false },
        { "/", "a..b/...", "/a..b/...", false },
        { "/w/..", "x", "/w/../x", false },
        { "/", "./..", "/", false },
        { "/", "a/ ", "/a/ ", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        auto_arena *arena = arena_create();
        struct vpath out, cwd = { .text = str_of(table[i].cwd) };
        assert_int_equal(vpath_parse(str_of(table[i].text), cwd, arena, &out), 0);
        assert_string_equal(out.text.data, table[i].expect);
        assert_int_equal(out.text.len, strlen(table[i].expect));
        assert_int_equal(out.must_be_dir, table[i].dir);
    }
}

static void test_refused(void **state)
{
    (void)state;
    auto_arena *arena = arena_create();
    struct vpath out;
    char big[5000];
    memset(big, 'a', sizeof(big));
    assert_int_equal(vpath_parse(STR(""), VPATH_ROOT, arena, &out), ENOENT);
    assert_int_equal(vpath_parse(STR("a\0b"), VPATH_ROOT, arena, &out), EINVAL);
    assert_int_equal(
            vpath_parse((struct str){ big, 256 }, VPATH_ROOT, arena, &out), ENAMETOOLONG);
    assert_int_equal(vpath_parse((struct str){ big, 255 }, VPATH_ROOT, arena, &out), 0);
    for (size_t i = 0; i < sizeof(big); i += 2)
        big[i] = '/';
    assert_int_equal(vpath_parse((struct str){ big, 4097 }, VPATH_ROOT, arena, &out),
            ENAMETOOLONG);
    assert_int_equal(vpath_parse((struct str){ big, 4096 }, VPATH_ROOT, arena, &out), 0);
    struct vpath cwd = out;
    assert_int_equal(vpath_parse(STR("x"), cwd, arena, &out), ENAMETOOLONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
