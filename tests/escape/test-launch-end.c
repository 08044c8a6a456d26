/*
 * That everything of a command has an end: by limits, by the server's word, and when the
 * server is killed.
 */
#include "launching.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Every process that has `mark` in its command line, but us. */
static unsigned count_running(const char *mark)
{
    char command[2048];
    unsigned count = 0;
    snprintf(command, sizeof(command), "ps -eo args | grep -c '[%c]%s'", mark[0],
            mark + 1);
    FILE *pipe = popen(command, "r");
    assert_int_equal(fscanf(pipe, "%u", &count), 1);
    pclose(pipe);
    return count;
}

/* Root has no limit of this kind.  Without a namespace everything of the user counts. */
static void test_fork_bomb(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    if (!geteuid())
        skip();
    scene_begin(&s);
    s.spec.max_processes = has_namespaces() ? 64 : 400;
    s.spec.timeout_ms = 3000;
    scene_shell(&s,
            "i=0; while sleep 87653 & do i=$((i+1)); [ $i -lt 500 ] || break; done", &o);
    assert_in_range(o.left_running, 20, s.spec.max_processes);
    assert_int_equal(count_running("sleep 87653"), 0);
    outcome_finish(&o);
    /* Whoever forks without end is found nevertheless. */
    s.spec.timeout_ms = 500;
    scene_shell(&s, "f() { sleep 0.01; f 87654 | f 87654 & }; f; sleep 600", &o);
    assert_int_equal(o.end, COMMAND_TIMED_OUT);
    assert_int_equal(count_running("f 87654"), 0);
    outcome_finish(&o);
    expect_shell(&s, "echo fine", 0, "fine\n", "");
    scene_end(&s);
}

static void test_limits(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s);
    expect_shell(&s,
            "ulimit -c; [ $(ulimit -n) -le 4096 ] && cat /proc/self/oom_score_adj", 0,
            "0\n500\n", "");
    scene_end(&s);
}

static void be_server(struct scene *s)
{
    const char *const argv[] = { "/bin/sh", "-c",
        "sleep 87651 & setsid sh -c 'trap \"\" TERM HUP; sleep 87651 & sleep 87651' & "
        "(sleep 87651 &) ; exec sleep 87651",
        NULL };
    struct outcome o;
    struct error err;
    if (scene_start(s, argv, &o, &err))
        uv_run(&s->loop, UV_RUN_DEFAULT);
    _exit(0);
}

/* The server is killed at any moment: within a second nothing is left of the command, and
 * no file has come. */
static void test_server_is_killed(void **state UNUSED)
{
    struct scene s;
    scene_begin(&s);
    char *before = scene_inventory(&s);
    for (unsigned i = 0; i < 25; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (!pid)
            be_server(&s);
        usleep(i * 1500);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        unsigned left = 1;
        for (int turn = 0; turn < 100 && left; turn++) {
            left = count_running("sleep 87651") + count_running(s.launcher);
            if (left)
                usleep(10000);
        }
        assert_int_equal(left, 0);
    }
    char *after = scene_inventory(&s);
    assert_string_equal(after, before);
    free(before);
    free(after);
    scene_end(&s);
}

/* A command that stops its keeper's other children, or itself, ends nevertheless. */
static void test_stopped_processes(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    s.spec.timeout_ms = 300;
    scene_shell(&s, "(kill -STOP $$) & sleep 87652; echo no", &o);
    assert_int_equal(o.end, COMMAND_TIMED_OUT);
    assert_string_equal(o.out, "");
    assert_int_equal(count_running("sleep 87652"), 0);
    outcome_finish(&o);
    scene_end(&s);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork_bomb),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_server_is_killed),
        cmocka_unit_test(test_stopped_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return launching_main("/var/lib", run_all);
}
