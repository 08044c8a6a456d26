#include "search/ignore.h"

#include "unit.h"

static void test_rules(void **state UNUSED)
{
    static const struct {
        const char *rules, *path;
        bool is_dir;
        enum ignore_answer answer;
    } table[] = {
        { "", "a", false, IGNORE_SILENT },
        { "# a\n\n   \n", "# a", false, IGNORE_SILENT },
        { "a\n", "a", false, IGNORE_OUT },
        { "a", "x/y/a", false, IGNORE_OUT },
        { "a", "ab", false, IGNORE_SILENT },
        { "*.o", "x/y.o", false, IGNORE_OUT },
        { "*.o\r\n", "y.o", false, IGNORE_OUT },
        { "a  ", "a", false, IGNORE_OUT },
        { "a\\ ", "a ", false, IGNORE_OUT },
        { "\\#x", "#x", false, IGNORE_OUT },
        { "\\!x", "!x", false, IGNORE_OUT },
        { "\\*", "*", false, IGNORE_OUT },
        { "\\*", "x", false, IGNORE_SILENT },
        { "a\\?", "a?", false, IGNORE_OUT },
        { "a\\?", "ab", false, IGNORE_SILENT },
        /* A slash ties it to the folder. */
        { "/a", "a", false, IGNORE_OUT },
        { "/a", "x/a", false, IGNORE_SILENT },
        { "x/a", "x/a", false, IGNORE_OUT },
        { "x/a", "y/x/a", false, IGNORE_SILENT },
        { "x/*", "x/a", false, IGNORE_OUT },
        { "x/*", "x/a/b", false, IGNORE_SILENT },
        { "**/a", "a", false, IGNORE_OUT },
        { "**/a", "x/y/a", false, IGNORE_OUT },
        { "a/**", "a/b/c", false, IGNORE_OUT },
        { "a/**", "a", true, IGNORE_SILENT },
        { "a/**/b", "a/b", false, IGNORE_OUT },
        { "a/**/b", "a/x/y/b", false, IGNORE_OUT },
        /* A slash at the end: folders only. */
        { "a/", "a", true, IGNORE_OUT },
        { "a/", "x/a", true, IGNORE_OUT },
        { "a/", "a", false, IGNORE_SILENT },
        { "/a/", "x/a", true, IGNORE_SILENT },
        /* The last rule that matches decides. */
        { "*.o\n!keep.o\n", "keep.o", false, IGNORE_IN },
        { "!keep.o\n*.o\n", "keep.o", false, IGNORE_OUT },
        { "*\n!*.c\n", "a.c", false, IGNORE_IN },
        /* Sets. */
        { "[ab]", "b", false, IGNORE_OUT },
        { "[!ab]", "b", false, IGNORE_SILENT },
        { "[^ab]", "c", false, IGNORE_OUT },
        { "[a-c]", "b", false, IGNORE_OUT },
        { "[[:digit:]x]", "7", false, IGNORE_OUT },
        { "[[:digit:]x]", "x", false, IGNORE_OUT },
        { "[[:digit:]x]", "y", false, IGNORE_SILENT },
        { "[]a]", "]", false, IGNORE_OUT },
        { "[a", "[a", false, IGNORE_OUT },
        /* Nothing at all. */
        { "/", "a", true, IGNORE_SILENT },
        { "!", "a", false, IGNORE_SILENT },
        { "\xef\xbb\xbf"
          "a",
                "a", false, IGNORE_OUT },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        auto_arena *arena = arena_create();
        struct ignore_rules rules;
        ignore_parse(str_of(table[i].rules), arena, &rules);
        enum ignore_answer answer =
                ignore_ask(&rules, str_of(table[i].path), table[i].is_dir);
        if (answer != table[i].answer)
            fail_msg("'%s' '%s': %d", table[i].rules, table[i].path, answer);
    }
}

static void test_there_is_a_ceiling(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    auto_buf text = BUF((size_t)1 << 20);
    struct ignore_rules rules;
    for (int i = 0; i < IGNORE_MAX_RULES + 10; i++)
        buf_addf(&text, "f%d\n", i);
    ignore_parse(buf_str(&text), arena, &rules);
    assert_int_equal(rules.count, IGNORE_MAX_RULES);
    assert_int_equal(ignore_ask(&rules, STR("f0"), false), IGNORE_OUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_there_is_a_ceiling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
