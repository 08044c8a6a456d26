/*
 * with-broker WORKSPACE HOME PROGRAM [ARG]...: run it with a broker as descriptor 4 that
 * starts what the policy of the workspace allows.
 */
#include "policy/config/config.h"
#include "session/door.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BROKER_FD  4
#define TIMEOUT_MS 60000

extern char **environ;

static struct {
    uv_loop_t loop;
    uv_process_t program;
    void *run;
    int status;
} test;

static void on_program_exit(uv_process_t *program, int64_t status, int signal)
{
    test.status = signal ? 128 + signal : (int)status;
    door_fns.end(test.run);
    uv_close((uv_handle_t *)program, NULL);
}

static int start(char **argv, int broker)
{
    uv_stdio_container_t streams[BROKER_FD + 1] = { { .flags = UV_IGNORE } };
    for (int i = 0; i <= STDERR_FILENO; i++)
        streams[i] = (uv_stdio_container_t){ UV_INHERIT_FD, { .fd = i } };
    streams[BROKER_FD] = (uv_stdio_container_t){ UV_INHERIT_FD, { .fd = broker } };
    const uv_process_options_t options = { .file = argv[0],
        .args = argv,
        .stdio = streams,
        .stdio_count = BROKER_FD + 1,
        .exit_cb = on_program_exit };
    return uv_spawn(&test.loop, &test.program, &options);
}

int main(int argc, char **argv)
{
    struct error err;
    struct policy *policy;
    int ends[2];
    auto_arena *arena = arena_create();
    if (argc < 4 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return 2;
    const struct config_request request = { .workspace = argv[1], .home = argv[2] };
    if (!config_load(&request, arena, &policy, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    uv_loop_init(&test.loop);
    const struct path_policy *paths = path_policy_create(policy, arena);
    const struct door_config config = { .loop = &test.loop,
        .launcher = TEST_LAUNCHER,
        .policy = policy,
        .paths = paths,
        .commands = command_policy_create(policy, paths, environ, arena) };
    struct door *broker = door_create(&config);
    test.run = door_fns.start(broker, ends[0], TIMEOUT_MS);
    if (start(argv + 3, ends[1]))
        return 2;
    close(ends[1]);
    uv_run(&test.loop, UV_RUN_DEFAULT);
    door_destroy(broker);
    return test.status;
}
