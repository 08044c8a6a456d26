#include "fuzz.h"
#include "session/door-request.h"

#include <signal.h>

static void check_string(struct str s)
{
    assert(strlen(s.data) == s.len);
}

/* What is asked for is what a program can be given. */
static void check(const struct door_request *r)
{
    const struct command_request *c = &r->command;
    if (r->kind == DOOR_CALL) {
        assert(r->caller && r->argument_bytes <= DOOR_ARGUMENTS_MAX);
        assert(!r->server.data[r->server.len] && !r->tool.data[r->tool.len]);
        return;
    }
    assert(r->id >= 1);
    if (r->kind == DOOR_SIGNAL) {
        assert(r->number >= 1 && r->number <= SIGRTMAX);
        return;
    }
    assert(r->caller);
    check_string(c->command);
    check_string(c->cwd);
    for (size_t i = 0; i < c->arg_count; i++)
        check_string(c->args[i]);
    for (size_t i = 0; i < c->env_count; i++) {
        check_string(c->env[i].name);
        check_string(c->env[i].value);
        assert(c->env[i].name.len && !strchr(c->env[i].name.data, '='));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    auto_arena *arena = arena_create();
    struct door_request request;
    struct error err;
    if (door_request_parse(
                (struct str){ (const char *)data, size }, arena, &request, &err))
        check(&request);
    return 0;
}
