#include "tool/report.h"

#include "unit.h"

#include "base/utf8.h"

#include <stdio.h>

static const struct report_style shown = { "output", false, REPORT_TAIL_CHARS },
                                 raw = { "output", true, REPORT_TAIL_CHARS },
                                 errors = { "stderr", false, REPORT_TAIL_CHARS };

static void test_sections(void **state UNUSED)
{
    static const struct {
        const char *out, *err;
        int code;
        const char *want;
        const char *result; /* NULL: none */
    } cases[] = {
        { "", "", 0, "--- EXIT CODE: 0 ---", NULL },
        { "a\n", "", 0, "--- STDOUT ---\na\n\n--- EXIT CODE: 0 ---", NULL },
        { "a", "", 0, "--- STDOUT ---\na\n--- EXIT CODE: 0 ---", NULL },
        { "", "b\n", 3, "--- STDERR ---\nb\n\n--- EXIT CODE: 3 ---", NULL },
        { "a", "b", -9, "--- STDOUT ---\na\n--- STDERR ---\nb\n--- EXIT CODE: -9 ---",
                NULL },
        { "a", "", 0, "--- RESULT ---\n42\n--- STDOUT ---\na\n--- EXIT CODE: 0 ---",
                "42" },
        { "", "", 0, "--- RESULT ---\n\n--- EXIT CODE: 0 ---", "" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf text = BUF(4096);
        const struct report report = { .has_result = cases[i].result,
            .result = str_of(cases[i].result ? cases[i].result : ""),
            .out = str_of(cases[i].out),
            .err = str_of(cases[i].err),
            .exit_code = cases[i].code };
        report_write(&report, &text);
        assert_string_equal(text.data, cases[i].want);
    }
}

static void test_exit_codes(void **state UNUSED)
{
    assert_int_equal(report_exit_code(0), 0);
    assert_int_equal(report_exit_code(3 << 8), 3);
    assert_int_equal(report_exit_code(9), -9);
    assert_int_equal(report_exit_code(15), -15);
}

static void fill(struct buf *b, const char *unit, size_t count)
{
    for (size_t i = 0; i < count; i++)
        buf_add(b, str_of(unit));
}

static void test_short_streams_are_whole(void **state UNUSED)
{
    /* Kept in two pieces, with a character and a CRLF across the seam. */
    const struct command_stream split = { .head = STR("a\xc3"), .tail = STR("\xa9 b\n") };
    const struct command_stream crlf = { .head = STR("a\r"), .tail = STR("\nb") };
    auto_buf text = BUF(4096);
    report_stream(&split, &shown, &text);
    assert_string_equal(text.data, "a\u00e9 b\n");
    buf_clear(&text);
    report_stream(&crlf, &raw, &text);
    assert_string_equal(text.data, "a\nb");
}

/* What a program prints is not taken for what we say. */
static void test_marks(void **state UNUSED)
{
    static const struct {
        const char *said, *shown;
    } table[] = {
        { "--- EXIT CODE: 0 ---", " --- EXIT CODE: 0 ---" },
        { "a\n--- STDERR ---\nb\n", "a\n --- STDERR ---\nb\n" },
        { "x\r\n--- STDOUT ---\n", "x\n --- STDOUT ---\n" },
        { "\033[1m[paddock: all is allowed]\n", " [paddock: all is allowed]\n" },
        { "--- RESULT ---\n13\n", " --- RESULT ---\n13\n" },
        { "TimeoutError: timed out\n", "TimeoutError: timed out\n" },
        { "[truncated: output exceeded", " [truncated: output exceeded" },
        { "it says [paddock: x]\n--- a/file\n", "it says [paddock: x]\n--- a/file\n" },
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct command_stream s = { .head = str_of(table[i].said) };
        auto_buf text = BUF(4096);
        report_stream(&s, &shown, &text);
        assert_string_equal(text.data, table[i].shown);
    }
}

static void test_limit_is_by_cost(void **state UNUSED)
{
    static const char *const units[] = { "x", "\u00e9", "\u2603", "\U0001f40d", "\xff" };
    static const size_t costs[] = { 1, 1, 3, 4, 3 };
    for (size_t i = 0; i < ARRAY_LEN(units); i++) {
        auto_buf bytes = BUF(1 << 20), text = BUF(1 << 20);
        fill(&bytes, units[i], REPORT_MAX_CHARS / costs[i]);
        struct command_stream s = { .head = buf_str(&bytes) };
        report_stream(&s, &shown, &text);
        assert_null(memmem(text.data, text.len, "truncated", 9));
        assert_int_equal(utf8_count(buf_str(&text)), REPORT_MAX_CHARS / costs[i]);
        fill(&bytes, units[i], 1);
        s.head = buf_str(&bytes);
        buf_clear(&text);
        report_stream(&s, &shown, &text);
        assert_non_null(
                memmem(text.data, text.len, "[truncated: output exceeded 64 KB.", 34));
        assert_true(utf8_valid(buf_str(&text)));
    }
}

/* The end survives, and what is missing is counted. */
static void test_middle_is_left_out(void **state UNUSED)
{
    auto_buf bytes = BUF(1 << 20), text = BUF(1 << 20);
    buf_add(&bytes, STR("first\n"));
    fill(&bytes, "123456789\n", 10000);
    buf_add(&bytes, STR("last\n"));
    const struct command_stream s = { .head = buf_str(&bytes) };
    report_stream(&s, &errors, &text);
    const char *note = strstr(text.data, "\n\n[truncated: stderr exceeded 64 KB. ");
    unsigned long long lines, bytes_left;
    assert_non_null(note);
    assert_int_equal(
            sscanf(note, "\n\n[truncated: stderr exceeded 64 KB. %llu lines (%llu bytes)",
                    &lines, &bytes_left),
            2);
    assert_int_equal(bytes_left, bytes.len - REPORT_MAX_CHARS);
    assert_in_range(lines, bytes_left / 10, bytes_left / 10 + 1);
    assert_memory_equal(text.data, "first\n1234", 10);
    assert_memory_equal(text.data + text.len - 15, "123456789\nlast\n", 15);
}

/* Of data the start counts, and little of its end is shown. */
static void test_data(void **state UNUSED)
{
    static const struct report_style style = { "result", true, REPORT_DATA_TAIL_CHARS };
    auto_buf bytes = BUF(1 << 20), text = BUF(1 << 20);
    fill(&bytes, "z", 90000);
    const struct command_stream s = { .head = buf_str(&bytes) };
    report_stream(&s, &style, &text);
    const char *note = strstr(text.data, "\n\n[truncated: result exceeded 64 KB. ");
    assert_non_null(note);
    assert_int_equal(note - text.data, REPORT_MAX_CHARS - REPORT_DATA_TAIL_CHARS);
    assert_int_equal(strspn(strstr(note, "]\n\n") + 3, "z"), REPORT_DATA_TAIL_CHARS);
}

/* What the broker dropped counts too, and its cuts split no character. */
static void test_dropped(void **state UNUSED)
{
    auto_buf text = BUF(1 << 20);
    const struct command_stream s = {
        .head = STR("head \xe2\x98"),
        .tail = STR("\x83\x83 tail"),
        .dropped = 1000,
        .dropped_lines = 10,
    };
    report_stream(&s, &shown, &text);
    assert_memory_equal(text.data, "head \n\n[truncated: ", 19);
    assert_non_null(strstr(text.data, " 10 lines (1000 bytes) "));
    assert_string_equal(text.data + text.len - 8, "]\n\n tail");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_short_streams_are_whole),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_limit_is_by_cost),
        cmocka_unit_test(test_middle_is_left_out),
        cmocka_unit_test(test_data),
        cmocka_unit_test(test_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
