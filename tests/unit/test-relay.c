#include "base/str.h"
#include "session/relay.h"
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

/* What reaches our stderr when a worker writes `said` on its own. */
static void relayed(struct str said, struct buf *out)
{
    int theirs[2], ours[2];
    assert_int_equal(pipe2(theirs, O_NONBLOCK), 0);
    assert_int_equal(pipe2(ours, O_NONBLOCK), 0);
    fcntl(ours[1], F_SETPIPE_SZ, 1 << 20);
    fcntl(theirs[1], F_SETPIPE_SZ, 1 << 20);
    int stderr_copy = dup(STDERR_FILENO);
    dup2(ours[1], STDERR_FILENO);
    uv_loop_t loop;
    uv_loop_init(&loop);
    struct relay *r = relay_start(&loop, theirs[0], "worker");
    assert_int_equal(write(theirs[1], said.data, said.len), said.len);
    for (int i = 0; i < 20; i++)
        uv_run(&loop, UV_RUN_NOWAIT);
    relay_end(r);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    dup2(stderr_copy, STDERR_FILENO);
    close(stderr_copy);
    close(ours[1]);
    close(theirs[1]);
    char part[4096];
    for (ssize_t n; (n = read(ours[0], part, sizeof(part))) > 0;)
        buf_add(out, (struct str){ part, (size_t)n });
    close(ours[0]);
}

static void test_lines(void **state)
{
    (void)state;
    auto_buf got = BUF(1 << 20);
    relayed(STR("one\ntwo"), &got);
    assert_true(str_is(buf_str(&got), "paddock: worker: one\npaddock: worker: two\n"));
}

static void test_what_a_terminal_would_obey(void **state)
{
    (void)state;
    auto_buf got = BUF(1 << 20);
    relayed(STR("a\033]0;owned\007\rb\x7f\t\xc3\xa9\n"), &got);
    assert_true(str_is(buf_str(&got), "paddock: worker: a?]0;owned??b?\t\xc3\xa9\n"));
}

static void test_the_amount_is_bounded(void **state)
{
    (void)state;
    auto_buf flood = BUF(1 << 20), got = BUF(1 << 20);
    while (flood.len < 500000)
        buf_add(&flood, STR("0123456789012345678901234567890123456789\n"));
    relayed(buf_str(&flood), &got);
    assert_in_range(got.len, RELAY_MAX_BYTES / 2, RELAY_MAX_BYTES * 2);
}

static void test_nothing_to_end(void **state)
{
    (void)state;
    relay_end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_what_a_terminal_would_obey),
        cmocka_unit_test(test_the_amount_is_bounded),
        cmocka_unit_test(test_nothing_to_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
