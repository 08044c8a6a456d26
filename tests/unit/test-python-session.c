#include "session/python.h"

#include "policy/python-setup.h"

#include "path-world.h"
#include "scratch.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
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
    size_t result_len, out_len, tail_len;
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
    char last_event[256]; /* its detail */
    bool is_installing;
    size_t brokers, brokers_begun;
    int broker_fds[256];
    size_t descriptors; /* open before */
};

static struct fixture *current; /* for callbacks that know nothing else */

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
    s->result_len = r->result.len;
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
    p->guards = arena_zalloc(f->arena, sizeof(*p->guards));
    p->guards[p->guard_count++] = path_guard(f->arena, "/secret", GUARD_DENY_ALL);
    p->audit = arena_zalloc(f->arena, sizeof(*p->audit));
    p->audit[p->audit_count++] = (struct policy_audit){ STR("open"), AUDIT_FS, origin };
    const struct python_setup setup = {
        .paths = path_policy_create(p, f->arena), .policy = p, .env = env, .events = true
    };
    python_setup_write(&setup, &f->setup);
}

static void on_event(void *user, const json_t *event)
{
    struct fixture *f = user;
    f->events++;
    copy(f->last_event, sizeof(f->last_event), json_get_str(event, "detail", STR("")));
}

/* A broker that greets. */
static void *start_broker(void *user, int fd, unsigned timeout_ms)
{
    struct fixture *f = user;
    assert_int_equal(timeout_ms, 60000);
    assert_int_equal(send(fd, "hello", 5, MSG_NOSIGNAL), 5);
    f->brokers++;
    f->brokers_begun++;
    f->broker_fds[fd % ARRAY_LEN(f->broker_fds)] = fd;
    return &f->broker_fds[fd % ARRAY_LEN(f->broker_fds)];
}

static void end_broker(void *session)
{
    int *fd = session;
    close(*fd);
    current->brokers--;
}

static const struct door_fns broker = { start_broker, end_broker };

static bool can_import(void *user, const json_t *modules)
{
    const struct slot *s = user;
    assert_string_equal(json_string_value(json_array_get(modules, 0)), "polars");
    return !s->fixture->is_installing;
}

static void open_with(struct fixture *f, const char *program, const char *setup)
{
    static const char *const env[] = { "LC_ALL=C.UTF-8", NULL };
    memset(f, 0, sizeof(*f));
    current = f;
    f->descriptors = count_descriptors();
    f->arena = arena_create();
    strcpy(f->workspace, "/tmp/paddock-python-XXXXXX");
    scratch_make(f->workspace);
    f->setup = BUF((size_t)1 << 20);
    if (setup)
        buf_add(&f->setup, str_of(setup));
    else
        write_setup(f);
    uv_loop_init(&f->loop);
    const struct python_config config = {
        .loop = &f->loop,
        .program = program,
        .env = env,
        .setup = buf_str(&f->setup),
        .network_setup = setup ? STR("{\"network\":true}") : STR(""),
        .broker = setup ? &broker : NULL,
        .broker_user = f,
        .can_import = can_import,
        .event = on_event,
        .event_user = f,
    };
    f->python = python_create(&config);
}

static void open_python(struct fixture *f)
{
    open_with(f, PADDOCK_PYTHON, NULL);
}

/* Over the zygote of test-zygote.c. */
static void open_fake(struct fixture *f, const char *setup)
{
    open_with(f, TEST_ZYGOTE, setup);
}

/* Nothing is left of it: no handle and no descriptor. */
static void close_python(struct fixture *f)
{
    python_destroy(f->python);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    assert_int_equal(f->brokers, 0);
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

/* The loop turns until nothing has changed for a while. */
static void settle(struct fixture *f, size_t children)
{
    for (int quiet = 0; quiet < 50; usleep(1000)) {
        uv_run(&f->loop, UV_RUN_NOWAIT);
        quiet = python_children(f->python) == children ? quiet + 1 : 0;
    }
}

static void test_result(void **state UNUSED)
{
    struct fixture f;
    open_python(&f);
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
    open_python(&f);
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
    open_python(&f);
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
    open_python(&f);
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
    open_python(&f);
    struct slot *soft = run_for(&f, "print('begun')\nwhile True: pass", 200);
    /* It never comes back to the interpreter, which would raise the error. */
    struct slot *hard = run_for(&f, "print('begun')\nsum(iter(int, 1))", 200);
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

/* The processes that have this parent; how many there are. */
static size_t find_processes(pid_t parent, pid_t *out, size_t max)
{
    size_t count = 0;
    DIR *folder = opendir("/proc");
    assert_non_null(folder);
    for (struct dirent *e; (e = readdir(folder));) {
        char path[300], text[512];
        snprintf(path, sizeof(path), "/proc/%s/stat", e->d_name);
        FILE *file = atoi(e->d_name) ? fopen(path, "r") : NULL;
        int owner = 0;
        if (file && fgets(text, sizeof(text), file) && strrchr(text, ')') &&
                sscanf(strrchr(text, ')'), ") %*c %d", &owner) == 1 && owner == parent &&
                count < max)
            out[count++] = atoi(e->d_name);
        if (file)
            fclose(file);
    }
    closedir(folder);
    return count;
}

static void test_many_runs_leave_nothing(void **state UNUSED)
{
    struct fixture f;
    pid_t zygote[2], children[8];
    open_python(&f);
    python_warm(f.python);
    for (size_t i = 0; i < 200; i++) {
        struct slot *s = run(&f, "2+2");
        wait_for(&f, i + 1);
        assert_string_equal(s->result, "4");
    }
    settle(&f, PYTHON_SPARES);
    assert_int_equal(find_processes(getpid(), zygote, 2), 1);
    size_t count = find_processes(zygote[0], children, 8);
    assert_int_equal(count, PYTHON_SPARES);
    /* Two sockets and two pipes of each, and what watches them. */
    assert_true(count_descriptors() <= f.descriptors + 24);
    close_python(&f);
    assert_int_equal(kill(zygote[0], 0), -1);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(kill(children[i], 0), -1);
}

static void test_much_output(void **state UNUSED)
{
    struct fixture f;
    open_python(&f);
    struct slot *s = run(&f, "for _ in range(400): print('x' * 9999)\nprint('end')");
    wait_for(&f, 1);
    assert_int_equal(s->end, PYTHON_ENDED);
    assert_int_equal(s->out_len, PYTHON_KEEP_BYTES);
    assert_int_equal(s->tail_len, PYTHON_KEEP_BYTES);
    assert_int_equal(s->dropped, 400 * 10000 + 4 - 2 * PYTHON_KEEP_BYTES);
    close_python(&f);
}

static void test_long_result(void **state UNUSED)
{
    struct fixture f;
    open_python(&f);
    struct slot *s = run(&f, "'\u00e9' * 3000000");
    struct slot *most = run(&f, "'x' * 1000000");
    wait_for(&f, 2);
    assert_true(s->was_cut && s->has_result);
    assert_int_equal(s->result_len, (1 << 20) - 1);
    assert_false(most->was_cut);
    assert_int_equal(most->result_len, 1000002);
    close_python(&f);
}

static void write_script(struct fixture *f, const char *name, struct str text)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", f->workspace, name);
    auto_fd int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, text.data, text.len), text.len);
}

static struct slot *run_file(struct fixture *f, const char *file)
{
    json_auto_t *argv = json_pack("[s]", "a");
    const struct python_request request = {
        .file = str_of(file), .argv = argv, .timeout_ms = 60000
    };
    return ask(f, &request);
}

static void test_file(void **state UNUSED)
{
    struct fixture f;
    static const struct {
        const char *name, *want;
    } bad[] = {
        { "none.py", "File not found: none.py\n" },
        { "a.txt", "'a.txt' is not the path of a .py file\n" },
        { "folder.py", "'folder.py' is not a regular file\n" },
        { "pipe.py", "'pipe.py' is not a regular file\n" },
        { "latin.py", "'latin.py' is not UTF-8: byte 0xe9 at offset 7, in line 2\n" },
    };
    open_python(&f);
    write_script(&f, "a.py", STR("import sys\nprint('h\u00e9')\nsys.argv\n"));
    write_script(&f, "marked.py", STR("\ufeff'marked'"));
    write_script(&f, "a.txt", STR("1"));
    write_script(&f, "latin.py", STR("x = 1\n'\xe9'\n"));
    write_script(&f, "secret.py", STR("1"));
    assert_int_equal(chdir(f.workspace) || mkdir("folder.py", 0700) ||
                             mkfifo("pipe.py", 0600) || symlink("secret.py", "link.py"),
            0);
    struct slot *good = run_file(&f, "a.py"), *marked = run_file(&f, "marked.py");
    struct slot *refused = run_file(&f, "link.py"), *slots[ARRAY_LEN(bad)];
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        slots[i] = run_file(&f, bad[i].name);
    wait_for(&f, 3 + ARRAY_LEN(bad));
    assert_string_equal(good->out, "h\u00e9\n");
    assert_string_equal(good->result, "['<snippet>', 'a']");
    assert_string_equal(marked->result, "'marked'");
    assert_int_equal(refused->exit_code, 1);
    assert_has(refused->err, "secret");
    assert_has(refused->err, "policy.toml:7");
    assert_has(refused->notes, "\"decision\":\"deny\"");
    assert_has(refused->notes, "policy.toml:7");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(slots[i]->end, PYTHON_ENDED);
        assert_int_equal(slots[i]->exit_code, 1);
        assert_string_equal(slots[i]->err, bad[i].want);
    }
    assert_int_equal(chdir("/"), 0);
    close_python(&f);
}

static void test_events(void **state UNUSED)
{
    struct fixture f;
    open_python(&f);
    struct slot *s = run(&f, "open('seen', 'w').close()");
    wait_for(&f, 1);
    assert_int_equal(s->end, PYTHON_ENDED);
    assert_int_equal(s->exit_code, 0);
    assert_int_equal(f.events, 1);
    assert_has(f.last_event, "seen");
    assert_has(s->notes, "\"writes\":[{\"path\":\"/tmp/");
    close_python(&f);
}

static void test_cancel(void **state UNUSED)
{
    struct fixture f;
    open_python(&f);
    struct slot *waiting = run(&f, "1");
    python_cancel(f.python, waiting->run);
    struct slot *busy = run(&f, "open('busy', 'w').close()\nwhile True: pass");
    struct slot *kept = run(&f, "import os, time\n"
                                "while not os.path.exists('busy'): time.sleep(0.01)\n"
                                "'kept'");
    wait_for(&f, 1);
    assert_string_equal(kept->result, "'kept'");
    settle(&f, 1 + PYTHON_SPARES);
    python_cancel(f.python, busy->run);
    settle(&f, PYTHON_SPARES);
    assert_false(busy->answered || waiting->answered);
    close_python(&f);
}

static void test_cancel_all(void **state UNUSED)
{
    struct fixture f;
    struct slot *slots[PYTHON_MAX_RUNS];
    open_fake(&f, "{}");
    for (int turns = 0; turns < 12; turns++) {
        for (size_t i = 0; i < PYTHON_MAX_RUNS; i++)
            slots[i] = run(&f, "hang");
        for (int n = 0; n < turns; n++)
            uv_run(&f.loop, UV_RUN_NOWAIT);
        for (size_t i = 0; i < PYTHON_MAX_RUNS; i++)
            python_cancel(f.python, slots[i]->run);
    }
    settle(&f, PYTHON_SPARES);
    run(&f, "echo");
    wait_for(&f, 1);
    settle(&f, PYTHON_SPARES);
    close_python(&f);
}

/* Its children go with it; what they ran is lost, and the next run has a new one. */
static void test_death_of_zygote(void **state UNUSED)
{
    struct fixture f;
    pid_t zygote;
    open_python(&f);
    python_warm(f.python);
    struct slot *lost = run(&f, "print('begun')\nopen('busy', 'w').close()\n"
                                "while True: pass");
    struct slot *first = run(&f, "import os, time\n"
                                 "while not os.path.exists('busy'): time.sleep(0.01)\n"
                                 "1");
    wait_for(&f, 1);
    assert_string_equal(first->result, "1");
    assert_int_equal(find_processes(getpid(), &zygote, 1), 1);
    kill(zygote, SIGKILL);
    wait_for(&f, 2);
    assert_int_equal(lost->end, PYTHON_DIED);
    assert_int_equal(lost->exit_code, -SIGKILL);
    assert_string_equal(lost->out, "begun\n");
    struct slot *next = run(&f, "2+2");
    wait_for(&f, 3);
    assert_string_equal(next->result, "4");
    close_python(&f);
}

/* Those that wait are not lost with one zygote, but they are with a second one. */
static void test_death_of_zygote_while_waiting(void **state UNUSED)
{
    struct fixture f;
    pid_t zygote = 0, first = 0;
    open_fake(&f, "{\"child\":\"hang\"}");
    struct slot *s = run(&f, "echo");
    for (int i = 0; i < 2; i++) {
        wait_children(&f, 1);
        settle(&f, 1);
        assert_int_equal(find_processes(getpid(), &zygote, 1), 1);
        assert_int_not_equal(zygote, first);
        assert_false(s->answered);
        first = zygote;
        kill(zygote, SIGKILL);
        wait_children(&f, 0);
    }
    wait_for(&f, 1);
    assert_int_equal(s->end, PYTHON_NOT_STARTED);
    assert_has(s->error, "killed by signal KILL");
    close_python(&f);
}

/* Whatever a child sends costs its own run only. */
static void test_hostile_children(void **state UNUSED)
{
    static const struct {
        const char *code, *why;
        int exit_code;
    } cases[] = {
        { "garbage", "malformed", -SIGKILL },
        { "big", "too long", -SIGKILL },
        { "early", "out of turn", -SIGKILL },
        { "ready", "out of turn", -SIGKILL },
        { "result", "out of turn", -SIGKILL },
        { "notes", "malformed notes", -SIGKILL },
        { "kill 6", "killed by signal ABRT", -SIGABRT },
        { "kill 9", "killed by signal KILL", -SIGKILL },
    };
    struct fixture f;
    open_fake(&f, "{}");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct slot *bad = run(&f, cases[i].code), *good = run(&f, "echo");
        wait_for(&f, 2 * (i + 1));
        assert_int_equal(bad->end, PYTHON_DIED);
        assert_has(bad->error, cases[i].why);
        assert_int_equal(bad->exit_code, cases[i].exit_code);
        assert_int_equal(good->end, PYTHON_ENDED);
        assert_string_equal(good->result, "echo");
        assert_string_equal(good->out, "out\n");
    }
    close_python(&f);
}

/* It ends without a reply, as os._exit() does. */
static void test_exit_without_reply(void **state UNUSED)
{
    struct fixture f;
    open_fake(&f, "{}");
    struct slot *s = run(&f, "die 5");
    wait_for(&f, 1);
    assert_int_equal(s->end, PYTHON_ENDED);
    assert_int_equal(s->exit_code, 5);
    assert_false(s->has_result);
    close_python(&f);
}

static void test_pipes_that_stay_open(void **state UNUSED)
{
    struct fixture f;
    open_fake(&f, "{}");
    struct slot *s = run(&f, "hold");
    wait_for(&f, 1);
    assert_int_equal(s->end, PYTHON_ENDED);
    assert_string_equal(s->result, "held");
    assert_string_equal(s->out, "held\n");
    close_python(&f);
}

static void test_floods(void **state UNUSED)
{
    struct fixture f;
    open_fake(&f, "{}");
    struct slot *flood = run(&f, "flood 200");
    struct slot *events = run(&f, "events 100010");
    wait_for(&f, 2);
    assert_string_equal(flood->result, "echo");
    assert_int_equal(flood->dropped, (200 << 20) + 4 - 2 * PYTHON_KEEP_BYTES);
    assert_string_equal(events->result, "echo");
    assert_int_equal(f.events, 100000);
    close_python(&f);
}

static void test_network(void **state UNUSED)
{
    struct fixture f;
    open_fake(&f, "{}");
    for (size_t i = 0; i < 2; i++) {
        struct slot *s = run(&f, "network");
        wait_for(&f, 2 * i + 1);
        assert_string_equal(s->result, "echo");
        struct slot *plain = run(&f, "parent");
        wait_for(&f, 2 * i + 2);
        assert_true(atoi(plain->result) > 0);
    }
    pid_t zygotes[3];
    assert_int_equal(find_processes(getpid(), zygotes, 3), 2);
    f.is_installing = true;
    struct slot *early = run(&f, "network");
    wait_for(&f, 5);
    assert_int_equal(early->end, PYTHON_NOT_YET);
    assert_has(early->notes, "\"modules\":[\"polars\"]");
    close_python(&f);
}

static void test_broker(void **state UNUSED)
{
    struct fixture f;
    open_fake(&f, "{}");
    struct slot *s = run(&f, "broker"), *hangs = run(&f, "hang");
    wait_for(&f, 1);
    assert_string_equal(s->result, "hello");
    while (f.brokers_begun < 2)
        uv_run(&f.loop, UV_RUN_ONCE);
    assert_int_equal(f.brokers, 1);
    python_cancel(f.python, hangs->run);
    assert_int_equal(f.brokers, 0);
    close_python(&f);
}

/* Who asks is told why, and nothing is tried again until somebody asks. */
static void test_no_start(void **state UNUSED)
{
    static const struct {
        const char *program, *setup, *why;
    } cases[] = {
        { "/nonexistent/python", "{}", "No such file" },
        { TEST_ZYGOTE, "{\"start\":\"die\"}", "exited with status 7" },
        { TEST_ZYGOTE, "{\"start\":\"garbage\"}", "out of turn" },
        { TEST_ZYGOTE, "{\"start\":\"say\"}", "no ?[31mlibrary" },
        { PADDOCK_PYTHON, "{}", "setup: " },
        { TEST_ZYGOTE, "{\"child\":\"die\"}", "exited with status 7" },
        { TEST_ZYGOTE, "{\"child\":\"garbage\"}", "malformed" },
        { TEST_ZYGOTE, "{\"fork\":\"refuse\"}", "temporarily unavailable" },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        open_with(&f, cases[i].program, cases[i].setup);
        python_warm(f.python);
        for (size_t n = 0; n < 3; n++)
            run(&f, "echo");
        wait_for(&f, 3);
        struct slot *late = run(&f, "echo");
        wait_for(&f, 4);
        assert_int_equal(late->end, PYTHON_NOT_STARTED);
        for (size_t n = 0; n < 3; n++) {
            assert_int_equal(f.slots[n].end, PYTHON_NOT_STARTED);
            assert_has(f.slots[n].error, cases[i].why);
        }
        wait_children(&f, 0);
        for (int n = 0; n < 20; n++)
            uv_run(&f.loop, UV_RUN_NOWAIT), usleep(1000);
        assert_int_equal(python_children(f.python), 0);
        close_python(&f);
    }
}

static void set_max_descriptors(rlim_t max)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* Who cannot be served now is told, and the others go on. */
static void test_no_descriptors(void **state UNUSED)
{
    struct fixture f;
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    open_fake(&f, "{}");
    python_warm(f.python);
    settle(&f, PYTHON_SPARES);
    set_max_descriptors(f.descriptors); /* more are open already */
    struct slot *hangs = run(&f, "hang"), *good = run(&f, "echo");
    struct slot *bad = run(&f, "echo");
    wait_for(&f, 2);
    assert_string_equal(good->result, "echo");
    assert_int_equal(bad->end, PYTHON_NOT_STARTED);
    assert_has(bad->error, "Too many open files");
    assert_false(hangs->answered);
    set_max_descriptors(before.rlim_cur);
    python_cancel(f.python, hangs->run);
    struct slot *late = run(&f, "echo");
    wait_for(&f, 3);
    assert_string_equal(late->result, "echo");
    close_python(&f);
}

/* In whatever state it is. */
static void test_destroy(void **state UNUSED)
{
    static const char *const setups[] = { "{}", "{\"start\":\"hang\"}",
        "{\"child\":\"hang\"}", "{\"fork\":\"deaf\"}" };
    for (size_t i = 0; i < ARRAY_LEN(setups); i++)
        for (int turns = 0; turns < 8; turns++) {
            struct fixture f;
            open_fake(&f, setups[i]);
            python_warm(f.python);
            for (int n = 0; n < 4; n++)
                run(&f, n % 2 ? "hang" : "echo");
            for (int n = 0; n < 3 * turns; n++)
                uv_run(&f.loop, UV_RUN_NOWAIT), usleep(500);
            close_python(&f);
        }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_result),
        cmocka_unit_test(test_output),
        cmocka_unit_test(test_two_at_once),
        cmocka_unit_test(test_more_than_spares),
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_many_runs_leave_nothing),
        cmocka_unit_test(test_much_output),
        cmocka_unit_test(test_long_result),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_cancel_all),
        cmocka_unit_test(test_death_of_zygote),
        cmocka_unit_test(test_death_of_zygote_while_waiting),
        cmocka_unit_test(test_hostile_children),
        cmocka_unit_test(test_exit_without_reply),
        cmocka_unit_test(test_pipes_that_stay_open),
        cmocka_unit_test(test_floods),
        cmocka_unit_test(test_network),
        cmocka_unit_test(test_broker),
        cmocka_unit_test(test_no_start),
        cmocka_unit_test(test_no_descriptors),
        cmocka_unit_test(test_destroy),
    };
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    signal(SIGPIPE, SIG_IGN);
    uv_loop_t loop; /* libuv keeps descriptors of the first one */
    uv_loop_init(&loop);
    uv_loop_close(&loop);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
