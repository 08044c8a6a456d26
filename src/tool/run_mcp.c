#include "tool/run_mcp.h"

#include "tool/mcp-reply.h"
#include "tool/time-limit.h"

#define MAX_TEXT ((size_t)64 << 20) /* the reply is cut long before */

struct mcp_call {
    struct mcp_call *next;
    struct run_mcp *owner;
    struct peer_call *peer;     /* NULL: there is only something to answer */
    uv_timer_t timer;           /* for answers that are known at once */
    struct mcp_outcome outcome; /* its texts are in the buffers */
    struct buf text, rule;
    char *server;
    mcp_done_fn *done;
    void *user;
};

struct run_mcp {
    struct run_mcp_config config;
    struct mcp_call *calls;
};

static void on_timer_closed(uv_handle_t *handle)
{
    struct mcp_call *c = handle->data;
    buf_finish(&c->text);
    buf_finish(&c->rule);
    free(c->server);
    free(c);
}

/* Take it off the list; it is freed when the loop has let go of it. */
static void forget(struct mcp_call *c)
{
    struct mcp_call **at = &c->owner->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

static void answer(struct mcp_call *c)
{
    mcp_done_fn *done = c->done;
    void *user = c->user;
    c->outcome.text = buf_str(&c->text);
    c->outcome.rule = buf_str(&c->rule);
    forget(c); /* the buffers live until the loop turns */
    done(user, &c->outcome);
}

static void on_timer(uv_timer_t *timer)
{
    answer(timer->data);
}

static void add_note(struct mcp_call *c, struct str note)
{
    if (!note.len)
        return;
    if (c->text.len && c->text.data[c->text.len - 1] != '\n')
        buf_addc(&c->text, '\n');
    buf_addf(&c->text, "[paddock: %.*s]", STR_ARG(note));
}

static void on_called(void *user, const struct peer_result *r)
{
    struct mcp_call *c = user;
    json_auto_t *images = NULL;
    c->peer = NULL;
    c->outcome.is_error = true;
    switch (r->end) {
    case PEER_ANSWERED:
        c->outcome.cut_bytes = mcp_reply_write(r->result, &c->text, &images);
        c->outcome.is_error = json_is_true(json_object_get(r->result, "isError"));
        add_note(c, r->text);
        break;
    case PEER_LISTED:
        c->outcome.cut_bytes = mcp_reply_list(str_of(c->server), r->result, &c->text);
        c->outcome.is_error = false;
        add_note(c, r->text);
        break;
    case PEER_REFUSED:
        c->outcome.refused = true;
        buf_add(&c->rule, r->rule);
        buf_add(&c->text, r->text);
        break;
    case PEER_FAILED:
    case PEER_TIMED_OUT:
        c->outcome.timed_out = r->end == PEER_TIMED_OUT;
        buf_add(&c->text, r->text);
        break;
    }
    c->outcome.images = images;
    answer(c);
}

/* Those that are defined, as the policy describes them. */
static void list_servers(const struct peer_definitions *servers, struct buf *out)
{
    buf_add(out, STR("MCP servers whose tools may be called; give 'server' alone to see "
                     "the tools of one:\n"));
    for (size_t i = 0; i < servers->count; i++) {
        const struct peer_definition *d = &servers->items[i];
        buf_addf(out, "\n%.*s", STR_ARG(d->name));
        if (d->section->description.len)
            buf_addf(out, ": %.*s", STR_ARG(d->section->description));
    }
}

/* True: that was all, and it is in the text. */
static bool answer_without_server(struct mcp_call *c, const json_t *args)
{
    if (json_get_str(args, "server", STR("")).len)
        return false;
    if (json_get_str(args, "tool", STR("")).len) {
        c->outcome.is_error = true;
        buf_add(&c->text, STR("'server' is required: the name of the MCP server that has "
                              "the tool\n"));
    }
    list_servers(c->owner->config.servers, &c->text);
    return true;
}

static struct mcp_call *create_call(
        struct run_mcp *r, const json_t *args, mcp_done_fn *done, void *user)
{
    struct mcp_call *c = xcalloc(1, sizeof(*c));
    *c = (struct mcp_call){ .next = r->calls,
        .owner = r,
        .text = BUF(MAX_TEXT),
        .rule = BUF((size_t)64 << 10),
        .server = str_copy(json_get_str(args, "server", STR(""))),
        .done = done,
        .user = user };
    uv_timer_init(r->config.loop, &c->timer);
    c->timer.data = c;
    r->calls = c;
    return c;
}

bool run_mcp_start(struct run_mcp *r, const struct mcp_request *request,
        mcp_done_fn *done, void *user, struct mcp_call **out, struct error *err)
{
    const json_t *args = request->args;
    struct mcp_call *c = create_call(r, args, done, user);
    unsigned timeout_ms;
    bool is_over = true;
    if (!time_limit_read(r->config.policy, args, &timeout_ms, &c->text))
        c->outcome.is_error = true;
    else
        is_over = answer_without_server(c, args);
    if (is_over) {
        uv_timer_start(&c->timer, on_timer, 0, 0);
        *out = c;
        return true;
    }
    const struct peer_request call = { .server = json_get_str(args, "server", STR("")),
        .tool = json_get_str(args, "tool", STR("")),
        .arguments = json_object_get(args, "arguments"),
        .timeout_ms = timeout_ms,
        .trace = request->trace };
    if (!peers_call(r->config.peers, &call, on_called, c, &c->peer, err)) {
        forget(c);
        return false;
    }
    *out = c;
    return true;
}

void run_mcp_cancel(struct mcp_call *c)
{
    if (c->peer)
        peers_cancel(TAKE(c->peer));
    forget(c);
}

struct run_mcp *run_mcp_create(const struct run_mcp_config *config)
{
    struct run_mcp *r = xcalloc(1, sizeof(*r));
    r->config = *config;
    return r;
}

void run_mcp_destroy(struct run_mcp *r)
{
    if (!r)
        return;
    while (r->calls)
        run_mcp_cancel(r->calls);
    free(r);
}
