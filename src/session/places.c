#include "session/places.h"

struct line {
    struct place *oldest, *newest;
};

struct places {
    unsigned most, max_waiting;
    unsigned counts[PLACE_STATES]; /* not of PLACE_NONE */
    struct line waiting, idle;
    uint64_t served; /* places that were given */
};

struct places *places_create(unsigned most, unsigned max_waiting)
{
    struct places *p = xcalloc(1, sizeof(*p));
    p->most = most;
    p->max_waiting = max_waiting;
    return p;
}

void places_destroy(struct places *p)
{
    assert(!p || (!places_taken(p) && !places_waiting(p)));
    free(p);
}

static struct line *line_of(struct places *p, enum place_state state)
{
    if (state == PLACE_WAITING)
        return &p->waiting;
    return state == PLACE_IDLE ? &p->idle : NULL;
}

static void take_out(struct line *line, struct place *one)
{
    *(one->older ? &one->older->newer : &line->oldest) = one->newer;
    *(one->newer ? &one->newer->older : &line->newest) = one->older;
    one->older = one->newer = NULL;
}

static void add_newest(struct line *line, struct place *one)
{
    one->older = line->newest;
    *(line->newest ? &line->newest->newer : &line->oldest) = one;
    line->newest = one;
}

static void add_oldest(struct line *line, struct place *one)
{
    one->newer = line->oldest;
    *(line->oldest ? &line->oldest->older : &line->newest) = one;
    line->oldest = one;
}

static bool has_place(const struct place *one)
{
    return one->state != PLACE_NONE && one->state != PLACE_WAITING;
}

static void tell_owner(struct places *p, const struct place *one, enum place_state state)
{
    bool gets_one = state == PLACE_WORKING && !has_place(one);
    p->served += gets_one;
    for (struct place_owner *o = one->owner; o; o = o->of) {
        o->waiting += state == PLACE_WAITING;
        o->waiting -= one->state == PLACE_WAITING;
        if (gets_one)
            o->served = p->served;
    }
}

/* Every change of a state goes through here: counts and lines are right afterwards. */
static void become(struct places *p, struct place *one, enum place_state state)
{
    struct line *from = line_of(p, one->state), *to = line_of(p, state);
    tell_owner(p, one, state);
    if (from)
        take_out(from, one);
    if (one->state != PLACE_NONE)
        p->counts[one->state]--;
    one->state = state;
    if (state != PLACE_NONE)
        p->counts[state]++;
    if (to)
        add_newest(to, one);
}

/* Nothing that happens here would make a place free. */
static bool is_held(const struct places *p)
{
    return p->counts[PLACE_STAYING] == p->most;
}

static uint64_t served(const struct place_owner *owner)
{
    return owner ? owner->served : 0;
}

/* What comes first: an address, a client. */
static bool goes_before(const struct place *a, const struct place *b)
{
    uint64_t one = served(a->owner ? a->owner->of : NULL),
             other = served(b->owner ? b->owner->of : NULL);
    return one != other ? one < other : served(a->owner) < served(b->owner);
}

/* Whose turn it is; NULL: nobody waits. */
static struct place *find_next(const struct places *p)
{
    struct place *next = p->waiting.oldest;
    for (struct place *one = next; one; one = one->newer)
        if (goes_before(one, next))
            next = one;
    return next;
}

/* For each who waits somebody is about to leave, as far as there is somebody to ask. */
static void settle(struct places *p)
{
    while (places_are_wanted(p) && p->idle.oldest) {
        struct place *one = p->idle.oldest;
        become(p, one, PLACE_LEAVING);
        one->events->leave(one->user);
    }
    while (is_held(p) && p->waiting.oldest) {
        struct place *one = p->waiting.oldest;
        become(p, one, PLACE_NONE);
        one->events->refused(one->user);
    }
}

bool places_has_room(const struct places *p, const struct place *one)
{
    bool is_first = p->max_waiting && one->owner && !one->owner->waiting;
    return one->state != PLACE_NONE || places_taken(p) < p->most ||
           ((p->counts[PLACE_WAITING] < p->max_waiting || is_first) && !is_held(p));
}

bool places_take(struct places *p, struct place *one, bool *waits)
{
    if (!places_has_room(p, one))
        return false;
    if (has_place(one) || places_taken(p) < p->most)
        become(p, one, PLACE_WORKING);
    else if (one->state == PLACE_NONE)
        become(p, one, PLACE_WAITING);
    settle(p);
    *waits = one->state == PLACE_WAITING;
    return true;
}

bool places_take_free(struct places *p, struct place *one)
{
    assert(one->state == PLACE_NONE);
    if (p->counts[PLACE_WAITING] || places_taken(p) >= p->most)
        return false;
    become(p, one, PLACE_IDLE);
    take_out(&p->idle, one);
    add_oldest(&p->idle, one);
    return true;
}

bool places_are_wanted(const struct places *p)
{
    return p->counts[PLACE_WAITING] > p->counts[PLACE_LEAVING];
}

void places_idle(struct places *p, struct place *one)
{
    assert(one->state == PLACE_WORKING);
    become(p, one, PLACE_IDLE);
    settle(p);
}

void places_leaving(struct places *p, struct place *one)
{
    assert(one->state == PLACE_WORKING || one->state == PLACE_IDLE);
    become(p, one, PLACE_LEAVING);
}

void places_stay(struct places *p, struct place *one)
{
    assert(one->state == PLACE_LEAVING);
    become(p, one, PLACE_STAYING);
    settle(p);
}

void places_leave(struct places *p, struct place *one)
{
    become(p, one, PLACE_NONE);
    struct place *next = find_next(p);
    if (next && places_taken(p) < p->most) {
        become(p, next, PLACE_WORKING);
        next->events->granted(next->user);
    }
    settle(p);
}

unsigned places_waiting(const struct places *p)
{
    return p->counts[PLACE_WAITING];
}

unsigned places_taken(const struct places *p)
{
    return p->counts[PLACE_WORKING] + p->counts[PLACE_IDLE] + p->counts[PLACE_LEAVING] +
           p->counts[PLACE_STAYING];
}

void places_look(const struct places *p, struct census *out)
{
    *out = (struct census){
        .working = p->counts[PLACE_WORKING] + p->counts[PLACE_LEAVING],
        .idle = p->counts[PLACE_IDLE] + p->counts[PLACE_STAYING],
        .waiting = p->counts[PLACE_WAITING],
    };
}
