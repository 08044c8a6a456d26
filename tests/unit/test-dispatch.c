#include "scratch.h"
#include "tool/dispatch.h"

#include "unit.h"

#include "policy/log/audit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_CALLS 64

struct fixture;

struct slot {
    struct fixture *fixture;
    struct dispatch_call *call;
    bool answered, is_error;
    char text[256];
};

/* A dispatch over the worker of test-worker.c, which takes any tool's name. */
struct fixture {
    uv_loop_t loop;
    struct arena *arena;
    struct toolset *tools;
    struct dispatch *dispatch;
    struct audit *audit;
    char folder[64];
    const char *env[1];
    struct slot slots[MAX_CALLS];
    size_t calls, answers;
};

static void on_done(void *user, const struct dispatch_reply *reply)
{
    struct slot *slot = user;
    assert_false(slot->answered);
    slot->answered = true;
    slot->is_error = reply->is_error;
    snprintf(slot->text, sizeof(slot->text), "%.*s", STR_ARG(reply->text));
    slot->fixture->answers++;
}

static void open_log(struct fixture *f, struct policy *policy)
{
    struct error err;
    strcpy(f->folder, "/tmp/paddock-dispatch-XXXXXX");
    scratch_make(f->folder);
    struct str ws = str_of(arena_printf(f->arena, "%s/ws", f->folder));
    assert_int_equal(mkdir(ws.data, 0755), 0);
    *policy = (struct policy){ .timeout_ms = 1000,
        .max_timeout_ms = 2000,
        .workspace = ws,
        .workspace_real = ws,
        .audit_log = { .path = str_of(arena_printf(f->arena, "%s/log", f->folder)),
                .max_bytes = 1 << 20,
                .keep = 1 } };
    if (!audit_open(policy, false, &f->audit, &err))
        fail_msg("%s", err.message);
}

static void open_shared(struct fixture *f, bool is_shared)
{
    *f = (struct fixture){ .arena = arena_create(), .env = { NULL } };
    struct policy *policy = arena_alloc(f->arena, sizeof(*policy));
    const struct toolset_config offered = {
        .places = TOOL_IN_SHELL | TOOL_IN_POOL | TOOL_IN_PYTHON, .policy = policy
    };
    struct error err;
    uv_loop_init(&f->loop);
    open_log(f, policy);
    assert_true(toolset_create(&offered, &f->tools, &err));
    const struct dispatch_config config = {
        .worker = { .loop = &f->loop,
                .worker = { .path = TEST_WORKER, .env = f->env },
                .setup = STR("{}"),
                .timeout_ms = 5000,
                .max_reply = 1 << 20 },
        .tools = f->tools,
        .python = { .policy = policy,
                .python.loop = &f->loop,
                .missing = "no interpreter" },
        .audit = f->audit,
        .session = STR("one"),
        .is_shared = is_shared,
    };
    f->dispatch = dispatch_create(&config);
}

static void open_dispatch(struct fixture *f)
{
    open_shared(f, false);
}

/* One more client, with what the fixture's first one has. */
static struct dispatch *add_client(struct fixture *f, const char *address)
{
    const struct dispatch_config config = {
        .worker = { .loop = &f->loop,
                .worker = { .path = TEST_WORKER, .env = f->env },
                .setup = STR("{}"),
                .timeout_ms = 5000,
                .max_reply = 1 << 20 },
        .tools = f->tools,
        .audit = f->audit,
        .session = str_of(address),
        .address = str_of(address),
        .has_line = true,
        .commons = f->dispatch,
    };
    return dispatch_create(&config);
}

/* The log, which the caller frees; everything else is closed. */
static json_t *close_dispatch(struct fixture *f)
{
    json_t *records = json_array();
    const char *log = arena_printf(f->arena, "%s/log", f->folder);
    dispatch_destroy(f->dispatch);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    audit_close(f->audit);
    auto_fd int fd = open(log, O_RDONLY | O_CLOEXEC);
    char *data = arena_zalloc(f->arena, 1 << 20);
    ssize_t n = read(fd, data, 1 << 20);
    for (struct str rest = { data, n < 0 ? 0 : (size_t)n }; rest.len;) {
        json_t *record;
        struct error err;
        assert_true(json_parse(str_cut(&rest, '\n'), &record, &err));
        json_array_append_new(records, record);
    }
    unlink(log);
    scratch_remove(f->folder);
    toolset_destroy(f->tools);
    arena_destroy(f->arena);
    return records;
}

static struct slot *call_with(
        struct fixture *f, const char *tool, const char *key, const char *value)
{
    struct error err;
    struct slot *slot = &f->slots[f->calls++];
    *slot = (struct slot){ .fixture = f };
    json_auto_t *args = json_pack("{s:s}", key, value);
    const struct dispatch_request request = {
        .tool = str_of(tool), .args = args, .trace = STR("00-trace-01")
    };
    assert_true(dispatch_call(f->dispatch, &request, on_done, slot, &slot->call, &err));
    return slot;
}

static struct slot *call(struct fixture *f, const char *tool, const char *command)
{
    return call_with(f, tool, "command", command);
}

static void wait_for(struct fixture *f, size_t answers)
{
    while (f->answers < answers)
        uv_run(&f->loop, UV_RUN_ONCE);
}

static const char *member(const json_t *records, size_t i, const char *key)
{
    const char *text =
            json_string_value(json_object_get(json_array_get(records, i), key));
    return text ? text : "";
}

/* The shell takes one call at a time; the pool waits for nobody. */
static void test_places(void **state UNUSED)
{
    struct fixture f;
    open_dispatch(&f);
    dispatch_warm(f.dispatch);
    struct slot *long_one = call(&f, "run", "sleep 60000");
    struct slot *next = call(&f, "run", "echo next");
    struct slot *other = call(&f, "fs_stat", "echo other");
    wait_for(&f, 1);
    assert_string_equal(other->text, "other");
    assert_false(long_one->answered || next->answered);
    dispatch_cancel(f.dispatch, long_one->call);
    wait_for(&f, 2);
    assert_string_equal(next->text, "next");
    json_decref(close_dispatch(&f));
}

static void test_records(void **state UNUSED)
{
    struct fixture f;
    open_dispatch(&f);
    call(&f, "fs_stat", "echo plain");
    wait_for(&f, 1);
    call(&f, "fs_append",
            "notes {\"decision\":\"deny\",\"rule\":\"guard x\","
            "\"writes\":[{\"path\":\"/a\",\"op\":\"write\"}]}");
    wait_for(&f, 2);
    call(&f, "fs_stat", "notes no json");
    wait_for(&f, 3);
    call(&f, "fs_stat", "notes [{\"decision\":\"deny\"}]");
    wait_for(&f, 4);
    call(&f, "fs_stat", "die 3");
    wait_for(&f, 5);
    dispatch_cancel(f.dispatch, call(&f, "run", "hang")->call);
    call(&f, "run", "hang"); /* dropped at the end */
    json_auto_t *records = close_dispatch(&f);
    assert_int_equal(json_array_size(records), 7);
    static const char *const decisions[] = { "allow", "deny", "allow", "allow", "allow",
        "allow", "allow" };
    for (size_t i = 0; i < 7; i++) {
        const json_t *record = json_array_get(records, i);
        assert_string_equal(member(records, i, "session"), "one");
        assert_string_equal(member(records, i, "trace"), "00-trace-01");
        assert_string_equal(member(records, i, "decision"), decisions[i]);
        assert_int_equal(json_is_true(json_object_get(record, "is_error")), i >= 4);
    }
    assert_string_equal(member(records, 1, "tool"), "fs_append");
    assert_string_equal(member(records, 1, "rule"), "guard x");
    assert_int_equal(
            json_array_size(json_object_get(json_array_get(records, 1), "writes")), 1);
}

/* A shell of its own, and the processes of another one for the rest. */
static void test_commons(void **state UNUSED)
{
    struct fixture f;
    struct dispatch_call *dropped = NULL;
    struct shells shells = {
        .places = places_create(1, 1), .save_ms = 5000, .max_states = 1 << 20
    };
    struct error err;
    open_dispatch(&f);
    struct dispatch *commons = f.dispatch;
    const struct dispatch_config config = {
        .worker = { .loop = &f.loop,
                .worker = { .path = TEST_WORKER, .env = f.env },
                .setup = STR("{}"),
                .timeout_ms = 5000,
                .max_reply = 1 << 20 },
        .tools = f.tools,
        .audit = f.audit,
        .session = STR("two"),
        .shells = &shells,
        .commons = commons,
    };
    struct dispatch *one = dispatch_create(&config), *other = dispatch_create(&config),
                    *last = dispatch_create(&config);
    dispatch_warm(one);
    assert_int_equal(places_taken(shells.places), 0); /* nobody has used it */
    assert_true(dispatch_has_room(one, STR("run"), &err) &&
                dispatch_has_room(other, STR("run"), &err));
    f.dispatch = one;
    call(&f, "run", "set mine");
    assert_int_equal(places_taken(shells.places), 1);
    f.dispatch = other;
    struct slot *late = call(&f, "run", "get"); /* waits for its worker */
    assert_true(str_is(dispatch_doing(late->call), "waiting for a worker"));
    assert_true(dispatch_has_room(one, STR("run"), &err) &&
                dispatch_has_room(other, STR("run"), &err));
    assert_false(dispatch_has_room(last, STR("run"), &err));
    assert_true(dispatch_has_room(last, STR("fs_stat"), &err));
    call(&f, "fs_stat", "echo yes");
    wait_for(&f, 3);
    assert_string_equal(late->text, "nothing");
    f.dispatch = one;
    late = call(&f, "run", "get");
    wait_for(&f, 4);
    assert_string_equal(late->text, "mine");
    f.dispatch = other;
    json_auto_t *args = json_pack("{s:s}", "command", "sleep 60000");
    const struct dispatch_request request = { .tool = STR("fs_stat"), .args = args };
    struct slot unused = { .fixture = &f };
    assert_true(dispatch_call(one, &request, on_done, &unused, &dropped, &err));
    dispatch_destroy(one); /* what it has in the common pool is stopped */
    assert_int_equal(places_taken(shells.places), 0);
    for (size_t i = 0; i < 5; i++)
        call(&f, "fs_stat", "echo shared");
    wait_for(&f, 9);
    assert_false(unused.answered);
    dispatch_destroy(other);
    dispatch_destroy(last);
    places_destroy(shells.places);
    f.dispatch = commons;
    json_decref(close_dispatch(&f));
}

/* Without an interpreter, and what is refused before one is needed. */
static void test_python(void **state UNUSED)
{
    static const struct {
        const char *key, *value, *says;
    } cases[] = { { "code", "1", "no interpreter" }, { "file", "x.txt", ".py file" },
        { "other", "", "'code' or 'file'" } };
    struct fixture f;
    open_dispatch(&f);
    dispatch_warm(f.dispatch);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slot *slot = call_with(&f, "run_python", cases[i].key, cases[i].value);
        assert_false(slot->answered); /* from the loop, and no sooner */
        wait_for(&f, i + 1);
        assert_true(slot->is_error);
        assert_non_null(strstr(slot->text, cases[i].says));
        assert_true(str_starts(str_of(slot->text), STR("--- STDERR ---\n")));
        assert_true(str_ends(str_of(slot->text), STR("\n--- EXIT CODE: 1 ---")));
    }
    dispatch_renew_python(f.dispatch); /* there is nobody to tell */
    dispatch_cancel(f.dispatch, call_with(&f, "run_python", "code", "1")->call);
    call_with(&f, "run_python", "code", "1"); /* dropped at the end */
    json_auto_t *records = close_dispatch(&f);
    assert_int_equal(json_array_size(records), 5);
    for (size_t i = 0; i < 5; i++) {
        const json_t *record = json_array_get(records, i);
        assert_string_equal(member(records, i, "tool"), "run_python");
        assert_null(json_object_get(record, "exit"));
        assert_int_equal(json_is_true(json_object_get(record, "cancelled")), i >= 3);
    }
}

static struct slot *call_by(
        struct fixture *f, struct dispatch *d, const char *tool, const char *command)
{
    struct dispatch *first = f->dispatch;
    f->dispatch = d;
    struct slot *slot = call(f, tool, command);
    f->dispatch = first;
    return slot;
}

static bool is_waiting(const struct slot *slot)
{
    return str_is(dispatch_doing(slot->call), "waiting for its turn");
}

/* The calls of one client that hang keep no place from another; what waits can be
 * cancelled, and goes with its client. */
static void test_turns(void **state UNUSED)
{
    struct fixture f;
    open_shared(&f, true);
    struct dispatch *greedy = add_client(&f, "a"), *other = add_client(&f, "b");
    struct slot *slow[10];
    for (size_t i = 0; i < 10; i++)
        slow[i] = call_by(&f, greedy, "fs_grep", "sleep 60000");
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(is_waiting(slow[i]), i >= 3);
    for (size_t i = 1; i <= 5; i++) {
        struct slot *quick = call_by(&f, other, "fs_stat", "echo quick");
        assert_false(is_waiting(quick));
        wait_for(&f, i);
        assert_string_equal(quick->text, "quick");
    }
    dispatch_cancel(greedy, slow[4]->call); /* one that waits... */
    dispatch_cancel(greedy, slow[0]->call); /* ...and one that runs */
    while (is_waiting(slow[3]))
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_true(is_waiting(slow[5]));
    dispatch_destroy(greedy); /* with what runs and what waits */
    for (size_t i = 0; i < 3; i++)
        assert_false(is_waiting(call_by(&f, other, "fs_stat", "echo again")));
    wait_for(&f, 8);
    for (size_t i = 0; i < 10; i++)
        assert_false(slow[i]->answered);
    dispatch_destroy(other);
    json_auto_t *records = close_dispatch(&f);
    size_t cancelled = 0;
    for (size_t i = 0; i < json_array_size(records); i++)
        cancelled +=
                json_is_true(json_object_get(json_array_get(records, i), "cancelled"));
    assert_int_equal(json_array_size(records), 18);
    assert_int_equal(cancelled, 10);
}

/* A call that has waited and then cannot begin is answered, and the next one begins. */
static void test_failure_after_waiting(void **state UNUSED)
{
    struct fixture f;
    struct error err;
    open_dispatch(&f);
    for (size_t i = 0; i < 4; i++)
        call(&f, "fs_stat", "sleep 20");
    struct slot long_one = { .fixture = &f };
    json_auto_t *args = json_object();
    auto_buf big = BUF(SESSION_MAX_CALL_BYTES);
    memset(buf_reserve(&big, SESSION_MAX_CALL_BYTES - 1), 'x',
            SESSION_MAX_CALL_BYTES - 1);
    big.len = SESSION_MAX_CALL_BYTES - 1;
    json_object_set_new(args, "command", json_text(buf_str(&big)));
    const struct dispatch_request request = { .tool = STR("fs_stat"), .args = args };
    assert_true(dispatch_call(
            f.dispatch, &request, on_done, &long_one, &long_one.call, &err));
    struct slot *next = call(&f, "fs_stat", "echo next");
    assert_true(is_waiting(&long_one) && is_waiting(next));
    wait_for(&f, 6);
    assert_true(long_one.is_error && strstr(long_one.text, "arguments are longer"));
    assert_string_equal(next->text, "next");
    json_auto_t *records = close_dispatch(&f);
    assert_int_equal(json_array_size(records), 6);
}

/* Whoever asks first hears what dispatch_call() would say. */
static void test_full_line(void **state UNUSED)
{
    struct fixture f;
    struct error err;
    struct slot slot = { .fixture = &f };
    open_shared(&f, true);
    json_auto_t *args = json_pack("{s:s}", "command", "hang");
    const struct dispatch_request request = { .tool = STR("fs_stat"), .args = args };
    struct dispatch *other = add_client(&f, "b");
    size_t taken = 0;
    while (dispatch_has_room(f.dispatch, request.tool, &err) && taken < 5000) {
        assert_true(
                dispatch_call(f.dispatch, &request, on_done, &slot, &slot.call, &err));
        taken++;
    }
    assert_int_equal(taken, 3 + 1024);
    assert_int_equal(err.code, ERR_LIMIT);
    assert_false(dispatch_call(f.dispatch, &request, on_done, &slot, &slot.call, &err));
    assert_non_null(strstr(err.message, "waiting for their turn (1024)"));
    assert_true(dispatch_has_room(f.dispatch, STR("run_python"), &err));
    assert_true(dispatch_has_room(other, request.tool, &err));
    call_by(&f, other, "fs_stat", "echo fine");
    wait_for(&f, 1);
    dispatch_destroy(other);
    json_decref(close_dispatch(&f));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_python),
        cmocka_unit_test(test_commons),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_failure_after_waiting),
        cmocka_unit_test(test_full_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
