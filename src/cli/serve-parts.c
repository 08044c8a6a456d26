#include "cli/serve-parts.h"

#include "base/wire.h"
#include "cli/servers.h"
#include "tool/extension.h"

#include <signal.h>
#include <sys/prctl.h>

#define WORKER   "paddock-worker"
#define LAUNCHER "paddock-launch"

/* The descriptors of the local roots, and their numbers in the worker. */
static const int *root_fds(const struct setup *setup, struct arena *arena,
        struct setup_root *numbered, size_t *count)
{
    int *fds = arena_alloc(arena, setup->root_count * sizeof(*fds));
    *count = 0;
    for (size_t i = 0; i < setup->root_count; i++) {
        numbered[i] = setup->roots[i];
        if (numbered[i].kind != SETUP_LOCAL)
            continue;
        fds[*count] = numbered[i].fd;
        numbered[i].fd = HELPER_FIRST_FD + (int)(*count)++;
    }
    return fds;
}

/* Without a policy there is no Python. */
static struct run_python_config open_python(
        struct serve_parts *s, const struct serve_config *config)
{
    if (!toolset_has_place(s->tools, TOOL_IN_PYTHON))
        return (struct run_python_config){ .policy = NULL };
    struct interpreter_request request = *config->python;
    request.launcher = s->launcher;
    request.peers = s->peers;
    s->interpreter = interpreter_open(&s->loop, &request, s->renew, s->renew_user);
    return *interpreter_config(s->interpreter);
}

/* Whether commands of the shell may be approved programs. */
static bool shell_has_programs(
        const struct serve_parts *s, const struct serve_config *config)
{
    return toolset_has_place(s->tools, TOOL_IN_SHELL) && config->tools.policy &&
           config->tools.policy->has_shell;
}

static struct door *open_door(struct serve_parts *s, const struct serve_config *config)
{
    const struct door_config door = { .loop = &s->loop,
        .launcher = s->launcher,
        .policy = config->tools.policy,
        .paths = config->paths,
        .commands = config->commands,
        .audit = config->audit,
        .for_shell = true };
    return door_create(&door);
}

static bool has_peers(const struct serve_config *config)
{
    return config->tools.servers && config->tools.servers->count;
}

static struct peers *open_peers(
        struct serve_parts *s, const struct serve_config *config, struct arena *arena)
{
    const struct peers_config peers = { .loop = &s->loop,
        .launcher = s->launcher,
        .policy = config->tools.policy,
        .paths = config->paths,
        .definitions = config->tools.servers };
    return servers_open(&peers, arena);
}

static struct str write_setup(const struct setup *setup, struct arena *arena)
{
    auto_buf json = BUF(WIRE_MAX_MESSAGE / 2);
    setup_write(setup, &json);
    return arena_str(arena, buf_str(&json));
}

static struct dispatch_config configure_dispatch(
        struct serve_parts *s, const struct serve_config *config, struct arena *arena)
{
    struct setup setup = *config->setup;
    struct setup_root *roots = arena_alloc(arena, setup.root_count * sizeof(*roots));
    struct session_config session = {
        .loop = &s->loop,
        .worker = { .path = s->worker, .env = helper_env(arena), .pipe_stderr = true },
        .timeout_ms = setup.timeout_ms,
        /* Four bytes a character, and what surrounds them. */
        .max_reply = (size_t)setup.max_output * 4 + ((size_t)16 << 20),
    };
    session.worker.fds = root_fds(&setup, arena, roots, &session.worker.fd_count);
    setup.roots = roots;
    session.setup = write_setup(&setup, arena);
    struct str door_setup = session.setup;
    if (shell_has_programs(s, config)) {
        s->door = open_door(s, config);
        setup.door = HELPER_FIRST_FD + (int)session.worker.fd_count;
        command_files(config->commands, arena, &setup.files, &setup.file_count);
        door_setup = write_setup(&setup, arena);
    }
    return (struct dispatch_config){ .worker = session,
        .door = s->door,
        .door_setup = door_setup,
        .tools = s->tools,
        .commands = { .loop = &s->loop,
                .launcher = s->launcher,
                .policy = config->tools.policy,
                .paths = config->paths,
                .commands = config->commands,
                .audit = config->audit },
        .python = open_python(s, config),
        .peers = { .loop = &s->loop,
                .policy = config->tools.policy,
                .servers = config->tools.servers,
                .peers = s->peers },
        .audit = config->audit };
}

bool serve_parts_prepare(
        struct serve_parts *s, const struct serve_config *config, struct error *err)
{
    /* Our memory and environment hold what no command of the same user is to read. */
    prctl(PR_SET_DUMPABLE, 0);
    if (!toolset_create(&config->tools, &s->tools, err) ||
            !helper_find(WORKER, &s->worker, err))
        return false;
    bool starts = toolset_has_place(s->tools, TOOL_IN_SERVER) ||
                  toolset_has_place(s->tools, TOOL_IN_PYTHON) ||
                  shell_has_programs(s, config) || has_peers(config);
    if (starts && !helper_find(LAUNCHER, &s->launcher, err))
        return false;
    uv_loop_init(&s->loop);
    return true;
}

void serve_parts_open(
        struct serve_parts *s, const struct serve_config *config, struct arena *arena)
{
    const struct tool_extension *more = config->tools.extension;
    s->server = (struct mcp_server){
        .loop = &s->loop,
        .name = arena_cstr(arena, config->setup->name),
        .version = PADDOCK_VERSION,
        .instructions = config->instructions,
        .tools = s->tools,
        .progress_ms = more && more->progress_ms ? more->progress_ms : MCP_PROGRESS_MS,
    };
    s->peers = open_peers(s, config, arena);
    s->dispatch = configure_dispatch(s, config, arena);
}

void serve_parts_close(struct serve_parts *s)
{
    door_destroy(TAKE(s->door));
    interpreter_close(TAKE(s->interpreter));
    peers_destroy(TAKE(s->peers));
}

void serve_parts_finish(struct serve_parts *s)
{
    toolset_destroy(s->tools);
    free(s->worker);
    free(s->launcher);
}

void serve_watch_signals(
        uv_loop_t *loop, uv_signal_t *watchers, uv_signal_cb on_signal, void *user)
{
    static const int signals[SERVE_SIGNALS] = { SIGHUP, SIGINT, SIGTERM };
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a log that may not grow is an error, not our end */
    for (size_t i = 0; i < SERVE_SIGNALS; i++) {
        uv_signal_init(loop, &watchers[i]);
        watchers[i].data = user;
        uv_signal_start(&watchers[i], on_signal, signals[i]);
    }
}

void serve_unwatch_signals(uv_signal_t *watchers)
{
    for (size_t i = 0; i < SERVE_SIGNALS; i++)
        uv_close((uv_handle_t *)&watchers[i], NULL);
}
