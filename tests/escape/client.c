#include "client.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void receive(struct client *c, struct wire_message *m, enum wire_kind kind)
{
    struct error err;
    if (!wire_receive(&c->reader, m, &err))
        fail_msg("%s", err.message);
    assert_int_equal(m->kind, kind);
}

void client_start(struct client *c, const struct setup *setup, int root)
{
    struct error err = { 0 };
    struct wire_message m;
    const char *const env[] = { "LC_ALL=C.UTF-8", NULL };
    const struct helper_spec spec = {
        .path = getenv("PADDOCK_WORKER"), .env = env, .fds = &root, .fd_count = 1
    };
    *c = (struct client){ .worker = HELPER_NONE };
    assert_non_null(spec.path);
    if (!helper_spawn(&spec, &c->worker, &err))
        fail_msg("%s", err.message);
    fcntl(c->worker.socket, F_SETFL, 0);
    wire_reader_init(&c->reader, c->worker.socket);
    auto_buf json = BUF((size_t)1 << 20);
    setup_write(setup, &json);
    const struct wire_message setup_message = { WIRE_SETUP, 1, { buf_str(&json) } };
    assert_true(wire_send(c->worker.socket, &setup_message, &err));
    receive(c, &m, WIRE_READY);
    assert_true(json_parse(m.fields[0], &c->status, &err));
}

void client_finish(struct client *c)
{
    helper_finish(&c->worker);
    wire_reader_finish(&c->reader);
    json_decref(c->status);
    json_decref(c->notes);
    free(c->text);
}

bool client_call(struct client *c, const char *tool, json_t *args)
{
    struct error err;
    struct wire_message m;
    auto_buf json = BUF((size_t)1 << 20);
    json_write(args, &json);
    json_decref(args);
    const struct wire_message call = { WIRE_CALL, 2, { str_of(tool), buf_str(&json) } };
    assert_true(wire_send(c->worker.socket, &call, &err));
    receive(c, &m, WIRE_REPLY);
    assert_int_equal(m.count, 3);
    free(c->text);
    c->text = strndup(m.fields[1].data, m.fields[1].len);
    json_decref(c->notes);
    c->notes = NULL;
    if (m.fields[2].len)
        assert_true(json_parse(m.fields[2], &c->notes, &err));
    return str_is(m.fields[0], "1");
}

void client_expect_run(struct client *c, const char *command, const char *text)
{
    assert_false(client_call(c, "run", json_pack("{s:s}", "command", command)));
    if (strncmp(c->text, text, strlen(text)))
        assert_string_equal(c->text, text);
}
