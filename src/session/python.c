#include "session/python.h"

#include "base/log.h"
#include "session/python-child.h"

#include <stdio.h>

#define MAX_CALL ((size_t)64 << 20) /* JSON of code and arguments */

/* Spares are replaced when an answer has had the time to leave, or a run is a long one.
 */
#define REFILL_MS   2
#define LONG_RUN_MS 100

/* Beside those that wait or run, some may still be ending. */
#define MAX_PLACES (2 * ZYGOTE_MAX_CHILDREN)

struct place {
    struct child *child;
    struct python_run *run; /* NULL: it has none, or it was cancelled */
};

/* A zygote and its children. */
struct profile {
    struct python *python;
    struct str setup;
    struct zygote *zygote; /* NULL: none, or it has ended */
    bool is_ready;
    size_t spares;
    bool wants_spares; /* a run has asked since something failed */
    uv_timer_t timer;  /* for what is done from the loop only */
    struct place places[MAX_PLACES];
    size_t place_count;
    struct python_run *first; /* waiting */
    struct python_run **last;
    char why[300]; /* what waits cannot be started; or "" */
};

struct python_run {
    struct python_run *next; /* while it waits */
    struct profile *profile;
    struct child *child; /* NULL: it waits */
    struct buf call;     /* JSON */
    unsigned timeout_ms;
    bool was_put_back; /* a zygote has died while it waited */
    uint64_t asked_at;
    python_done_fn *done;
    void *user;
};

struct python {
    struct python_config config;
    struct child_host host;
    struct profile plain, network;
    size_t runs;
    bool problems_told, is_ending;
    unsigned open_handles;
};

static void pump(struct profile *p);
static void on_timer(uv_timer_t *timer);

static struct place *find_place(struct profile *p, const struct child *child)
{
    for (size_t i = 0; i < p->place_count; i++)
        if (p->places[i].child == child)
            return &p->places[i];
    assert(!"a child that is not ours");
    return NULL;
}

static void free_run(struct python_run *run)
{
    run->profile->python->runs--;
    buf_finish(&run->call);
    free(run);
}

static void enqueue(struct profile *p, struct python_run *run)
{
    run->profile = p;
    run->child = NULL;
    run->next = NULL;
    *p->last = run;
    p->last = &run->next;
}

static void dequeue(struct profile *p, struct python_run *run)
{
    struct python_run **at = &p->first;
    while (*at != run)
        at = &(*at)->next;
    *at = run->next;
    if (p->last == &run->next)
        p->last = at;
}

static void tell(struct python_run *run, struct python_result *result)
{
    python_done_fn *done = run->done;
    void *user = run->user;
    result->duration_ms = (uv_hrtime() - run->asked_at) / 1000000;
    free_run(run);
    done(user, result);
}

static void tell_not_started(struct python_run *run, const char *why)
{
    struct python_result result = { .end = PYTHON_NOT_STARTED,
        .exit_code = 1,
        .result = STR(""),
        .notes = STR(""),
        .out = { .head = STR(""), .tail = STR("") },
        .err = { .head = STR(""), .tail = STR("") } };
    error_set(&result.error, ERR_IO, "Python cannot be started: %s", why);
    tell(run, &result);
}

static void fail_first(struct profile *p, const char *why)
{
    struct python_run *run = p->first;
    dequeue(p, run);
    tell_not_started(run, why);
}

static size_t count_waiting(const struct profile *p)
{
    size_t count = 0;
    for (const struct python_run *run = p->first; run; run = run->next)
        count++;
    return count;
}

/* All that wait now; one that is added by who is told has a chance of its own. */
static void fail_waiting(struct profile *p, const char *why)
{
    for (size_t left = count_waiting(p); left && p->first; left--)
        fail_first(p, why);
}

static void do_later(struct profile *p, uint64_t ms)
{
    if (p->python->is_ending)
        return;
    uv_update_time(p->python->config.loop);
    uv_timer_start(&p->timer, on_timer, ms, 0);
}

/* Who waits is told from the loop. */
static void give_up(struct profile *p, const char *why)
{
    log_line(LOG_ERROR, "run_python: %s", why);
    p->wants_spares = false;
    snprintf(p->why, sizeof(p->why), "%.299s", why);
    do_later(p, 0);
}

static size_t count_ready(const struct profile *p)
{
    size_t count = 0;
    for (size_t i = 0; i < p->place_count; i++)
        count += child_is_ready(p->places[i].child);
    return count;
}

/* Whoever it was started for may have been cancelled: then there are enough. */
static void on_child_ready(void *user, struct child *c)
{
    struct profile *p = user;
    pump(p);
    if (child_is_ready(c) && count_ready(p) > p->spares)
        child_stop(c);
}

/* The run that waited longest is told, so that the others are not tried for ever. */
static void on_child_failed(
        void *user, struct child *c UNUSED, bool was_ready, const char *why)
{
    struct profile *p = user;
    log_line(LOG_WARN, "run_python: a process that %s a snippet ended: %s",
            was_ready ? "waited for" : "was to run", why);
    p->wants_spares = false;
    if (p->first && !was_ready)
        fail_first(p, why);
    pump(p);
}

/* It has run nothing: the same again where there is a network. */
static void run_with_network(struct python_run *run)
{
    struct profile *network = &run->profile->python->network;
    if (run->profile == network || !network->setup.len) {
        tell_not_started(run, "there is no network for it");
        return;
    }
    network->wants_spares = true;
    enqueue(network, run);
    pump(network);
}

/* Has it what it imports?  Then it is run where the network is. */
static bool can_import(const struct python_run *run, struct str notes)
{
    const struct python *python = run->profile->python;
    struct error unused;
    json_auto_t *object = NULL;
    if (!python->config.can_import || !json_parse(notes, &object, &unused))
        return true;
    const json_t *modules = json_object_get(object, "modules");
    return !json_is_array(modules) || python->config.can_import(run->user, modules);
}

static void on_child_answered(
        void *user, struct child *c, struct python_result *result, bool wants_network)
{
    struct profile *p = user;
    struct python_run *run = TAKE(find_place(p, c)->run);
    if (run && wants_network && can_import(run, result->notes)) {
        run_with_network(run);
    } else if (run) {
        if (wants_network)
            result->end = PYTHON_NOT_YET;
        tell(run, result);
    }
    if (p->first)
        pump(p);
    else
        do_later(p, 0);
}

static void on_child_gone(void *user, struct child *c)
{
    struct profile *p = user;
    struct place *place = find_place(p, c);
    assert(!place->run);
    *place = p->places[--p->place_count];
    if (p->first)
        pump(p);
}

static const struct child_events child_events = { on_child_ready, on_child_failed,
    on_child_answered, on_child_gone };

static void on_zygote_ready(void *user)
{
    struct profile *p = user;
    p->is_ready = true;
    pump(p);
    if (!p->first)
        do_later(p, 0);
}

/* One that could not start fails those that wait; else they get one more chance. */
static void put_back_waiting(struct profile *p, bool was_ready, const char *why)
{
    for (size_t left = count_waiting(p); left && p->first; left--) {
        struct python_run *run = p->first;
        dequeue(p, run);
        if (!was_ready || run->was_put_back) {
            tell_not_started(run, why);
            continue;
        }
        run->was_put_back = true;
        enqueue(p, run);
    }
}

static void lose_children(struct profile *p)
{
    struct place lost[MAX_PLACES];
    size_t count = p->place_count;
    memcpy(lost, p->places, sizeof(lost));
    for (size_t i = 0; i < count; i++)
        child_lose(lost[i].child);
}

static void on_zygote_ended(void *user, const char *why)
{
    struct profile *p = user;
    struct zygote *z = TAKE(p->zygote);
    bool was_ready = p->is_ready;
    p->is_ready = p->wants_spares = false;
    lose_children(p);
    zygote_destroy(z);
    put_back_waiting(p, was_ready, why);
    pump(p);
}

static const struct zygote_events zygote_events = { on_zygote_ready, child_on_forked,
    child_on_gone, on_zygote_ended };

/* False: there is none yet, or it can fork no more at the moment. */
static bool get_zygote(struct profile *p)
{
    struct python *python = p->python;
    const struct zygote_spec spec = {
        .program = python->config.program, .env = python->config.env, .setup = p->setup
    };
    struct error err;
    if (!p->zygote && !zygote_start(python->config.loop, &spec, &zygote_events, p,
                              &p->zygote, &err)) {
        give_up(p, err.message);
        return false;
    }
    return p->is_ready && zygote_can_fork(p->zygote) && p->place_count < MAX_PLACES;
}

static void look(const struct profile *p, struct census *out)
{
    out->waiting += count_waiting(p);
    for (size_t i = 0; i < p->place_count; i++) {
        out->working += p->places[i].run != NULL;
        out->idle += p->places[i].run == NULL;
    }
}

void python_look(const struct python *p, struct census *out)
{
    *out = (struct census){ .working = 0 };
    look(&p->plain, out);
    look(&p->network, out);
}

static size_t count_starting(const struct profile *p)
{
    size_t count = 0;
    for (size_t i = 0; i < p->place_count; i++)
        count += child_is_starting(p->places[i].child);
    return count;
}

static struct place *find_ready(struct profile *p)
{
    for (size_t i = 0; i < p->place_count; i++)
        if (child_is_ready(p->places[i].child))
            return &p->places[i];
    return NULL;
}

/* See to it that `wanted` children are starting. */
static void start_children(struct profile *p, size_t wanted)
{
    struct error err;
    for (size_t starting = count_starting(p); starting < wanted; starting++) {
        struct child *c;
        if (!get_zygote(p))
            return;
        if (!child_start(&p->python->host, p->zygote, &child_events, p, &c, &err)) {
            if (zygote_can_fork(p->zygote))
                give_up(p, err.message);
            return; /* else its end is told soon */
        }
        p->places[p->place_count++] = (struct place){ .child = c };
    }
}

/* Who waits gets what is ready; for the others children are started. */
static void pump(struct profile *p)
{
    struct place *place;
    if (p->python->is_ending || p->why[0])
        return;
    while (p->first && (place = find_ready(p))) {
        struct python_run *run = place->run = p->first;
        dequeue(p, run);
        run->child = place->child;
        child_run(run->child, buf_str(&run->call), run->timeout_ms);
        do_later(p, LONG_RUN_MS);
    }
    start_children(p, count_waiting(p));
}

static void refill(struct profile *p)
{
    size_t ready = count_ready(p);
    if (p->wants_spares && !p->first && ready < p->spares)
        start_children(p, p->spares - ready);
}

static void on_timer(uv_timer_t *timer)
{
    struct profile *p = timer->data;
    char why[sizeof(p->why)];
    memcpy(why, p->why, sizeof(why));
    p->why[0] = 0;
    if (why[0])
        fail_waiting(p, why);
    else
        refill(p);
}

static void profile_init(
        struct profile *p, struct python *python, struct str setup, size_t spares)
{
    p->python = python;
    p->setup = setup;
    p->spares = spares;
    p->last = &p->first;
    uv_timer_init(python->config.loop, &p->timer);
    p->timer.data = p;
    python->open_handles++;
}

struct python *python_create(const struct python_config *config)
{
    struct python *python = xcalloc(1, sizeof(*python));
    python->config = *config;
    python->host = (struct child_host){ .loop = config->loop,
        .printed = config->printed,
        .printed_user = config->printed_user,
        .broker = config->broker,
        .broker_user = config->broker_user,
        .event = config->event,
        .event_user = config->event_user,
        .problems_told = &python->problems_told };
    profile_init(&python->plain, python, config->setup, PYTHON_SPARES);
    profile_init(&python->network, python, config->network_setup, 1);
    return python;
}

void python_warm(struct python *python)
{
    struct profile *p = &python->plain;
    p->wants_spares = true;
    if (p->zygote || get_zygote(p))
        do_later(p, 0);
}

static void write_call(const struct python_request *request, struct buf *out)
{
    json_auto_t *call = json_pack("{s:i}", "timeout_ms", (int)request->timeout_ms);
    if (request->file.len)
        json_object_set_new(call, "file", json_text(request->file));
    else
        json_object_set_new(call, "code", json_text(request->code));
    if (request->argv)
        json_object_set_new(call, "argv", json_deep_copy(request->argv));
    json_write(call, out);
}

bool python_run(struct python *python, const struct python_request *request,
        python_done_fn *done, void *user, struct python_run **out, struct error *err)
{
    struct profile *p = &python->plain;
    auto_buf call = BUF(MAX_CALL);
    assert(request->timeout_ms && request->timeout_ms <= INT32_MAX);
    if (python->runs >= PYTHON_MAX_RUNS)
        return error_set(err, ERR_LIMIT,
                "too many snippets run already (%d); wait for their results first",
                PYTHON_MAX_RUNS);
    write_call(request, &call);
    if (call.full)
        return error_set(err, ERR_LIMIT,
                "the code and its arguments are longer than %zu "
                "bytes",
                MAX_CALL);
    struct python_run *run = xcalloc(1, sizeof(*run));
    run->call = call;
    call = BUF(0);
    run->timeout_ms = request->timeout_ms;
    run->asked_at = uv_hrtime();
    run->done = done;
    run->user = user;
    python->runs++;
    p->wants_spares = true;
    enqueue(p, run);
    *out = run;
    pump(p);
    return true;
}

void python_cancel(struct python *python UNUSED, struct python_run *run)
{
    struct profile *p = run->profile;
    if (run->child) {
        find_place(p, run->child)->run = NULL;
        child_stop(run->child);
        do_later(p, 0);
    } else {
        dequeue(p, run);
    }
    free_run(run);
}

size_t python_children(const struct python *python)
{
    return python->plain.place_count + python->network.place_count;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct profile *p = handle->data;
    if (!--p->python->open_handles)
        free(p->python);
}

/* All are killed before one is waited for. */
static void profile_finish(struct profile *p)
{
    for (size_t i = 0; i < p->place_count; i++) {
        child_stop(p->places[i].child);
        if (p->places[i].run)
            free_run(p->places[i].run);
    }
    while (p->first) {
        struct python_run *run = p->first;
        dequeue(p, run);
        free_run(run);
    }
    zygote_destroy(TAKE(p->zygote));
    for (size_t i = 0; i < p->place_count; i++)
        child_destroy(p->places[i].child);
    uv_close((uv_handle_t *)&p->timer, on_timer_closed);
}

void python_destroy(struct python *python)
{
    if (!python)
        return;
    python->is_ending = true;
    profile_finish(&python->plain);
    profile_finish(&python->network);
}
