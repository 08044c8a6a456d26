/*
 * with-broker WORKSPACE HOME PROGRAM [ARG]...: run it with a broker as descriptor 4 that
 * starts what the policy of the workspace allows, and calls tools of its servers.  What
 * holds the loop up is told on stderr.
 */
#include "peer/peers.h"
#include "policy/config/config.h"
#include "session/door.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define BROKER_FD  4
#define TIMEOUT_MS 60000
#define BEAT_MS    20
#define HELD_UP_MS 8000 /* what waits for a snippet waits until its time is up, 10 s */

extern char **environ;

static struct {
    uv_loop_t loop;
    uv_process_t program;
    uv_timer_t beat;
    uint64_t last_beat_ms;
    void *run;
    int status;
} test;

static void on_program_exit(uv_process_t *program, int64_t status, int signal)
{
    test.status = signal ? 128 + signal : (int)status;
    door_fns.end(test.run);
    uv_close((uv_handle_t *)program, NULL);
    uv_close((uv_handle_t *)&test.beat, NULL);
}

static void on_beat(uv_timer_t *beat UNUSED)
{
    uint64_t now = uv_hrtime() / 1000000;
    if (now - test.last_beat_ms > HELD_UP_MS)
        fprintf(stderr, "the broker was held up\n");
    test.last_beat_ms = now;
}

static void start_beat(void)
{
    test.last_beat_ms = uv_hrtime() / 1000000;
    uv_timer_init(&test.loop, &test.beat);
    uv_timer_start(&test.beat, on_beat, BEAT_MS, BEAT_MS);
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
    struct peer_definitions servers;
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
    peer_definitions_load(policy, argv[2], environ, arena, &servers);
    const struct path_policy *paths = path_policy_create(policy, arena);
    const struct peers_config others = { .loop = &test.loop,
        .launcher = TEST_LAUNCHER,
        .policy = policy,
        .paths = paths,
        .definitions = &servers };
    struct peers *peers = servers.count ? peers_create(&others) : NULL;
    const struct door_config config = { .loop = &test.loop,
        .launcher = TEST_LAUNCHER,
        .policy = policy,
        .paths = paths,
        .commands = command_policy_create(policy, paths, environ, arena),
        .peers = peers };
    struct door *broker = door_create(&config);
    test.run = door_fns.start(broker, ends[0], TIMEOUT_MS);
    if (start(argv + 3, ends[1]))
        return 2;
    start_beat();
    close(ends[1]);
    uv_run(&test.loop, UV_RUN_DEFAULT);
    door_destroy(broker);
    if (peers)
        peers_destroy(peers);
    return test.status;
}
