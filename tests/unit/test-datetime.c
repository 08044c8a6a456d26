#include "base/datetime.h"

#include "unit.h"

#include <stdlib.h>

/* Thursday 2024-02-29 12:34:56.789 UTC: a leap day, so that steps of months show. */
static const struct datetime now = { 1709210096, 789000000 };

static void check_parse(const char *text, const char *want)
{
    struct datetime t;
    auto_buf shown = BUF(256);
    if (datetime_parse(str_of(text), now, true, &t))
        datetime_format(STR("%F %T.%3N"), t, true, &shown);
    else
        buf_add(&shown, STR("no date"));
    if (!str_is(buf_str(&shown), want))
        fail_msg("'%s' is %s, not %s", text, shown.data, want);
}

static void absolute_dates(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "2024-02-03", "2024-02-03 00:00:00.000" },
        { "2024-02-03 04:05", "2024-02-03 04:05:00.000" },
        { "2024-02-03T04:05:06.7Z", "2024-02-03 04:05:06.700" },
        { "2024-02-03 04:05:06+0130", "2024-02-03 02:35:06.000" },
        { "2024-02-03T04:05:06-08:00", "2024-02-03 12:05:06.000" },
        { "2/3/2024", "2024-02-03 00:00:00.000" },
        { "2/3", "2024-02-03 00:00:00.000" },
        { "3 Feb", "2024-02-03 00:00:00.000" },
        { "Feb 3, 2025 5pm", "2025-02-03 17:00:00.000" },
        { "Sat, 03 Feb 2024 10:00:00 +0100", "2024-02-03 09:00:00.000" },
        { "Sat Feb  3 10:00:00 UTC 2024", "2024-02-03 10:00:00.000" },
        { "99-02-03", "1999-02-03 00:00:00.000" },
        { "12am", "2024-02-29 00:00:00.000" },
        { "1530", "2024-02-29 15:30:00.000" },
        { "", "2024-02-29 00:00:00.000" },
        { "@1.5", "1970-01-01 00:00:01.500" },
        { "@-1.5", "1969-12-31 23:59:58.500" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_parse(cases[i][0], cases[i][1]);
}

static void steps_from_now(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "now", "2024-02-29 12:34:56.789" }, { "yesterday", "2024-02-28 12:34:56.789" },
        { "3 days ago", "2024-02-26 12:34:56.789" },
        { "-2 hours", "2024-02-29 10:34:56.789" },
        { "next month", "2024-03-29 12:34:56.789" },
        { "last year", "2023-03-01 12:34:56.789" },
        { "1 year 2 months ago", "2024-12-29 12:34:56.789" },
        { "monday", "2024-03-04 00:00:00.000" },
        { "thursday", "2024-02-29 00:00:00.000" },
        { "next thursday", "2024-03-07 00:00:00.000" },
        { "last monday", "2024-02-26 00:00:00.000" },
        { "tomorrow 10:00", "2024-03-01 10:00:00.000" },
        { "2024-01-31 +1 month", "2024-03-02 00:00:00.000" },
        { "2024-02-03 10:00 +1 day", "2024-02-04 09:00:00.000" }, /* +1 is a zone */
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_parse(cases[i][0], cases[i][1]);
}

static void no_dates(void **state)
{
    (void)state;
    static const char *const cases[] = { "no date", "2024-02-30", "2023-02-29",
        "2024-13-01", "24:00", "10:60", "0pm", "13pm", "@", "@x", "2024-02-03 2024-02-04",
        "10:00 11:00", "99999999999999999999", "1 parsec", "+",
        "2024-02-03 10:00 UTC GMT", "9223372036854775807 years", "\x01" };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_parse(cases[i], "no date");
}

static void stamps(void **state)
{
    (void)state;
    static const struct {
        const char *text, *want;
    } cases[] = {
        { "02030405", "2024-02-03 04:05:00" },
        { "2302030405", "2023-02-03 04:05:00" },
        { "202302030405.06", "2023-02-03 04:05:06" },
        { "202302300405", NULL },
        { "0203040", NULL },
        { "02030405.6", NULL },
        { "0203x405", NULL },
        { "", NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct datetime t;
        auto_buf shown = BUF(256);
        bool ok = datetime_parse_stamp(str_of(cases[i].text), now, true, &t);
        assert_int_equal(ok, cases[i].want != NULL);
        if (!ok)
            continue;
        datetime_format(STR("%F %T"), t, true, &shown);
        assert_string_equal(shown.data, cases[i].want);
    }
}

static void formats(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "%Y-%m-%d", "2024-02-29" },
        { "%-d|%_m|%05d|%10a|%^b", "29| 2|00029|       Thu|FEB" },
        { "%N|%3N|%s", "789000000|789|1709210096" },
        { "%z|%:z|%::z|%:::z|%Z", "+0000|+00:00|+00:00:00|+00|UTC" },
        { "%q %p %#p %I %k", "1 PM pm 12 12" },
        { "%Q %", "%Q %" },
        { "a%nb%%", "a\nb%" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf shown = BUF(256);
        datetime_format(str_of(cases[i][0]), now, true, &shown);
        assert_string_equal(shown.data, cases[i][1]);
    }
}

static void nanoseconds(void **state)
{
    (void)state;
    int64_t ns;
    struct datetime t = datetime_from_ns(-1);
    assert_int_equal(t.seconds, -1);
    assert_int_equal(t.ns, 999999999);
    assert_true(datetime_to_ns(t, &ns));
    assert_int_equal(ns, -1);
    assert_false(datetime_to_ns((struct datetime){ INT64_MAX / 2, 0 }, &ns));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absolute_dates),
        cmocka_unit_test(steps_from_now),
        cmocka_unit_test(no_dates),
        cmocka_unit_test(stamps),
        cmocka_unit_test(formats),
        cmocka_unit_test(nanoseconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
