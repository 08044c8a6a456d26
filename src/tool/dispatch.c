#include "tool/dispatch.h"

#include "session/pool.h"

struct dispatch_call {
    struct dispatch_call *next;
    struct dispatch *dispatch;
    enum tool_place place;
    union {
        struct session_call *shell;
        struct pool_call *pool;
    } work;
    dispatch_done_fn *done;
    void *user;
};

struct dispatch {
    struct dispatch_config config;
    struct session *shell; /* NULL: no tool needs it */
    struct pool *pool;     /* the same */
    struct dispatch_call *calls;
};

/* Take it off the list and free it. */
static void forget(struct dispatch_call *c)
{
    struct dispatch_call **at = &c->dispatch->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    free(c);
}

static void on_worker_done(
        void *user, bool is_error, struct str text, struct str notes UNUSED)
{
    struct dispatch_call *c = user;
    dispatch_done_fn *done = c->done;
    void *done_user = c->user;
    forget(c);
    done(done_user, is_error, text);
}

/* To the shell or to the pool: both take the arguments as JSON. */
static bool give_to_worker(
        struct dispatch_call *c, struct str tool, const json_t *args, struct error *err)
{
    struct dispatch *d = c->dispatch;
    auto_buf text = BUF(SESSION_MAX_CALL_BYTES + 1);
    json_write(args, &text);
    if (c->place == TOOL_IN_SHELL)
        return session_call(
                d->shell, tool, buf_str(&text), on_worker_done, c, &c->work.shell, err);
    return pool_call(
            d->pool, tool, buf_str(&text), on_worker_done, c, &c->work.pool, err);
}

bool dispatch_call(struct dispatch *d, struct str tool, const json_t *args,
        dispatch_done_fn *done, void *user, struct dispatch_call **out, struct error *err)
{
    struct dispatch_call *c = xcalloc(1, sizeof(*c));
    *c = (struct dispatch_call){ .next = d->calls,
        .dispatch = d,
        .place = tool_find_place(tool),
        .done = done,
        .user = user };
    d->calls = c;
    if (!give_to_worker(c, tool, args, err)) {
        forget(c);
        return false;
    }
    *out = c;
    return true;
}

void dispatch_cancel(struct dispatch *d, struct dispatch_call *c)
{
    if (c->place == TOOL_IN_SHELL)
        session_cancel(d->shell, c->work.shell);
    else
        pool_cancel(d->pool, c->work.pool);
    forget(c);
}

struct dispatch *dispatch_create(const struct dispatch_config *config)
{
    struct dispatch *d = xcalloc(1, sizeof(*d));
    d->config = *config;
    if (toolset_has_place(config->tools, TOOL_IN_SHELL))
        d->shell = session_create(&config->worker);
    if (toolset_has_place(config->tools, TOOL_IN_POOL))
        d->pool = pool_create(&config->worker, POOL_IDLE_MS);
    return d;
}

void dispatch_warm(struct dispatch *d)
{
    if (d->shell)
        session_warm(d->shell);
    if (d->pool)
        pool_warm(d->pool);
}

void dispatch_destroy(struct dispatch *d)
{
    if (!d)
        return;
    session_destroy(d->shell);
    pool_destroy(d->pool);
    while (d->calls)
        forget(d->calls);
    free(d);
}
