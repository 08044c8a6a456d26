#include "session/session.h"

#include "unit.h"

#include <signal.h>
#include <unistd.h>

#define CLIENTS 24

/* Shells that share places, over the worker of test-worker.c, and what each was told. */
struct client {
    struct fixture *fixture;
    struct session *session;
    char text[512]; /* the last answer */
    bool is_error;
    unsigned answers, number; /* the latter: its last answer's among all */
};

struct fixture {
    uv_loop_t loop;
    uv_timer_t timer;
    struct shells shells;
    struct client clients[CLIENTS];
    size_t count;
    unsigned answers;
};

static void on_done(void *user, bool is_error, struct str text, struct str notes UNUSED)
{
    struct client *c = user;
    snprintf(c->text, sizeof(c->text), "%.*s", STR_ARG(text));
    c->is_error = is_error;
    c->answers++;
    c->number = ++c->fixture->answers;
}

static void open_client(struct fixture *f, struct client *c, struct str setup)
{
    static const char *const env[] = { "GIVEN=1", NULL };
    struct session_config config = {
        .loop = &f->loop,
        .worker = { .path = TEST_WORKER, .env = env },
        .setup = setup,
        .timeout_ms = 20000,
        .max_reply = 1 << 20,
        .shells = &f->shells,
    };
    *c = (struct client){ .fixture = f, .session = session_create(&config) };
}

static void open_clients(struct fixture *f, size_t count, unsigned most, unsigned waiting)
{
    *f = (struct fixture){ .count = count };
    uv_loop_init(&f->loop);
    uv_timer_init(&f->loop, &f->timer);
    f->shells = (struct shells){
        .places = places_create(most, waiting), .save_ms = 300, .max_states = 1 << 20
    };
    for (size_t i = 0; i < count; i++)
        open_client(f, &f->clients[i], STR("{}"));
}

static void close_client(struct client *c)
{
    session_destroy(TAKE(c->session));
}

static void close_clients(struct fixture *f)
{
    for (size_t i = 0; i < f->count; i++)
        close_client(&f->clients[i]);
    assert_int_equal(f->shells.states, 0);
    places_destroy(f->shells.places);
    uv_close((uv_handle_t *)&f->timer, NULL);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
}

static struct session_call *call(struct client *c, const char *command)
{
    auto_buf args = BUF(4096);
    struct session_call *out;
    struct error err;
    buf_addf(&args, "{\"command\":\"%s\"}", command);
    assert_true(
            session_call(c->session, STR("run"), buf_str(&args), on_done, c, &out, &err));
    return out;
}

static const char *ask(struct client *c, const char *command)
{
    unsigned before = c->answers;
    call(c, command);
    while (c->answers == before)
        uv_run(&c->fixture->loop, UV_RUN_ONCE);
    return c->text;
}

static void nothing(uv_timer_t *timer UNUSED)
{
}

/* Until no place is taken by anybody. */
static void wait_for_sleep(struct fixture *f)
{
    while (places_taken(f->shells.places))
        uv_run(&f->loop, UV_RUN_ONCE);
}

static void turn_for(struct fixture *f, unsigned ms)
{
    uint64_t end = uv_hrtime() + (uint64_t)ms * 1000000;
    uv_timer_start(&f->timer, nothing, 1, 1);
    while (uv_hrtime() < end)
        uv_run(&f->loop, UV_RUN_ONCE);
    uv_timer_stop(&f->timer);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

/* Twenty shells, one place: in turn, and all at once. */
static void test_one_place(void **state UNUSED)
{
    struct fixture f;
    char command[64];
    open_clients(&f, 20, 1, 100);
    for (size_t i = 0; i < f.count; i++) {
        snprintf(command, sizeof(command), "set text %zu", i);
        ask(&f.clients[i], command);
        assert_int_equal(places_taken(f.shells.places), 1);
    }
    for (size_t i = 0; i < f.count; i++) {
        snprintf(command, sizeof(command), "text %zu", i);
        assert_string_equal(ask(&f.clients[i], "get"), command);
    }
    unsigned before = f.answers;
    for (size_t i = 0; i < f.count; i++)
        call(&f.clients[i], "get");
    while (f.answers < before + f.count) {
        assert_true(places_taken(f.shells.places) <= 1);
        uv_run(&f.loop, UV_RUN_ONCE);
    }
    for (size_t i = 0; i < f.count; i++) {
        snprintf(command, sizeof(command), "text %zu", i);
        assert_string_equal(f.clients[i].text, command);
        assert_int_equal(f.clients[i].number, before + 1 + i);
    }
    assert_true(f.shells.states > 0);
    close_clients(&f);
}

/* A client with many calls does not keep the place while others wait. */
static void test_fair(void **state UNUSED)
{
    struct fixture f;
    open_clients(&f, 2, 1, 100);
    call(&f.clients[0], "set mine");
    for (size_t i = 0; i < 20; i++)
        call(&f.clients[0], "sleep 100");
    while (!f.answers)
        uv_run(&f.loop, UV_RUN_ONCE);
    ask(&f.clients[1], "set other");
    assert_true(f.clients[0].answers >= 2 && f.clients[0].answers <= 10);
    while (f.clients[0].answers < 21)
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_string_equal(ask(&f.clients[0], "get"), "mine");
    assert_string_equal(ask(&f.clients[1], "get"), "other");
    close_clients(&f);
}

static void test_by_itself(void **state UNUSED)
{
    struct fixture f;
    open_clients(&f, 3, 8, 8);
    f.shells.idle_ms = 50;
    call(&f.clients[0], "set first");
    call(&f.clients[1], "set second");
    session_warm(f.clients[2].session); /* has run nothing: there is nothing to save */
    wait_for_sleep(&f);
    assert_int_equal(f.answers, 2);
    size_t states = f.shells.states;
    assert_int_equal(states, strlen("{\"kept\":\"first\"}{\"kept\":\"second\"}"));
    assert_string_equal(ask(&f.clients[1], "get"), "second");
    assert_true(f.shells.states < states); /* it is the worker's again */
    assert_string_equal(ask(&f.clients[2], "get"), "nothing");
    close_client(&f.clients[0]); /* asleep */
    close_clients(&f);
}

/* What cannot be saved stays, and keeps its place; those who wait for it are told. */
static void test_stays(void **state UNUSED)
{
    struct fixture f;
    struct session_call *out;
    struct error err;
    open_clients(&f, 3, 1, 8);
    f.shells.idle_ms = 30;
    ask(&f.clients[0], "set no-save");
    char pid[512];
    snprintf(pid, sizeof(pid), "%s", ask(&f.clients[0], "pid"));
    ask(&f.clients[1], "get");
    assert_true(f.clients[1].is_error);
    assert_has(f.clients[1].text, "no worker is free");
    assert_false(session_has_room(f.clients[2].session));
    assert_false(session_call(f.clients[2].session, STR("run"), STR("{}"), on_done,
            &f.clients[2], &out, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_string_equal(ask(&f.clients[0], "pid"), pid);
    assert_string_equal(ask(&f.clients[0], "set free"), "free");
    assert_string_equal(ask(&f.clients[1], "get"), "nothing"); /* it can be saved now */
    assert_string_equal(ask(&f.clients[0], "get"), "free");
    close_clients(&f);
}

static void test_stays_with_many_calls(void **state UNUSED)
{
    struct fixture f;
    open_clients(&f, 2, 1, 8);
    call(&f.clients[0], "set no-save");
    for (size_t i = 0; i < 4; i++)
        call(&f.clients[0], "sleep 200");
    call(&f.clients[0], "set free");
    call(&f.clients[1], "get"); /* waits, and is not refused: the other one works */
    while (f.answers < 7)
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_string_equal(f.clients[1].text, "nothing");
    assert_int_equal(f.clients[1].number, 7);
    assert_string_equal(ask(&f.clients[0], "get"), "free");
    close_clients(&f);
}

static void test_memory(void **state UNUSED)
{
    struct fixture f;
    open_clients(&f, 3, 1, 8);
    f.shells.max_states = strlen("{\"kept\":\"first\"}") + 3;
    ask(&f.clients[0], "set first");
    ask(&f.clients[1], "set second");
    ask(&f.clients[2], "get");
    assert_true(f.clients[2].is_error); /* no room for the second */
    close_client(&f.clients[0]);
    assert_string_equal(ask(&f.clients[1], "get"), "second");
    assert_string_equal(ask(&f.clients[2], "get"), "nothing");
    close_clients(&f);
}

/* Whatever happens while it is saved or loaded: it is lost, that is said once, and the
 * others go on. */
static void test_accidents(void **state UNUSED)
{
    static const struct {
        const char *text, *note;
    } cases[] = {
        { "die-save", "[paddock: the shell was restarted;" },
        { "hang-save", "[paddock: the shell was restarted;" },
        { "no-load", "[paddock: the shell had been put to sleep, and could not be" },
        { "die-load", "[paddock: the shell had been put to sleep, and could not be" },
        { "hang-load", "[paddock: the shell had been put to sleep, and could not be" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        char command[64];
        open_clients(&f, 2, 1, 8);
        snprintf(command, sizeof(command), "set %s", cases[i].text);
        ask(&f.clients[0], command);
        assert_string_equal(ask(&f.clients[1], "get"), "nothing");
        assert_has(ask(&f.clients[0], "get"), cases[i].note);
        assert_has(f.clients[0].text, "were reset]\nnothing");
        assert_false(f.clients[0].is_error);
        assert_string_equal(ask(&f.clients[0], "get"), "nothing");
        close_clients(&f);
    }
}

/* A worker that dies before it has run anything costs nothing: what was saved is there.
 */
static void test_death_of_an_unused(void **state UNUSED)
{
    struct fixture f;
    open_clients(&f, 1, 1, 8);
    f.shells.idle_ms = 30;
    ask(&f.clients[0], "set text");
    wait_for_sleep(&f);
    f.shells.idle_ms = 0;
    session_warm(f.clients[0].session);
    turn_for(&f, 100);
    assert_int_equal(places_taken(f.shells.places), 1);
    assert_true(f.shells.states > 0);
    f.shells.idle_ms = 30;
    assert_string_equal(ask(&f.clients[0], "get"), "text");
    wait_for_sleep(&f);
    assert_string_equal(ask(&f.clients[0], "get"), "text");
    close_clients(&f);
}

static void test_cancel(void **state UNUSED)
{
    struct fixture f;
    open_clients(&f, 4, 1, 2);
    call(&f.clients[0], "sleep 300");
    struct session_call *first = call(&f.clients[1], "get");
    struct session_call *second = call(&f.clients[1], "get");
    call(&f.clients[2], "get");
    assert_true(session_waits(f.clients[1].session));
    assert_false(session_has_room(f.clients[3].session));
    session_cancel(f.clients[1].session, first);
    assert_true(session_waits(f.clients[1].session));
    session_cancel(f.clients[1].session, second);
    assert_false(session_waits(f.clients[1].session));
    assert_true(session_has_room(f.clients[3].session));
    close_client(&f.clients[0]); /* while another one waits for it */
    while (f.answers < 1)
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_string_equal(f.clients[2].text, "nothing");
    close_client(&f.clients[2]);
    assert_int_equal(places_taken(f.shells.places), 0);
    assert_string_equal(ask(&f.clients[3], "get"), "nothing");
    close_clients(&f);
}

/* It ends while it is saved, and while it starts to load; calls that come meanwhile. */
static void test_between(void **state UNUSED)
{
    struct fixture f;
    open_clients(&f, 3, 1, 8);
    ask(&f.clients[0], "set hang-save");
    call(&f.clients[1], "get");
    turn_for(&f, 50);
    close_client(&f.clients[0]); /* it hangs in there */
    while (f.answers < 2)
        uv_run(&f.loop, UV_RUN_ONCE);
    ask(&f.clients[1], "set text");
    call(&f.clients[2], "get");
    call(&f.clients[1], "get"); /* it is being saved, and stands in line again */
    while (f.answers < 5)
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_true(f.clients[2].number < f.clients[1].number);
    assert_string_equal(f.clients[1].text, "text");
    call(&f.clients[2], "get");
    struct session_call *late = call(&f.clients[1], "get");
    session_cancel(f.clients[1].session, late);
    while (f.answers < 6)
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_string_equal(f.clients[2].text, "nothing");
    assert_string_equal(ask(&f.clients[1], "get"), "text");
    close_clients(&f);
}

/* No worker can be started: who sleeps has lost nothing by that. */
static void test_no_worker(void **state UNUSED)
{
    struct fixture f;
    open_clients(&f, 2, 1, 8);
    close_client(&f.clients[1]);
    open_client(&f, &f.clients[1], STR("{\"test-start-fails\":1}"));
    ask(&f.clients[0], "set text");
    ask(&f.clients[1], "get");
    assert_true(f.clients[1].is_error);
    assert_has(f.clients[1].text, "could not start");
    assert_string_equal(ask(&f.clients[0], "get"), "text");
    close_clients(&f);
}

/* A call that comes while it goes to sleep by itself finds the same worker. */
static void test_changed_mind(void **state UNUSED)
{
    struct fixture f;
    char pid[512];
    open_clients(&f, 2, 1, 8);
    struct client *c = &f.clients[0];
    f.shells.idle_ms = 1;
    ask(c, "set slow-save");
    snprintf(pid, sizeof(pid), "%s", ask(c, "pid"));
    turn_for(&f, 50);
    assert_string_equal(ask(c, "pid"), pid); /* nobody needs its place */
    turn_for(&f, 50);
    call(&f.clients[1], "get");
    assert_string_not_equal(ask(c, "pid"), pid);
    assert_true(c->number > f.clients[1].number);
    assert_string_equal(ask(c, "get"), "slow-save");
    close_clients(&f);
}

/* Its call is cancelled, or it ends, while it wakes up. */
static void test_waking(void **state UNUSED)
{
    struct fixture f;
    open_clients(&f, 2, 1, 8);
    f.shells.idle_ms = 1;
    for (size_t i = 0; i < 2; i++)
        ask(&f.clients[i], "set slow-load");
    wait_for_sleep(&f);
    struct session_call *early = call(&f.clients[0], "set other");
    turn_for(&f, 50);
    session_cancel(f.clients[0].session, early);
    wait_for_sleep(&f);
    assert_string_equal(ask(&f.clients[0], "get"), "slow-load");
    wait_for_sleep(&f);
    call(&f.clients[1], "get");
    turn_for(&f, 50);
    close_client(&f.clients[1]);
    assert_int_equal(places_taken(f.shells.places), 0);
    assert_string_equal(ask(&f.clients[0], "get"), "slow-load");
    close_clients(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_place),
        cmocka_unit_test(test_fair),
        cmocka_unit_test(test_by_itself),
        cmocka_unit_test(test_stays),
        cmocka_unit_test(test_stays_with_many_calls),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_accidents),
        cmocka_unit_test(test_death_of_an_unused),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_between),
        cmocka_unit_test(test_no_worker),
        cmocka_unit_test(test_changed_mind),
        cmocka_unit_test(test_waking),
    };
    signal(SIGPIPE, SIG_IGN); /* as the server does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
