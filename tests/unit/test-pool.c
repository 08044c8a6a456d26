#include "session/pool.h"

#include "unit.h"

#include <stdio.h>
#include <unistd.h>

#define MAX_CALLS 16

struct fixture;

/* One call and its answer. */
struct slot {
    struct fixture *fixture;
    struct pool_call *call;
    bool answered, is_error;
    char text[256];
};

/* A pool over the worker of test-worker.c. */
struct fixture {
    uv_loop_t loop;
    struct pool *pool;
    const char *env[1];
    struct slot slots[MAX_CALLS];
    size_t calls, answers;
};

static void on_done(void *user, bool is_error, struct str text, struct str notes UNUSED)
{
    struct slot *slot = user;
    assert_false(slot->answered);
    slot->answered = true;
    slot->is_error = is_error;
    snprintf(slot->text, sizeof(slot->text), "%.*s", STR_ARG(text));
    slot->fixture->answers++;
}

static void open_pool(struct fixture *f, const char *worker)
{
    *f = (struct fixture){ .env = { NULL } };
    uv_loop_init(&f->loop);
    struct session_config config = {
        .loop = &f->loop,
        .worker = { .path = worker, .env = f->env },
        .setup = STR("{}"),
        .timeout_ms = 5000,
        .max_reply = 1 << 20,
    };
    f->pool = pool_create(&config, 50);
}

static void close_pool(struct fixture *f)
{
    pool_destroy(f->pool);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
}

static struct slot *call(struct fixture *f, const char *command)
{
    auto_buf args = BUF(4096);
    struct error err;
    struct slot *slot = &f->slots[f->calls++];
    *slot = (struct slot){ .fixture = f };
    buf_addf(&args, "{\"command\":\"%s\"}", command);
    assert_true(pool_call(
            f->pool, STR("run"), buf_str(&args), on_done, slot, &slot->call, &err));
    return slot;
}

static void wait_for(struct fixture *f, size_t answers)
{
    while (f->answers < answers)
        uv_run(&f->loop, UV_RUN_ONCE);
}

static void test_one_worker_for_one_call_at_a_time(void **state UNUSED)
{
    struct fixture f;
    open_pool(&f, TEST_WORKER);
    pool_warm(f.pool);
    for (size_t i = 1; i <= 3; i++) {
        call(&f, "pid");
        wait_for(&f, i);
        uv_run(&f.loop, UV_RUN_NOWAIT);
    }
    assert_int_equal(pool_size(f.pool), 1);
    assert_string_equal(f.slots[0].text, f.slots[1].text);
    assert_string_equal(f.slots[0].text, f.slots[2].text);
    close_pool(&f);
}

/* A call that hangs keeps none of the others waiting. */
static void test_side_by_side(void **state UNUSED)
{
    struct fixture f;
    open_pool(&f, TEST_WORKER);
    struct slot *stuck = call(&f, "hang");
    for (size_t i = 0; i < 8; i++)
        call(&f, "echo a");
    wait_for(&f, 8);
    assert_false(stuck->answered);
    assert_int_equal(pool_size(f.pool), POOL_MAX);
    for (size_t i = 1; i <= 8; i++)
        assert_string_equal(f.slots[i].text, "a");
    close_pool(&f);
}

static void test_waiting_call_gets_the_next_free_worker(void **state UNUSED)
{
    struct fixture f;
    open_pool(&f, TEST_WORKER);
    for (size_t i = 0; i < POOL_MAX - 1; i++)
        call(&f, "hang");
    call(&f, "sleep 20");
    struct slot *waiting = call(&f, "echo late");
    wait_for(&f, 2);
    assert_string_equal(waiting->text, "late");
    assert_int_equal(pool_size(f.pool), POOL_MAX);
    close_pool(&f);
}

/* A worker that dies costs its call, and nothing is said about lost state. */
static void test_death(void **state UNUSED)
{
    struct fixture f;
    open_pool(&f, TEST_WORKER);
    struct slot *dead = call(&f, "kill 11");
    wait_for(&f, 1);
    struct slot *next = call(&f, "echo next");
    wait_for(&f, 2);
    assert_true(dead->is_error);
    assert_non_null(strstr(dead->text, "killed by signal SEGV"));
    assert_null(strstr(dead->text, "working directory"));
    assert_string_equal(next->text, "next");
    close_pool(&f);
}

static void test_cancel(void **state UNUSED)
{
    struct fixture f;
    open_pool(&f, TEST_WORKER);
    struct slot *running[POOL_MAX];
    for (size_t i = 0; i < POOL_MAX; i++)
        running[i] = call(&f, "sleep 60000");
    struct slot *waiting = call(&f, "die 1");
    struct slot *kept = call(&f, "echo kept");
    for (int i = 0; i < 10; i++)
        uv_run(&f.loop, UV_RUN_NOWAIT), usleep(2000);
    pool_cancel(f.pool, waiting->call);
    pool_cancel(f.pool, running[2]->call);
    wait_for(&f, 1);
    assert_string_equal(kept->text, "kept");
    assert_false(waiting->answered || running[2]->answered);
    close_pool(&f);
}

/* Cancelled before its worker has even begun: the place is free for who waits. */
static void test_cancel_at_once(void **state UNUSED)
{
    struct fixture f;
    open_pool(&f, TEST_WORKER);
    struct slot *early[POOL_MAX];
    for (size_t i = 0; i < POOL_MAX; i++)
        early[i] = call(&f, "hang");
    struct slot *kept = call(&f, "echo kept");
    pool_cancel(f.pool, early[1]->call);
    wait_for(&f, 1);
    assert_string_equal(kept->text, "kept");
    close_pool(&f);
}

static void test_surplus_ends(void **state UNUSED)
{
    struct fixture f;
    open_pool(&f, TEST_WORKER);
    call(&f, "sleep 30");
    call(&f, "sleep 30");
    call(&f, "sleep 30");
    wait_for(&f, 3);
    assert_int_equal(pool_size(f.pool), 3);
    while (pool_size(f.pool) > 1)
        uv_run(&f.loop, UV_RUN_ONCE);
    struct slot *after = call(&f, "echo after");
    wait_for(&f, 4);
    assert_string_equal(after->text, "after");
    close_pool(&f);
}

static void test_no_worker(void **state UNUSED)
{
    struct fixture f;
    open_pool(&f, "/nonexistent/worker");
    pool_warm(f.pool);
    for (size_t i = 0; i < 6; i++)
        call(&f, "echo a");
    wait_for(&f, 6);
    for (size_t i = 0; i < 6; i++)
        assert_true(f.slots[i].is_error);
    close_pool(&f);
}

static void test_too_many(void **state UNUSED)
{
    struct fixture f;
    struct slot slot = { .fixture = &f };
    struct error err;
    open_pool(&f, TEST_WORKER);
    for (size_t i = 0; i < POOL_MAX + SESSION_MAX_CALLS; i++)
        assert_true(pool_call(f.pool, STR("run"), STR("{\"command\":\"hang\"}"), on_done,
                &slot, &slot.call, &err));
    assert_false(
            pool_call(f.pool, STR("run"), STR("{}"), on_done, &slot, &slot.call, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    close_pool(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_worker_for_one_call_at_a_time),
        cmocka_unit_test(test_side_by_side),
        cmocka_unit_test(test_waiting_call_gets_the_next_free_worker),
        cmocka_unit_test(test_death),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_at_once),
        cmocka_unit_test(test_surplus_ends),
        cmocka_unit_test(test_no_worker),
        cmocka_unit_test(test_too_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
