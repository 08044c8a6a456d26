#include "unit.h"

#include "bridge/sse.h"

#include <stdio.h>

/* What came, as "type=data|" for each event. */
static bool on_event(void *user, const struct sse_event *event)
{
    struct buf *out = user;
    buf_add(out, event->type);
    buf_addc(out, '=');
    buf_add(out, event->data);
    buf_addc(out, '|');
    return !str_is(event->type, "stop");
}

static const struct {
    const char *text, *events, *id;
    int64_t retry_ms;
} cases[] = {
    { "data: a\n\n", "message=a|", "", -1 },
    { "data:a\r\n\r\n", "message=a|", "", -1 },
    { "data: a\r\rdata: b\r\r", "message=a|message=b|", "", -1 },
    { "\n\r\r\n\ndata: a\n\r\n\r\n\n\rdata: b\n\n\n", "message=a|message=b|", "", -1 },
    { "data:  a \n\n", "message= a |", "", -1 },
    { "data: a\ndata: b\ndata:\ndata: c\n\n", "message=a\nb\n\nc|", "", -1 },
    { "event: x\ndata: a\n\ndata: b\n\n", "x=a|message=b|", "", -1 },
    { "\xef\xbb\xbf"
      "data: a\n\n",
            "message=a|", "", -1 },
    { "\n\xef\xbb\xbf"
      "data: a\n\n",
            "", "", -1 },
    { ": comment\n:\n::\ndata: a\n: more\n\n", "message=a|", "", -1 },
    { "data\n\n", "message=|", "", -1 },
    { "datax: 1\nDATA: 2\n data: 3\n\n", "", "", -1 },
    { "id: 7\n\n", "", "7", -1 },
    { "id: 7\ndata: a\n\nid\n\n", "message=a|", "", -1 },
    { "id: 7\n\ndata: a\n\n", "message=a|", "7", -1 },
    { "id: 7\n\nid: 8\ndata: broken off", "", "7", -1 },
    { "retry: 1500\n\n", "", "", 1500 },
    { "retry: 99999999999999999999\n\n", "", "", (int64_t)1 << 31 },
    { "retry: 5s\nretry: -5\nretry:\n\n", "", "", -1 },
    { "event: x\n\ndata: a\n\n", "message=a|", "", -1 },
    { "data: a\nevent: y\n\n", "y=a|", "", -1 },
    { "data: a", "", "", -1 },
    { "data: a\n", "", "", -1 },
    { "data: a:b\n\n", "message=a:b|", "", -1 },
    { "event: stop\ndata: a\n\ndata: b\n\n", "stop=a|", "", -1 },
};

static void check_case(size_t i, size_t step)
{
    struct error err = { 0 };
    auto_buf out = BUF(4096);
    struct sse s;
    sse_init(&s, 1000, on_event, &out);
    struct str rest = str_of(cases[i].text);
    bool is_stopped = false;
    while (rest.len && !is_stopped) {
        assert_true(sse_add(&s, str_sub(rest, 0, step), &err));
        rest = str_from(rest, step);
        is_stopped = str_starts(buf_str(&out), STR("stop"));
    }
    if (!str_is(buf_str(&out), cases[i].events))
        fail_msg("case %zu by %zu: '%.*s'", i, step, STR_ARG(buf_str(&out)));
    if (!str_is(buf_str(&s.id), cases[i].id))
        fail_msg("case %zu by %zu: id '%.*s'", i, step, STR_ARG(buf_str(&s.id)));
    assert_int_equal(s.retry_ms, cases[i].retry_ms);
    sse_finish(&s);
}

static void test_cases(void **state UNUSED)
{
    static const size_t steps[] = { 1, 2, 3, 5, 1000 };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        for (size_t j = 0; j < ARRAY_LEN(steps); j++)
            check_case(i, steps[j]);
}

static void test_id_with_nul_is_none(void **state UNUSED)
{
    struct error err;
    auto_buf out = BUF(100);
    struct sse s;
    sse_init(&s, 100, on_event, &out);
    assert_true(sse_add(&s, STR("id: 1\n\nid: a\0b\n\n"), &err));
    assert_true(str_is(buf_str(&s.id), "1"));
    sse_finish(&s);
}

/* An id that is cut short would name another event. */
static void test_long_id_is_none(void **state UNUSED)
{
    struct error err;
    char line[SSE_MAX_ID + 32];
    auto_buf out = BUF(100);
    struct sse s;
    sse_init(&s, sizeof(line), on_event, &out);
    for (size_t len = SSE_MAX_ID; len <= SSE_MAX_ID + 1; len++) {
        int n = snprintf(line, sizeof(line), "id: %0*d\n\n", (int)len, 7);
        assert_true(sse_add(&s, (struct str){ line, (size_t)n }, &err));
        assert_int_equal(s.id.len, len <= SSE_MAX_ID ? len : 0);
    }
    sse_finish(&s);
}

/* A type that is too long is not taken for "message". */
static void test_long_type(void **state UNUSED)
{
    struct error err;
    char line[1000];
    auto_buf out = BUF(100);
    struct sse s;
    sse_init(&s, sizeof(line), on_event, &out);
    int n = snprintf(line, sizeof(line), "event: %0500d\ndata: a\n\n", 7);
    assert_true(sse_add(&s, (struct str){ line, (size_t)n }, &err));
    assert_true(str_is(buf_str(&out), "(too long)=a|"));
    sse_finish(&s);
}

static bool feed(struct sse *s, const char *piece, size_t times, struct error *err)
{
    for (size_t i = 0; i < times; i++)
        if (!sse_add(s, str_of(piece), err))
            return false;
    return true;
}

static void test_limits(void **state UNUSED)
{
    static const struct {
        const char *piece;
        size_t times;
        bool fine;
    } limits[] = {
        { "data: 0123456789", 1000, false },    /* a line */
        { "data: 0123456789\n", 91, false },    /* lines of one event */
        { "data: 0123456789\n", 90, true },     /* 90 * 10 + 89 */
        { "data: 0123456789\n\n", 1000, true }, /* events */
        { ": comment\n", 1000, true },
        { ": comment", 1000, false },
    };
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        struct error err = { 0 };
        auto_buf out = BUF(100);
        struct sse s;
        sse_init(&s, 990, on_event, &out);
        if (feed(&s, limits[i].piece, limits[i].times, &err) != limits[i].fine)
            fail_msg("limit %zu", i);
        assert_int_equal(err.code, limits[i].fine ? ERR_NONE : ERR_LIMIT);
        assert_true(s.line.cap <= 2000 && s.data.cap <= 2000);
        sse_finish(&s);
    }
}

static void test_restart(void **state UNUSED)
{
    struct error err;
    auto_buf out = BUF(100);
    struct sse s;
    sse_init(&s, 100, on_event, &out);
    assert_true(sse_add(&s, STR("id: 1\nretry: 9\n\nid: 2\ndata: half"), &err));
    sse_restart(&s);
    assert_true(sse_add(&s, STR("\n\ndata: a\n\n"), &err));
    assert_true(str_is(buf_str(&out), "message=a|"));
    assert_true(str_is(buf_str(&s.id), "1"));
    assert_int_equal(s.retry_ms, 9);
    sse_finish(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_id_with_nul_is_none),
        cmocka_unit_test(test_long_id_is_none),
        cmocka_unit_test(test_long_type),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_restart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
