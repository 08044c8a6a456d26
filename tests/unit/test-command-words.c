/* The small languages in the options of commands: sizes, modes, lists, keys, quotes. */
#include "shell/builtin/escape.h"
#include "shell/builtin/mode.h"
#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"
#include "shell/builtin/ranges.h"
#include "shell/builtin/sort.h"
#include "shell/builtin/version.h"
#include "shell/builtin/width.h"

#include "unit.h"

#include <stdlib.h>

static void sizes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t want; /* 0: refused */
    } cases[] = {
        { "5", 5 },
        { "1b", 512 },
        { "1k", 1024 },
        { "1K", 1024 },
        { "2KiB", 2048 },
        { "2kB", 2000 },
        { "3M", 3 << 20 },
        { "1G", 1 << 30 },
        { "9E", UINT64_C(9) << 60 },
        { "16E", UINT64_MAX },
        { "1Y", UINT64_MAX },
        { "99999999999999999999", UINT64_MAX },
        { "", 0 },
        { "k", 0 },
        { "1x", 0 },
        { "1kk", 0 },
        { "1 k", 0 },
        { "-1", 0 },
        { "1KiBs", 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint64_t n = 0;
        bool ok = number_size(str_of(cases[i].text), &n);
        assert_int_equal(ok, cases[i].want != 0);
        if (ok)
            assert_true(n == cases[i].want);
    }
}

static void human_sizes(void **state)
{
    (void)state;
    static const struct {
        uint64_t n;
        unsigned base;
        const char *want;
    } cases[] = {
        { 0, 1024, "0" },
        { 1023, 1024, "1023" },
        { 1024, 1024, "1.0K" },
        { 1025, 1024, "1.1K" },
        { 10188, 1024, "10K" },
        { 10240, 1024, "10K" },
        { 102401, 1024, "101K" },
        { 1048575, 1024, "1.0M" },
        { 1000, 1000, "1.0k" },
        { 999999, 1000, "1.0M" },
        { UINT64_MAX, 1024, "16E" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char text[16];
        number_human(cases[i].n, cases[i].base, text);
        assert_string_equal(text, cases[i].want);
    }
}

static void modes(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t before;
        bool is_dir;
        uint32_t want;
    } cases[] = {
        { "644", 0777, false, 0644 },
        { "u+x", 0644, false, 0744 },
        { "go=", 0755, false, 0700 },
        { "a+rX", 0600, false, 0644 },
        { "a+rX", 0700, false, 0755 },
        { "+X", 0600, true, 0711 },
        { "+w", 0444, false, 0644 },
        { "a+w", 0444, false, 0666 },
        { "g=u,o=g", 0750, false, 0777 },
        { "u=rwx,g=rx,o=x", 0, false, 0751 },
        { "u+s,g+s,+t", 0755, false, 07755 },
        { "=", 0777, false, 0 },
        { "755", 06755, true, 06755 },
        { "0755", 06755, true, 06755 },
        { "00755", 06755, true, 0755 },
        { "755", 06755, false, 0755 },
        { "u-x+w", 0555, false, 0655 },
    };
    auto_arena *arena = arena_create();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct mode_change *change = mode_parse(cases[i].text, arena);
        assert_non_null(change);
        uint32_t mode = mode_apply(change, cases[i].before, cases[i].is_dir, 022);
        if (mode != cases[i].want)
            fail_msg("%s of %o is %o", cases[i].text, cases[i].before, mode);
    }
    static const char *const bad[] = { "", "u", "9", "77777", "u+q", "u+x,", ",u+x",
        "z+x", "644x", "u++x=" };
    for (size_t i = 0; i + 1 < ARRAY_LEN(bad); i++)
        if (mode_parse(bad[i], arena))
            fail_msg("'%s' is taken for a mode", bad[i]);
}

static void lists(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool complement;
        const char *want; /* NULL: refused */
    } cases[] = {
        { "1", false, "1-1 " },
        { "3,1-2", false, "1-3 " },
        { "2-", false, "2-E " },
        { "-2", false, "1-2 " },
        { "1,5-6,6-8", false, "1-1 5-8 " },
        { "2-3", true, "1-1 4-E " },
        { "1-", true, "" },
        { "1 3", false, "1-1 3-3 " },
        { "0", false, NULL },
        { "3-1", false, NULL },
        { "-", false, NULL },
        { "x", false, NULL },
        { "1,,2", false, NULL },
        { "", false, NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ranges ranges = { 0 };
        struct error err;
        auto_buf shown = BUF(256);
        bool ok = ranges_parse(str_of(cases[i].text), "field", cases[i].complement, false,
                &ranges, &err);
        assert_int_equal(ok, cases[i].want != NULL);
        for (size_t k = 0; k < ranges.count; k++)
            if (ranges.items[k].last == UINT64_MAX)
                buf_addf(&shown, "%d-E ", (int)ranges.items[k].first);
            else
                buf_addf(&shown, "%d-%d ", (int)ranges.items[k].first,
                        (int)ranges.items[k].last);
        if (ok && !str_is(buf_str(&shown), cases[i].want))
            fail_msg("%s is %s", cases[i].text, shown.data);
        free(ranges.items);
    }
}

static int compare_lines(const char *key, const char *a, const char *b)
{
    struct sort_key parsed;
    struct error err;
    assert_true(sort_key_parse(str_of(key), &parsed, &err));
    struct sort_rule rule = {
        .keys = &parsed, .key_count = 1, .separator = -1, .stable = true
    };
    assert_true(sort_rule_finish(&rule, &err));
    struct sort_line x = { .text = a, .len = (uint32_t)strlen(a) };
    struct sort_line y = { .text = b, .len = (uint32_t)strlen(b) };
    sort_line_prepare(&rule, &x);
    sort_line_prepare(&rule, &y);
    int order = sort_compare(&rule, &x, &y);
    assert_int_equal(sort_compare(&rule, &y, &x), -order);
    return (order > 0) - (order < 0);
}

static void sort_keys(void **state)
{
    (void)state;
    static const struct {
        const char *key, *a, *b;
        int want;
    } cases[] = {
        { "1", "a", "b", -1 },
        { "2", "x b", "y a", 1 },
        { "2,2", "x a z", "y a b", 0 },
        { "1.2", "ab", "ba", 1 },
        { "1.2,1.2", "xay", "zaq", 0 },
        { "2n", "a 10", "b 9", 1 },
        { "1n", "-0.5", "0.3", -1 },
        { "1n", "1.50", "1.5", 0 },
        { "1n", "x", "0", 0 },
        { "1n", "123456789012345678901", "123456789012345678902", -1 },
        { "1g", "1e3", "999", 1 },
        { "1g", "nan", "-inf", -1 },
        { "1g", "x", "nan", -1 },
        { "1h", "2K", "1M", -1 },
        { "1h", "-1K", "1", -1 },
        { "1M", "feb", "JAN", 1 },
        { "1M", "x", "jan", -1 },
        { "1V", "a10", "a9", 1 },
        { "1f", "B", "a", 1 },
        { "1f", "B", "b", 0 },
        { "1d", "a-b", "ab", 0 },
        { "1r", "a", "b", 1 },
        { "2b,2", "x   a", "y a", 0 },
        { "2,2", "x   a", "y a", -1 },
        { "5", "a", "b", 0 },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int order = compare_lines(cases[i].key, cases[i].a, cases[i].b);
        if (order != cases[i].want)
            fail_msg("-k%s: '%s' and '%s' compare %d", cases[i].key, cases[i].a,
                    cases[i].b, order);
    }
    static const char *const bad[] = { "", "0", "1.0", "x", "1,", "1,0", "1.x", "1x",
        "1,2,3", "1nd,x" };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct sort_key key;
        struct error err;
        if (sort_key_parse(str_of(bad[i]), &key, &err))
            fail_msg("'%s' is taken for a key", bad[i]);
    }
}

static void versions(void **state)
{
    (void)state;
    static const char *const ordered[] = { "", ".", "..", ".a", "01", "1.0", "1.00", "A",
        "a~", "a", "a.tar.gz", "a1.9.c", "a1.10.c", "a+", "a-1.tar.gz", "a-1.1.tar.gz",
        "b2", "b12" };
    for (size_t i = 0; i + 1 < ARRAY_LEN(ordered); i++) {
        if (version_cmp(str_of(ordered[i]), str_of(ordered[i + 1])) > 0)
            fail_msg("%s is after %s", ordered[i], ordered[i + 1]);
        assert_int_equal(version_cmp(str_of(ordered[i]), str_of(ordered[i])), 0);
    }
}

static void quoted_names(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "a", "'a'" },
        { "", "''" },
        { "a b", "'a b'" },
        { "it's", "\"it's\"" },
        { "it's $x", "'it'\\''s $x'" },
        { "a\nb", "'a'$'\\n''b'" },
        { "\xff", "''$'\\377'" },
        { "\xc3\xa9", "'\xc3\xa9'" },
        { "\x1b[", "''$'\\033''['" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf out = BUF(256);
        quote_add(str_of(cases[i][0]), &out);
        assert_string_equal(out.data, cases[i][1]);
    }
}

static void escapes_and_widths(void **state)
{
    (void)state;
    char ch;
    assert_int_equal(escape_read(STR("n"), &ch), 1);
    assert_int_equal(ch, '\n');
    assert_int_equal(escape_read(STR("0101"), &ch), 3);
    assert_int_equal(ch, 010);
    assert_int_equal(escape_read(STR("x41B"), &ch), 3);
    assert_int_equal(ch, 'A');
    assert_int_equal(escape_read(STR("q"), &ch), 0);
    assert_int_equal(escape_read(STR(""), &ch), 0);
    assert_int_equal(text_width(STR("a\xe4\xb8\x96\xcc\x81\xff")), 4);
    assert_int_equal(char_width('\n'), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(human_sizes),
        cmocka_unit_test(modes),
        cmocka_unit_test(lists),
        cmocka_unit_test(sort_keys),
        cmocka_unit_test(versions),
        cmocka_unit_test(quoted_names),
        cmocka_unit_test(escapes_and_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
