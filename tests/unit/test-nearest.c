#include "base/nearest.h"

#include "unit.h"

static const char *const names[] = { "cat", "grep", "ls", "old_string", "path", "sort" };

static void test_cases(void **state UNUSED)
{
    static const struct {
        const char *word, *want; /* NULL: none is near */
    } cases[] = {
        { "gerp", "grep" },
        { "grepp", "grep" },
        { "old_str", "old_string" },
        { "oldString", "old_string" },
        { "sl", "ls" },
        { "file_path", NULL },
        { "", NULL },
        { "x", NULL },
        { "zzzz", NULL },
        { "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str got = nearest_cstr(str_of(cases[i].word), names, ARRAY_LEN(names));
        if (!cases[i].want)
            assert_null(got.data);
        else
            assert_string_equal(got.data ? got.data : "(none)", cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
