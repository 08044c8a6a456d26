#include "shell/sched.h"
#include "shell/stream.h"

#include "unit.h"

#include <errno.h>
#include <stdio.h>

static struct budget plenty(void)
{
    return (struct budget){ .steps = 1000000, .max_steps = 1000000 };
}

struct stage {
    struct stream *in, *out;
    size_t count, size;
};

static int write_blocks(void *arg)
{
    struct stage *st = arg;
    char *block = xmalloc(st->size);
    bool ok = true;
    for (size_t i = 0; ok && i < st->count; i++) {
        for (size_t k = 0; k < st->size; k++)
            block[k] = (char)('a' + (i + k) % 26);
        ok = stream_write(st->out, (struct str){ block, st->size });
        memset(block, '!', st->size); /* a reader must have had what was lent */
    }
    free(block);
    stream_unref(st->out);
    return ok ? 0 : 141;
}

static int write_lines(void *arg)
{
    struct stage *st = arg;
    bool ok = true;
    for (size_t i = 0; ok && i < st->count; i++) {
        char line[32];
        int n = snprintf(line, sizeof(line), "line %zu\n", i);
        ok = stream_write(st->out, (struct str){ line, (size_t)n });
    }
    stream_unref(st->out);
    return ok ? 0 : 141;
}

/* Copies lines, holding each while it blocks on its own output. */
static int copy_lines(void *arg)
{
    struct stage *st = arg;
    struct str line;
    while (stream_line(st->in, '\n', 1 << 20, &line))
        if (!stream_write(st->out, line))
            break;
    stream_unref(st->in);
    stream_unref(st->out);
    return 0;
}

static void blocks_arrive_whole(size_t size, size_t count)
{
    struct budget budget = plenty();
    struct sched *s = sched_create(&budget);
    struct stream *reader, *writer;
    stream_pipe(s, &reader, &writer);
    struct stage st = { .out = writer, .size = size, .count = count };
    struct task *t = sched_spawn(s, write_blocks, &st);
    size_t total = 0;
    struct str view;
    while (stream_peek(reader, &view)) {
        for (size_t k = 0; k < view.len; k++, total++)
            if (view.data[k] != (char)('a' + (total / size + total % size) % 26))
                fail_msg("byte %zu is wrong", total);
        stream_consume(reader, view.len);
    }
    assert_int_equal(total, size * count);
    assert_int_equal(sched_join(s, t), 0);
    stream_unref(reader);
    sched_destroy(s);
}

static void test_blocks(void **state)
{
    (void)state;
    blocks_arrive_whole(1, 200000);
    blocks_arrive_whole(1000, 1000);
    blocks_arrive_whole(16384, 100);
    blocks_arrive_whole(300000, 10);
}

static void test_lines_through_stages(void **state)
{
    (void)state;
    struct budget budget = plenty();
    struct sched *s = sched_create(&budget);
    struct stream *reader, *writer;
    struct stage stages[4];
    struct task *tasks[4];
    stream_pipe(s, &reader, &writer);
    stages[0] = (struct stage){ .out = writer, .count = 50000 };
    tasks[0] = sched_spawn(s, write_lines, &stages[0]);
    for (int i = 1; i < 4; i++) {
        struct stream *in = reader;
        stream_pipe(s, &reader, &writer);
        stages[i] = (struct stage){ .in = in, .out = writer };
        tasks[i] = sched_spawn(s, copy_lines, &stages[i]);
    }
    struct str line;
    char want[32];
    size_t n = 0;
    for (; stream_line(reader, '\n', 1 << 20, &line); n++) {
        snprintf(want, sizeof(want), "line %zu\n", n);
        assert_true(str_is(line, want));
    }
    assert_int_equal(n, 50000);
    for (int i = 0; i < 4; i++)
        assert_int_equal(sched_join(s, tasks[i]), 0);
    stream_unref(reader);
    sched_destroy(s);
}

static void test_reader_gone(void **state)
{
    (void)state;
    struct budget budget = plenty();
    struct sched *s = sched_create(&budget);
    for (size_t size = 1; size < 1000000; size *= 100) {
        struct stream *reader, *writer;
        stream_pipe(s, &reader, &writer);
        struct stage st = { .out = writer, .size = size, .count = 1000000 };
        struct task *t = sched_spawn(s, write_blocks, &st);
        char two[2];
        assert_int_equal(stream_read(reader, two, 1), 1);
        stream_unref(reader);
        assert_int_equal(sched_join(s, t), 141);
    }
    sched_destroy(s);
}

static void test_spent_budget_unwinds(void **state)
{
    (void)state;
    struct budget budget = plenty();
    struct sched *s = sched_create(&budget);
    struct stream *reader, *writer;
    stream_pipe(s, &reader, &writer);
    struct stage st = { .out = writer, .size = 10, .count = 1000000 };
    struct task *t = sched_spawn(s, write_blocks, &st);
    char some[10];
    stream_read(reader, some, sizeof(some));
    budget_stop(&budget, BUDGET_TIME);
    assert_int_equal(sched_join(s, t), 141);
    stream_unref(reader);
    sched_destroy(s);
}

static void test_deadlock_is_an_error(void **state)
{
    (void)state;
    struct budget budget = plenty();
    struct sched *s = sched_create(&budget);
    struct stream *reader, *writer;
    stream_pipe(s, &reader, &writer);
    struct str view;
    assert_false(stream_peek(reader, &view));
    assert_int_equal(stream_error(reader), EDEADLK);
    stream_unref(reader);
    stream_unref(writer);
    sched_destroy(s);
}

static void test_text_lines(void **state)
{
    (void)state;
    struct stream *s = stream_text(STR("one\ntwo\n\nlast"));
    static const char *const want[] = { "one\n", "two\n", "\n", "last" };
    struct str line;
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        assert_true(stream_line(s, '\n', 100, &line));
        assert_true(str_is(line, want[i]));
    }
    assert_false(stream_line(s, '\n', 100, &line));
    assert_int_equal(stream_error(s), 0);
    stream_unref(s);
}

static void test_line_too_long(void **state)
{
    (void)state;
    struct stream *s = stream_text(STR("0123456789\nrest\n"));
    struct str line;
    assert_false(stream_line(s, '\n', 5, &line));
    assert_int_equal(stream_error(s), EFBIG);
    stream_unref(s);
}

static void test_peek_more(void **state)
{
    (void)state;
    struct budget budget = plenty();
    struct sched *s = sched_create(&budget);
    struct stream *reader, *writer;
    stream_pipe(s, &reader, &writer);
    struct stage st = { .out = writer, .size = 700, .count = 400 };
    struct task *t = sched_spawn(s, write_blocks, &st);
    struct str view;
    assert_true(stream_peek_more(reader, 65536, &view));
    assert_int_equal(view.len, 65536);
    stream_consume(reader, 65000);
    assert_true(stream_peek_more(reader, 60000, &view));
    assert_true(view.len >= 60000);
    assert_int_equal(view.data[0], 'a' + (65000 / 700 + 65000 % 700) % 26);
    stream_unref(reader);
    assert_int_equal(sched_join(s, t), 141);
    sched_destroy(s);
}

static int sleeper(void *arg)
{
    struct sched *s = arg;
    return sched_sleep(s, 2000000) ? 7 : 1;
}

static void test_sleep_lets_others_run(void **state)
{
    (void)state;
    struct budget budget = plenty();
    struct sched *s = sched_create(&budget);
    struct task *a = sched_spawn(s, sleeper, s), *b = sched_spawn(s, sleeper, s);
    assert_true(sched_sleep(s, 1000));
    assert_int_equal(sched_join(s, a), 7);
    assert_int_equal(sched_join(s, b), 7);
    sched_destroy(s);
}

static void test_closed_directions(void **state)
{
    (void)state;
    struct stream *s = stream_text(STR("x"));
    struct str view;
    assert_false(stream_write(s, STR("y")));
    assert_int_equal(stream_error(s), EBADF);
    assert_true(stream_peek(s, &view));
    stream_unref(s);
    auto_buf out = BUF(3);
    s = stream_buffer(&out);
    assert_false(stream_peek(s, &view));
    stream_clear_error(s);
    assert_true(stream_write(s, STR("abc")));
    assert_false(stream_write(s, STR("d")));
    assert_int_equal(stream_error(s), EFBIG);
    stream_unref(s);
}

/* What was put back comes first, and is one piece with what follows it. */
static void test_unread(void **state)
{
    (void)state;
    struct stream *s = stream_text(STR("one\ntwo\nthree\n"));
    struct str view;
    char two[2];
    assert_true(stream_line(s, '\n', 100, &view));
    assert_int_equal(stream_read(s, two, 2), 2);
    stream_unread(s, STR("tw"));
    stream_unread(s, STR("one\n"));
    assert_true(stream_peek(s, &view));
    assert_true(str_is(view, "one\ntw"));
    assert_true(stream_line(s, '\n', 100, &view));
    assert_true(str_is(view, "one\n"));
    assert_true(stream_peek_more(s, 6, &view));
    assert_true(str_is(view, "two\nth"));
    assert_true(stream_line(s, '\n', 100, &view));
    stream_unread(s, view);
    assert_true(stream_line(s, '\n', 100, &view));
    assert_true(str_is(view, "two\n"));
    stream_unread(s, STR(""));
    auto_buf rest = BUF(100);
    assert_true(stream_read_all(s, &rest));
    assert_string_equal(rest.data, "three\n");
    stream_unref(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_lines_through_stages),
        cmocka_unit_test(test_reader_gone),
        cmocka_unit_test(test_spent_budget_unwinds),
        cmocka_unit_test(test_deadlock_is_an_error),
        cmocka_unit_test(test_text_lines),
        cmocka_unit_test(test_line_too_long),
        cmocka_unit_test(test_peek_more),
        cmocka_unit_test(test_sleep_lets_others_run),
        cmocka_unit_test(test_closed_directions),
        cmocka_unit_test(test_unread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
