#include "search/pathglob.h"

#include "unit.h"

/* As Python 3.13 answers for glob.translate(pattern, recursive=True,
 * include_hidden=True). */
static void test_matching(void **state UNUSED)
{
    static const struct {
        const char *glob, *path;
        bool matches;
    } table[] = {
        { "a.txt", "a.txt", true },
        { "a.txt", "data.txt", false },
        { "a.txt", "a.txt.bak", false },
        { "*.py", "a.py", true },
        { "*.py", "src/a.py", false },
        { "*", ".hidden", true },
        { "?.c", "x.c", true },
        { "?.c", "/.c", false },
        { "?", "\xc3\xa4", true },
        { "src/*.py", "src/a.py", true },
        { "src/*.py", "mysrc/a.py", false },
        { "src/*.py", "src/x/a.py", false },
        { "src/**/*.py", "src/a.py", true },
        { "src/**/*.py", "src/x/y/a.py", true },
        { "src/**/*.py", "a.py", false },
        { "**/a", "a", true },
        { "**/a", "x/a", true },
        { "**/a", "x/ba", false },
        { "**", "a", true },
        { "**", "a/b", true },
        { "a/**", "a/b/c", true },
        { "a/**", "a", false },
        { "a/**", "b", false },
        { "**/**/a", "x/y/a", true },
        { "a/**/**/b", "a/b", true },
        { "**/x/**/y", "x/1/x/2/y", true },
        { "a**b", "axxb", true },
        { "a**b", "ax/xb", false },
        { "**.py", "x.py", true },
        { "**.py", "d/x.py", false },
        { "[ab].c", "a.c", true },
        { "[!ab].c", "c.c", true },
        { "[!ab].c", "a.c", false },
        { "[^ab].c", "^.c", true },
        { "[^ab].c", "a.c", true },
        { "[^ab].c", "c.c", false },
        { "[^].c", "^.c", true },
        { "[a-c]x", "bx", true },
        { "[c-a]x", "bx", false },
        { "[]]x", "]x", true },
        { "[!]]x", "]x", false },
        { "[[]1]", "[1]", true },
        { "[", "[", true },
        { "[a", "[a", true },
        { "[!", "[!", true },
        { "a[/]b", "a[/]b", true },
        { "{a,b}", "a", false },
        { "{a,b}", "{a,b}", true },
        { "a\\*", "a\\x", true },
        { "", "", false },
        { "", "a", false },
        { "a/", "a", false },
        { "a//b", "a/b", false },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        auto_arena *arena = arena_create();
        struct pathglob g;
        struct error err;
        assert_true(pathglob_parse(str_of(table[i].glob), false, arena, &g, &err));
        if (pathglob_match(&g, str_of(table[i].path)) != table[i].matches)
            fail_msg("'%s' '%s'", table[i].glob, table[i].path);
    }
}

static void test_letter_case(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    struct pathglob g;
    struct error err;
    assert_true(pathglob_parse(STR("SRC/*.[cH]"), true, arena, &g, &err));
    assert_true(pathglob_match(&g, STR("src/x.h")));
    assert_true(pathglob_match(&g, STR("Src/X.C")));
    assert_false(pathglob_match(&g, STR("src/x.py")));
}

/* What is known before a folder is entered. */
static void test_states(void **state UNUSED)
{
    static const struct {
        const char *glob, *folder;
        bool goes_on;
    } table[] = {
        { "src/**/*.py", "src", true },
        { "src/**/*.py", "lib", false },
        { "src/*.py", "src/x", false },
        { "a/b/c", "a/b", true },
        { "a/b/c", "a/b/c", false },
        { "**/x", "any/where", true },
        { "a/**", "a/b/c", true },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        auto_arena *arena = arena_create();
        struct pathglob g;
        struct error err;
        assert_true(pathglob_parse(str_of(table[i].glob), false, arena, &g, &err));
        pathglob_states states = pathglob_start(&g);
        for (struct str rest = str_of(table[i].folder); rest.len;)
            states = pathglob_step(&g, states, str_cut(&rest, '/'));
        if (pathglob_goes_on(&g, states) != table[i].goes_on)
            fail_msg("'%s' '%s'", table[i].glob, table[i].folder);
    }
}

static void test_too_many_parts(void **state UNUSED)
{
    auto_arena *arena = arena_create();
    auto_buf text = BUF(1000);
    struct pathglob g;
    struct error err;
    for (int i = 0; i < PATHGLOB_MAX_PARTS; i++)
        buf_addf(&text, "%sa", i ? "/" : "");
    assert_true(pathglob_parse(buf_str(&text), false, arena, &g, &err));
    assert_true(pathglob_match(&g, buf_str(&text)));
    buf_addf(&text, "/a");
    assert_false(pathglob_parse(buf_str(&text), false, arena, &g, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matching),
        cmocka_unit_test(test_letter_case),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_too_many_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
