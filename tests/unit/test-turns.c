#include "session/turns.h"

#include "unit.h"

#include <stdlib.h>

#define MAX_CALLS 6000

struct fixture;

struct call {
    struct fixture *fixture;
    struct turn turn;
};

struct fixture {
    uv_loop_t loop;
    struct turns *turns;
    struct call calls[MAX_CALLS];
    size_t count;
    const struct call *granted[MAX_CALLS]; /* in this order */
    size_t grants;
};

static void on_granted(void *user)
{
    struct call *c = user;
    assert_int_equal(c->turn.state, TURN_WORKING);
    c->fixture->granted[c->fixture->grants++] = c;
}

static struct fixture *open_turns(bool shared)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    uv_loop_init(&f->loop);
    const struct turns_config config = { .loop = &f->loop,
        .places = { [TURN_POOL] = 4, [TURN_COMMAND] = 16, 16, 16 },
        .shared = shared };
    f->turns = turns_create(&config);
    return f;
}

static void close_turns(struct fixture *f)
{
    turns_destroy(f->turns);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    free(f);
}

static struct turns_client *join(struct fixture *f, const char *address)
{
    return turns_join(f->turns, str_of(address), true);
}

static bool try(struct fixture *f, struct turns_client *client, enum turn_kind kind,
        size_t bytes, struct error *err)
{
    struct call *c = &f->calls[f->count];
    c->fixture = f;
    bool room = turns_has_room(client, kind, bytes, err);
    bool taken = turns_take(client, kind, bytes, on_granted, c, &c->turn, err);
    assert_int_equal(taken, room);
    f->count += taken;
    return taken;
}

static struct call *take(
        struct fixture *f, struct turns_client *client, enum turn_kind kind)
{
    struct error err;
    assert_true(try(f, client, kind, 1, &err));
    return &f->calls[f->count - 1];
}

/* How many of `n` calls begin at once. */
static unsigned take_many(
        struct fixture *f, struct turns_client *client, enum turn_kind kind, unsigned n)
{
    unsigned working = 0;
    while (n--)
        working += take(f, client, kind)->turn.state == TURN_WORKING;
    return working;
}

static void turn_loop(struct fixture *f)
{
    uv_run(&f->loop, UV_RUN_NOWAIT);
}

static void end_all(struct fixture *f)
{
    for (size_t i = 0; i < f->count; i++)
        turns_end(&f->calls[i].turn);
    turn_loop(f);
    for (enum turn_kind kind = 0; kind < TURN_KINDS; kind++)
        assert_int_equal(
                turns_working(f->turns, kind) + turns_waiting(f->turns, kind), 0);
}

static void test_one_client_has_all(void **state UNUSED)
{
    struct fixture *f = open_turns(false);
    struct turns_client *a = join(f, "");
    assert_int_equal(take_many(f, a, TURN_POOL, 10), 4);
    assert_int_equal(take_many(f, a, TURN_COMMAND, 20), 16);
    assert_int_equal(turns_waiting(f->turns, TURN_POOL), 6);
    turns_end(&f->calls[2].turn);
    assert_int_equal(f->grants, 0); /* from the loop, and no sooner */
    turn_loop(f);
    assert_int_equal(f->grants, 1);
    assert_ptr_equal(f->granted[0], &f->calls[4]);
    turns_end(&f->calls[5].turn); /* it waited */
    turns_end(&f->calls[0].turn);
    turns_end(&f->calls[0].turn); /* no harm is done by a second time */
    turn_loop(f);
    assert_int_equal(f->grants, 2);
    assert_ptr_equal(f->granted[1], &f->calls[6]);
    end_all(f);
    turns_leave(a);
    close_turns(f);
}

/* A greedy client leaves room for the next, and that for one more. */
static void test_shares(void **state UNUSED)
{
    struct fixture *f = open_turns(true);
    struct turns_client *all[] = { join(f, "x"), join(f, "x"), join(f, "y"),
        join(f, "z") };
    static const unsigned of_16[] = { 12, 3, 1, 0 }, of_4[] = { 3, 1, 0, 0 };
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(take_many(f, all[i], TURN_COMMAND, 100), of_16[i]);
        assert_int_equal(take_many(f, all[i], TURN_POOL, 100), of_4[i]);
    }
    end_all(f);
    assert_int_equal(f->grants, 0);
    for (size_t i = 0; i < 4; i++)
        turns_leave(all[i]);
    close_turns(f);
}

/* Who comes with one call waits for one place, and not for the calls of others. */
static void test_newcomer_is_next(void **state UNUSED)
{
    struct fixture *f = open_turns(true);
    struct turns_client *a = join(f, "x"), *b = join(f, "x"), *c = join(f, "x");
    take_many(f, a, TURN_POOL, 100);
    take_many(f, b, TURN_POOL, 100);
    struct call *late = take(f, c, TURN_POOL);
    assert_int_equal(late->turn.state, TURN_WAITING);
    turns_end(&f->calls[0].turn); /* of a; who waits has two places or one: only c may */
    turn_loop(f);
    assert_int_equal(f->grants, 1);
    assert_ptr_equal(f->granted[0], late);
    turns_end(&late->turn);
    turns_end(&f->calls[100].turn); /* the one of b, who has none now */
    turn_loop(f);
    assert_int_equal(f->grants, 3); /* b may take it, and a one more */
    assert_ptr_equal(f->granted[1], &f->calls[3]);
    assert_ptr_equal(f->granted[2], &f->calls[101]);
    end_all(f);
    turns_leave(a);
    turns_leave(b);
    turns_leave(c);
    close_turns(f);
}

/* A hundred sessions of one address have its share. */
static void test_addresses_come_first(void **state UNUSED)
{
    struct fixture *f = open_turns(true);
    struct turns_client *many[100], *one = join(f, "y");
    for (size_t i = 0; i < 100; i++) {
        many[i] = join(f, "x");
        take_many(f, many[i], TURN_POOL, 2);
    }
    struct call *first = take(f, one, TURN_POOL), *second = take(f, one, TURN_POOL);
    turns_end(&f->calls[0].turn);
    turns_end(&f->calls[2].turn);
    turns_end(&f->calls[4].turn);
    turn_loop(f);
    assert_int_equal(f->grants, 3);
    assert_ptr_equal(f->granted[1], first);
    turns_end(&first->turn);
    turn_loop(f);
    assert_int_equal(f->grants, 4);
    turns_end(&f->calls[6].turn);
    turn_loop(f);
    assert_ptr_equal(f->granted[3], second);
    end_all(f);
    for (size_t i = 0; i < 100; i++)
        turns_leave(many[i]);
    turns_leave(one);
    close_turns(f);
}

/* Without a line of one's own, all of an address are one. */
static void test_common_line(void **state UNUSED)
{
    struct fixture *f = open_turns(true);
    struct turns_client *a = turns_join(f->turns, STR("x"), false),
                        *b = turns_join(f->turns, STR("x"), false),
                        *c = turns_join(f->turns, STR("y"), false);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_int_equal(take_many(f, a, TURN_POOL, 2), 2);
    assert_int_equal(take_many(f, b, TURN_POOL, 2), 1);
    turns_leave(b);
    assert_int_equal(take_many(f, c, TURN_POOL, 1), 1);
    end_all(f);
    turns_leave(a);
    turns_leave(c);
    close_turns(f);
}

/* A place that was given back is not taken by who comes before the loop turns. */
static void test_nobody_jumps_the_line(void **state UNUSED)
{
    struct fixture *f = open_turns(true);
    struct turns_client *a = join(f, "x"), *b = join(f, "y");
    take_many(f, a, TURN_POOL, 3);
    take_many(f, b, TURN_POOL, 1);
    struct turns_client *c = join(f, "z"), *d = join(f, "z");
    struct call *first = take(f, c, TURN_POOL);
    turns_end(&f->calls[0].turn);
    struct call *second = take(f, d, TURN_POOL);
    assert_int_equal(second->turn.state, TURN_WAITING);
    turn_loop(f);
    assert_int_equal(f->grants, 1);
    assert_ptr_equal(f->granted[0], first);
    turns_end(&second->turn);
    turns_end(&first->turn); /* nobody waits: the next one is not kept waiting */
    assert_int_equal(take(f, d, TURN_POOL)->turn.state, TURN_WORKING);
    end_all(f);
    turns_leave(a);
    turns_leave(b);
    turns_leave(c);
    turns_leave(d);
    close_turns(f);
}

static void assert_full(
        struct fixture *f, struct turns_client *client, size_t bytes, const char *says)
{
    struct error err;
    size_t count = f->count;
    unsigned waiting = turns_waiting(f->turns, TURN_POOL);
    assert_false(try(f, client, TURN_POOL, bytes, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    assert_non_null(strstr(err.message, says));
    assert_int_equal(f->count, count);
    assert_int_equal(turns_waiting(f->turns, TURN_POOL), waiting);
    assert_int_equal(f->calls[count].turn.state, TURN_NONE);
}

static void test_limits(void **state UNUSED)
{
    struct fixture *f = open_turns(true);
    struct error err;
    struct turns_client *all[6];
    for (size_t i = 0; i < 6; i++)
        all[i] = join(f, "x");
    assert_true(try(f, all[0], TURN_POOL, TURNS_MAX_BYTES + 1, &err)); /* at once */
    take_many(f, all[0], TURN_POOL, 2);
    assert_true(try(f, all[0], TURN_POOL, 1000, &err));
    assert_full(f, all[0], TURNS_MAX_BYTES - 999, "of this client");
    take_many(f, all[0], TURN_POOL, TURNS_MAX_OF_CLIENT - 1);
    assert_full(f, all[0], 1, "of this client");
    take(f, all[0], TURN_COMMAND);
    take_many(f, all[1], TURN_POOL, 1 + TURNS_MAX_OF_CLIENT);
    take_many(f, all[2], TURN_POOL, TURNS_MAX_OF_CLIENT);
    take_many(f, all[3], TURN_POOL, TURNS_MAX_OF_CLIENT - 1);
    assert_int_equal(turns_waiting(f->turns, TURN_POOL), TURNS_MAX_WAITING - 1);
    take_many(f, all[4], TURN_POOL, 1);
    assert_full(f, all[4], 1, "of all clients");
    assert_full(f, all[3], 1, "of all clients");
    take_many(f, all[5], TURN_POOL, 1); /* the first one of each finds room */
    assert_full(f, all[5], 1, "of all clients");
    end_all(f);
    for (size_t i = 0; i < 6; i++)
        turns_leave(all[i]);
    close_turns(f);
}

/* Clients at random, against what turns.h promises. */

#define CLIENTS 12
#define HOSTS   4
#define PLACES  4

struct model_call {
    struct model *model;
    struct turn turn;
    unsigned client, number;
};

struct model {
    uv_loop_t loop;
    struct turns *turns;
    struct turns_client *clients[CLIENTS];
    struct model_call *calls[CLIENTS][64];
    unsigned counts[CLIENTS], working[CLIENTS];
    unsigned next_number[CLIENTS], next_grant[CLIENTS];
    /* Since the client's first call waits while it has no place: */
    unsigned of_client[CLIENTS][CLIENTS], of_host[CLIENTS][HOSTS];
    unsigned seed, granted;
};

static unsigned host_of(unsigned client)
{
    return client % HOSTS;
}

static unsigned pick(struct model *m, unsigned below)
{
    m->seed = m->seed * 1103515245u + 12345u;
    return (m->seed >> 16) % below;
}

static bool has_waiting(const struct model *m, unsigned client)
{
    for (unsigned i = 0; i < m->counts[client]; i++)
        if (m->calls[client][i]->turn.state == TURN_WAITING)
            return true;
    return false;
}

static void forget_wait(struct model *m, unsigned client)
{
    memset(m->of_client[client], 0, sizeof(m->of_client[client]));
    memset(m->of_host[client], 0, sizeof(m->of_host[client]));
}

/* Of nobody it sees two calls pass by, of its own address or of an address. */
static void count_for(struct model *m, unsigned one, unsigned granted)
{
    unsigned host = host_of(granted);
    if (host == host_of(one)) {
        assert_true(++m->of_client[one][granted] <= 1);
        memset(m->of_host[one], 0, sizeof(m->of_host[one]));
    } else {
        assert_true(++m->of_host[one][host] <= 1);
    }
}

static void on_model_granted(void *user)
{
    struct model_call *c = user;
    struct model *m = c->model;
    assert_true(c->number >= m->next_grant[c->client]); /* in the order they came */
    m->next_grant[c->client] = c->number + 1;
    m->working[c->client]++;
    m->granted++;
    forget_wait(m, c->client);
    for (unsigned i = 0; i < CLIENTS; i++)
        if (i != c->client && !m->working[i] && has_waiting(m, i))
            count_for(m, i, c->client);
}

static void take_one(struct model *m, unsigned client)
{
    struct error err;
    if (m->counts[client] == ARRAY_LEN(m->calls[client]))
        return;
    if (!m->clients[client]) {
        char address[] = { 'h', (char)('0' + host_of(client)), '\0' };
        m->clients[client] = turns_join(m->turns, str_of(address), true);
    }
    if (!has_waiting(m, client))
        forget_wait(m, client);
    struct model_call *c = xcalloc(1, sizeof(*c));
    c->model = m;
    c->client = client;
    c->number = m->next_number[client]++;
    assert_true(turns_take(
            m->clients[client], TURN_SNIPPET, 1, on_model_granted, c, &c->turn, &err));
    if (c->turn.state == TURN_WORKING) {
        assert_false(has_waiting(m, client));
        m->next_grant[client] = c->number + 1;
        m->working[client]++;
    }
    m->calls[client][m->counts[client]++] = c;
}

static void end_one(struct model *m, unsigned client)
{
    if (!m->counts[client])
        return;
    /* More often one that works. */
    unsigned i = pick(m, 4) ? 0 : pick(m, m->counts[client]);
    struct model_call *c = m->calls[client][i];
    m->working[client] -= c->turn.state == TURN_WORKING;
    forget_wait(m, client); /* another call may be the first now */
    turns_end(&c->turn);
    free(c);
    memmove(&m->calls[client][i], &m->calls[client][i + 1],
            (--m->counts[client] - i) * sizeof(c));
    if (!m->counts[client])
        turns_leave(TAKE(m->clients[client]));
}

/* Nobody waits that may have a place. */
static void check_work(struct model *m)
{
    unsigned working = 0, waiting = 0;
    for (unsigned i = 0; i < CLIENTS; i++) {
        working += m->working[i];
        waiting += m->counts[i] - m->working[i];
    }
    assert_int_equal(working, turns_working(m->turns, TURN_SNIPPET));
    assert_int_equal(waiting, turns_waiting(m->turns, TURN_SNIPPET));
    assert_true(working <= PLACES);
    for (unsigned i = 0; i < CLIENTS; i++)
        if (has_waiting(m, i))
            assert_true(working == PLACES ||
                        (m->working[i] &&
                                m->working[i] + 1 > TURN_SHARE * (PLACES - working - 1)));
}

static unsigned run_model(unsigned seed)
{
    struct model *m = xcalloc(1, sizeof(*m));
    m->seed = seed;
    uv_loop_init(&m->loop);
    m->turns = turns_create(&(struct turns_config){
            .loop = &m->loop, .places = { 1, 1, PLACES, 1 }, .shared = true });
    for (unsigned step = 0; step < 4000; step++) {
        unsigned client = pick(m, 3) ? pick(m, CLIENTS) : 0; /* one is greedy */
        if (pick(m, 5) < 3)
            take_one(m, client);
        else
            end_one(m, client);
        if (pick(m, 2)) {
            uv_run(&m->loop, UV_RUN_NOWAIT);
            check_work(m);
        }
    }
    for (unsigned i = 0; i < CLIENTS; i++)
        while (m->counts[i])
            end_one(m, i);
    check_work(m);
    unsigned granted = m->granted;
    turns_destroy(m->turns);
    uv_run(&m->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&m->loop), 0);
    free(m);
    return granted;
}

static void test_model(void **state UNUSED)
{
    unsigned granted = 0;
    for (unsigned seed = 1; seed <= 50; seed++)
        granted += run_model(seed);
    assert_true(granted > 10000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_client_has_all),
        cmocka_unit_test(test_shares),
        cmocka_unit_test(test_newcomer_is_next),
        cmocka_unit_test(test_addresses_come_first),
        cmocka_unit_test(test_common_line),
        cmocka_unit_test(test_nobody_jumps_the_line),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
