#include "session/python.h"

#include "policy/python-setup.h"

#include "scratch.h"
#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#define MAX_RUNS 64

struct fixture;

/* One run and its answer. */
struct slot {
    struct fixture *fixture;
    struct python_run *run;
    bool answered;
    enum python_end end;
    int exit_code;
    bool has_result, was_cut;
    char result[4096], out[4096], err[4096], error[512], notes[512];
    size_t out_len, tail_len;
    uint64_t dropped;
};

struct fixture {
    uv_loop_t loop;
    struct arena *arena;
    struct python *python;
    char workspace[64];
    struct buf setup;
    struct slot slots[MAX_RUNS];
    size_t runs, answers;
    size_t events;
    size_t descriptors; /* open before */
};

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

static void copy(char *to, size_t size, struct str text)
{
    size_t len = text.len < size ? text.len : size - 1;
    memcpy(to, text.data, len);
    to[len] = 0;
}

static void on_done(void *user, const struct python_result *r)
{
    struct slot *s = user;
    assert_false(s->answered);
    s->answered = true;
    s->end = r->end;
    s->exit_code = r->exit_code;
    s->has_result = r->has_result;
    s->was_cut = r->was_cut;
    s->out_len = r->out.head.len;
    s->tail_len = r->out.tail.len;
    s->dropped = r->out.dropped;
    copy(s->result, sizeof(s->result), r->result);
    copy(s->out, sizeof(s->out), r->out.head);
    copy(s->err, sizeof(s->err), r->err.head);
    copy(s->notes, sizeof(s->notes), r->notes);
    copy(s->error, sizeof(s->error), str_of(r->error.message));
    s->fixture->answers++;
}

static void write_setup(struct fixture *f)
{
    static const char *const imports[] = { "json", "os", "signal", "sys", "time" };
    static const char *const env[] = { "HOME=/nonexistent", "LANG=C.UTF-8", NULL };
    const struct origin origin = { "policy.toml", 7 };
    struct policy *p = arena_zalloc(f->arena, sizeof(*p));
    p->workspace = p->workspace_real = str_of(f->workspace);
    p->home = STR("/nonexistent");
    p->writable = arena_zalloc(f->arena, sizeof(*p->writable));
    p->writable[0] = (struct policy_path){ STR("."), p->workspace, origin };
    p->readable = arena_zalloc(f->arena, sizeof(*p->readable));
    p->readable[0] = (struct policy_path){ STR("*"), STR(""), origin };
    p->writable_count = p->readable_count = 1;
    p->readable_all = true;
    p->imports = arena_zalloc(f->arena, sizeof(imports) * sizeof(*p->imports));
    for (size_t i = 0; i < ARRAY_LEN(imports); i++)
        p->imports[p->import_count++] =
                (struct policy_import){ .name = str_of(imports[i]),
                    .kind = IMPORT_ALLOWED,
                    .value = STR(""),
                    .origin = origin };
    const struct python_setup setup = {
        .paths = path_policy_create(p, f->arena), .policy = p, .env = env
    };
    f->setup = BUF((size_t)1 << 20);
    python_setup_write(&setup, &f->setup);
}

static void on_event(void *user, const json_t *event UNUSED)
{
    struct fixture *f = user;
    f->events++;
}

static void open_python(struct fixture *f, const char *program)
{
    static const char *const env[] = { "LC_ALL=C.UTF-8", NULL };
    memset(f, 0, sizeof(*f));
    f->descriptors = count_descriptors();
    f->arena = arena_create();
    strcpy(f->workspace, "/tmp/paddock-python-XXXXXX");
    scratch_make(f->workspace);
    write_setup(f);
    uv_loop_init(&f->loop);
    const struct python_config config = {
        .loop = &f->loop,
        .program = program,
        .env = env,
        .setup = buf_str(&f->setup),
        .network_setup = STR("{\"network\":true}"),
        .event = on_event,
        .event_user = f,
    };
    f->python = python_create(&config);
}

/* Nothing is left of it: no handle and no descriptor. */
static void close_python(struct fixture *f)
{
    python_destroy(f->python);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    buf_finish(&f->setup);
    arena_destroy(f->arena);
    scratch_remove(f->workspace);
    assert_int_equal(count_descriptors(), f->descriptors);
}

static struct slot *ask(struct fixture *f, const struct python_request *request)
{
    struct error err;
    struct slot *s = &f->slots[f->runs++ % MAX_RUNS];
    *s = (struct slot){ .fixture = f };
    if (!python_run(f->python, request, on_done, s, &s->run, &err))
        fail_msg("%s", err.message);
    return s;
}

static struct slot *run_for(struct fixture *f, const char *code, unsigned timeout_ms)
{
    const struct python_request request = { .code = str_of(code),
        .timeout_ms = timeout_ms };
    return ask(f, &request);
}

static struct slot *run(struct fixture *f, const char *code)
{
    return run_for(f, code, 60000);
}

static void wait_for(struct fixture *f, size_t answers)
{
    while (f->answers < answers)
        uv_run(&f->loop, UV_RUN_ONCE);
}

static void wait_children(struct fixture *f, size_t children)
{
    while (python_children(f->python) != children)
        uv_run(&f->loop, UV_RUN_ONCE);
}

static void test_result(void **state UNUSED)
{
    struct fixture f;
    open_python(&f, PADDOCK_PYTHON);
    struct slot *s = run(&f, "2+2");
    wait_for(&f, 1);
    assert_string_equal(s->error, "");
    assert_string_equal(s->err, "");
    assert_int_equal(s->end, PYTHON_ENDED);
    assert_true(s->has_result);
    assert_string_equal(s->result, "4");
    assert_int_equal(s->exit_code, 0);
    close_python(&f);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in '%s'", part, text);
}

static void test_output(void **state UNUSED)
{
    struct fixture f;
    open_python(&f, PADDOCK_PYTHON);
    struct slot *s = run(&f, "import sys\nprint('a')\nprint('b', file=sys.stderr)\n"
                             "sys.exit(3)");
    json_auto_t *argv = json_pack("[s, s]", "one", "two");
    const struct python_request request = {
        .code = STR("import sys\nsys.argv[1:]"), .argv = argv, .timeout_ms = 60000
    };
    struct slot *with_argv = ask(&f, &request);
    wait_for(&f, 2);
    assert_string_equal(s->out, "a\n");
    assert_string_equal(s->err, "b\n");
    assert_int_equal(s->end, PYTHON_ENDED);
    assert_int_equal(s->exit_code, 3);
    assert_false(s->has_result);
    assert_string_equal(with_argv->result, "['one', 'two']");
    close_python(&f);
}

/* The one that came first does not keep the other waiting. */
static void test_two_at_once(void **state UNUSED)
{
    struct fixture f;
    open_python(&f, PADDOCK_PYTHON);
    python_warm(f.python);
    struct slot *slow = run(&f, "import os, time\n"
                                "while not os.path.exists('go'): time.sleep(0.01)\n"
                                "'slow'");
    struct slot *fast = run(&f, "open('go', 'w').close()\n'fast'");
    wait_for(&f, 2);
    assert_string_equal(slow->result, "'slow'");
    assert_string_equal(fast->result, "'fast'");
    close_python(&f);
}

static void test_more_than_spares(void **state UNUSED)
{
    struct fixture f;
    struct slot *slots[PYTHON_MAX_RUNS];
    struct python_run *unused;
    struct error err;
    const struct python_request request = { .code = STR("1"), .timeout_ms = 60000 };
    open_python(&f, PADDOCK_PYTHON);
    python_warm(f.python);
    wait_children(&f, PYTHON_SPARES);
    for (size_t i = 0; i < PYTHON_MAX_RUNS; i++)
        slots[i] = run(&f, "2+2");
    assert_false(python_run(f.python, &request, on_done, NULL, &unused, &err));
    assert_int_equal(err.code, ERR_LIMIT);
    wait_for(&f, PYTHON_MAX_RUNS);
    for (size_t i = 0; i < PYTHON_MAX_RUNS; i++)
        assert_string_equal(slots[i]->result, "4");
    wait_children(&f, PYTHON_SPARES);
    close_python(&f);
}

static void test_timeout(void **state UNUSED)
{
    struct fixture f;
    open_python(&f, PADDOCK_PYTHON);
    struct slot *soft = run_for(&f, "print('begun')\nwhile True: pass", 200);
    struct slot *hard = run_for(&f,
            "print('begun')\n"
            "while True:\n"
            "    try:\n"
            "        while True: pass\n"
            "    except BaseException: pass",
            200);
    wait_for(&f, 2);
    assert_int_equal(soft->end, PYTHON_TIMED_OUT);
    assert_string_equal(soft->out, "begun\n");
    assert_has(soft->err, "TimeoutError");
    assert_has(soft->err, "line 2");
    assert_int_equal(soft->exit_code, 1);
    assert_int_equal(hard->end, PYTHON_TIMED_OUT);
    assert_string_equal(hard->out, "begun\n");
    assert_int_equal(hard->exit_code, -SIGKILL);
    close_python(&f);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_two_at_once),
        cmocka_unit_test(test_more_than_spares),
        cmocka_unit_test(test_timeout),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    uv_loop_t loop; /* libuv keeps descriptors of the first one */
    uv_loop_init(&loop);
    uv_loop_close(&loop);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
