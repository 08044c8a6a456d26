#include "cli/serve.h"

#include "cli/serve-parts.h"
#include "transport/stdio.h"

#include <unistd.h>

#define LAST_REPLIES_MS 500 /* for replies that the client has yet to read at the end */

struct serve {
    struct serve_parts parts;
    uv_signal_t watchers[SERVE_SIGNALS];
    struct dispatch *dispatch;
    struct mcp *mcp; /* NULL: closed */
    struct stdio *stdio;
    bool finishing; /* all was read; what runs may end */
};

/* Give up everything; the loop ends when all handles have closed. */
static void stop(struct serve *s, unsigned grace_ms)
{
    if (!s->mcp)
        return;
    mcp_close(TAKE(s->mcp));
    dispatch_destroy(TAKE(s->dispatch));
    serve_parts_close(&s->parts);
    stdio_close(s->stdio, grace_ms);
    serve_unwatch_signals(s->watchers);
}

static void on_signal(uv_signal_t *watcher, int number UNUSED)
{
    stop(watcher->data, 0);
}

static void on_line(void *user, struct str line)
{
    struct serve *s = user;
    mcp_receive(s->mcp, line);
}

static void on_too_long(void *user)
{
    struct serve *s = user;
    mcp_refuse_long(s->mcp, STDIO_MAX_LINE);
}

static void on_end(void *user, enum stdio_end end)
{
    struct serve *s = user;
    if (end == STDIO_EOF && !mcp_is_idle(s->mcp))
        s->finishing = true;
    else
        stop(s, LAST_REPLIES_MS);
}

static void on_send(void *user, struct str message)
{
    struct serve *s = user;
    stdio_send(s->stdio, message);
}

static const struct stdio_events events = { on_line, on_too_long, on_end };

static void run_loop(struct serve *s)
{
    while (uv_run(&s->parts.loop, UV_RUN_ONCE))
        if (s->finishing && s->mcp && mcp_is_idle(s->mcp))
            stop(s, LAST_REPLIES_MS);
    uv_loop_close(&s->parts.loop);
}

static void on_renew(void *user)
{
    struct serve *s = user;
    if (s->dispatch)
        dispatch_renew_python(s->dispatch);
}

static void serve_client(struct serve *s, const struct serve_config *config)
{
    auto_arena *arena = arena_create();
    serve_watch_signals(&s->parts.loop, s->watchers, on_signal, s);
    s->parts.renew = on_renew;
    s->parts.renew_user = s;
    serve_parts_open(&s->parts, config, arena);
    struct dispatch_config dispatch = s->parts.dispatch;
    dispatch.session = str_of(arena_printf(arena, "stdio-%d", getpid()));
    s->dispatch = dispatch_create(&dispatch);
    s->mcp = mcp_open(&s->parts.server, s->dispatch, on_send, s);
    run_loop(s);
}

bool serve_stdio(const struct serve_config *config, struct error *err)
{
    struct serve s = { .mcp = NULL };
    bool ready = serve_parts_prepare(&s.parts, config, err) &&
                 stdio_open(&s.parts.loop, &events, &s, &s.stdio, err);
    if (ready)
        serve_client(&s, config);
    serve_parts_finish(&s.parts);
    return ready;
}
