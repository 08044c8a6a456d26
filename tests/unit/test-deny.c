#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/deny.h"

static void test_glob(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool plain, folded;
    } table[] = {
        { "a", "a", true, true },
        { "a", "A", false, true },
        { "A", "a", false, true },
        { "a", "ab", false, false },
        { "", "", true, true },
        { "*", "", true, true },
        { "*", "anything", true, true },
        { "*.key", ".key", true, true },
        { "*.key", "x.key", true, true },
        { "*.key", "x.KEY", false, true },
        { "*.key", "x.keys", false, false },
        { "a*b*c", "aXbYbZc", true, true },
        { "a*b*c", "acb", false, false },
        { "?", "\xC3\xA9", true, true },
        { "??", "\xC3\xA9", false, false },
        { "?", "\xE9", true, true },
        { "[abc]x", "bx", true, true },
        { "[!abc]x", "bx", false, false },
        { "[!abc]x", "dx", true, true },
        { "[a-f]", "E", false, true },
        { "[A-F]", "e", false, true },
        { "[]]", "]", true, true },
        { "[!]]", "]", false, false },
        { "[a", "[a", true, true },
        { "[", "[", true, true },
        { "[a-]", "-", true, true },
        { "*[0-9]", "v12", true, true },
        { ".git", ".g\xE2\x80\x8Cit", false, true },
        { ".git", ".git\xE2\x80\x8C", false, true },
        { "*.key",
                "a.\xE2\x84\xAA"
                "ey",
                false, true },
        { "x.?em", "x.pem", true, true },
        { "\\*", "\\x", true, true },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct str pattern = str_of(table[i].pattern), text = str_of(table[i].text);
        if (glob_component_match(pattern, text, false) != table[i].plain ||
                glob_component_match(pattern, text, true) != table[i].folded)
            fail_msg("'%s' against '%s'", table[i].pattern, table[i].text);
    }
}

static void test_many_stars_end(void **state)
{
    (void)state;
    char pattern[201], text[256];
    for (size_t i = 0; i < 200; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[200] = 'b';
    memset(text, 'a', sizeof(text));
    struct str p = { pattern, sizeof(pattern) }, t = { text, sizeof(text) };
    for (int i = 0; i < 1000; i++)
        assert_false(glob_component_match(p, t, true));
}

static bool denied(const struct deny_rules *rules, const char *path)
{
    return deny_match_path(rules, str_of(path)) != NULL;
}

static void test_rules(void **state)
{
    (void)state;
    auto_arena *arena = arena_create();
    struct deny_rules rules;
    struct error err;
    const char *const extra[] = { "secret*", "*.file", "stocks", NULL };
    assert_true(deny_rules_build(extra, arena, &rules, &err));
    static const char *const hidden[] = {
        ".git",
        "/.git",
        "/a/.git/config",
        ".env",
        ".ENV",
        "x/.Env.Local",
        "/k/server.PEM",
        "a/b/id.key/c",
        "secrets",
        "/a/SECRET.txt/b",
        "w/.pyddock/pyddock.toml",
        "x/\xEF\xAC\x86ocks",
        "a/closed.\xEF\xAC\x81le",
    };
    static const char *const seen[] = {
        "/",
        "",
        "a",
        "git",
        ".gitignore",
        ".github/x",
        ".envrc",
        "env",
        "key",
        "a.pem.txt",
        "my-secret",
    };
    for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
        assert_true(denied(&rules, hidden[i]));
    for (size_t i = 0; i < ARRAY_LEN(seen); i++)
        assert_false(denied(&rules, seen[i]));
    assert_false(denied(NULL, ".env"));
    assert_string_equal(deny_match(&rules, STR("secret7"))->data, "secret*");
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const bad[] = { "", "a/b", "/", "*", "**" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_arena *arena = arena_create();
        struct deny_rules rules = { 0 };
        struct error err = { 0 };
        const char *const extra[] = { "fine", bad[i], NULL };
        assert_false(deny_rules_build(extra, arena, &rules, &err));
        assert_int_equal(err.code, ERR_INVALID);
        assert_int_equal(rules.count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_glob),
        cmocka_unit_test(test_many_stars_end),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
