#include "base/lines.h"

#include "unit.h"

struct seen {
    struct buf text; /* each line in <>, a line too long as ! */
};

static void on_line(void *user, struct str line)
{
    struct seen *seen = user;
    buf_addf(&seen->text, "<%.*s>", STR_ARG(line));
}

static void on_too_long(void *user)
{
    struct seen *seen = user;
    buf_addc(&seen->text, '!');
}

static void test_cases(void **state UNUSED)
{
    static const struct {
        const char *in, *want; /* lines of at most 8 bytes */
    } cases[] = {
        { "a\nb\n", "<a><b>" },
        { "a\r\nb\r\n", "<a><b>" },
        { "\n\r\n \t \n\na\n", "<a>" },
        { "12345678\n", "<12345678>" },
        { "123456789\nx\n", "!<x>" },
        { "123456789012345678901234567890\nx\n", "!<x>" },
        { "123456789", "!" },
        { "a\n12345", "<a><12345>" },
        { "\r", "" },
        { "", "" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct str in = str_of(cases[i].in);
        /* However it is cut into pieces, the lines are the same. */
        for (size_t step = 1; step <= in.len + 1; step++) {
            struct seen seen = { BUF(4096) };
            struct lines lines;
            lines_init(&lines, 8, on_line, on_too_long, &seen);
            for (size_t at = 0; at < in.len; at += step)
                lines_add(&lines, str_sub(in, at, step));
            lines_end(&lines);
            lines_finish(&lines);
            assert_string_equal(seen.text.data ? seen.text.data : "", cases[i].want);
            buf_finish(&seen.text);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_cases) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
