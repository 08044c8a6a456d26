#include "cli/interpreter.h"

#include "base/wire.h"
#include "broker/spawn.h"
#include "policy/environ.h"
#include "policy/log/audit.h"
#include "policy/python-setup.h"
#include "policy/shims.h"
#include "session/door.h"
#include "session/packages.h"
#include "tool/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROGRAM "paddock-python"

/* "NAME=value" of one of our own variables for a helper, or NULL. */
static const char *own_variable(struct arena *arena, const char *name)
{
    const char *value = getenv(name);
    return value ? arena_printf(arena, "%s=%s", name, value) : NULL;
}

const char *const *helper_env(struct arena *arena)
{
    static const char *const passed[] = { "PADDOCK_LOG", "TZ" };
    const char **env = arena_zalloc(arena, (ARRAY_LEN(passed) + 2) * sizeof(*env));
    size_t count = 0;
    env[count++] = "LC_ALL=C.UTF-8";
    for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
        const char *variable = own_variable(arena, passed[i]);
        if (variable)
            env[count++] = variable;
    }
    return env;
}

struct interpreter {
    struct arena *arena;
    struct interpreter_request request;
    const char *const *env; /* of snippets */
    const struct python_shim *shims;
    size_t shim_count;
    char *program; /* NULL: it is not installed */
    struct run_python_config config;
    struct door *broker;
    struct packages *packages;
    interpreter_renew_fn *renew;
    void *user;
};

static void on_event(void *user, const json_t *event)
{
    const struct interpreter *i = user;
    record_python_event(i->request.audit, event);
}

static void on_progress(void *user, struct str line)
{
    const struct interpreter *i = user;
    fprintf(stderr, "%s: %.*s\n", i->request.name, STR_ARG(line));
}

static struct str write_setup(struct interpreter *i, bool network)
{
    struct packages_paths paths = { NULL, 0 };
    if (i->packages)
        paths = packages_paths(i->packages);
    const struct python_setup setup = {
        .paths = i->request.paths,
        .policy = i->request.policy,
        .sys_path = paths.items,
        .sys_path_count = paths.count,
        .trusted = paths.items,
        .trusted_count = paths.count,
        .env = i->env,
        .shims = i->shims,
        .shim_count = i->shim_count,
        .network = network,
        .events = audit_wants_events(i->request.audit),
        .hashes = i->request.hashes,
        .mcp = i->request.peers,
    };
    auto_buf json = BUF(WIRE_MAX_MESSAGE / 2);
    python_setup_write(&setup, &json);
    return arena_str(i->arena, buf_str(&json));
}

static void tell(void *user, struct python_config *python)
{
    struct interpreter *i = user;
    python->setup = write_setup(i, false);
    python->network_setup = write_setup(i, true);
}

static void on_packages_changed(void *user)
{
    struct interpreter *i = user;
    i->renew(i->user);
}

static const char *tell_missing(struct arena *arena, const struct error *err)
{
    return arena_printf(arena,
            "Python is not installed here: %s. %s Where paddock was built without "
            "python3-embed (Debian: libpython3-dev), build it again with it. The other "
            "tools work.",
            err->message, err->hint);
}

static void open_broker(struct interpreter *i, uv_loop_t *loop)
{
    const struct interpreter_request *r = &i->request;
    const struct door_config config = { .loop = loop,
        .launcher = r->launcher,
        .policy = r->policy,
        .paths = r->paths,
        .commands = r->commands,
        .peers = r->peers,
        .audit = r->audit };
    i->broker = door_create(&config);
    i->config.python.broker = &door_fns;
    i->config.python.broker_user = i->broker;
}

static void open_packages(struct interpreter *i, uv_loop_t *loop)
{
    const struct packages_config config = { .loop = loop,
        .launcher = i->request.launcher,
        .policy = i->request.policy,
        .env = (const char *const *)environ,
        .progress = on_progress,
        .changed = on_packages_changed,
        .user = i };
    i->packages = packages_create(&config);
    i->config.packages = i->request.installs ? i->packages : NULL;
}

struct interpreter *interpreter_open(uv_loop_t *loop,
        const struct interpreter_request *request, interpreter_renew_fn *renew,
        void *user)
{
    struct error err;
    struct interpreter *i = xcalloc(1, sizeof(*i));
    i->arena = arena_create();
    i->request = *request;
    i->renew = renew;
    i->user = user;
    i->config.policy = request->policy;
    i->config.python.loop = loop;
    if (!helper_find(PROGRAM, &i->program, &err)) {
        i->config.missing = tell_missing(i->arena, &err);
        return i;
    }
    if (!shims_load(request->policy, i->arena, &i->shims, &i->shim_count, &err)) {
        i->config.missing = arena_printf(i->arena,
                "%s. Mend it or switch the override off, and start the server again.",
                err.message);
        return i;
    }
    i->env = env_snapshot(request->policy, NULL, environ, i->arena);
    if (request->launcher) {
        open_broker(i, loop);
        open_packages(i, loop);
    }
    i->config.python.program = i->program;
    i->config.python.env = helper_env(i->arena);
    i->config.tell = tell;
    i->config.user = i;
    i->config.python.event = audit_wants_events(request->audit) ? on_event : NULL;
    i->config.python.event_user = i;
    return i;
}

const struct run_python_config *interpreter_config(const struct interpreter *i)
{
    return &i->config;
}

void interpreter_close(struct interpreter *i)
{
    if (!i)
        return;
    if (i->broker)
        door_destroy(i->broker);
    if (i->packages)
        packages_destroy(i->packages);
    arena_destroy(i->arena);
    free(i->program);
    free(i);
}
