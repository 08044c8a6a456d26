#include "transport/http-sessions.h"

#include "unit.h"

#define MANY 3000

static struct http_session *add(struct http_sessions *t, uint64_t now)
{
    const struct http_client client = { .own = t };
    char id[HTTP_SESSION_DIGITS + 1];
    struct error err;
    assert_true(http_sessions_make_id(id, &err));
    assert_true(http_sessions_is_id(str_of(id)));
    return http_sessions_add(t, HTTP_BY_HEADER, id, &client, now);
}

static void remove_one(struct http_sessions *t, struct http_session *s)
{
    assert_ptr_equal(http_sessions_remove(t, s).own, t);
}

static void test_ids(void **state UNUSED)
{
    struct http_sessions *t = xcalloc(1, sizeof(*t));
    struct http_session **all = xcalloc(MANY, sizeof(struct http_session *));
    for (size_t i = 0; i < MANY; i++) {
        all[i] = add(t, i);
        assert_int_equal(strlen(all[i]->id), HTTP_SESSION_DIGITS);
    }
    for (size_t i = 0; i < MANY; i++)
        assert_ptr_equal(
                http_sessions_find(t, HTTP_BY_HEADER, str_of(all[i]->id)), all[i]);
    assert_null(http_sessions_find(t, HTTP_BY_HEADER, STR("")));
    assert_null(
            http_sessions_find(t, HTTP_BY_HEADER, str_sub(str_of(all[0]->id), 0, 31)));
    char id[HTTP_SESSION_DIGITS + 1];
    memcpy(id, all[7]->id, sizeof(id));
    remove_one(t, all[7]);
    assert_null(http_sessions_find(t, HTTP_BY_HEADER, str_of(id)));
    assert_int_equal(t->count, MANY - 1);
    while (t->oldest)
        remove_one(t, t->oldest);
    assert_null(t->newest);
    assert_int_equal(t->count, 0);
    free(all);
    free(t);
}

static void test_use(void **state UNUSED)
{
    struct http_sessions *t = xcalloc(1, sizeof(*t));
    struct http_session *a = add(t, 10), *b = add(t, 20), *c = add(t, 30);
    assert_null(http_sessions_expired(t, 10));
    assert_ptr_equal(http_sessions_expired(t, 11), a);
    a->running = 1;
    assert_null(http_sessions_expired(t, 20));
    assert_ptr_equal(http_sessions_expired(t, 21), b);
    http_sessions_touch(t, b, 40);
    assert_ptr_equal(http_sessions_expired(t, 100), c);
    a->running = 0;
    assert_ptr_equal(http_sessions_dispensable(t), a);
    a->has_worked = true;
    assert_ptr_equal(http_sessions_dispensable(t), c);
    c->running = 1;
    assert_ptr_equal(http_sessions_dispensable(t), b);
    http_sessions_touch(t, a, 50);
    remove_one(t, b);
    remove_one(t, a);
    assert_ptr_equal(t->oldest, c);
    assert_ptr_equal(t->newest, c);
    remove_one(t, c);
    free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
