#include "bridge/reply.h"

#include "base/log.h"
#include "base/utf8.h"
#include "bridge/bridge.h"

#include <stdarg.h>
#include <stdio.h>

#define INTERNAL_ERROR -32603
#define MAX_EXCERPT    400
#define MAX_TEXT       2048

static const char *const failure_names[] = {
    [FAILURE_CONNECT] = "connect",
    [FAILURE_HTTP] = "http",
    [FAILURE_SESSION_LOST] = "session-lost",
    [FAILURE_REDIRECT] = "redirect",
    [FAILURE_CONTENT] = "content",
    [FAILURE_LIMIT] = "limit",
    [FAILURE_ENDED] = "ended",
};

/* Takes over `error`. */
static void send_error(struct bridge *b, json_t *id, json_t *error)
{
    json_auto_t *reply =
            json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "error", error);
    output_add_json(&b->output, reply);
}

static json_t *error_of(enum failure failure, long status, struct str text)
{
    json_t *data = json_pack("{s:s}", "bridge", failure_names[failure]);
    if (status)
        json_object_set_new(data, "status", json_integer(status));
    return json_pack("{s:i, s:o, s:o}", "code", INTERNAL_ERROR, "message",
            json_text(text), "data", data);
}

static const char *what_failed(const struct exchange *x)
{
    if (!x->message.json)
        return "end of the session";
    if (x->message.kind == MESSAGE_RESPONSE)
        return "response";
    return NULL;
}

void reply_fail(struct exchange *x, enum failure failure, const char *fmt, ...)
{
    char text[MAX_TEXT];
    auto_buf clean = BUF(2 * MAX_TEXT);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    bridge_hide_secrets(x->bridge->setup, str_of(text), &clean);
    if (exchange_is_request(x)) {
        if (!x->is_answered)
            send_error(x->bridge, x->message.id,
                    error_of(failure, x->status, buf_str(&clean)));
        x->is_answered = true;
        return;
    }
    const char *what = what_failed(x);
    auto_buf line = BUF(4 * MAX_TEXT);
    buf_add_shown(&line, what ? str_of(what) : x->message.method);
    buf_add(&line, STR(": "));
    buf_add_shown(&line, buf_str(&clean));
    log_line(LOG_WARN, "%.*s", STR_ARG(buf_str(&line)));
}

void reply_refuse(struct bridge *b, json_t *id, const char *text)
{
    send_error(b, id, error_of(FAILURE_LIMIT, 0, str_of(text)));
}

/* Runs of white space and control characters are one space. */
static void squeeze(struct str s, struct buf *out)
{
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.data[i];
        if (c > ' ' && c != 0x7f)
            buf_addc(out, s.data[i]);
        else if (out->len && out->data[out->len - 1] != ' ')
            buf_addc(out, ' ');
    }
}

void reply_excerpt(const struct exchange *x, struct buf *out)
{
    auto_buf squeezed = BUF(x->content.max), clean = BUF(4 * x->content.max);
    squeeze(buf_str(&x->content), &squeezed);
    bridge_hide_secrets(x->bridge->setup, buf_str(&squeezed), &clean);
    struct str text = buf_str(&clean);
    size_t len = utf8_offset(text, MAX_EXCERPT);
    utf8_repair(str_sub(text, 0, len), out);
    if (len < text.len)
        buf_add(out, STR("..."));
}

static bool is_ours(const struct exchange *x, const struct message *m)
{
    return exchange_is_request(x) && m->id && json_equal(m->id, x->message.id);
}

/* What the answer to `initialize` settles. */
static void take_version(struct exchange *x, const struct message *m)
{
    struct bridge_session *session = &x->bridge->session;
    struct str version =
            json_get_str(json_object_get(m->json, "result"), "protocolVersion", STR(""));
    if (message_is(&x->message, "initialize") && !exchange_is_modern(x) &&
            header_is_value(version) && version.len <= HEADER_MAX_VERSION)
        snprintf(session->version, sizeof(session->version), "%.*s", STR_ARG(version));
}

static bool has_content_problem(struct exchange *x)
{
    x->failure = FAILURE_CONTENT;
    return false;
}

/* The answer, without tools that must not be used. */
static void pass_on(struct exchange *x, struct str text, struct message *m)
{
    json_t *tools = json_object_get(json_object_get(m->json, "result"), "tools");
    size_t removed = 0;
    if (exchange_is_modern(x) && message_is(&x->message, "tools/list"))
        removed = mirrors_learn(&x->bridge->mirrors, tools);
    if (!removed) {
        output_add(&x->bridge->output, text);
        return;
    }
    log_line(LOG_WARN, "%zu tools of %s are left out: their 'x-mcp-header' is not valid",
            removed, x->bridge->setup->url.origin);
    output_add_json(&x->bridge->output, m->json);
}

static bool take_message(struct exchange *x, struct str text, struct message *m)
{
    if (m->kind != MESSAGE_RESPONSE) {
        output_add(&x->bridge->output, text);
    } else if (is_ours(x, m) && !x->is_answered) {
        take_version(x, m);
        pass_on(x, text, m);
        x->is_answered = true;
    } else {
        log_line(LOG_WARN, "%s sent an answer that was not asked for here",
                x->bridge->setup->url.origin);
    }
    return true;
}

static bool take_array(struct exchange *x, const json_t *array)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        struct message m;
        auto_buf text = BUF(BRIDGE_MAX_MESSAGE * 2);
        json_t *item = json_array_get(array, i);
        if (!message_of(json_incref(item), &m, &x->problem))
            return has_content_problem(x);
        json_write(item, &text);
        bool fine = !text.full && take_message(x, buf_str(&text), &m);
        message_finish(&m);
        if (!fine)
            return has_content_problem(x);
    }
    return true;
}

bool reply_take(struct exchange *x, struct str text)
{
    struct message m;
    json_t *json = NULL;
    if (!json_parse(text, &json, &x->problem))
        return has_content_problem(x);
    if (json_is_array(json)) {
        bool fine = take_array(x, json);
        json_decref(json);
        return fine;
    }
    if (!message_of(json, &m, &x->problem))
        return has_content_problem(x);
    bool fine = take_message(x, text, &m);
    message_finish(&m);
    return fine;
}

/* A server that refuses a token may well repeat it. */
static void clean_message(const struct exchange *x, json_t *error)
{
    struct str message = json_get_str(error, "message", STR(""));
    auto_buf clean = BUF(BRIDGE_MAX_MESSAGE);
    bridge_hide_secrets(x->bridge->setup, message, &clean);
    json_object_set_new(error, "message", json_text(buf_str(&clean)));
}

/* The server's own error, as JSON-RPC has it, or NULL. */
static json_t *find_error(const struct exchange *x)
{
    json_t *json;
    struct error unused;
    if (!header_is_media_type(buf_str(&x->type), "application/json") ||
            !json_parse(buf_str(&x->content), &json, &unused))
        return NULL;
    const json_t *id = json_object_get(json, "id");
    json_t *error = json_incref(json_object_get(json, "error"));
    bool is_for_it = !id || json_is_null(id) || json_equal(id, x->message.id);
    bool is_error = json_is_integer(json_object_get(error, "code")) &&
                    json_is_string(json_object_get(error, "message"));
    json_decref(json);
    if (is_error && is_for_it) {
        clean_message(x, error);
        return error;
    }
    json_decref(error);
    return NULL;
}

static const char *advice(long status)
{
    if (status == 401 || status == 403)
        return "; look at the headers in its definition";
    if (status == 404 || status == 405)
        return "; look at the URL in its definition";
    return "";
}

static void fail_lost_session(struct exchange *x, struct str said)
{
    x->bridge->session.is_lost = true;
    reply_fail(x, FAILURE_SESSION_LOST,
            "%s has forgotten the session (HTTP 404%s%.*s); a new one has to be "
            "initialized",
            x->bridge->setup->url.origin, said.len ? ": " : "", STR_ARG(said));
}

static void fail_with_excerpt(struct exchange *x)
{
    auto_buf excerpt = BUF((size_t)8 << 10);
    reply_excerpt(x, &excerpt);
    reply_fail(x, FAILURE_HTTP, "%s answered HTTP %ld%s%s%s", x->url.origin, x->status,
            advice(x->status), excerpt.len ? ": " : "", buf_str(&excerpt).data);
}

void reply_fail_status(struct exchange *x)
{
    json_auto_t *error = find_error(x);
    if (x->status == 404 && x->bridge->session.id[0] && !exchange_is_modern(x) &&
            !message_is(&x->message, "initialize"))
        fail_lost_session(x, json_get_str(error, "message", STR("")));
    else if (error && exchange_is_request(x) && !x->is_answered) {
        send_error(x->bridge, x->message.id, json_incref(error));
        x->is_answered = true;
    } else
        fail_with_excerpt(x);
}
