/*
 * The real worker program, started as the server starts it: what it has, and what it
 * answers.
 */
#include "base/json.h"
#include "base/wire.h"
#include "broker/spawn.h"
#include "policy/setup.h"
#include "scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 1000

struct fixture {
    char folder[64];
    struct helper worker;
    struct wire_reader reader;
    json_t *status;
};

static void send_setup(struct fixture *f, bool read_only)
{
    struct error err;
    const struct str deny[] = { STR("*.secret") };
    const struct setup_root roots[] = {
        { STR("/"), SETUP_LOCAL, SETUP_FIRST_ROOT_FD, str_of(f->folder) },
        { STR("/mnt/scratch"), SETUP_MEMORY, -1, STR("") },
    };
    const struct setup setup = { .name = STR("mcpath"),
        .read_only = read_only,
        .deny = deny,
        .deny_count = ARRAY_LEN(deny),
        .max_output = 1000,
        .timeout_ms = TIMEOUT_MS,
        .roots = roots,
        .root_count = ARRAY_LEN(roots) };
    auto_buf json = BUF((size_t)1 << 16);
    setup_write(&setup, &json);
    const struct wire_message m = { WIRE_SETUP, 1, { buf_str(&json) } };
    assert_true(wire_send(f->worker.socket, &m, &err));
}

static void start(struct fixture *f, bool read_only)
{
    struct error err = { 0 };
    struct wire_message m;
    const char *const env[] = { "LC_ALL=C.UTF-8", NULL };
    strcpy(f->folder, "/tmp/paddock-worker-XXXXXX");
    scratch_make(f->folder);
    auto_fd int root = open(f->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct helper_spec spec = {
        .path = getenv("PADDOCK_WORKER"), .env = env, .fds = &root, .fd_count = 1
    };
    assert_non_null(spec.path);
    assert_true(helper_spawn(&spec, &f->worker, &err));
    fcntl(f->worker.socket, F_SETFL, 0);
    wire_reader_init(&f->reader, f->worker.socket);
    send_setup(f, read_only);
    if (!wire_receive(&f->reader, &m, &err))
        fail_msg("%s", err.message);
    assert_int_equal(m.kind, WIRE_READY);
    assert_true(json_parse(m.fields[0], &f->status, &err));
}

static int set_up(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    *state = f;
    start(f, false);
    return 0;
}

static int set_up_read_only(void **state)
{
    struct fixture *f = xcalloc(1, sizeof(*f));
    *state = f;
    start(f, true);
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    helper_finish(&f->worker);
    wire_reader_finish(&f->reader);
    json_decref(f->status);
    scratch_remove(f->folder);
    free(f);
    return 0;
}

static void send_call(struct fixture *f, const char *tool, json_t *args)
{
    struct error err;
    auto_buf json = BUF((size_t)1 << 20);
    json_write(args, &json);
    json_decref(args);
    const struct wire_message m = { WIRE_CALL, 2, { str_of(tool), buf_str(&json) } };
    assert_true(wire_send(f->worker.socket, &m, &err));
}

static void expect_reply(struct fixture *f, bool is_error, const char *text)
{
    struct error err;
    struct wire_message m;
    if (!wire_receive(&f->reader, &m, &err))
        fail_msg("%s", err.message);
    assert_int_equal(m.kind, WIRE_REPLY);
    assert_true(m.count >= 2);
    auto_free char *got = strndup(m.fields[1].data, m.fields[1].len);
    if (strncmp(got, text, strlen(text)))
        assert_string_equal(got, text);
    assert_true(str_is(m.fields[0], is_error ? "1" : "0"));
}

/* `text` is what the reply begins with. */
static void expect_run(struct fixture *f, const char *command, const char *text)
{
    send_call(f, "run", json_pack("{s:s}", "command", command));
    expect_reply(f, false, text);
}

static void expect_edit(struct fixture *f, const char *path, const char *old,
        const char *new, bool is_error, const char *text)
{
    send_call(f, "edit",
            json_pack("{s:s, s:s, s:s}", "path", path, "old_string", old, "new_string",
                    new));
    expect_reply(f, is_error, text);
}

static void read_proc(const struct fixture *f, const char *name, char *text, size_t size)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", f->worker.pid, name);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (n < 0)
        skip(); /* not dumpable, and we are not root */
    text[n] = 0;
}

static void test_it_has_only_its_descriptors(void **state)
{
    struct fixture *f = *state;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", f->worker.pid);
    DIR *dir = opendir(path);
    if (!dir)
        skip();
    unsigned seen = 0;
    for (struct dirent *e; (e = readdir(dir));)
        if (e->d_name[0] != '.')
            seen |= 1u << (strtoul(e->d_name, NULL, 10) & 31);
    closedir(dir);
    assert_int_equal(seen, 0x1f); /* 0 1 2, the socket, one root */
}

static void test_its_environment_is_what_it_was_given(void **state)
{
    char text[256];
    read_proc(*state, "environ", text, sizeof(text));
    assert_string_equal(text, "LC_ALL=C.UTF-8");
}

static void test_the_kernel_says_that_it_is_confined(void **state)
{
    char text[8192];
    read_proc(*state, "status", text, sizeof(text));
    assert_non_null(strstr(text, "\nNoNewPrivs:\t1\n"));
    assert_non_null(strstr(text, "\nSeccomp:\t2\n"));
    assert_true(geteuid() || strstr(text, "\nCapBnd:\t0000000000000000\n"));
    const char *caps = strstr(text, "\nCapPrm:\t");
    assert_true(strtoull(caps + 9, NULL, 16) <= 0xb); /* chown, dac_override, fowner */
}

static void test_its_status_says_so_too(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(json_array_size(json_object_get(f->status, "problems")), 0);
    assert_int_equal(json_object_size(json_object_get(f->status, "properties")), 7);
}

static void test_state_lives_from_call_to_call(void **state)
{
    expect_run(*state, "mkdir d; cd d; X=1; echo hello > f", "");
    expect_run(*state, "pwd; echo $X; cat f", "/d\n1\nhello\n");
    expect_run(*state, "exit 3", "[exit 3]");
    expect_run(*state, "pwd", "/d\n");
}

static void test_errors_and_output_are_one_text(void **state)
{
    expect_run(*state, "echo a; cat nothing; echo b",
            "a\ncat: nothing: No such file or directory\nb\n");
    expect_run(*state, "nosuch", "mcpath: ");
}

static void test_a_denied_name_does_not_show(void **state)
{
    expect_run(*state, "echo x > a.secret", "mcpath: ");
    expect_run(*state, "ls", "");
}

static void test_memory_is_mounted(void **state)
{
    expect_run(*state, "echo x > /mnt/scratch/f; cat /mnt/scratch/f", "x\n");
}

static void test_metadata_can_be_changed_when_confined(void **state)
{
    expect_run(*state, "echo x > f; touch f; mv f g; cp g h; ls; rm g h", "g\nh\n");
}

static void test_edit(void **state)
{
    expect_edit(*state, "new", "", "one\ntwo\n", false, "Created /new.");
    expect_edit(
            *state, "./new", "two", "2", false, "Edited /new: replaced 1 occurrence.\n");
    expect_run(*state, "cat new", "one\n2\n");
    expect_edit(*state, "new", "three", "3", true, "edit: new: ");
    expect_edit(*state, "nothing", "a", "b", true, "edit: nothing: ");
    expect_edit(*state, "", "a", "b", true, "edit: : No such file or directory");
}

static void test_a_read_only_view(void **state)
{
    expect_run(*state, "echo x > f", "mcpath: ");
    expect_edit(*state, "f", "", "x", true, "edit: f: ");
}

static void test_unknown_tools_and_bad_arguments(void **state)
{
    struct fixture *f = *state;
    send_call(f, "shutdown", json_object());
    expect_reply(f, true, "Unknown tool: 'shutdown'");
    send_call(f, "run", json_integer(1));
    expect_reply(f, false, "");
}

static void test_the_time_of_a_call_ends(void **state)
{
    expect_run(
            *state, "while true; do :; done; echo not reached", "mcpath: stopped: time");
    expect_run(*state, "echo alive", "alive\n");
}

static void test_a_call_can_be_cancelled(void **state)
{
    struct fixture *f = *state;
    send_call(f, "run", json_pack("{s:s}", "command", "while true; do :; done"));
    usleep(50000);
    helper_signal(&f->worker, SIGUSR1);
    expect_reply(f, false, "mcpath: stopped: cancelled");
    helper_signal(
            &f->worker, SIGUSR1); /* too late for that call, harmless for the next */
    expect_run(f, "echo alive", "alive\n");
}

static void test_it_ends_when_the_socket_closes(void **state)
{
    struct fixture *f = *state;
    int status = -1;
    shutdown(f->worker.socket, SHUT_RDWR);
    for (int i = 0; i < 1000 && !helper_reap(&f->worker, &status); i++)
        usleep(10000);
    assert_int_equal(status, 0);
}

static void test_a_message_out_of_turn_ends_it(void **state)
{
    struct fixture *f = *state;
    int status = -1;
    send_setup(f, false);
    for (int i = 0; i < 1000 && !helper_reap(&f->worker, &status); i++)
        usleep(10000);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
}

#define WITH(set_up, test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH(set_up, test_it_has_only_its_descriptors),
        WITH(set_up, test_its_environment_is_what_it_was_given),
        WITH(set_up, test_the_kernel_says_that_it_is_confined),
        WITH(set_up, test_its_status_says_so_too),
        WITH(set_up, test_state_lives_from_call_to_call),
        WITH(set_up, test_errors_and_output_are_one_text),
        WITH(set_up, test_a_denied_name_does_not_show),
        WITH(set_up, test_memory_is_mounted),
        WITH(set_up, test_metadata_can_be_changed_when_confined),
        WITH(set_up, test_edit),
        WITH(set_up_read_only, test_a_read_only_view),
        WITH(set_up, test_unknown_tools_and_bad_arguments),
        WITH(set_up, test_the_time_of_a_call_ends),
        WITH(set_up, test_a_call_can_be_cancelled),
        WITH(set_up, test_it_ends_when_the_socket_closes),
        WITH(set_up, test_a_message_out_of_turn_ends_it),
    };
    signal(SIGPIPE, SIG_IGN); /* as the server does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
