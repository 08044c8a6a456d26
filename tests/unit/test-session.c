#include "session/session.h"

#include "unit.h"

#include <signal.h>
#include <unistd.h>

/* A session over the worker of test-worker.c, and the answers it gave, in order. */
struct fixture {
    uv_loop_t loop;
    struct session *session;
    const char *env[2];
    char texts[16][512], notes[16][64];
    bool errors[16];
    size_t answers;
};

static void on_done(void *user, bool is_error, struct str text, struct str notes)
{
    struct fixture *f = user;
    assert_true(f->answers < ARRAY_LEN(f->texts));
    snprintf(f->texts[f->answers], sizeof(f->texts[0]), "%.*s", STR_ARG(text));
    snprintf(f->notes[f->answers], sizeof(f->notes[0]), "%.*s", STR_ARG(notes));
    f->errors[f->answers++] = is_error;
}

static void open_session(struct fixture *f, const char *worker, struct str setup)
{
    *f = (struct fixture){ .env = { "GIVEN=1", NULL } };
    uv_loop_init(&f->loop);
    struct session_config config = {
        .loop = &f->loop,
        .worker = { .path = worker, .env = f->env },
        .setup = setup,
        .timeout_ms = 100,
        .max_reply = 1 << 20,
    };
    f->session = session_create(&config);
}

static void close_session(struct fixture *f)
{
    session_destroy(f->session);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
}

static struct session_call *call(struct fixture *f, const char *command)
{
    auto_buf args = BUF(4096);
    struct session_call *out;
    struct error err;
    buf_addf(&args, "{\"command\":\"%s\"}", command);
    assert_true(
            session_call(f->session, STR("run"), buf_str(&args), on_done, f, &out, &err));
    return out;
}

static void wait_for(struct fixture *f, size_t answers)
{
    while (f->answers < answers)
        uv_run(&f->loop, UV_RUN_ONCE);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

static void test_order(void **state UNUSED)
{
    struct fixture f;
    open_session(&f, TEST_WORKER, STR("{}"));
    call(&f, "sleep 20");
    call(&f, "echo a");
    call(&f, "echo b");
    wait_for(&f, 3);
    assert_string_equal(f.texts[0], "slept");
    assert_string_equal(f.texts[1], "a");
    assert_string_equal(f.texts[2], "b");
    close_session(&f);
}

static void test_notes(void **state UNUSED)
{
    struct fixture f;
    open_session(&f, TEST_WORKER, STR("{}"));
    call(&f, "notes {}");
    call(&f, "echo a");
    wait_for(&f, 2);
    assert_string_equal(f.texts[0], "noted");
    assert_string_equal(f.notes[0], "{}");
    assert_string_equal(f.notes[1], "");
    close_session(&f);
}

static void test_clean_start(void **state UNUSED)
{
    struct fixture f;
    open_session(&f, TEST_WORKER, STR("{}"));
    call(&f, "env");
    call(&f, "fds");
    wait_for(&f, 2);
    assert_string_equal(f.texts[0], "GIVEN=1\n");
    assert_has(f.texts[1], "0 /dev/null\n");
    assert_has(f.texts[1], "\n3 socket:");
    assert_null(strstr(f.texts[1], "\n4 "));
    close_session(&f);
}

/* A worker that ends in whatever way costs its call only, and the next one says so. */
static void test_ends(void **state UNUSED)
{
    static const struct {
        const char *command, *want;
    } cases[] = {
        { "die 3", "exited with status 3" },
        { "kill 11", "killed by signal SEGV" },
        { "garbage", "malformed" },
        { "twice", "out of turn" },
        { "big", "too long" },
        { "hang", "did not end by itself" },
    };
    struct fixture f;
    open_session(&f, TEST_WORKER, STR("{}"));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        f.answers = 0;
        call(&f, cases[i].command);
        call(&f, "echo next");
        call(&f, "echo after");
        wait_for(&f, 3);
        assert_true(f.errors[0]);
        assert_has(f.texts[0], cases[i].want);
        assert_has(f.texts[0], "are lost");
        assert_has(f.texts[1], "were reset]\nnext");
        assert_string_equal(f.texts[2], "after");
    }
    close_session(&f);
}

static void test_death_between_calls(void **state UNUSED)
{
    struct fixture f;
    open_session(&f, TEST_WORKER, STR("{}"));
    call(&f, "pid");
    wait_for(&f, 1);
    kill(atoi(f.texts[0]), SIGKILL);
    for (int i = 0; i < 20; i++)
        uv_run(&f.loop, UV_RUN_NOWAIT), usleep(5000);
    call(&f, "echo x");
    wait_for(&f, 2);
    assert_false(f.errors[1]);
    assert_has(f.texts[1], "were reset]\nx");
    close_session(&f);
}

static void test_cancel(void **state UNUSED)
{
    struct fixture f;
    open_session(&f, TEST_WORKER, STR("{}"));
    struct session_call *running = call(&f, "sleep 90");
    struct session_call *waiting = call(&f, "die 1");
    call(&f, "echo kept");
    for (int i = 0; i < 10; i++)
        uv_run(&f.loop, UV_RUN_NOWAIT), usleep(2000);
    session_cancel(f.session, waiting);
    session_cancel(f.session, running);
    wait_for(&f, 1);
    assert_string_equal(f.texts[0], "kept");
    struct session_call *stuck = call(&f, "hang");
    for (int i = 0; i < 10; i++)
        uv_run(&f.loop, UV_RUN_NOWAIT), usleep(2000);
    session_cancel(f.session, stuck);
    call(&f, "echo again");
    wait_for(&f, 2);
    assert_has(f.texts[1], "were reset]\nagain");
    close_session(&f);
}

static void test_no_worker(void **state UNUSED)
{
    static const char *const workers[] = { "/nonexistent/worker", TEST_WORKER };
    for (size_t i = 0; i < ARRAY_LEN(workers); i++) {
        struct fixture f;
        open_session(&f, workers[i], STR("{\"test-start-fails\":1}"));
        session_warm(f.session);
        call(&f, "echo a");
        call(&f, "echo b");
        wait_for(&f, 2);
        assert_true(f.errors[0] && f.errors[1]);
        assert_has(f.texts[1], "could not start");
        close_session(&f);
    }
}

static void test_too_many(void **state UNUSED)
{
    struct fixture f;
    struct session_call *out;
    struct error err;
    open_session(&f, TEST_WORKER, STR("{}"));
    call(&f, "hang");
    for (size_t i = 1; i < SESSION_MAX_CALLS; i++)
        call(&f, "echo x");
    assert_false(session_call(f.session, STR("run"), STR("{}"), on_done, &f, &out, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    close_session(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_notes),
        cmocka_unit_test(test_clean_start),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_death_between_calls),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_no_worker),
        cmocka_unit_test(test_too_many),
    };
    signal(SIGPIPE, SIG_IGN); /* as the server does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
