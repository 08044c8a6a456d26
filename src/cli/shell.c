/*
 * paddock shell: becomes the worker, which confines itself and then runs the script; what
 * stands after the name is read there (worker/shell-main.c).
 */
#include "cli/cli.h"

#include "base/arena.h"
#include "broker/spawn.h"

#include <errno.h>
#include <unistd.h>

/* The script sees none of our environment; these are for the worker itself. */
static char **worker_env(struct arena *arena)
{
    static const char *const passed[] = { "PADDOCK_LOG", "TZ" };
    char **env = arena_zalloc(arena, (ARRAY_LEN(passed) + 2) * sizeof(*env));
    size_t count = 0;
    env[count++] = arena_cstr(arena, STR("LC_ALL=C.UTF-8"));
    for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
        const char *value = getenv(passed[i]);
        if (value)
            env[count++] = arena_printf(arena, "%s=%s", passed[i], value);
    }
    return env;
}

int cli_shell(int argc, char **argv)
{
    struct error err = { 0 };
    auto_free char *path = NULL;
    if (!helper_find("paddock-worker", &path, &err))
        return cli_fail("paddock shell", 126, &err);
    auto_arena *arena = arena_create();
    char **args = arena_zalloc(arena, ((size_t)argc + 3) * sizeof(*args));
    args[0] = path;
    args[1] = arena_cstr(arena, STR("--shell"));
    for (int i = 1; i < argc; i++)
        args[i + 1] = argv[i];
    execve(path, args, worker_env(arena));
    error_errno(&err, errno, "cannot run '%s'", path);
    return cli_fail("paddock shell", 126, &err);
}
