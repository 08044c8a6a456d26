#include "base/json.h"
#include "policy/pyre/pyre.h"

#include "unit.h"

#include <stdio.h>

#define MAX_LINE 65536

/* What Python says and what we say; `failed` counts the differences. */
static void check_error(const json_t *row, const char *want, size_t *failed)
{
    struct str pattern = json_str(json_array_get(row, 0));
    struct error err = { 0 };
    struct pyre *p = NULL;
    if (pyre_create(pattern, 0, &p, &err))
        print_error("'%.*s' is taken; Python: %s\n", STR_ARG(pattern), want);
    else if (strcmp(err.message, want) != 0)
        print_error("'%.*s': %s; Python: %s\n", STR_ARG(pattern), err.message, want);
    *failed += p || strcmp(err.message, want) != 0;
    pyre_destroy(p);
}

static void check_subject(
        const json_t *row, struct pyre *p, const json_t *subject, size_t *failed)
{
    struct str text = json_str(json_array_get(subject, 0));
    const char *want = json_string_value(json_array_get(subject, 1));
    char got[] = "smf";
    for (size_t i = 0; i < 3; i++)
        if (pyre_match(p, (enum pyre_how)i, text) != PYRE_YES)
            got[i] = '-';
    if (!strcmp(got, want))
        return;
    print_error("'%s' on '%.*s': %s; Python: %s\n",
            json_string_value(json_array_get(row, 0)), STR_ARG(text), got, want);
    ++*failed;
}

static void check_matches(const json_t *row, size_t *failed)
{
    struct str pattern = json_str(json_array_get(row, 0));
    bool fold = json_integer_value(json_array_get(row, 1)) != 0;
    struct error err = { 0 };
    struct pyre *p = NULL;
    if (!pyre_create(pattern, fold ? PYRE_FOLD : 0, &p, &err)) {
        print_error("'%.*s': %s\n", STR_ARG(pattern), err.message);
        ++*failed;
        return;
    }
    size_t i;
    json_t *subject;
    json_array_foreach (json_array_get(row, 3), i, subject)
        check_subject(row, p, subject, failed);
    pyre_destroy(p);
}

static void test_as_python(void **state UNUSED)
{
    FILE *file = fopen(TEST_DATA "/pyre-cases.json", "r");
    char line[MAX_LINE];
    size_t failed = 0, count = 0;
    assert_non_null(file);
    for (; fgets(line, sizeof(line), file); count++) {
        struct error err;
        json_auto_t *row = NULL;
        assert_true(json_parse(str_of(line), &row, &err));
        const char *message = json_string_value(json_array_get(row, 2));
        if (message)
            check_error(row, message, &failed);
        else
            check_matches(row, &failed);
    }
    fclose(file);
    assert_true(count > 300);
    assert_int_equal(failed, 0);
}

/* What Python takes and we refuse, by name. */
static void test_unsupported(void **state UNUSED)
{
    static const struct {
        const char *pattern, *message;
    } cases[] = {
        { "a\\N{DIGIT ONE}",
                "unsupported: a character by its name, \\N{...} at position 1" },
        { "\\ud800", "unsupported: the surrogate \\ud800 at position 0" },
        { "(?P<\xc3\xa9>a)",
                "unsupported: the group name '\xc3\xa9', beyond ASCII at position 4" },
        { "a{65536}", "the repetition number is too large" },
        { "(?ia)(a)\\1", "unsupported: a group reference that ignores the case of ASCII "
                         "only at position 8" },
        { "(?ia)(?P<n>a)(?P=n)",
                "unsupported: a group reference that ignores the case of "
                "ASCII only at position 17" },
        { "a\xff", "the pattern is not UTF-8" },
        { "(?:(?:a{1000}){1000}){1000}", "unsupported: regular expression is too large" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { 0 };
        struct pyre *p = NULL;
        assert_false(pyre_create(str_of(cases[i].pattern), 0, &p, &err));
        assert_string_equal(err.message, cases[i].message);
    }
}

static enum pyre_result match(
        const char *pattern, enum pyre_flags flags, enum pyre_how how, struct str subject)
{
    struct error err = { 0 };
    struct pyre *p = NULL;
    if (!pyre_create(str_of(pattern), flags, &p, &err))
        fail_msg("%s: %s", pattern, err.message);
    enum pyre_result result = pyre_match(p, how, subject);
    pyre_destroy(p);
    return result;
}

static void test_bad_bytes(void **state UNUSED)
{
    struct str bad = STR("a\xff"
                         "b\0c");
    assert_int_equal(match("a\xef\xbf\xbd", 0, PYRE_SEARCH, bad), PYRE_YES);
    assert_int_equal(match("a.b\\0c", 0, PYRE_FULLMATCH, bad), PYRE_YES);
    assert_int_equal(match("\\xff", 0, PYRE_SEARCH, bad), PYRE_NO);
}

/* Deep patterns and long subjects end, one way or the other. */
static void test_limits(void **state UNUSED)
{
    auto_buf text = BUF(1 << 20);
    for (size_t i = 0; i < 40; i++)
        buf_addc(&text, 'a');
    assert_int_equal(match("(a|a)*b|(a?a)*$b", 0, PYRE_SEARCH, buf_str(&text)), PYRE_NO);
    buf_add(&text, STR("c"));
    assert_int_equal(match("^(a|a)*[bd]", 0, PYRE_MATCH, buf_str(&text)), PYRE_LIMIT);
    buf_clear(&text);
    for (size_t i = 0; i < PYRE_MAX_BYTES / 2; i++)
        buf_addc(&text, '(');
    struct pyre *p = NULL;
    struct error err = { 0 };
    assert_false(pyre_create(buf_str(&text), 0, &p, &err));
    assert_non_null(strstr(err.message, "unsupported: more than 200 groups"));
    buf_clear(&text);
    for (size_t i = 0; i <= PYRE_MAX_BYTES; i++)
        buf_addc(&text, 'a');
    assert_false(pyre_create(buf_str(&text), 0, &p, &err));
    assert_int_equal(err.code, ERR_LIMIT);
}

/* The same answers after the pattern has been compiled to machine code. */
static void test_often(void **state UNUSED)
{
    struct error err = { 0 };
    struct pyre *p = NULL;
    assert_true(pyre_create(STR("(\\w+) \\1$"), PYRE_FOLD, &p, &err));
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(pyre_match(p, PYRE_SEARCH, STR("x ab AB\n")), PYRE_YES);
        assert_int_equal(pyre_match(p, PYRE_MATCH, STR("x ab AB")), PYRE_NO);
        assert_int_equal(pyre_match(p, PYRE_FULLMATCH, STR("ab AB")), PYRE_YES);
    }
    pyre_destroy(p);
}

static void test_translate(void **state UNUSED)
{
    static const struct {
        const char *pattern;
        enum pyre_flags flags;
        const char *want;
    } cases[] = {
        { "^a.b$", 0, "^a.b$" },
        { "(?i)a", 0, "(?i:a)" },
        { "(?i)a", PYRE_FOLD, "a" },
        { "(?P<x>a)(?P=x)", 0, "(a)\\g{1}" },
        { "a{,3}+", 0, "a{0,3}+" },
        { "(?#no)a(?x: b # c\n)", 0, "a(?:b)" },
        { "a-b/c:d", 0, "a\\-b/c\\:d" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { 0 };
        auto_buf out = BUF(1000);
        assert_true(pyre_translate(str_of(cases[i].pattern), cases[i].flags, &out, &err));
        assert_string_equal(buf_str(&out).data, cases[i].want);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_python),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_bad_bytes),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_often),
        cmocka_unit_test(test_translate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
