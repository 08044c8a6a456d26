#include "tool/dispatch.h"
#include "tool/record.h"

#include "unit.h"

#include <stdio.h>
#include <time.h>

#define STATUSES 500

static struct str write_with(struct metrics *m, const uint64_t *answers, struct buf *out)
{
    const struct metrics_gauges now = { .answers = answers,
        .answer_count = STATUSES,
        .connections = 13,
        .shell = { 1, 2, 3 },
        .files = { 4, 5, 6 },
        .python = { 7, 8, 9 },
        .waiting_turns = 100,
        .sessions = 10,
        .sessions_asleep = 3,
        .audit_failures = 12 };
    metrics_write(m, &now, out);
    assert_false(out->full);
    return buf_str(out);
}

static struct str write_all(struct metrics *m, struct buf *out)
{
    static const uint64_t answers[STATUSES];
    return write_with(m, answers, out);
}

/* How often the text has this line. */
static unsigned lines(struct str text, const char *wanted)
{
    unsigned count = 0;
    while (text.len)
        count += str_is(str_cut(&text, '\n'), wanted);
    return count;
}

#define assert_line(text, line)                                      \
    do {                                                             \
        if (lines(text, line) != 1)                                  \
            fail_msg("no line '%s' in:\n%.*s", line, STR_ARG(text)); \
    } while (0)

static void test_calls(void **state UNUSED)
{
    struct metrics *m = metrics_create();
    static const struct {
        const char *tool;
        enum metrics_outcome outcome;
        uint64_t us;
    } calls[] = {
        { "run", METRICS_OK, 0 },
        { "run", METRICS_OK, 500 }, /* a bound is in its own bucket */
        { "run", METRICS_ERROR, 501 },
        { "run", METRICS_TIMEOUT, 60000000 },
        { "run", METRICS_CANCELLED, 60000001 },
        { "fs_stat", METRICS_REFUSED, 1000000 },
        { "no such tool", METRICS_OK, 1 },
        { "", METRICS_OK, 1 },
    };
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        metrics_call(m, &(struct metrics_call){ .tool = str_of(calls[i].tool),
                                .outcome = calls[i].outcome,
                                .has_run = true,
                                .duration_us = calls[i].us,
                                .rule = STR(""),
                                .cut_bytes = i });
    metrics_call(m, &(struct metrics_call){ .tool = STR("run"),
                            .outcome = METRICS_ERROR,
                            .duration_us = 77,
                            .rule = STR("") });
    auto_buf out = BUF(METRICS_MAX_TEXT);
    struct str text = write_all(m, &out);
    assert_line(text, "paddock_calls_total{tool=\"run\",outcome=\"ok\"} 2");
    assert_line(text, "paddock_calls_total{tool=\"run\",outcome=\"error\"} 2");
    assert_line(text, "paddock_calls_total{tool=\"run\",outcome=\"timeout\"} 1");
    assert_line(text, "paddock_calls_total{tool=\"run\",outcome=\"cancelled\"} 1");
    assert_line(text, "paddock_calls_total{tool=\"run\",outcome=\"refused\"} 0");
    assert_line(text, "paddock_calls_total{tool=\"fs_stat\",outcome=\"refused\"} 1");
    assert_line(text, "paddock_calls_total{tool=\"other\",outcome=\"ok\"} 2");
    assert_line(text, "paddock_call_seconds_bucket{tool=\"run\",le=\"0.0005\"} 2");
    assert_line(text, "paddock_call_seconds_bucket{tool=\"run\",le=\"0.001\"} 3");
    assert_line(text, "paddock_call_seconds_bucket{tool=\"run\",le=\"0.0025\"} 3");
    assert_line(text, "paddock_call_seconds_bucket{tool=\"run\",le=\"30\"} 3");
    assert_line(text, "paddock_call_seconds_bucket{tool=\"run\",le=\"60\"} 4");
    assert_line(text, "paddock_call_seconds_bucket{tool=\"run\",le=\"+Inf\"} 5");
    assert_line(text, "paddock_call_seconds_sum{tool=\"run\"} 120.001002");
    assert_line(text, "paddock_call_seconds_count{tool=\"run\"} 5");
    assert_line(text, "paddock_call_seconds_sum{tool=\"fs_stat\"} 1.000000");
    assert_line(text, "paddock_output_cut_bytes_total 28");
    assert_null(memmem(text.data, text.len, "no such", 7));
    metrics_destroy(m);
}

static void test_gauges(void **state UNUSED)
{
    struct metrics *m = metrics_create();
    static const uint64_t answers[STATUSES] = { [0] = 1, [304] = 2, [499] = 3 };
    auto_buf out = BUF(METRICS_MAX_TEXT);
    struct str text = write_with(m, answers, &out);
    assert_line(text, "paddock_workers{kind=\"shell\",state=\"working\"} 1");
    assert_line(text, "paddock_workers{kind=\"files\",state=\"idle\"} 5");
    assert_line(text, "paddock_workers{kind=\"python\",state=\"idle\"} 8");
    assert_line(text, "paddock_workers{kind=\"shell\",state=\"idle\"} 2");
    assert_line(text, "paddock_sessions{state=\"open\"} 7");
    assert_line(text, "paddock_sessions{state=\"asleep\"} 3");
    assert_line(text, "paddock_waiting_calls 118");
    assert_line(text, "paddock_audit_failures_total 12");
    assert_line(text, "paddock_http_requests_total{status=\"100\"} 1");
    assert_line(text, "paddock_http_requests_total{status=\"404\"} 2");
    assert_line(text, "paddock_http_requests_total{status=\"599\"} 3");
    assert_null(memmem(text.data, text.len, "status=\"200", 11));
    assert_line(text, "paddock_http_connections 13");
    char start[64];
    snprintf(start, sizeof(start), "process_start_time_seconds %lld",
            (long long)m->started);
    assert_line(text, start);
    assert_true(m->started > 1600000000 && m->started <= time(NULL));
    assert_line(text, "# TYPE process_resident_memory_bytes gauge");
    assert_int_equal(lines(text, "process_resident_memory_bytes 0"), 0);
    assert_int_equal(lines(text, "process_open_fds 0"), 0);
    metrics_destroy(m);
}

static void test_escaping(void **state UNUSED)
{
    auto_buf out = BUF(1000);
    metrics_write_label(STR("a\\b\"c\nd{}=,\xc3\xa4"), &out);
    assert_string_equal(out.data, "a\\\\b\\\"c\\nd{}=,\xc3\xa4");
}

static void test_rule_text(void **state UNUSED)
{
    static const struct {
        const char *rule, *text;
    } cases[] = {
        { "[filesystem.guards] '/\\.git/' = \"read-only\" (/srv/ws/.pyddock/a.toml:3)",
                "[filesystem.guards] '/\\.git/' = \"read-only\"" },
        { "[filesystem.guards] '/secret/' = \"deny\" (built-in policy, line 12)",
                "[filesystem.guards] '/secret/' = \"deny\"" },
        { "[filesystem.guards] '/\\.git/' = \"read-only\" covers '/srv/me/secret', where "
          "the repository is (/srv/ws/.pyddock/a.toml:3)",
                "[filesystem.guards] '/\\.git/' = \"read-only\" covers '...', where the "
                "repository is" },
        { "[filesystem] writable_paths = ['/srv/my ws/x', \"/tmp\", ~/y] (always)",
                "[filesystem] writable_paths = ['...', \"...\", ...]" },
        { "'/srv/w/.git' is write-protected: a repository", "'...' is write-protected: a "
                                                            "repository" },
        { "[shell.git] deny has '^push( |$)'", "[shell.git] deny has '^push( |$)'" },
        { "[shell.x] deny has '/usr/.*'", "[shell.x] deny has '/usr/.*'" },
        { "read and/or write, a/b", "read and/or write, a/b" },
        { "(always)", "(always)" },
        { "only where nothing may be written (write-then-execute)",
                "only where nothing may be written (write-then-execute)" },
        { "token=ghp_0123456789abcdefghijklmnopqrstuvwxyz", "token=***" },
        { "bad \xff byte", "bad \xef\xbf\xbd byte" },
        { "two\nlines", "two\nlines" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf out = BUF(METRICS_RULE_BYTES);
        metrics_rule_text(str_of(cases[i].rule), &out);
        assert_string_equal(out.data, cases[i].text);
    }
    auto_buf text = BUF(100000), out = BUF(METRICS_RULE_BYTES);
    while (text.len < 20000)
        buf_add(&text, STR("\xe2\x82\xac")); /* cut between characters */
    metrics_rule_text(buf_str(&text), &out);
    assert_int_equal(out.len, METRICS_RULE_BYTES / 3 * 3);
}

/* However many rules a worker makes up. */
static void test_cardinality(void **state UNUSED)
{
    struct metrics *m = metrics_create();
    auto_buf out = BUF(METRICS_MAX_TEXT);
    for (size_t round = 0; round < 3; round++)
        for (size_t i = 0; i < 2 * METRICS_MAX_RULES; i++) {
            char rule[64];
            snprintf(rule, sizeof(rule), "rule %zu (/some/file:%zu)", i, round);
            metrics_call(m, &(struct metrics_call){ .tool = STR("run"),
                                    .outcome = METRICS_REFUSED,
                                    .rule = str_of(rule) });
        }
    struct str text = write_all(m, &out);
    assert_int_equal(m->rule_count, METRICS_MAX_RULES);
    assert_line(text, "paddock_refusals_total{rule=\"rule 0\"} 3");
    assert_line(text, "paddock_refusals_total{rule=\"rule 199\"} 3");
    assert_line(text, "paddock_refusals_total{rule=\"other\"} 600");
    size_t series = 0;
    for (struct str rest = text; rest.len;)
        series += str_starts(str_cut(&rest, '\n'), STR("paddock_refusals_total{"));
    assert_int_equal(series, METRICS_MAX_RULES + 1);
    metrics_destroy(m);
}

/* The longest that it can become fits. */
static void test_size(void **state UNUSED)
{
    struct metrics *m = metrics_create();
    auto_buf out = BUF(METRICS_MAX_TEXT);
    for (size_t i = 0; i < METRICS_MAX_TOOLS; i++)
        for (size_t k = 0; k < METRICS_OUTCOMES; k++)
            m->tools[i].calls[k] = UINT64_MAX;
    uint64_t answers[STATUSES];
    for (size_t i = 0; i < STATUSES; i++)
        answers[i] = UINT64_MAX;
    for (size_t i = 0; i < METRICS_MAX_RULES; i++) {
        char rule[METRICS_RULE_BYTES + 1];
        memset(rule, '"', sizeof(rule));
        snprintf(rule, 8, "%zu", i);
        rule[strlen(rule)] = '"';
        metrics_call(m, &(struct metrics_call){ .tool = STR("run"),
                                .outcome = METRICS_OK,
                                .rule = { rule, METRICS_RULE_BYTES } });
    }
    assert_int_equal(m->rule_count, METRICS_MAX_RULES);
    write_with(m, answers, &out);
    assert_true(out.len < METRICS_MAX_TEXT / 2);
    metrics_destroy(m);
}

static void test_nobody_counts(void **state UNUSED)
{
    metrics_call(NULL, &(struct metrics_call){ .tool = STR("run") });
    metrics_destroy(NULL);
    assert_true(tool_source_count < METRICS_MAX_TOOLS);
    for (size_t i = 1; i < METRICS_BUCKETS; i++)
        assert_true(metrics_bucket_us[i - 1] < metrics_bucket_us[i]);
}

/* What a record becomes: notes are outside bytes. */
static void test_records(void **state UNUSED)
{
    static const char *const notes[] = { "", "no json", "[1]", "{\"cut\":-5}",
        "{\"cut\":7,\"timed_out\":1}", "{\"cut\":3,\"timed_out\":true}",
        "{\"decision\":\"deny\",\"rule\":\"guard x (/f:1)\",\"cut\":\"9\"}",
        "{\"decision\":\"deny\"}" };
    struct metrics *m = metrics_create();
    const struct recorder to = { NULL, m };
    for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
        struct audit_call call = { .tool = STR("run"), .is_error = i == 2 };
        record_worker_call(&to, &call, str_of(notes[i]));
    }
    struct audit_call call = { .tool = STR("run_shell"), .duration_us = 5 };
    record_shell_call(&to, &call,
            &(struct shell_outcome){ .refused = true,
                    .is_error = true,
                    .rule = STR("deny y"),
                    .text = STR("") });
    record_shell_call(&to, &call,
            &(struct shell_outcome){ .timed_out = true,
                    .is_error = true,
                    .rule = STR(""),
                    .cut_bytes = 90,
                    .text = STR("") });
    record_refused_call(&to, &call, STR("argument 'secret' does not fit"));
    record_cancelled_call(&to, &call);
    auto_buf out = BUF(METRICS_MAX_TEXT);
    struct str text = write_all(m, &out);
    assert_line(text, "paddock_calls_total{tool=\"run\",outcome=\"ok\"} 4");
    assert_line(text, "paddock_calls_total{tool=\"run\",outcome=\"error\"} 1");
    assert_line(text, "paddock_calls_total{tool=\"run\",outcome=\"timeout\"} 1");
    assert_line(text, "paddock_calls_total{tool=\"run\",outcome=\"refused\"} 2");
    assert_line(text, "paddock_calls_total{tool=\"run_shell\",outcome=\"refused\"} 1");
    assert_line(text, "paddock_calls_total{tool=\"run_shell\",outcome=\"timeout\"} 1");
    assert_line(text, "paddock_calls_total{tool=\"run_shell\",outcome=\"error\"} 1");
    assert_line(text, "paddock_calls_total{tool=\"run_shell\",outcome=\"cancelled\"} 1");
    assert_line(text, "paddock_call_seconds_count{tool=\"run_shell\"} 3");
    assert_line(text, "paddock_refusals_total{rule=\"guard x\"} 1");
    assert_line(text, "paddock_refusals_total{rule=\"deny y\"} 1");
    assert_line(text, "paddock_output_cut_bytes_total 100");
    assert_null(memmem(text.data, text.len, "secret", 6));
    metrics_destroy(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_gauges),
        cmocka_unit_test(test_escaping),
        cmocka_unit_test(test_rule_text),
        cmocka_unit_test(test_cardinality),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_nobody_counts),
        cmocka_unit_test(test_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
