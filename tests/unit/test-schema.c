#include "protocol/schema.h"

#include "unit.h"

static const char schema_text[] =
        "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[\"path\"],"
        "\"properties\":{"
        "\"path\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":4},"
        "\"all\":{\"type\":\"boolean\"},"
        "\"count\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":10},"
        "\"mode\":{\"type\":\"string\",\"enum\":[\"r\",\"w\"]},"
        "\"list\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"x\"]"
        ","
        "\"properties\":{\"x\":{\"type\":\"number\"}}}}}}";

static void test_cases(void **state UNUSED)
{
    static const struct {
        const char *args, *want; /* the error, or what the arguments are afterwards */
    } cases[] = {
        { "{\"path\":\"a\"}", "{\"path\":\"a\"}" },
        { "{\"path\":\"a\",\"all\":true}", "{\"path\":\"a\",\"all\":true}" },
        { "{\"path\":\"a\",\"all\":\"false\"}", "{\"path\":\"a\",\"all\":false}" },
        { "{\"path\":\"a\",\"count\":2.0}", "{\"path\":\"a\",\"count\":2.0}" },
        { "{\"path\":\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\"}",
                "{\"path\":\"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\"}" },
        { "{\"path\":\"a\",\"list\":[{\"x\":1,\"more\":2},{\"x\":0.5}]}",
                "{\"path\":\"a\",\"list\":[{\"x\":1,\"more\":2},{\"x\":0.5}]}" },
        { "{\"path\":\"7\",\"count\":\"7\"}", "{\"path\":\"7\",\"count\":7}" },
        { "{\"path\":\"a\",\"list\":\"[{\\\"x\\\":1}]\"}",
                "{\"path\":\"a\",\"list\":[{\"x\":1}]}" },
        { "{\"path\":\"a\",\"list\":\"a b\"}",
                "t: argument 'list' must be an array, not a string" },
        { "{\"path\":\"a\",\"list\":\"{}\"}",
                "t: argument 'list' must be an array, not a string" },
        { "{\"path\":\"a\",\"all\":null,\"count\":null}", "{\"path\":\"a\"}" },
        { "{\"path\":\"a\",\"count\":\"70\"}", "t: argument 'count' must be at most 10" },
        { "{}", "t: argument 'path' is missing; it must be a string" },
        { "{\"path\":1}", "t: argument 'path' must be a string, not a number" },
        { "{\"path\":null}", "t: argument 'path' must be a string, not null" },
        { "{\"path\":[\"a\"]}", "t: argument 'path' must be a string, not an array" },
        { "{\"path\":\"\"}", "t: argument 'path' must be at least 1 characters long" },
        { "{\"path\":\"abcde\"}",
                "t: argument 'path' must be at most 4 characters long" },
        { "{\"path\":\"a\",\"all\":\"yes\"}",
                "t: argument 'all' must be true or false, not a string" },
        { "{\"path\":\"a\",\"count\":0}", "t: argument 'count' must be at least 1" },
        { "{\"path\":\"a\",\"count\":11}", "t: argument 'count' must be at most 10" },
        { "{\"path\":\"a\",\"count\":1.5}",
                "t: argument 'count' must be an integer, not a number" },
        { "{\"path\":\"a\",\"count\":1e300}", "t: argument 'count' must be at most 10" },
        { "{\"path\":\"a\",\"mode\":\"x\"}",
                "t: argument 'mode' must be one of [\"r\",\"w\"]" },
        { "{\"path\":\"a\",\"list\":[{\"x\":1},{\"x\":\"one\"}]}",
                "t: argument 'list[1].x' must be a number, not a string" },
        { "{\"path\":\"a\",\"list\":[{}]}",
                "t: argument 'list[0].x' is missing; it must be a number" },
        { "{\"path\":\"a\",\"cuont\":1}",
                "t: unknown argument 'cuont'; did you mean 'count'?" },
        { "{\"zzz\":1}",
                "t: unknown argument 'zzz'; the arguments are: path, all, count, mode, "
                "list" },
    };
    struct error err;
    json_t *schema, *args;
    assert_true(json_parse(str_of(schema_text), &schema, &err));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_true(json_parse(str_of(cases[i].args), &args, &err));
        auto_buf got = BUF(4096);
        if (schema_check(schema, args, "t", &err))
            json_write(args, &got);
        else
            buf_add(&got, str_of(err.message));
        assert_string_equal(got.data, cases[i].want);
        json_decref(args);
    }
    json_decref(schema);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
