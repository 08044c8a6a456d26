#include "peer/peers.h"

#include "broker/plan-view.h"
#include "peer/client.h"
#include "peer/message.h"
#include "policy/mcp.h"

#define MAX_TEXT ((size_t)64 << 10)
#define MAX_NAME ((size_t)200) /* of what is asked for, in a text */

/* A server, as the definitions have them. */
struct peer {
    const struct peer_definition *definition;
    enum client_era era; /* as it has last answered */
};

/* A connection that nobody uses. */
struct idle {
    struct idle *next;
    struct peer_client *client;
    struct peer *peer;
    uint64_t until_ms;
};

struct peer_call {
    struct peer_call *next;
    struct peers *owner;
    struct peer *peer;          /* NULL: refused */
    struct peer_client *client; /* NULL: the end is known */
    uv_timer_t timer;           /* for the time limit, or the end that is known */
    uint64_t started;           /* ns */
    unsigned timeout_ms;
    bool is_nested;
    char *server, *tool, *trace;
    struct buf arguments; /* JSON */
    enum peer_end end;
    struct buf text, rule;
    peer_done_fn *done;
    void *user;
};

struct peers {
    struct peers_config config;
    struct peer *all; /* one for each definition */
    struct link_list links;
    struct idle *idle; /* the one that was used last is first */
    uv_timer_t sweep;
    struct peer_call *calls;
    size_t count, nested;
    bool change_told; /* of definitions */
};

static void on_timer_closed(uv_handle_t *handle)
{
    struct peer_call *c = handle->data;
    free(c->server);
    free(c->tool);
    free(c->trace);
    buf_finish(&c->arguments);
    buf_finish(&c->text);
    buf_finish(&c->rule);
    free(c);
}

/* Snippets take no place from those who wait for theirs (session/turns.h). */
static size_t *counter(struct peers *p, bool is_nested)
{
    return is_nested ? &p->nested : &p->count;
}

/* Take it off the list; it is freed by the loop. */
static void forget(struct peer_call *c)
{
    struct peer_call **at = &c->owner->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    *counter(c->owner, c->is_nested) -= 1;
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

/* Who changes a definition is told, by the next call, that it is not read again. */
static void add_change(struct peer_call *c)
{
    auto_buf files = BUF(MAX_TEXT / 2);
    struct peers *p = c->owner;
    if (p->change_told || c->end == PEER_REFUSED ||
            !peer_definitions_changed(p->config.definitions, &files))
        return;
    p->change_told = true;
    if (c->text.len)
        buf_add(&c->text, STR("\nNote: "));
    buf_add(&c->text, buf_str(&files));
    buf_add(&c->text, STR(" changed after paddock started; what was defined then holds "
                          "until it is started again"));
}

static void deliver(struct peer_call *c, const json_t *result)
{
    add_change(c);
    const struct peer_result r = { .end = c->end,
        .result = result,
        .text = buf_str(&c->text),
        .rule = buf_str(&c->rule),
        .duration_ms = (uv_hrtime() - c->started) / 1000000 };
    peer_done_fn *done = c->done;
    void *user = c->user;
    forget(c); /* its memory lives until the loop turns */
    done(user, &r);
}

static bool is_listing(const struct peer_call *c)
{
    return !*c->tool;
}

static void name_server(struct peer_call *c)
{
    buf_add(&c->text, STR("the MCP server '"));
    peer_add_text(str_of(c->server), MAX_NAME, PEER_ONE_LINE, &c->text);
    buf_add(&c->text, STR("' "));
}

static void fail(struct peer_call *c, struct str how)
{
    c->end = PEER_FAILED;
    name_server(c);
    buf_add(&c->text, how);
}

static void write_seconds(unsigned ms, struct buf *out)
{
    buf_addf(out, "%.15g s", ms / 1e3);
}

static void time_out(struct peer_call *c)
{
    unsigned most = c->owner->config.policy->max_timeout_ms;
    bool starting = client_is_starting(c->client);
    c->end = PEER_TIMED_OUT;
    client_close(TAKE(c->client));
    name_server(c);
    if (starting) {
        buf_add(&c->text, STR("has not answered the handshake"));
    } else if (is_listing(c)) {
        buf_add(&c->text, STR("has not listed its tools"));
    } else {
        buf_add(&c->text, STR("has not answered '"));
        peer_add_text(str_of(c->tool), MAX_NAME, PEER_ONE_LINE, &c->text);
        buf_addc(&c->text, '\'');
    }
    buf_add(&c->text, STR(" within the time limit (timeout) of "));
    write_seconds(c->timeout_ms, &c->text);
    buf_add(&c->text, STR(" and was ended"));
    if (c->timeout_ms >= most)
        return;
    buf_add(&c->text, STR(". Pass a larger 'timeout' (at most "));
    write_seconds(most, &c->text);
    buf_add(&c->text, STR(") if it needs more time."));
}

static void on_timer(uv_timer_t *timer)
{
    struct peer_call *c = timer->data;
    if (c->client)
        time_out(c);
    deliver(c, NULL);
}

/* --- connections that are kept --- */

static void sweep(struct peers *p);

static void on_sweep(uv_timer_t *timer)
{
    sweep(timer->data);
}

static struct peer_client *take_off(struct idle **at)
{
    struct idle *idle = *at;
    struct peer_client *client = idle->client;
    *at = idle->next;
    free(idle);
    return client;
}

/* Close those whose time is over, and come back for the next. */
static void sweep(struct peers *p)
{
    uint64_t now = uv_now(p->config.loop), next = 0;
    struct idle **at = &p->idle;
    while (*at) {
        uint64_t until = (*at)->until_ms;
        if (until <= now || client_is_gone((*at)->client)) {
            client_close(take_off(at));
            continue;
        }
        if (!next || until < next)
            next = until;
        at = &(*at)->next;
    }
    if (next)
        uv_timer_start(&p->sweep, on_sweep, next - now, 0);
}

static size_t count_idle(const struct peers *p, const struct peer *peer)
{
    size_t count = 0;
    for (const struct idle *i = p->idle; i; i = i->next)
        count += i->peer == peer;
    return count;
}

/* Takes over the client. */
static void keep(struct peers *p, struct peer *peer, struct peer_client *client)
{
    uint64_t ms = (uint64_t)peer->definition->section->keep_alive_s * 1000;
    sweep(p);
    if (!ms || count_idle(p, peer) >= PEERS_MAX_IDLE) {
        client_close(client);
        return;
    }
    struct idle *idle = xcalloc(1, sizeof(*idle));
    *idle = (struct idle){ .next = p->idle,
        .client = client,
        .peer = peer,
        .until_ms = uv_now(p->config.loop) + ms };
    p->idle = idle;
    sweep(p);
}

/* NULL: there is none. */
static struct peer_client *take_idle(struct peers *p, const struct peer *peer)
{
    sweep(p);
    for (struct idle **at = &p->idle; *at; at = &(*at)->next)
        if ((*at)->peer == peer)
            return take_off(at);
    return NULL;
}

/* --- a call --- */

/* Of the tools of the server, those that may be called. */
static json_t *offered(const struct peer_call *c, const json_t *tools)
{
    json_t *chosen = json_array(), *tool;
    size_t i;
    json_array_foreach (tools, i, tool) {
        struct str name = json_get_str(tool, "name", STR(""));
        if (name.len && mcp_offers(c->peer->definition->section, name))
            json_array_append(chosen, tool);
    }
    return chosen;
}

static void on_answer(void *user, const struct client_answer *a)
{
    struct peer_call *c = user;
    struct peer_client *client = TAKE(c->client);
    json_auto_t *list = NULL;
    c->peer->era = client_era(client);
    if (a->is_usable)
        keep(c->owner, c->peer, client);
    else
        client_close(client);
    if (!a->result) {
        fail(c, a->text);
    } else if (is_listing(c)) {
        c->end = PEER_LISTED;
        list = offered(c, a->result);
    } else {
        c->end = PEER_ANSWERED;
    }
    deliver(c, list ? list : a->result);
}

static const char **copy_vector(const char *const *strings, struct arena *arena)
{
    size_t count = 0;
    while (strings[count])
        count++;
    const char **copy = arena_alloc(arena, (count + 1) * sizeof(*copy));
    memcpy(copy, strings, (count + 1) * sizeof(*copy));
    return copy;
}

/* The sandbox is that of run_shell; by default there is none but the limits. */
static struct command_spec spec_of(
        const struct peers *p, const struct peer_definition *d, struct arena *arena)
{
    const struct policy_shell section = {
        .name = d->name, .sandbox = d->section->sandbox, .network = d->section->network
    };
    const struct command_plan plan = { .section = &section,
        .argv = copy_vector(d->argv, arena),
        .program = d->program,
        .env = copy_vector(d->env, arena),
        .cwd = arena_cstr(arena, p->config.policy->workspace_real),
        .sandbox = section.sandbox,
        .network = section.network };
    return plan_spec(p->config.launcher, p->config.paths, &plan, arena);
}

static bool open_client(struct peer_call *c, struct error *err)
{
    const struct peers *p = c->owner;
    const struct peer_definition *d = c->peer->definition;
    auto_arena *arena = arena_create();
    const struct bridge_spec bridge = { p->config.bridge, d };
    if (d->url && !p->config.bridge)
        return error_set(err, ERR_NOT_FOUND, "the program 'paddock-bridge' is missing");
    struct command_spec spec = { .launcher = NULL };
    if (!d->url)
        spec = spec_of(p, d, arena);
    const struct client_config config = { .loop = p->config.loop,
        .links = &c->owner->links,
        .spec = d->url ? NULL : &spec,
        .bridge = d->url ? &bridge : NULL,
        .era = c->peer->era };
    return client_open(&config, &c->client, err);
}

static bool ask(struct peer_call *c)
{
    const struct client_request r = { .tool = str_of(c->tool),
        .arguments = buf_str(&c->arguments),
        .trace = str_of(c->trace) };
    return client_ask(c->client, &r, on_answer, c);
}

/* On a connection that is kept and still good, or on a new one. */
static void connect_and_ask(struct peer_call *c)
{
    struct error err;
    while ((c->client = take_idle(c->owner, c->peer))) {
        if (ask(c))
            return;
        client_close(TAKE(c->client));
    }
    if (!open_client(c, &err)) {
        fail(c, STR("cannot be started: "));
        buf_add(&c->text, str_of(err.message));
    } else if (!ask(c)) {
        client_close(TAKE(c->client));
        fail(c, STR("does not read what it is sent"));
    }
}

static void refuse(struct peer_call *c, const struct refusal *why)
{
    c->end = PEER_REFUSED;
    refusal_write(why, &c->text);
    refusal_write_rule(why, &c->rule);
}

/* Ask the policy; false: it has refused. */
static bool decide(struct peer_call *c, const struct peer_request *r)
{
    const struct policy *policy = c->owner->config.policy;
    auto_refusal why;
    refusal_init(&why);
    /* Who may call a tool may see the list. */
    bool allowed = (!r->tool.len && mcp_find_section(policy, r->server)) ||
                   mcp_decide(policy, r->server, r->tool, r->arguments, &why);
    if (!allowed)
        refuse(c, &why);
    return allowed;
}

static struct peer *find_peer(struct peers *p, struct str server)
{
    const struct peer_definition *d = peer_find(p->config.definitions, server);
    return d ? &p->all[d - p->config.definitions->items] : NULL;
}

/* What is asked for is well-formed, the policy allows it, and there is such a server. */
static bool prepare(struct peer_call *c, const struct peer_request *r)
{
    /* Decided on in full, it must be sent in full. */
    if (r->tool.len > CLIENT_MAX_NAME || memchr(r->tool.data, '\0', r->tool.len)) {
        c->end = PEER_REFUSED;
        buf_addf(&c->text,
                "no name of a tool contains a NUL character or has more than %d bytes",
                CLIENT_MAX_NAME);
        return false;
    }
    if (!decide(c, r))
        return false;
    if (r->arguments)
        json_write(r->arguments, &c->arguments);
    else
        buf_add(&c->arguments, STR("{}"));
    c->peer = find_peer(c->owner, r->server);
    if (!c->peer)
        fail(c, STR("has no definition that could be used; when paddock started it said "
                    "why on its stderr"));
    else if (c->arguments.full)
        fail(c, STR("was not asked: the arguments are longer than a message may be"));
    return c->peer && !c->arguments.full;
}

static struct peer_call *create_call(
        struct peers *p, const struct peer_request *r, peer_done_fn *done, void *user)
{
    struct peer_call *c = xcalloc(1, sizeof(*c));
    *c = (struct peer_call){ .next = p->calls,
        .owner = p,
        .started = uv_hrtime(),
        .timeout_ms = r->timeout_ms,
        .is_nested = r->is_nested,
        .server = str_copy(r->server),
        .tool = str_copy(r->tool),
        .trace = str_copy(r->trace),
        .arguments = BUF(PEER_MAX_MESSAGE - 4096),
        .text = BUF(MAX_TEXT),
        .rule = BUF(MAX_TEXT),
        .done = done,
        .user = user };
    uv_timer_init(p->config.loop, &c->timer);
    c->timer.data = c;
    p->calls = c;
    *counter(p, r->is_nested) += 1;
    return c;
}

bool peers_call(struct peers *p, const struct peer_request *request, peer_done_fn *done,
        void *user, struct peer_call **out, struct error *err)
{
    size_t most = request->is_nested ? PEERS_MAX_NESTED : PEERS_MAX_CALLS;
    if (*counter(p, request->is_nested) >= most)
        return error_set(err, ERR_LIMIT,
                "%zu calls of MCP servers are running, and more at once are not allowed; "
                "wait for one to end",
                most);
    struct peer_call *c = create_call(p, request, done, user);
    if (prepare(c, request))
        connect_and_ask(c);
    uv_update_time(p->config.loop); /* starting a process takes its time */
    uv_timer_start(&c->timer, on_timer, c->client ? c->timeout_ms : 0, 0);
    *out = c;
    return true;
}

void peers_cancel(struct peer_call *c)
{
    if (c->client)
        client_close(TAKE(c->client));
    forget(c);
}

struct peers *peers_create(const struct peers_config *config)
{
    struct peers *p = xcalloc(1, sizeof(*p));
    p->config = *config;
    p->all = xcalloc(config->definitions->count + 1, sizeof(*p->all));
    for (size_t i = 0; i < config->definitions->count; i++)
        p->all[i].definition = &config->definitions->items[i];
    uv_timer_init(config->loop, &p->sweep);
    p->sweep.data = p;
    return p;
}

static void on_sweep_closed(uv_handle_t *handle)
{
    struct peers *p = handle->data;
    free(p->all);
    free(p);
}

void peers_destroy(struct peers *p)
{
    if (!p)
        return;
    while (p->calls)
        peers_cancel(p->calls);
    while (p->idle)
        client_close(take_off(&p->idle));
    links_destroy(&p->links);
    uv_close((uv_handle_t *)&p->sweep, on_sweep_closed);
}
