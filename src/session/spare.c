#include "session/spare.h"

struct spare {
    struct session_config config;
    struct places *places;
    unsigned idle_ms;
    uv_timer_t timer; /* to start, or to give up what there is */
    struct place place;
    struct worker *worker; /* NULL: there is none */
    char *status;          /* NULL: it starts yet */
    bool wanted;           /* when there is a place, and time */
};

static void on_timer(uv_timer_t *timer);

static void wait_ms(struct spare *s, uint64_t ms)
{
    uv_update_time(s->config.loop);
    uv_timer_start(&s->timer, on_timer, ms, 0);
}

static void end_worker(struct spare *s)
{
    worker_destroy(TAKE(s->worker));
    free(TAKE(s->status));
}

/* The place first: who gets it takes the worker as well. */
static void give_up(struct spare *s)
{
    uv_timer_stop(&s->timer);
    places_leave(s->places, &s->place);
    end_worker(s);
}

static void on_ready(void *user, struct str status)
{
    struct spare *s = user;
    s->status = str_copy(status);
}

static void on_reply(void *user UNUSED, bool is_error UNUSED, struct str text UNUSED,
        struct str notes UNUSED)
{
    assert(!"it has no call");
}

static void on_ended(void *user, const char *why UNUSED)
{
    struct spare *s = user;
    give_up(s);
    if (s->wanted)
        wait_ms(s, SPARE_WAIT_MS);
}

static const struct worker_events events = { on_ready, on_reply, on_ended };

/* Nobody is told of what goes wrong: the next shell tries for itself. */
static void start(struct spare *s)
{
    struct error err;
    if (s->place.state == PLACE_NONE && !places_take_free(s->places, &s->place))
        return;
    s->wanted = false;
    if (!worker_start(s->config.loop, &s->config.worker, s->config.setup,
                s->config.max_reply, &events, s, &s->worker, &err))
        give_up(s);
    else
        wait_ms(s, s->idle_ms);
}

static void on_timer(uv_timer_t *timer)
{
    struct spare *s = timer->data;
    if (s->worker || s->place.state == PLACE_LEAVING)
        give_up(s);
    else if (s->wanted)
        start(s);
}

/* Of its place, in the middle of what another one does. */
static void on_leave(void *user)
{
    wait_ms(user, 0);
}

static void on_no_wait(void *user UNUSED)
{
    assert(!"it never waits for a place");
}

static const struct place_events place_events = { on_no_wait, on_no_wait, on_leave };

struct spare *spare_create(
        const struct session_config *config, struct places *places, unsigned idle_ms)
{
    struct spare *s = xcalloc(1, sizeof(*s));
    assert(!config->door);
    s->config = *config;
    s->places = places;
    s->idle_ms = idle_ms;
    s->place = (struct place){ .events = &place_events, .user = s };
    uv_timer_init(config->loop, &s->timer);
    s->timer.data = s;
    return s;
}

void spare_want(struct spare *s)
{
    if (s->worker && worker_lives(s->worker))
        return;
    s->wanted = true;
    if (!s->worker && !uv_is_active((const uv_handle_t *)&s->timer))
        wait_ms(s, SPARE_WAIT_MS);
}

void spare_begin(struct spare *s)
{
    if (s->wanted && !s->worker)
        wait_ms(s, 0);
}

bool spare_take(struct spare *s, const struct worker_events *to, void *user,
        struct worker **worker, char **status)
{
    if (!s->worker || !worker_lives(s->worker))
        return false;
    *worker = TAKE(s->worker);
    *status = TAKE(s->status);
    worker_hand_over(*worker, to, user);
    s->wanted = true;
    if (s->place.state != PLACE_LEAVING)
        wait_ms(s, SPARE_WAIT_MS);
    return true;
}

pid_t spare_pid(const struct spare *s)
{
    return s->worker ? worker_pid(s->worker) : 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void spare_destroy(struct spare *s)
{
    if (!s)
        return;
    give_up(s);
    uv_close((uv_handle_t *)&s->timer, on_timer_closed);
}
