#include "base/json.h"

#include "unit.h"

/* What is parsed and written again; or, where it is refused, the code. */
static void test_parse(void **state UNUSED)
{
    static const struct {
        const char *text, *want;
        enum error_code code;
    } cases[] = {
        { " {\"a\" : [1, 2.5, null]} ", "{\"a\":[1,2.5,null]}", ERR_NONE },
        { "\"\\u00e9\\ud83d\\ude00\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"", ERR_NONE },
        { "\"\\ud83d\"", "\"\xef\xbf\xbd\"", ERR_NONE },
        { "\"\\ude00\\ud83d\\n\"", "\"\xef\xbf\xbd\xef\xbf\xbd\\n\"", ERR_NONE },
        { "\"\\\\ud83d\\ud83d\\ud83d\\ude00\"",
                "\"\\\\ud83d\xef\xbf\xbd\xf0\x9f\x98\x80\"", ERR_NONE },
        { "[9223372036854775807]", "[9223372036854775807]", ERR_NONE },
        { "[1e2, 36893488147419103232]", "[100.0,3.6893488147419103e19]", ERR_NONE },
        { "\"a\\u0000b\"", "\"a\\u0000b\"", ERR_NONE },
        { "", NULL, ERR_INVALID },
        { "{", NULL, ERR_INVALID },
        { "\"\\ud83", NULL, ERR_INVALID },
        { "\"\xff\"", NULL, ERR_INVALID },
        { "{\"a\":1,\"a\":2}", NULL, ERR_INVALID },
        { "1e999", NULL, ERR_INVALID },
        { "1 2", NULL, ERR_INVALID },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct error err = { 0 };
        json_t *value = NULL;
        auto_buf out = BUF(4096);
        bool fine = json_parse(str_of(cases[i].text), &value, &err);
        assert_int_equal(err.code, cases[i].code);
        if (!fine)
            continue;
        json_write(value, &out);
        assert_string_equal(out.data, cases[i].want);
        json_decref(value);
    }
}

static enum error_code parse_repeated(const char *open, size_t count, const char *end)
{
    struct error err = { 0 };
    json_t *value = NULL;
    auto_buf text = BUF(1 << 24);
    for (size_t i = 0; i < count; i++)
        buf_add(&text, str_of(open));
    buf_add(&text, str_of(end));
    if (json_parse(buf_str(&text), &value, &err))
        json_decref(value);
    return err.code;
}

static void test_ceilings(void **state UNUSED)
{
    assert_int_equal(parse_repeated("[", JSON_MAX_DEPTH, ""), ERR_INVALID);
    assert_int_equal(parse_repeated("[", JSON_MAX_DEPTH + 1, ""), ERR_LIMIT);
    assert_int_equal(parse_repeated("[", 1000000, ""), ERR_LIMIT);
    assert_int_equal(parse_repeated("{},", JSON_MAX_VALUES, ""), ERR_LIMIT);
    assert_int_equal(parse_repeated("\"[,", 1, "\""), ERR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_ceilings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
