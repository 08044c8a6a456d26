#include "session/pool.h"

struct pool_call {
    struct pool_call *next; /* while it waits */
    char *tool, *args;      /* NULL: handed to a member */
    size_t args_len;
    session_done_fn *done;
    void *user;
    struct member *member; /* NULL: it waits */
    struct session_call *work;
};

struct member {
    struct pool *pool;
    struct session *session;   /* NULL: a free place */
    struct pool_call *running; /* NULL: idle, or stopping a cancelled call */
    uint64_t idle_since;       /* ms of the loop's clock */
};

struct pool {
    struct session_config config;
    unsigned idle_ms;
    uv_timer_t timer; /* runs while there is a member too many */
    struct member members[POOL_MAX];
    struct pool_call *first; /* waiting */
    struct pool_call **last;
    size_t waiting, waiting_bytes;
};

static void pump(struct pool *p);

static void free_call(struct pool_call *call)
{
    free(call->tool);
    free(call->args);
    free(call);
}

size_t pool_size(const struct pool *p)
{
    size_t count = 0;
    for (size_t i = 0; i < POOL_MAX; i++)
        count += p->members[i].session != NULL;
    return count;
}

void pool_look(const struct pool *p, struct census *out)
{
    *out = (struct census){ .waiting = p->waiting };
    for (size_t i = 0; i < POOL_MAX; i++) {
        const struct session *s = p->members[i].session;
        out->working += s && !session_is_idle(s);
        out->idle += s && session_is_idle(s);
    }
}

static void end_member(struct member *m)
{
    session_destroy(TAKE(m->session));
    if (m->running)
        free_call(TAKE(m->running));
}

/* The first member stays. */
static void on_timer(uv_timer_t *timer)
{
    struct pool *p = timer->data;
    uint64_t now = uv_now(p->config.loop);
    for (size_t i = 1; i < POOL_MAX; i++) {
        struct member *m = &p->members[i];
        if (m->session && session_is_idle(m->session) &&
                now - m->idle_since >= p->idle_ms)
            end_member(m);
    }
    if (pool_size(p) < 2)
        uv_timer_stop(timer);
}

static void on_idle(void *user)
{
    struct member *m = user;
    m->idle_since = uv_now(m->pool->config.loop);
    pump(m->pool);
}

static struct member *start_member(struct pool *p, struct member *m)
{
    struct session_config config = p->config;
    config.idle = on_idle;
    config.idle_user = m;
    m->session = session_create(&config);
    if (pool_size(p) > 1)
        uv_timer_start(&p->timer, on_timer, p->idle_ms, p->idle_ms);
    return m;
}

/* One that can take a call now, or NULL. */
static struct member *find_member(struct pool *p)
{
    struct member *free_place = NULL;
    for (size_t i = 0; i < POOL_MAX; i++) {
        struct member *m = &p->members[i];
        if (m->session && session_is_idle(m->session))
            return m;
        if (!m->session && !free_place)
            free_place = m;
    }
    return free_place ? start_member(p, free_place) : NULL;
}

static void on_done(void *user, bool is_error, struct str text, struct str notes)
{
    struct pool_call *call = user;
    session_done_fn *done = call->done;
    void *done_user = call->user;
    call->member->running = NULL;
    free_call(call);
    done(done_user, is_error, text, notes);
}

static void take_first(struct pool *p)
{
    struct pool_call *call = p->first;
    p->first = call->next;
    if (!p->first)
        p->last = &p->first;
    p->waiting--;
    p->waiting_bytes -= call->args_len;
}

static void hand_on(struct member *m, struct pool_call *call)
{
    struct error err;
    struct str args = { call->args, call->args_len };
    bool taken = session_call(
            m->session, str_of(call->tool), args, on_done, call, &call->work, &err);
    assert(taken); /* an idle session has room for one call of any size we let wait */
    free(TAKE(call->tool));
    free(TAKE(call->args));
    call->member = m;
    m->running = call;
}

static void pump(struct pool *p)
{
    while (p->first) {
        struct member *m = find_member(p);
        if (!m)
            return;
        struct pool_call *call = p->first;
        take_first(p);
        hand_on(m, call);
    }
}

bool pool_call(struct pool *p, struct str tool, struct str args, session_done_fn *done,
        void *user, struct pool_call **out, struct error *err)
{
    if (p->waiting >= SESSION_MAX_CALLS ||
            p->waiting_bytes + args.len > SESSION_MAX_CALL_BYTES)
        return error_set(err, ERR_LIMIT,
                "too many calls are waiting (%zu); wait for replies first", p->waiting);
    struct pool_call *call = xcalloc(1, sizeof(*call));
    call->tool = str_copy(tool);
    call->args = str_copy(args);
    call->args_len = args.len;
    call->done = done;
    call->user = user;
    p->waiting++;
    p->waiting_bytes += args.len;
    *p->last = call;
    p->last = &call->next;
    *out = call;
    pump(p);
    return true;
}

static void drop_waiting(struct pool *p, struct pool_call *call)
{
    struct pool_call **at = &p->first;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    if (p->last == &call->next)
        p->last = at;
    p->waiting--;
    p->waiting_bytes -= call->args_len;
}

void pool_cancel(struct pool *p, struct pool_call *call)
{
    if (call->member) {
        session_cancel(call->member->session, call->work);
        call->member->running = NULL;
    } else {
        drop_waiting(p, call);
    }
    free_call(call);
    pump(p); /* a member that had not begun yet is free at once */
}

struct pool *pool_create(const struct session_config *config, unsigned idle_ms)
{
    struct pool *p = xcalloc(1, sizeof(*p));
    p->config = *config;
    p->config.stateless = true;
    p->idle_ms = idle_ms;
    p->last = &p->first;
    for (size_t i = 0; i < POOL_MAX; i++)
        p->members[i].pool = p;
    uv_timer_init(config->loop, &p->timer);
    p->timer.data = p;
    return p;
}

void pool_warm(struct pool *p)
{
    if (!p->members[0].session)
        start_member(p, &p->members[0]);
    session_warm(p->members[0].session);
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void pool_destroy(struct pool *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < POOL_MAX; i++)
        end_member(&p->members[i]);
    while (p->first) {
        struct pool_call *call = p->first;
        take_first(p);
        free_call(call);
    }
    uv_close((uv_handle_t *)&p->timer, on_timer_closed);
}
