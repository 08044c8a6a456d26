/*
 * install-for WORKSPACE HOME LAUNCHER [MODULE]...: install what the workspace's policy
 * needs, as a server does.  Progress goes to stderr; then JSON:
 *
 *   {"started":3, "changed":2, "paths":["..."],
 *    "modules":{"NAME":{"state":"ready", "why":"", "woken":true}}}
 *
 * KILL_AFTER=MS: destroy it then.
 */
#include "policy/config/config.h"
#include "session/packages.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

struct waiting {
    const char *module;
    bool waits, was_called;
};

static unsigned changes;

static void on_progress(void *user UNUSED, struct str line)
{
    fprintf(stderr, "%.*s\n", STR_ARG(line));
}

static void on_changed(void *user UNUSED)
{
    changes++;
}

static void on_done(void *user)
{
    struct waiting *w = user;
    w->was_called = true;
}

static void on_timer(uv_timer_t *timer)
{
    *(bool *)timer->data = true;
}

static json_t *describe(const struct packages *p, const struct waiting *w)
{
    static const char *const states[] = { "not needed", "ready", "installing", "failed" };
    struct str why;
    enum package_state state = packages_state(p, str_of(w->module), &why);
    return json_pack("{s:s, s:o, s:b, s:b}", "state", states[state], "why",
            json_text(why), "waited", w->waits, "woken", w->was_called);
}

static void print(const struct packages *p, const struct waiting *w, size_t count)
{
    auto_buf text = BUF((size_t)1 << 20);
    struct packages_paths paths = packages_paths(p);
    json_t *list = json_array(), *modules = json_object();
    for (size_t i = 0; i < paths.count; i++)
        json_array_append_new(list, json_text(paths.items[i]));
    for (size_t i = 0; i < count; i++)
        json_object_set_new(modules, w[i].module, describe(p, &w[i]));
    json_t *all = json_pack("{s:i, s:i, s:b, s:o, s:o}", "started",
            (int)packages_started(p), "changed", (int)changes, "busy",
            packages_is_busy(p), "paths", list, "modules", modules);
    json_write(all, &text);
    json_decref(all);
    puts(text.data);
}

static void install(uv_loop_t *loop, struct packages *p, struct waiting *w, size_t count)
{
    static bool stop;
    static uv_timer_t timer; /* closed when the loop runs to its end */
    const char *kill_after = getenv("KILL_AFTER");
    uv_timer_init(loop, &timer);
    timer.data = &stop;
    if (kill_after)
        uv_timer_start(&timer, on_timer, (uint64_t)atoi(kill_after), 0);
    packages_start(p);
    for (size_t i = 0; i < count; i++)
        w[i].waits = packages_wait(p, str_of(w[i].module), on_done, &w[i]) != NULL;
    while (packages_is_busy(p) && !stop)
        uv_run(loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&timer, NULL);
}

int main(int argc, char **argv)
{
    struct error err;
    struct policy *policy;
    auto_arena *arena = arena_create();
    if (argc < 4)
        return 2;
    const struct config_request request = { .workspace = argv[1], .home = argv[2] };
    if (!config_load(&request, arena, &policy, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    uv_loop_t loop;
    uv_loop_init(&loop);
    const struct packages_config config = { .loop = &loop,
        .launcher = argv[3],
        .policy = policy,
        .env = (const char *const *)environ,
        .progress = on_progress,
        .changed = on_changed };
    size_t count = (size_t)argc - 4;
    struct waiting *w = arena_zalloc(arena, (count + 1) * sizeof(*w));
    for (size_t i = 0; i < count; i++)
        w[i].module = argv[4 + i];
    struct packages *p = packages_create(&config);
    install(&loop, p, w, count);
    print(p, w, count);
    packages_destroy(p);
    uv_run(&loop, UV_RUN_DEFAULT);
    return uv_loop_close(&loop) ? 1 : 0;
}
