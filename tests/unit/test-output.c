#include "worker/output.h"

#include "base/utf8.h"
#include "unit.h"

#define NOTE(lines, chars)                                             \
    "\n... [output truncated: " lines " lines (" chars " characters) " \
    "omitted; use head, tail, grep or redirect to a file] ...\n"

static void check(struct str in, size_t max, int status, const char *want)
{
    auto_buf out = BUF(1 << 24);
    output_format(in, max, status, &out);
    assert_string_equal(out.data ? out.data : "", want);
}

static void test_exit_marker(void **state UNUSED)
{
    check(STR(""), 0, 0, "");
    check(STR(""), 0, 1, "[exit 1]");
    check(STR("hi\n"), 0, 0, "hi\n");
    check(STR("hi"), 0, 2, "hi\n[exit 2]");
    check(STR("hi\n"), 0, 127, "hi\n[exit 127]");
}

static void test_truncation(void **state UNUSED)
{
    check(STR("0123456789"), 10, 0, "0123456789");
    check(STR("0123456789"), 9, 0, "012345" NOTE("0", "1") "789");
    check(STR("ab\ncd\nef\ngh\n"), 6, 3, "ab\nc" NOTE("2", "6") "h\n[exit 3]");
    check(STR("abc"), 2, 0, "a" NOTE("0", "2"));
    check(STR("abc"), 1, 1, NOTE("0", "3") "[exit 1]");
    check(STR("a"), 1, 0, "a");
}

static void test_characters(void **state UNUSED)
{
    check(STR("\u00e9\u00e9\u00e9x"), 3, 0, "\u00e9\u00e9" NOTE("0", "1") "x");
    /* Three bytes count for three. */
    check(STR("\u6f22\u5b57x"), 7, 0, "\u6f22\u5b57x");
    check(STR("\u6f22\u5b57\u6587xy"), 9, 0, "\u6f22\u5b57" NOTE("0", "1") "xy");
    check(STR("ab\u6f22\u6f22\U0001f600z"), 8, 0, "ab\u6f22" NOTE("0", "2") "z");
    check(STR("a\xff\xe2\x82z"), 0, 0, "a\xef\xbf\xbd\xef\xbf\xbdz");
    check(STR("\x1b[31mred\x1b[0m\r"), 0, 0, "\x1b[31mred\x1b[0m\r");
}

/* However the text is cut into writes, the result is the same. */
static void test_pieces(void **state UNUSED)
{
    static const char text[] =
            "\xc3\xa9 \xf0\x9f\x98\x80\n\xf0\x9f\x98 \xe2\x82\xac\xe2\x82"
            "\n\xf0\xf0\x9f\x98\x80\xff\xc3";
    struct str whole = { text, sizeof(text) - 1 };
    for (size_t max = 1; max < 20; max++) {
        auto_buf want = BUF(4096);
        output_format(whole, max, 0, &want);
        for (size_t step = 1; step < whole.len; step++) {
            struct output o;
            output_init(&o, max);
            for (size_t at = 0; at < whole.len; at += step)
                output_add(&o, str_sub(whole, at, step));
            auto_buf got = BUF(4096);
            output_write(&o, 0, &got);
            output_finish(&o);
            assert_string_equal(got.data, want.data);
            assert_true(utf8_valid(buf_str(&got)));
        }
    }
}

static void test_memory_is_bounded(void **state UNUSED)
{
    struct output o;
    output_init(&o, 300);
    for (int i = 0; i < 200000; i++)
        output_add(&o, STR("0123456789 0123456789 0123456789\n"));
    assert_true(o.rest.cap < 1 << 20);
    auto_buf out = BUF(4096);
    output_write(&o, 0, &out);
    output_finish(&o);
    assert_non_null(strstr(out.data, " [output truncated: 199,990 lines (6,599,700 "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_marker),
        cmocka_unit_test(test_truncation),
        cmocka_unit_test(test_characters),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_memory_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
