#include "cli/interpreter.h"

#include "base/wire.h"
#include "broker/spawn.h"
#include "policy/environ.h"
#include "policy/python-setup.h"

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

static struct str write_setup(const struct python_setup *setup, struct arena *arena)
{
    auto_buf json = BUF(WIRE_MAX_MESSAGE / 2);
    python_setup_write(setup, &json);
    return arena_str(arena, buf_str(&json));
}

void interpreter_find(const struct interpreter_request *request, struct arena *arena,
        struct interpreter *out)
{
    struct error err;
    *out = (struct interpreter){ .program = NULL };
    if (!helper_find(PROGRAM, &out->program, &err)) {
        out->missing = arena_printf(arena,
                "Python is not installed here: %s. %s Where paddock was built without "
                "python3-embed (Debian: libpython3-dev), build it again with it. The "
                "other tools work.",
                err.message, err.hint);
        return;
    }
    struct python_setup setup = {
        .paths = request->paths,
        .policy = request->policy,
        .env = env_snapshot(request->policy, NULL, environ, arena),
        .events = request->events,
        .hashes = request->hashes,
    };
    out->setup = write_setup(&setup, arena);
    setup.network = true;
    out->network_setup = write_setup(&setup, arena);
}

void interpreter_finish(struct interpreter *i)
{
    free(i->program);
    i->program = NULL;
}
