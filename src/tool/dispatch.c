#include "tool/dispatch.h"

#include "session/pool.h"
#include "session/turns.h"
#include "tool/extension.h"
#include "tool/record.h"

#define MAX_TRACE 256

struct dispatch_call {
    struct dispatch_call *next;
    struct dispatch *dispatch;
    enum tool_place place;
    struct turn turn;
    union { /* none of it while it waits for its turn */
        struct session_call *shell;
        struct pool_call *pool;
        struct shell_call *command;
        struct snippet_call *snippet;
        struct mcp_call *peer;
        void *program;
    } work;
    dispatch_done_fn *done;
    void *user;
    json_t *args;
    char *tool, *trace;
    uint64_t started; /* ns; when it came, as long as it waits for its turn */
};

struct dispatch {
    struct dispatch_config config;
    struct session *shell; /* NULL: no tool needs it */
    struct turns_client *client;
    /* The same; these five may be those of the commons. */
    struct turns *turns;
    struct pool *pool;
    struct run_shell *commands;
    struct run_python *python;
    struct run_mcp *peers;
    struct dispatch_call *calls;
    bool problems_told; /* of workers */
};

static void take_off(struct dispatch_call *c)
{
    turns_end(&c->turn);
    struct dispatch_call **at = &c->dispatch->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
}

static void release(struct dispatch_call *c)
{
    json_decref(c->args);
    free(c->tool);
    free(c->trace);
    free(c);
}

static struct recorder recorder_of(const struct dispatch *d)
{
    return (struct recorder){ d->config.audit, d->config.metrics };
}

/* What is known here of a call that has ended. */
static struct audit_call recorded(
        const struct dispatch_call *c, bool is_error, struct str text)
{
    return (struct audit_call){ .session = c->dispatch->config.session,
        .tool = str_of(c->tool),
        .trace = str_of(c->trace),
        .args = c->args,
        .is_error = is_error,
        .exit_status = AUDIT_NO_EXIT,
        .bytes = text.len,
        .duration_us = (uv_hrtime() - c->started) / 1000 };
}

/* The call is over; what it is recorded with is still there until release().  The record
 * is written after that: who waits for the answer does not wait for the log. */
static void answer(struct dispatch_call *c, const struct dispatch_reply *reply)
{
    take_off(c);
    c->done(c->user, reply);
}

static void on_worker_done(void *user, bool is_error, struct str text, struct str notes)
{
    struct dispatch_call *c = user;
    const struct recorder to = recorder_of(c->dispatch);
    struct audit_call call = recorded(c, is_error, text);
    answer(c, &(struct dispatch_reply){ .is_error = is_error, .text = text });
    record_worker_call(&to, &call, notes);
    release(c);
}

/* To the shell or to the pool: both take the arguments as JSON. */
static bool give_to_worker(struct dispatch_call *c, struct error *err)
{
    struct dispatch *d = c->dispatch;
    auto_buf text = BUF(SESSION_MAX_CALL_BYTES);
    json_write(c->args, &text);
    if (text.full)
        return error_set(err, ERR_LIMIT, "the arguments are longer than %zu bytes",
                SESSION_MAX_CALL_BYTES);
    if (c->place == TOOL_IN_SHELL)
        return session_call(d->shell, str_of(c->tool), buf_str(&text), on_worker_done, c,
                &c->work.shell, err);
    return pool_call(d->pool, str_of(c->tool), buf_str(&text), on_worker_done, c,
            &c->work.pool, err);
}

static void on_command_done(void *user, const struct shell_outcome *outcome)
{
    struct dispatch_call *c = user;
    const struct recorder to = recorder_of(c->dispatch);
    struct audit_call call = recorded(c, outcome->is_error, outcome->text);
    answer(c, &(struct dispatch_reply){
                      .is_error = outcome->is_error, .text = outcome->text });
    record_shell_call(&to, &call, outcome);
    release(c);
}

static void on_snippet_done(void *user, const struct snippet_outcome *outcome)
{
    struct dispatch_call *c = user;
    const struct recorder to = recorder_of(c->dispatch);
    struct audit_call call = recorded(c, outcome->is_error, outcome->text);
    call.exit_status = outcome->exit_status;
    answer(c, &(struct dispatch_reply){ .is_error = outcome->is_error,
                      .text = outcome->text,
                      .images = outcome->images });
    record_snippet_call(&to, &call, outcome);
    release(c);
}

static void on_peer_done(void *user, const struct mcp_outcome *outcome)
{
    struct dispatch_call *c = user;
    const struct recorder to = recorder_of(c->dispatch);
    struct audit_call call = recorded(c, outcome->is_error, outcome->text);
    answer(c, &(struct dispatch_reply){ .is_error = outcome->is_error,
                      .text = outcome->text,
                      .images = outcome->images });
    record_mcp_call(&to, &call, outcome);
    release(c);
}

static bool call_peer(struct dispatch_call *c, struct error *err)
{
    const struct mcp_request request = { .args = c->args, .trace = str_of(c->trace) };
    return run_mcp_start(
            c->dispatch->peers, &request, on_peer_done, c, &c->work.peer, err);
}

static bool give_to_program(struct dispatch_call *c)
{
    struct dispatch *d = c->dispatch;
    const struct extension_call call = {
        .loop = d->config.worker.loop, .tool = str_of(c->tool), .args = c->args, .call = c
    };
    c->work.program = toolset_extension(d->config.tools)->start(&call);
    return true;
}

void dispatch_answer(struct dispatch_call *c, const struct dispatch_reply *reply)
{
    const struct recorder to = recorder_of(c->dispatch);
    struct audit_call call = recorded(c, reply->is_error, reply->text);
    answer(c, reply);
    record_worker_call(&to, &call, STR(""));
    release(c);
}

static bool hand_on(struct dispatch_call *c, struct error *err)
{
    struct dispatch *d = c->dispatch;
    switch (c->place) {
    case TOOL_IN_SHELL:
    case TOOL_IN_POOL:
        return give_to_worker(c, err);
    case TOOL_IN_SERVER:
        return run_shell_start(
                d->commands, c->args, on_command_done, c, &c->work.command, err);
    case TOOL_IN_PYTHON:
        return run_python_start(
                d->python, c->args, on_snippet_done, c, &c->work.snippet, err);
    case TOOL_IN_PEER:
        return call_peer(c, err);
    case TOOL_IN_PROGRAM:
        return give_to_program(c);
    }
    return error_set(err, ERR_BUG, "nobody does the work of this tool");
}

static void remember(struct dispatch_call *c, const struct dispatch_request *r)
{
    c->args = json_incref(r->args);
    c->tool = str_copy(r->tool);
    c->trace = str_copy(str_sub(r->trace, 0, MAX_TRACE));
    c->started = uv_hrtime();
}

void dispatch_refused(struct dispatch *d, const struct dispatch_request *request,
        const struct error *err)
{
    const struct recorder to = recorder_of(d);
    struct audit_call call = { .session = d->config.session,
        .tool = request->tool,
        .trace = str_sub(request->trace, 0, MAX_TRACE),
        .args = request->args };
    record_refused_call(&to, &call, str_of(err->message));
}

static enum tool_place place_of(const struct dispatch *d, struct str tool)
{
    enum tool_place place = tool_find_place(tool);
    return !place && toolset_extension(d->config.tools) ? TOOL_IN_PROGRAM : place;
}

/* Which turns the calls of a place wait for; a shell has a line of its own, and what a
 * program does itself is not bounded here. */
static bool find_kind(enum tool_place place, enum turn_kind *kind)
{
    switch (place) {
    case TOOL_IN_SHELL:
    case TOOL_IN_PROGRAM:
        break;
    case TOOL_IN_POOL:
        *kind = TURN_POOL;
        return true;
    case TOOL_IN_SERVER:
        *kind = TURN_COMMAND;
        return true;
    case TOOL_IN_PYTHON:
        *kind = TURN_SNIPPET;
        return true;
    case TOOL_IN_PEER:
        *kind = TURN_PEER;
        return true;
    }
    return false;
}

static bool waits(const struct dispatch_call *c)
{
    return c->turn.state == TURN_WAITING;
}

/* It has waited, and begins now. */
static void on_granted(void *user)
{
    struct dispatch_call *c = user;
    struct dispatch *d = c->dispatch;
    struct error err;
    c->started = uv_hrtime();
    if (hand_on(c, &err))
        return;
    const struct dispatch_request request = {
        .tool = str_of(c->tool), .args = c->args, .trace = str_of(c->trace)
    };
    dispatch_refused(d, &request, &err);
    answer(c, &(struct dispatch_reply){ .is_error = true, .text = str_of(err.message) });
    release(c);
}

/* At once, or as soon as it is its turn. */
static bool begin(struct dispatch_call *c, size_t bytes, struct error *err)
{
    enum turn_kind kind;
    if (find_kind(c->place, &kind) &&
            !turns_take(c->dispatch->client, kind, bytes, on_granted, c, &c->turn, err))
        return false;
    return waits(c) || hand_on(c, err);
}

bool dispatch_call(struct dispatch *d, const struct dispatch_request *request,
        dispatch_done_fn *done, void *user, struct dispatch_call **out, struct error *err)
{
    struct dispatch_call *c = xcalloc(1, sizeof(*c));
    *c = (struct dispatch_call){ .next = d->calls,
        .dispatch = d,
        .place = place_of(d, request->tool),
        .done = done,
        .user = user };
    d->calls = c;
    remember(c, request);
    if (!begin(c, request->bytes, err)) {
        dispatch_refused(d, request, err);
        take_off(c);
        release(c);
        return false;
    }
    *out = c;
    return true;
}

/* It ends without an answer. */
static void drop(struct dispatch_call *c)
{
    const struct recorder to = recorder_of(c->dispatch);
    struct audit_call call = recorded(c, true, STR(""));
    record_cancelled_call(&to, &call);
    take_off(c);
    release(c);
}

struct str dispatch_doing(const struct dispatch_call *c)
{
    if (c->place == TOOL_IN_SHELL && session_waits(c->dispatch->shell))
        return STR("waiting for a worker");
    bool python = c->place == TOOL_IN_PYTHON;
    if (waits(c))
        return STR("waiting for its turn");
    return python ? run_python_doing(c->work.snippet) : STR("");
}

static void stop_work(struct dispatch *d, struct dispatch_call *c)
{
    switch (c->place) {
    case TOOL_IN_SHELL:
        session_cancel(d->shell, c->work.shell);
        break;
    case TOOL_IN_POOL:
        pool_cancel(d->pool, c->work.pool);
        break;
    case TOOL_IN_SERVER:
        run_shell_cancel(c->work.command);
        break;
    case TOOL_IN_PYTHON:
        run_python_cancel(c->work.snippet);
        break;
    case TOOL_IN_PEER:
        run_mcp_cancel(c->work.peer);
        break;
    case TOOL_IN_PROGRAM:
        toolset_extension(d->config.tools)->cancel(c->work.program);
        break;
    }
}

void dispatch_cancel(struct dispatch *d, struct dispatch_call *c)
{
    if (!waits(c))
        stop_work(d, c);
    drop(c);
}

static struct session *create_shell(
        const struct dispatch_config *config, struct turns_client *client)
{
    struct session_config shell = config->worker;
    shell.shells = config->shells;
    shell.store = config->store;
    shell.id = config->record;
    shell.owner = turns_owner(client);
    shell.once = config->shells && !config->has_line;
    shell.door = config->door;
    if (shell.door)
        shell.setup = config->door_setup;
    return session_create(&shell);
}

static struct turns *create_turns(const struct dispatch_config *config)
{
    const struct turns_config turns = { .loop = config->worker.loop,
        .places = { [TURN_POOL] = POOL_MAX,
                [TURN_COMMAND] = RUN_SHELL_MAX,
                [TURN_SNIPPET] = PYTHON_MAX_RUNS,
                [TURN_PEER] = PEERS_MAX_CALLS },
        .shared = config->is_shared };
    return turns_create(&turns);
}

struct dispatch *dispatch_create(const struct dispatch_config *config)
{
    struct dispatch *d = xcalloc(1, sizeof(*d));
    struct dispatch *commons = config->commons;
    d->config = *config;
    d->config.worker.problems_told =
            commons ? &commons->problems_told : &d->problems_told;
    d->turns = commons ? commons->turns : create_turns(config);
    d->client = turns_join(d->turns, config->address, config->has_line);
    if (toolset_has_place(config->tools, TOOL_IN_SHELL))
        d->shell = create_shell(&d->config, d->client);
    d->config.address = d->config.record = STR(""); /* they were borrowed */
    if (commons) {
        d->pool = commons->pool;
        d->commands = commons->commands;
        d->python = commons->python;
        d->peers = commons->peers;
        return d;
    }
    if (toolset_has_place(config->tools, TOOL_IN_POOL))
        d->pool = pool_create(&d->config.worker, POOL_IDLE_MS);
    if (toolset_has_place(config->tools, TOOL_IN_SERVER))
        d->commands = run_shell_create(&config->commands);
    if (toolset_has_place(config->tools, TOOL_IN_PYTHON))
        d->python = run_python_create(&config->python);
    if (toolset_has_place(config->tools, TOOL_IN_PEER))
        d->peers = run_mcp_create(&config->peers);
    return d;
}

void dispatch_warm(struct dispatch *d)
{
    if (d->shell && !d->config.commons)
        session_warm(d->shell);
    if (d->pool)
        pool_warm(d->pool);
    if (d->python)
        run_python_warm(d->python);
}

void dispatch_look(const struct dispatch *d, struct metrics_gauges *now)
{
    if (d->pool)
        pool_look(d->pool, &now->files);
    if (d->python)
        run_python_look(d->python, &now->python);
    for (enum turn_kind kind = 0; kind < TURN_KINDS; kind++)
        now->waiting_turns += turns_waiting(d->turns, kind);
}

void dispatch_renew_python(struct dispatch *d)
{
    if (d->python)
        run_python_renew(d->python);
}

bool dispatch_has_room(const struct dispatch *d, struct str tool, struct error *err)
{
    enum turn_kind kind;
    enum tool_place place = tool_find_place(tool);
    if (find_kind(place, &kind))
        return turns_has_room(d->client, kind, 0, err);
    return place != TOOL_IN_SHELL || !d->shell || session_has_room(d->shell) ||
           error_set(err, ERR_LIMIT,
                   "all workers are taken (--max-workers), and the line for one is full "
                   "or would not move; try again");
}

/* Of those who do not end with this dispatch; `places`: a set of TOOL_IN_... */
static void cancel_calls(struct dispatch *d, unsigned places)
{
    for (struct dispatch_call *c = d->calls, *next; c; c = next) {
        next = c->next;
        if (c->place & places)
            dispatch_cancel(d, c);
    }
}

void dispatch_destroy(struct dispatch *d)
{
    if (!d)
        return;
    /* What others go on using is only told to stop. */
    cancel_calls(d, d->config.commons ? ~(unsigned)TOOL_IN_SHELL : TOOL_IN_PROGRAM);
    if (!d->config.commons) {
        pool_destroy(d->pool);
        run_shell_destroy(d->commands);
        run_python_destroy(d->python);
        run_mcp_destroy(d->peers);
    }
    session_destroy(d->shell);
    while (d->calls)
        drop(d->calls);
    turns_leave(d->client);
    if (!d->config.commons)
        turns_destroy(d->turns);
    free(d);
}
