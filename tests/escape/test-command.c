/*
 * Commands through the broker and the launcher, as the one who runs this: how they end,
 * what of their output is kept, what they get, and what they leave behind.
 */
#include "launching.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_exit_codes(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    for (int code = 0; code < 256; code += 51) {
        char script[32];
        snprintf(script, sizeof(script), "exit %d", code);
        scene_shell(&s, script, &o);
        expect_exit(&o, code, "", "");
        assert_int_equal(o.left_running, 0);
        outcome_finish(&o);
    }
    scene_end(&s);
}

static void test_signals(void **state UNUSED)
{
    static const int signals[] = { SIGKILL, SIGTERM, SIGSEGV, SIGHUP, SIGUSR1 };
    struct scene s;
    scene_begin(&s);
    for (size_t i = 0; i < ARRAY_LEN(signals); i++) {
        char script[32];
        struct outcome o;
        snprintf(script, sizeof(script), "kill -%d $$", signals[i]);
        scene_shell(&s, script, &o);
        assert_int_equal(o.end, COMMAND_EXITED);
        assert_true(WIFSIGNALED(o.status));
        assert_int_equal(WTERMSIG(o.status), signals[i]);
        outcome_finish(&o);
    }
    scene_end(&s);
}

static void test_streams(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    expect_shell(&s, "echo out; echo err >&2; cat; readlink /proc/self/fd/0", 0,
            "out\n/dev/null\n", "err\n");
    /* Nothing else is open. */
    scene_shell(&s, "ls /proc/self/fd | tr '\\n' ' '", &o);
    expect_exit(&o, 0, "0 1 2 3 ", ""); /* 3 is ls's own */
    outcome_finish(&o);
    scene_end(&s);
}

static void test_environment_and_folder(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    s.env[2] = "EMPTY=";
    s.env[3] = "BYTES=\xff\n=x";
    const char *const argv[] = { "/usr/bin/env", "-0", NULL };
    scene_run(&s, argv, &o);
    static const char expected[] = "PATH=/usr/local/bin:/usr/bin:/bin\0LC_ALL=C.UTF-8\0"
                                   "EMPTY=\0BYTES=\xff\n=x";
    assert_int_equal(o.out_len, sizeof(expected));
    assert_memory_equal(o.out, expected, sizeof(expected));
    outcome_finish(&o);
    s.spec.cwd = scene_path(&s, "ws/sub");
    assert_int_equal(mkdir(s.spec.cwd, 0755), 0);
    scene_shell(&s, "pwd", &o);
    char *folder = scene_path(&s, "ws/sub\n");
    expect_exit(&o, 0, folder, "");
    outcome_finish(&o);
    scene_end(&s);
}

static void test_arguments(void **state UNUSED)
{
    const char *argv[4003] = { "/bin/sh", "-c", "echo $#; printf %s \"$1\"", "sh" };
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    for (size_t i = 4; i < 4002; i++)
        argv[i] = "a b\xff'";
    scene_run(&s, argv, &o);
    expect_exit(&o, 0, "3998\na b\xff'", "");
    outcome_finish(&o);
    const char *const empty[] = { "/bin/sh", "-c", "echo $#-$1-$2-", "sh", "", "", NULL };
    scene_run(&s, empty, &o);
    expect_exit(&o, 0, "2---\n", "");
    outcome_finish(&o);
    scene_end(&s);
}

static void expect_not_started(
        struct scene *s, const char *const *argv, const char *message)
{
    struct outcome o;
    scene_run(s, argv, &o);
    assert_int_equal(o.end, COMMAND_NOT_STARTED);
    if (!strstr(o.error.message, message))
        assert_string_equal(o.error.message, message);
    outcome_finish(&o);
}

static void test_what_cannot_start(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s);
    const char *argv[] = { "/no/such/program", NULL, NULL };
    expect_not_started(&s, argv, "cannot run the program: No such file or directory");
    argv[0] = "/etc/passwd";
    expect_not_started(&s, argv, "cannot run the program: Permission denied");
    argv[0] = "/etc";
    expect_not_started(&s, argv, "cannot run the program: Permission denied");
    scene_write(&s, "ws/script", "echo hello\n");
    argv[0] = scene_path(&s, "ws/script");
    chmod(argv[0], 0755);
    expect_not_started(&s, argv, "cannot run the program: Exec format error");
    scene_write(&s, "ws/script", "#!/no/such/interpreter\n");
    expect_not_started(&s, argv, "cannot run the program: No such file or directory");
    size_t size = (size_t)8 << 20;
    char *big = xmalloc(size);
    memset(big, 'x', size - 1);
    big[size - 1] = '\0';
    argv[0] = "/bin/true";
    argv[1] = big;
    expect_not_started(&s, argv, "cannot run the program: Argument list too long");
    argv[1] = NULL;
    free(big);
    s.spec.cwd = "/no/such/folder";
    expect_not_started(&s, argv, "working directory: No such file or directory");
    scene_end(&s);
}

static void test_script_runs(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    scene_write(&s, "ws/script", "#!/bin/sh\necho script $1\n");
    const char *argv[] = { scene_path(&s, "ws/script"), "one", NULL };
    chmod(argv[0], 0755);
    scene_run(&s, argv, &o);
    expect_exit(&o, 0, "script one\n", "");
    outcome_finish(&o);
    /* A program beside the workspace is there although /tmp is private. */
    scene_write(&s, "outside/script", "#!/bin/sh\necho outside\n");
    argv[0] = scene_path(&s, "outside/script");
    chmod(argv[0], 0755);
    scene_run(&s, argv, &o);
    expect_exit(&o, 0, "outside\n", "");
    outcome_finish(&o);
    scene_end(&s);
}

static long resident_kib(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
}

static void test_much_output(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    long before = resident_kib();
    scene_shell(&s, "head -c 100000000 /dev/zero; printf end", &o);
    expect_exit(&o, 0, NULL, "");
    assert_int_equal(o.out_len, 65536);
    assert_int_equal(o.out_tail.len, 1024);
    assert_string_equal(o.out_tail.data + 1021, "end");
    assert_int_equal(o.out_dropped, 100000003 - 65536 - 1024);
    assert_true(resident_kib() - before < 8192);
    outcome_finish(&o);
    scene_end(&s);
}

static void test_both_streams_flooded(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    scene_shell(&s,
            "head -c 5000000 /dev/zero & head -c 5000000 /dev/zero >&2 & wait; echo end",
            &o);
    expect_exit(&o, 0, NULL, NULL);
    assert_int_equal(o.out_dropped + o.out_len + o.out_tail.len, 5000004);
    assert_int_equal(o.err_dropped + o.err_len + 1024, 5000000);
    outcome_finish(&o);
    scene_end(&s);
}

static void test_timeout_keeps_output(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    s.spec.timeout_ms = 1500; /* enough to begin in, on a machine with much to do */
    scene_shell(&s, "echo begun; exec sleep 600", &o);
    assert_int_equal(o.end, COMMAND_TIMED_OUT);
    assert_string_equal(o.out, "begun\n");
    outcome_finish(&o);
    /* TERM can be answered... */
    scene_shell(&s,
            "trap 'echo bye; exit 3' TERM; echo begun; while :; do sleep 0.1; done", &o);
    assert_int_equal(o.end, COMMAND_TIMED_OUT);
    assert_string_equal(o.out, "begun\nbye\n");
    outcome_finish(&o);
    /* ...but not ignored for ever, by nobody. */
    scene_shell(&s, "trap '' TERM; echo deaf; setsid sh -c 'sleep 600' & sleep 600", &o);
    assert_int_equal(o.end, COMMAND_TIMED_OUT);
    assert_string_equal(o.out, "deaf\n");
    assert_true(o.duration_ms >= 3000);
    outcome_finish(&o);
    scene_end(&s);
}

/* Nobody but us has the fixture's name on its command line. */
static bool is_running(const char *mark)
{
    char command[128];
    snprintf(command, sizeof(command), "ps -eo args | grep -q '[%c]%s'", mark[0],
            mark + 1);
    return system(command) == 0;
}

/* Who is killed may still be there for a moment, where no PID namespace is waited for. */
static bool is_gone(const char *mark)
{
    for (unsigned i = 0; i < 300 && is_running(mark); i++)
        usleep(i * 1000);
    return !is_running(mark);
}

static void test_background(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    /* It holds the pipe; the call does not wait for it. */
    scene_shell(&s, "sleep 98761 & echo done", &o);
    expect_exit(&o, 0, "done\n", "");
    assert_int_equal(o.left_running, 1);
    assert_true(is_gone("sleep 98761"));
    outcome_finish(&o);
    /* What it says within a moment is heard. */
    expect_shell(&s, "(sleep 0.05; echo late) & echo done", 0, "done\nlate\n", "");
    scene_end(&s);
}

static void test_daemon(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    scene_shell(&s,
            "setsid sh -c '(trap \"\" TERM HUP; sleep 98762) >/dev/null 2>&1 &' "
            ">/dev/null 2>&1; echo started",
            &o);
    expect_exit(&o, 0, "started\n", "");
    assert_true(o.left_running >= 1);
    assert_true(is_gone("sleep 98762"));
    outcome_finish(&o);
    scene_end(&s);
}

static void test_cancel(void **state UNUSED)
{
    const char *const argv[] = { "/bin/sh", "-c", "sleep 98763", NULL };
    struct scene s;
    struct outcome o;
    struct error err = { 0 };
    scene_begin(&s);
    struct command *c = scene_start(&s, argv, &o, &err);
    for (int i = 0; i < 20; i++) {
        uv_run(&s.loop, UV_RUN_NOWAIT);
        usleep(10000);
    }
    command_cancel(c);
    uv_run(&s.loop, UV_RUN_DEFAULT);
    assert_false(o.is_done);
    assert_true(is_gone("sleep 98763"));
    /* At once, before it has begun. */
    c = scene_start(&s, argv, &o, &err);
    command_cancel(c);
    uv_run(&s.loop, UV_RUN_DEFAULT);
    assert_true(is_gone("sleep 98763"));
    scene_end(&s);
}

static void test_destroy(void **state UNUSED)
{
    const char *const argv[] = { "/bin/sh", "-c", "trap '' TERM; sleep 98764", NULL };
    struct scene s;
    struct outcome o;
    struct error err = { 0 };
    scene_begin(&s);
    struct command *c = scene_start(&s, argv, &o, &err);
    for (int i = 0; i < 10; i++) {
        uv_run(&s.loop, UV_RUN_NOWAIT);
        usleep(10000);
    }
    command_destroy(c);
    assert_true(is_gone("sleep 98764"));
    uv_run(&s.loop, UV_RUN_DEFAULT);
    assert_false(o.is_done);
    command_destroy(NULL);
    scene_end(&s);
}

static size_t count_entries(const char *path)
{
    size_t count = 0;
    DIR *dir = opendir(path);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static size_t count_lines(const char *path)
{
    size_t count = 0;
    FILE *file = fopen(path, "r");
    for (int c; (c = fgetc(file)) != EOF;)
        count += c == '\n';
    fclose(file);
    return count;
}

static void test_nothing_is_left(void **state UNUSED)
{
    struct scene s;
    size_t fds = 0, mounts = count_lines("/proc/self/mounts");
    scene_begin(&s);
    for (int i = 0; i <= 100; i++) {
        struct outcome o;
        scene_shell(&s, "echo x", &o);
        expect_exit(&o, 0, "x\n", "");
        outcome_finish(&o);
        if (!i) /* the loop keeps some of its own */
            fds = count_entries("/proc/self/fd");
    }
    assert_int_equal(count_entries("/proc/self/fd"), fds);
    assert_int_equal(count_lines("/proc/self/mounts"), mounts);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(count_entries(s.ws), 2);
    scene_end(&s);
}

static void test_not_sandboxed(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    s.spec.sandboxed = false;
    scene_shell(
            &s, "echo x > ../outside/file; cat ../outside/file; cat; sleep 98765 &", &o);
    expect_exit(&o, 0, "x\n", "");
    assert_int_equal(o.left_running, 1);
    assert_true(is_gone("sleep 98765"));
    assert_true(scene_has(&s, "outside/file"));
    assert_non_null(strstr(o.confinement, "\"sandboxed\":false"));
    outcome_finish(&o);
    scene_shell(&s, "setsid sh -c '(trap \"\" TERM; sleep 98766) >/dev/null 2>&1 &'", &o);
    expect_exit(&o, 0, "", "");
    assert_true(is_gone("sleep 98766"));
    outcome_finish(&o);
    s.spec.timeout_ms = 300;
    scene_shell(&s, "trap '' TERM; sleep 98767", &o);
    assert_int_equal(o.end, COMMAND_TIMED_OUT);
    assert_true(is_gone("sleep 98767"));
    outcome_finish(&o);
    scene_end(&s);
}

static void test_strays(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    const char *const paths[] = { scene_path(&s, "ws/.git"),
        scene_path(&s, "ws/.pyddock"), scene_path(&s, "ws/a/b"),
        scene_path(&s, "ws/link/x"), NULL };
    s.spec.must_not_appear = paths;
    s.spec.quarantine = scene_path(&s, "ws/.pyddock/quarantine");
    scene_shell(&s, "echo fine > file", &o);
    expect_exit(&o, 0, "", "");
    assert_string_equal(o.strays, "");
    assert_false(scene_has(&s, "ws/.pyddock"));
    outcome_finish(&o);
    scene_shell(&s, "mkdir .git .git/hooks; ln -s /etc a; ln -s . link; touch x", &o);
    expect_exit(&o, 0, "", "");
    assert_non_null(strstr(o.strays, "ws/.git -> "));
    /* Behind a link in the place of a folder would be what is read as "a/b". */
    assert_non_null(strstr(o.strays, "ws/a -> "));
    assert_non_null(strstr(o.strays, "ws/link -> "));
    assert_false(scene_has(&s, "ws/a"));
    assert_false(scene_has(&s, "ws/link"));
    assert_false(scene_has(&s, "ws/.git"));
    assert_true(scene_has(&s, "ws/.pyddock/quarantine"));
    assert_true(scene_has(&s, "ws/x"));
    outcome_finish(&o);
    scene_end(&s);
}

/* What appeared is the quarantine's own place. */
static void test_stray_quarantine(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    const char *const paths[] = { scene_path(&s, "ws/.pyddock"), NULL };
    s.spec.must_not_appear = paths;
    s.spec.quarantine = scene_path(&s, "ws/.pyddock/quarantine");
    scene_shell(&s, "mkdir .pyddock; echo allow > .pyddock/pyddock.toml", &o);
    assert_non_null(strstr(o.strays, "ws/.pyddock -> "));
    assert_false(scene_has(&s, "ws/.pyddock/pyddock.toml"));
    assert_true(scene_has(&s, "ws/.pyddock/quarantine"));
    outcome_finish(&o);
    /* A link that stands where the quarantine is to be is not followed. */
    assert_int_equal(rename(scene_path(&s, "ws/.pyddock"), scene_path(&s, "old")), 0);
    const char *const git[] = { scene_path(&s, "ws/.git"), NULL };
    s.spec.must_not_appear = git;
    scene_shell(&s, "mkdir -p .git/a/b; ln -s ../outside .pyddock", &o);
    assert_string_equal(strstr(o.strays, " -> "), " -> \n");
    assert_false(scene_has(&s, "ws/.git"));
    assert_int_equal(count_entries(s.outside), 2);
    outcome_finish(&o);
    scene_end(&s);
}

static pid_t only_child(void)
{
    char path[64], text[64] = "";
    snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
    pid_t pid = atoi(text);
    assert_true(pid > 1);
    return pid;
}

static void test_lost_keeper(void **state UNUSED)
{
    const char *const argv[] = { "/bin/sleep", "98768", NULL };
    struct scene s;
    struct outcome o;
    struct error err = { 0 };
    scene_begin(&s);
    assert_non_null(scene_start(&s, argv, &o, &err));
    for (int i = 0; i < 10; i++) {
        uv_run(&s.loop, UV_RUN_NOWAIT);
        usleep(10000);
    }
    assert_int_equal(kill(only_child(), SIGKILL), 0);
    scene_wait(&s, &o);
    assert_int_equal(o.end, COMMAND_LOST);
    assert_non_null(strstr(o.error.message, "killed by signal KILL"));
    usleep(100000);
    assert_true(is_gone("sleep 98768"));
    outcome_finish(&o);
    scene_end(&s);
}

static void test_many_at_once(void **state UNUSED)
{
    const char *const argv[] = { "/bin/sh", "-c", "sleep 0.1; echo x", NULL };
    struct outcome outcomes[16];
    struct error err = { 0 };
    struct scene s;
    scene_begin(&s);
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++)
        assert_non_null(scene_start(&s, argv, &outcomes[i], &err));
    uv_run(&s.loop, UV_RUN_DEFAULT);
    for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
        expect_exit(&outcomes[i], 0, "x\n", "");
        outcome_finish(&outcomes[i]);
    }
    scene_end(&s);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exit_codes),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_environment_and_folder),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_what_cannot_start),
        cmocka_unit_test(test_script_runs),
        cmocka_unit_test(test_much_output),
        cmocka_unit_test(test_both_streams_flooded),
        cmocka_unit_test(test_timeout_keeps_output),
        cmocka_unit_test(test_background),
        cmocka_unit_test(test_daemon),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_destroy),
        cmocka_unit_test(test_nothing_is_left),
        cmocka_unit_test(test_not_sandboxed),
        cmocka_unit_test(test_strays),
        cmocka_unit_test(test_stray_quarantine),
        cmocka_unit_test(test_lost_keeper),
        cmocka_unit_test(test_many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return launching_main("/tmp", run_all);
}
