#include "cli/serve.h"

#include "base/wire.h"
#include "protocol/mcp.h"
#include "transport/stdio.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#define LAST_REPLIES_MS 500 /* for replies that the client has yet to read at the end */
#define WORKER          "paddock-worker"
#define LAUNCHER        "paddock-launch"

static const int signals[] = { SIGHUP, SIGINT, SIGTERM };

struct serve {
    uv_loop_t loop;
    uv_signal_t watchers[ARRAY_LEN(signals)];
    struct mcp_server server;
    char *worker,
            *launcher; /* programs; the second is NULL if nothing is to be started */
    struct toolset *tools;
    struct interpreter *interpreter; /* NULL: no tool needs it */
    struct door *door;               /* of the shell; NULL: it starts no programs */
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
    door_destroy(TAKE(s->door));
    interpreter_close(TAKE(s->interpreter));
    stdio_close(s->stdio, grace_ms);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++)
        uv_close((uv_handle_t *)&s->watchers[i], NULL);
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

static void watch_signals(struct serve *s)
{
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a log that may not grow is an error, not our end */
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        uv_signal_init(&s->loop, &s->watchers[i]);
        s->watchers[i].data = s;
        uv_signal_start(&s->watchers[i], on_signal, signals[i]);
    }
}

static void run_loop(struct serve *s)
{
    while (uv_run(&s->loop, UV_RUN_ONCE))
        if (s->finishing && s->mcp && mcp_is_idle(s->mcp))
            stop(s, LAST_REPLIES_MS);
    uv_loop_close(&s->loop);
}

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

static void on_renew(void *user)
{
    struct serve *s = user;
    if (s->dispatch)
        dispatch_renew_python(s->dispatch);
}

/* Without a policy there is no Python. */
static struct run_python_config open_python(
        struct serve *s, const struct serve_config *config)
{
    if (!toolset_has_place(s->tools, TOOL_IN_PYTHON))
        return (struct run_python_config){ .policy = NULL };
    struct interpreter_request request = *config->python;
    request.launcher = s->launcher;
    s->interpreter = interpreter_open(&s->loop, &request, on_renew, s);
    return *interpreter_config(s->interpreter);
}

/* Whether commands of the shell may be approved programs. */
static bool shell_has_programs(const struct serve *s, const struct serve_config *config)
{
    return toolset_has_place(s->tools, TOOL_IN_SHELL) && config->tools.policy &&
           config->tools.policy->has_shell;
}

static struct door *open_door(struct serve *s, const struct serve_config *config)
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

static struct str write_setup(const struct setup *setup, struct arena *arena)
{
    auto_buf json = BUF(WIRE_MAX_MESSAGE / 2);
    setup_write(setup, &json);
    return arena_str(arena, buf_str(&json));
}

static struct dispatch *open_dispatch(
        struct serve *s, const struct serve_config *config, struct arena *arena)
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
    const struct dispatch_config dispatch = { .worker = session,
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
        .audit = config->audit,
        .session = str_of(arena_printf(arena, "stdio-%d", getpid())) };
    return dispatch_create(&dispatch);
}

/* What can fail before there is a client. */
static bool prepare(struct serve *s, const struct serve_config *config, struct error *err)
{
    if (!toolset_create(&config->tools, &s->tools, err) ||
            !helper_find(WORKER, &s->worker, err))
        return false;
    bool starts = toolset_has_place(s->tools, TOOL_IN_SERVER) ||
                  toolset_has_place(s->tools, TOOL_IN_PYTHON) ||
                  shell_has_programs(s, config);
    if (starts && !helper_find(LAUNCHER, &s->launcher, err))
        return false;
    uv_loop_init(&s->loop);
    return stdio_open(&s->loop, &events, s, &s->stdio, err);
}

static void serve_client(struct serve *s, const struct serve_config *config)
{
    auto_arena *arena = arena_create();
    watch_signals(s);
    s->server = (struct mcp_server){
        .loop = &s->loop,
        .name = arena_cstr(arena, config->setup->name),
        .version = PADDOCK_VERSION,
        .instructions = config->instructions,
        .tools = s->tools,
        .progress_ms = MCP_PROGRESS_MS,
    };
    s->dispatch = open_dispatch(s, config, arena);
    s->mcp = mcp_open(&s->server, s->dispatch, on_send, s);
    run_loop(s);
}

bool serve_stdio(const struct serve_config *config, struct error *err)
{
    struct serve s = { .mcp = NULL };
    /* Our memory and environment hold what no command of the same user is to read. */
    prctl(PR_SET_DUMPABLE, 0);
    bool ready = prepare(&s, config, err);
    if (ready)
        serve_client(&s, config);
    toolset_destroy(s.tools);
    free(s.worker);
    free(s.launcher);
    return ready;
}
