#include "session/places.h"

#include "unit.h"

#include <string.h>

/* Shells that do nothing but take note of what they are told. */
struct shell {
    struct place place;
    unsigned granted, refused, asked;
    unsigned since; /* when it began to wait; see test_any_order() */
};

static void on_granted(void *user)
{
    struct shell *s = user;
    assert_int_equal(s->place.state, PLACE_WORKING);
    s->granted++;
}

static void on_refused(void *user)
{
    struct shell *s = user;
    assert_int_equal(s->place.state, PLACE_NONE);
    s->refused++;
}

static void on_leave(void *user)
{
    struct shell *s = user;
    assert_int_equal(s->place.state, PLACE_LEAVING);
    s->asked++;
}

static const struct place_events events = { on_granted, on_refused, on_leave };

static void open_shells(struct shell *shells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        shells[i] = (struct shell){ .place = { .events = &events, .user = &shells[i] } };
}

enum outcome { REFUSED, WAITS, HAS_IT };

static enum outcome take(struct places *p, struct shell *s)
{
    bool waits = true;
    bool has_room = places_has_room(p, &s->place);
    bool taken = places_take(p, &s->place, &waits);
    assert_true(taken == has_room);
    if (!taken)
        return REFUSED;
    return waits ? WAITS : HAS_IT;
}

static void leave_all(struct places *p, struct shell *shells, size_t count)
{
    for (size_t i = count; i--;)
        places_leave(p, &shells[i].place);
    places_destroy(p);
}

static void test_line(void **state UNUSED)
{
    struct shell s[6];
    struct places *p = places_create(2, 3);
    open_shells(s, 6);
    assert_int_equal(take(p, &s[0]), HAS_IT);
    assert_int_equal(take(p, &s[1]), HAS_IT);
    assert_int_equal(take(p, &s[1]), HAS_IT); /* has it already */
    for (size_t i = 2; i < 5; i++)
        assert_int_equal(take(p, &s[i]), WAITS);
    assert_int_equal(take(p, &s[2]), WAITS); /* once in the line, however often it asks */
    assert_int_equal(take(p, &s[5]), REFUSED);
    assert_int_equal(s[5].place.state, PLACE_NONE);
    assert_int_equal(places_waiting(p), 3);
    struct census n;
    places_look(p, &n);
    assert_true(n.working == 2 && n.idle == 0 && n.waiting == 3);
    places_leave(p, &s[3].place); /* waits no more */
    assert_int_equal(take(p, &s[5]), WAITS);
    places_leave(p, &s[1].place);
    assert_int_equal(s[2].granted, 1);
    places_leave(p, &s[0].place);
    assert_int_equal(s[4].granted, 1);
    assert_int_equal(s[3].granted + s[5].granted, 0);
    places_leave(p, &s[2].place);
    assert_int_equal(s[5].granted, 1);
    assert_int_equal(places_taken(p), 2);
    leave_all(p, s, 6);
}

static void test_idle(void **state UNUSED)
{
    struct shell s[6];
    struct places *p = places_create(3, 9);
    open_shells(s, 6);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(take(p, &s[i]), HAS_IT);
    places_idle(p, &s[1].place);
    places_idle(p, &s[0].place);
    assert_int_equal(take(p, &s[1]), HAS_IT); /* again, and is not asked */
    places_idle(p, &s[1].place);
    assert_int_equal(take(p, &s[3]), WAITS);
    assert_int_equal(s[0].asked, 1); /* idle longest */
    assert_int_equal(take(p, &s[4]), WAITS);
    assert_int_equal(s[1].asked, 1);
    assert_false(places_are_wanted(p));
    assert_int_equal(take(p, &s[5]), WAITS);
    assert_true(places_are_wanted(p));
    places_idle(p, &s[2].place);
    assert_int_equal(s[2].asked, 1); /* at once */
    places_leave(p, &s[1].place);
    assert_int_equal(s[3].granted, 1); /* whoever leaves: the first is the first */
    assert_int_equal(s[0].asked + s[1].asked + s[2].asked, 3);
    assert_int_equal(take(p, &s[2]), HAS_IT); /* has changed its mind */
    places_idle(p, &s[3].place);              /* so another one is asked */
    assert_int_equal(s[3].asked, 1);
    leave_all(p, s, 6);
}

static void test_staying(void **state UNUSED)
{
    struct shell s[5];
    struct places *p = places_create(2, 9);
    open_shells(s, 5);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(take(p, &s[i]), HAS_IT);
    places_idle(p, &s[0].place);
    assert_int_equal(take(p, &s[2]), WAITS);
    places_stay(p, &s[0].place);
    assert_int_equal(s[0].asked, 1); /* and not again */
    places_idle(p, &s[1].place);
    assert_int_equal(s[0].asked, 1);
    assert_int_equal(s[1].asked, 1);
    assert_int_equal(take(p, &s[3]), WAITS);
    places_stay(p, &s[1].place);
    assert_int_equal(s[2].refused, 1);
    assert_int_equal(s[3].refused, 1);
    assert_int_equal(places_waiting(p), 0);
    assert_int_equal(take(p, &s[4]), REFUSED);
    assert_int_equal(take(p, &s[0]), HAS_IT); /* it works once more */
    assert_int_equal(take(p, &s[4]), WAITS);
    places_idle(p, &s[0].place);
    assert_int_equal(s[0].asked, 2);
    places_leave(p, &s[0].place);
    assert_int_equal(s[4].granted, 1);
    leave_all(p, s, 5);
}

/* Who leaves unasked counts as somebody for whom a shell may wait. */
static void test_unasked(void **state UNUSED)
{
    struct shell s[3];
    struct places *p = places_create(2, 9);
    open_shells(s, 3);
    assert_int_equal(take(p, &s[0]), HAS_IT);
    assert_int_equal(take(p, &s[1]), HAS_IT);
    places_idle(p, &s[0].place);
    places_idle(p, &s[1].place);
    places_leaving(p, &s[0].place);
    assert_int_equal(take(p, &s[2]), WAITS);
    assert_int_equal(s[0].asked + s[1].asked, 0);
    assert_int_equal(take(p, &s[0]), HAS_IT);
    assert_int_equal(s[1].asked, 1);
    leave_all(p, s, 3);
}

#define SHELLS 40
#define MOST   5
#define LINE   20
#define STEPS  200000

static void check_all(const struct places *p, const struct shell *s)
{
    unsigned counts[PLACE_STATES] = { 0 };
    for (size_t i = 0; i < SHELLS; i++)
        counts[s[i].place.state]++;
    unsigned taken = SHELLS - counts[PLACE_NONE] - counts[PLACE_WAITING];
    assert_true(taken <= MOST && counts[PLACE_WAITING] <= LINE);
    assert_int_equal(taken, places_taken(p));
    assert_int_equal(counts[PLACE_WAITING], places_waiting(p));
    struct census n;
    places_look(p, &n);
    assert_int_equal(n.idle, counts[PLACE_IDLE] + counts[PLACE_STAYING]);
    assert_int_equal(n.working + n.idle, taken);
    if (!counts[PLACE_WAITING])
        return;
    assert_int_equal(taken, MOST); /* nobody waits for a place that is free, */
    assert_true(counts[PLACE_STAYING] < MOST); /* nor without any hope, */
    /* nor beside somebody who could be asked. */
    assert_true(!counts[PLACE_IDLE] || counts[PLACE_LEAVING] >= counts[PLACE_WAITING]);
}

/* A grant goes to whoever has waited longest. */
static void check_order(const struct shell *before, const struct shell *s)
{
    for (size_t i = 0; i < SHELLS; i++)
        for (size_t k = 0; s[i].granted > before[i].granted && k < SHELLS; k++)
            assert_false(s[k].place.state == PLACE_WAITING &&
                         before[k].place.state == PLACE_WAITING &&
                         before[k].since < before[i].since);
}

/* One thing that this shell may do now; in every other thousand steps who is asked to
 * leave cannot. */
static void step(struct places *p, struct shell *one, unsigned now, unsigned dice)
{
    enum place_state state = one->place.state;
    bool cannot = now / 1000 % 2;
    if (dice % 16 == 0 && !cannot)
        places_leave(p, &one->place);
    else if (cannot && state == PLACE_LEAVING)
        places_stay(p, &one->place);
    else if (state == PLACE_WORKING && dice % 16 < 4)
        places_leaving(p, &one->place);
    else if (state == PLACE_WORKING)
        places_idle(p, &one->place);
    else if (state == PLACE_LEAVING && dice % 16 < 6)
        places_leave(p, &one->place);
    else if (state == PLACE_LEAVING && dice % 16 < 8)
        places_stay(p, &one->place);
    else if (take(p, one) == WAITS && state == PLACE_NONE)
        one->since = now;
}

static void test_any_order(void **state UNUSED)
{
    static struct shell s[SHELLS], before[SHELLS];
    struct places *p = places_create(MOST, LINE);
    unsigned seed = 7, granted = 0, refused = 0;
    open_shells(s, SHELLS);
    for (unsigned now = 1; now < STEPS; now++) {
        memcpy(before, s, sizeof(s));
        seed = seed * 1664525 + 1013904223;
        step(p, &s[(seed >> 8) % SHELLS], now, seed >> 20);
        check_all(p, s);
        check_order(before, s);
    }
    for (size_t i = 0; i < SHELLS; i++) {
        granted += s[i].granted;
        refused += s[i].refused;
    }
    assert_true(granted > STEPS / 100 && refused > 0); /* both were really tried */
    leave_all(p, s, SHELLS);
}

/* Everybody who works ends sometime: then everybody who waits has worked. */
static void test_nobody_is_forgotten(void **state UNUSED)
{
    static struct shell s[SHELLS];
    struct places *p = places_create(MOST, SHELLS);
    open_shells(s, SHELLS);
    for (size_t i = 0; i < SHELLS; i++)
        assert_int_equal(take(p, &s[i]), i < MOST ? HAS_IT : WAITS);
    for (size_t i = 0; i < SHELLS; i++) {
        assert_int_equal(s[i].place.state, PLACE_WORKING);
        assert_int_equal(s[i].granted, i >= MOST);
        places_idle(p, &s[i].place);
        if (s[i].place.state == PLACE_LEAVING)
            places_leave(p, &s[i].place);
    }
    assert_int_equal(places_waiting(p), 0);
    assert_int_equal(places_taken(p), MOST);
    leave_all(p, s, SHELLS);
}

/* Many shells of one client, one of his neighbour, one of another address. */
static void test_owners(void **state UNUSED)
{
    struct place_owner here = { .of = NULL }, there = { .of = NULL };
    struct place_owner greedy = { .of = &here }, neighbour = { .of = &here },
                       far = { .of = &there };
    struct shell s[7];
    struct places *p = places_create(1, 3);
    open_shells(s, ARRAY_LEN(s));
    for (size_t i = 0; i < 5; i++)
        s[i].place.owner = &greedy;
    s[5].place.owner = &neighbour;
    s[6].place.owner = &far;
    assert_int_equal(take(p, &s[0]), HAS_IT);
    for (size_t i = 1; i < 4; i++)
        assert_int_equal(take(p, &s[i]), WAITS);
    assert_int_equal(take(p, &s[4]), REFUSED); /* the line is full for who is in it */
    assert_int_equal(s[4].place.state, PLACE_NONE);
    assert_int_equal(take(p, &s[5]), WAITS);
    assert_int_equal(take(p, &s[6]), WAITS);
    static const size_t order[] = { 0, 6, 5, 1, 2, 3 };
    for (size_t i = 1; i < ARRAY_LEN(order); i++) {
        assert_int_equal(s[order[i]].granted, 0);
        places_leave(p, &s[order[i - 1]].place);
        assert_int_equal(s[order[i]].granted, 1);
    }
    assert_int_equal(greedy.waiting + here.waiting + there.waiting, 0);
    leave_all(p, s, ARRAY_LEN(s));
}

/* What nobody needs yet takes no place that somebody could want, and leaves first. */
static void test_take_free(void **state UNUSED)
{
    struct shell s[5];
    struct places *p = places_create(2, 3);
    open_shells(s, ARRAY_LEN(s));
    assert_int_equal(take(p, &s[0]), HAS_IT);
    places_idle(p, &s[0].place);
    assert_true(places_take_free(p, &s[1].place));
    assert_int_equal(s[1].place.state, PLACE_IDLE);
    assert_false(places_take_free(p, &s[2].place));
    assert_int_equal(s[2].place.state, PLACE_NONE);
    assert_int_equal(take(p, &s[3]), WAITS);
    assert_int_equal(s[0].asked, 0);
    assert_int_equal(s[1].asked, 1);
    assert_int_equal(take(p, &s[4]), WAITS);
    assert_int_equal(s[0].asked, 1);
    places_leave(p, &s[1].place);
    assert_int_equal(s[3].granted, 1);
    assert_false(places_take_free(p, &s[1].place));
    places_leave(p, &s[3].place);
    places_leave(p, &s[0].place);
    assert_int_equal(s[4].granted, 1);
    assert_true(places_take_free(p, &s[1].place));
    assert_int_equal(places_taken(p), 2);
    leave_all(p, s, ARRAY_LEN(s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_free),
        cmocka_unit_test(test_owners),
        cmocka_unit_test(test_line),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_staying),
        cmocka_unit_test(test_unasked),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_nobody_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
