/* What paths say by their text. */
#include "base/path.h"
#include "unit.h"

static void test_in_and_beneath(void **state UNUSED)
{
    static const struct {
        const char *path, *folder;
        bool in, beneath;
    } table[] = {
        { "/a/b", "/a", true, true },
        { "/a/b/c", "/a", true, true },
        { "/a", "/a", true, false },
        { "/ab", "/a", false, false },
        { "/a", "/ab", false, false },
        { "/", "/a", false, false },
        { "/a", "/", true, true },
        { "/", "/", true, false },
        { "/a", "", false, false },
        { "", "/", false, false },
        { "", "", false, false },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct str path = str_of(table[i].path), folder = str_of(table[i].folder);
        assert_int_equal(path_is_in(path, folder), table[i].in);
        assert_int_equal(path_is_beneath(path, folder), table[i].beneath);
    }
}

static void test_normal(void **state UNUSED)
{
    static const struct str normal[] = { STR("/"), STR("/a"), STR("/a/..b/.c"),
        STR("/a/...") };
    static const struct str other[] = { STR(""), STR("a"), STR("//"), STR("/a/"),
        STR("/a//b"), STR("/./a"), STR("/a/.."), STR("/a/../b"), STR("/a\0b") };
    for (size_t i = 0; i < ARRAY_LEN(normal); i++)
        assert_true(path_is_normal(normal[i]));
    for (size_t i = 0; i < ARRAY_LEN(other); i++)
        assert_false(path_is_normal(other[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_and_beneath),
        cmocka_unit_test(test_normal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
