#include "session/spare.h"

#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

/* Shells that share places and a spare, over the worker of test-worker.c. */
struct fixture {
    uv_loop_t loop;
    uv_timer_t timer;
    struct shells shells;
    struct session_config config;
    char text[256]; /* the last answer */
    bool is_error;
    unsigned answers;
};

static void open_shells(
        struct fixture *f, unsigned most, unsigned spare_idle_ms, struct str setup)
{
    static const char *const env[] = { "GIVEN=1", NULL };
    *f = (struct fixture){ .answers = 0 };
    uv_loop_init(&f->loop);
    uv_timer_init(&f->loop, &f->timer);
    f->config = (struct session_config){
        .loop = &f->loop,
        .worker = { .path = TEST_WORKER, .env = env },
        .setup = setup,
        .timeout_ms = 20000,
        .max_reply = 1 << 20,
        .shells = &f->shells,
    };
    f->shells = (struct shells){
        .places = places_create(most, 8), .save_ms = 300, .max_states = 1 << 20
    };
    f->shells.spare = spare_create(&f->config, f->shells.places, spare_idle_ms);
}

static void close_shells(struct fixture *f)
{
    pid_t pid = spare_pid(f->shells.spare);
    spare_destroy(TAKE(f->shells.spare));
    if (pid)
        assert_true(kill(pid, 0) && errno == ESRCH);
    places_destroy(f->shells.places);
    uv_close((uv_handle_t *)&f->timer, NULL);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
}

static struct session *open_shell(struct fixture *f, bool once)
{
    struct session_config config = f->config;
    config.once = once;
    return session_create(&config);
}

static void on_done(void *user, bool is_error, struct str text, struct str notes UNUSED)
{
    struct fixture *f = user;
    snprintf(f->text, sizeof(f->text), "%.*s", STR_ARG(text));
    f->is_error = is_error;
    f->answers++;
}

static void call(struct fixture *f, struct session *s, const char *command)
{
    auto_buf args = BUF(4096);
    struct session_call *out;
    struct error err;
    buf_addf(&args, "{\"command\":\"%s\"}", command);
    assert_true(session_call(s, STR("run"), buf_str(&args), on_done, f, &out, &err));
}

static const char *wait_for_answer(struct fixture *f, unsigned before)
{
    while (f->answers == before)
        uv_run(&f->loop, UV_RUN_ONCE);
    return f->text;
}

static const char *ask(struct fixture *f, struct session *s, const char *command)
{
    unsigned before = f->answers;
    call(f, s, command);
    return wait_for_answer(f, before);
}

static pid_t ask_pid(struct fixture *f, struct session *s)
{
    long pid = strtol(ask(f, s, "pid"), NULL, 10);
    assert_false(f->is_error);
    assert_true(pid > 0);
    return (pid_t)pid;
}

/* A shell of one call; the process that it ran in. */
static pid_t run_once(struct fixture *f)
{
    struct session *s = open_shell(f, true);
    pid_t pid = ask_pid(f, s);
    assert_string_equal(ask(f, s, "get"), "nothing");
    ask(f, s, "set mine");
    session_destroy(s);
    return pid;
}

static void nothing(uv_timer_t *timer UNUSED)
{
}

static void turn_for(struct fixture *f, unsigned ms)
{
    uint64_t end = uv_hrtime() + (uint64_t)ms * 1000000;
    uv_timer_start(&f->timer, nothing, 1, 1);
    while (uv_hrtime() < end)
        uv_run(&f->loop, UV_RUN_ONCE);
    uv_timer_stop(&f->timer);
}

/* Started, and perhaps not ready. */
static pid_t wait_for_spare(struct fixture *f)
{
    while (!spare_pid(f->shells.spare))
        uv_run(&f->loop, UV_RUN_ONCE);
    return spare_pid(f->shells.spare);
}

static void test_handed_on(void **state UNUSED)
{
    struct fixture f;
    pid_t used[8];
    open_shells(&f, 8, 60000, STR("{}"));
    turn_for(&f, 2 * SPARE_WAIT_MS);
    assert_int_equal(spare_pid(f.shells.spare), 0); /* nobody has wanted one */
    used[0] = run_once(&f);
    for (size_t i = 1; i < ARRAY_LEN(used); i++) {
        pid_t pid = wait_for_spare(&f);
        assert_int_equal(places_taken(f.shells.places), 1);
        if (i % 2)
            turn_for(&f, 20); /* it is ready, and not only begun */
        used[i] = run_once(&f);
        assert_int_equal(used[i], pid);
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(used[j], used[i]);
    }
    close_shells(&f);
}

/* Shells that stay take it, but do not ask for it; one that wakes up does as well. */
static void test_others(void **state UNUSED)
{
    struct fixture f;
    open_shells(&f, 8, 60000, STR("{}"));
    struct session *one = open_shell(&f, false), *other = open_shell(&f, false);
    ask(&f, one, "set kept");
    turn_for(&f, 2 * SPARE_WAIT_MS);
    assert_int_equal(spare_pid(f.shells.spare), 0);
    f.shells.idle_ms = 20;
    ask(&f, one, "get");
    while (places_taken(f.shells.places))
        uv_run(&f.loop, UV_RUN_ONCE);
    f.shells.idle_ms = 0;
    run_once(&f);
    pid_t spare = wait_for_spare(&f);
    assert_string_equal(ask(&f, one, "get"), "kept");
    assert_int_equal(ask_pid(&f, one), spare);
    spare = wait_for_spare(&f);
    assert_string_equal(ask(&f, other, "get"), "nothing");
    assert_int_equal(ask_pid(&f, other), spare);
    session_destroy(one);
    session_destroy(other);
    close_shells(&f);
}

/* It stands back where there is one place, and its worker is not lost by that. */
static void test_one_place(void **state UNUSED)
{
    struct fixture f;
    open_shells(&f, 1, 60000, STR("{}"));
    run_once(&f);
    for (size_t i = 0; i < 4; i++) {
        pid_t spare = wait_for_spare(&f);
        assert_int_equal(places_taken(f.shells.places), 1);
        struct session *s = open_shell(&f, true);
        unsigned before = f.answers;
        call(&f, s, "pid");
        assert_true(session_waits(s));
        while (session_waits(s))
            uv_run(&f.loop, UV_RUN_ONCE);
        assert_int_equal(spare_pid(f.shells.spare), 0);
        assert_int_equal(strtol(wait_for_answer(&f, before), NULL, 10), spare);
        turn_for(&f, 2 * SPARE_WAIT_MS);
        assert_int_equal(spare_pid(f.shells.spare), 0); /* there is no place for one */
        assert_int_equal(places_taken(f.shells.places), 1);
        session_destroy(s);
        run_once(&f);
    }
    close_shells(&f);
}

/* An idle shell keeps its place as long as a spare one can give up its own. */
static void test_first_to_leave(void **state UNUSED)
{
    struct fixture f;
    open_shells(&f, 2, 60000, STR("{}"));
    struct session *idle = open_shell(&f, false), *other = open_shell(&f, false);
    pid_t pid = ask_pid(&f, idle);
    run_once(&f);
    pid_t spare = wait_for_spare(&f);
    assert_int_equal(places_taken(f.shells.places), 2);
    assert_int_equal(ask_pid(&f, other), spare);
    assert_int_equal(f.shells.asleep, 0);
    assert_int_equal(ask_pid(&f, idle), pid);
    session_destroy(idle);
    session_destroy(other);
    close_shells(&f);
}

static void test_killed(void **state UNUSED)
{
    struct fixture f;
    open_shells(&f, 8, 60000, STR("{}"));
    run_once(&f);
    for (size_t i = 0; i < 12; i++) {
        pid_t spare = wait_for_spare(&f);
        struct session *s = NULL;
        unsigned before = f.answers;
        if (i % 3)
            turn_for(&f, 20);
        else { /* taken before it was ready */
            s = open_shell(&f, true);
            call(&f, s, "pid");
            assert_int_equal(spare_pid(f.shells.spare), 0);
        }
        kill(spare, SIGKILL);
        siginfo_t info;
        assert_int_equal(waitid(P_PID, (id_t)spare, &info, WEXITED | WNOWAIT), 0);
        if (s) {
            wait_for_answer(&f, before);
            assert_false(f.is_error);
            assert_int_not_equal(strtol(f.text, NULL, 10), spare);
            session_destroy(s);
        } else if (i % 3 == 1) { /* its end was noticed */
            while (spare_pid(f.shells.spare))
                uv_run(&f.loop, UV_RUN_ONCE);
            assert_int_equal(places_taken(f.shells.places), 0);
        }
        assert_int_not_equal(run_once(&f), spare);
    }
    close_shells(&f);
}

static void test_ends_unused(void **state UNUSED)
{
    struct fixture f;
    open_shells(&f, 8, 30, STR("{}"));
    for (size_t i = 0; i < 2; i++) {
        run_once(&f);
        pid_t spare = wait_for_spare(&f);
        while (spare_pid(f.shells.spare))
            uv_run(&f.loop, UV_RUN_ONCE);
        assert_true(kill(spare, 0) && errno == ESRCH);
        assert_int_equal(places_taken(f.shells.places), 0);
        turn_for(&f, 3 * SPARE_WAIT_MS);
        assert_int_equal(spare_pid(f.shells.spare), 0);
    }
    close_shells(&f);
}

/* Workers that cannot start: each call is told so, and nobody tries for ever. */
static void test_no_start(void **state UNUSED)
{
    struct fixture f;
    open_shells(&f, 8, 60000, STR("{\"name\":\"test-start-fails\"}"));
    for (size_t i = 0; i < 3; i++) {
        struct session *s = open_shell(&f, true);
        if (i == 2)
            wait_for_spare(&f);
        assert_non_null(strstr(ask(&f, s, "pid"), "could not start"));
        assert_true(f.is_error);
        session_destroy(s);
        if (i == 1)
            continue;
        turn_for(&f, 5 * SPARE_WAIT_MS);
        assert_int_equal(spare_pid(f.shells.spare), 0);
        assert_int_equal(places_taken(f.shells.places), 0);
    }
    close_shells(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_handed_on),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_one_place),
        cmocka_unit_test(test_first_to_leave),
        cmocka_unit_test(test_killed),
        cmocka_unit_test(test_ends_unused),
        cmocka_unit_test(test_no_start),
    };
    signal(SIGPIPE, SIG_IGN); /* as the server does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
