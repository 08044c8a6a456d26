/*
 * What a snippet may use up, and that nothing of it is left: bombs of all kinds, children
 * that do not want to end, a server or a zygote that dies.
 */
#include "hosts.h"
#include "python-world.h"
#include "scratch.h"

#include "confine/parts.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define GIB ((rlim_t)1 << 30)

static struct python_world_options options; /* the program only */

/* In a process of its own, since limits cannot be raised again; what it says.  Without a
 * limit (0) it is one of our own. */
static void run_limited(
        int resource, rlim_t limit, const char *code, const char *expected)
{
    if (resource == RLIMIT_DATA && !memory_limit_possible())
        skip();
    pid_t pid = fork();
    if (!pid) {
        struct python_world w;
        struct python_child c;
        const struct rlimit both = { limit, limit };
        if (limit && setrlimit((__rlimit_resource_t)resource, &both))
            _exit(2);
        python_world_begin(&w, &options);
        python_child_run(&w, code, &c);
        bool fine = c.notes && strstr(c.output, expected);
        if (!fine)
            fprintf(stderr, "# ended with %x: %.600s\n", (unsigned)c.wait_status,
                    c.output);
        python_child_finish(&c);
        python_world_end(&w);
        _exit(fine ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

static void test_fork_bomb(void **state UNUSED)
{
    run_limited(RLIMIT_CPU, 0,
            "import os\nn = 0\nfor i in range(200):\n    try:\n        os.fork()\n"
            "    except OSError as e:\n        n += 1\nprint('refused', n)",
            "refused 200");
}

/* Until there are no more; then those that are there end, and all goes on. */
static void test_thread_bomb(void **state UNUSED)
{
    run_limited(RLIMIT_DATA, GIB,
            "import threading\ngo = threading.Event()\nthreads = []\n"
            "try:\n    while len(threads) < 20000:\n"
            "        t = threading.Thread(target=go.wait)\n        t.start()\n"
            "        threads.append(t)\n"
            "    print('endless')\n"
            "except (RuntimeError, MemoryError) as e:\n    print('no more:', e)\n"
            "go.set()\nfor t in threads: t.join()\n",
            "no more:");
}

static void test_big_object(void **state UNUSED)
{
    run_limited(RLIMIT_DATA, GIB,
            "try:\n    bytearray(2 << 30)\nexcept MemoryError:\n    print('too big')\n"
            "print(len(bytearray(64 << 20)))",
            "too big\n67108864");
}

static void test_many_objects(void **state UNUSED)
{
    run_limited(RLIMIT_DATA, GIB / 4,
            "l = []\ntry:\n    while True: l.append(bytes(1 << 20))\n"
            "except MemoryError:\n    n = len(l)\n    l.clear()\n    print('enough', n > "
            "50)",
            "enough True");
}

static void test_own_limit(void **state UNUSED)
{
    run_limited(RLIMIT_DATA, 0,
            "try:\n    bytearray(9 << 30)\nexcept MemoryError:\n    print('too big')",
            "too big");
}

static void test_big_file(void **state UNUSED)
{
    run_limited(RLIMIT_FSIZE, (rlim_t)16 << 20,
            "import os\nf = open('sub/f', 'wb', 0)\ntry:\n"
            "    while True: f.write(bytes(1 << 20))\n"
            "except OSError as e:\n    print(e.errno, os.stat('sub/f').st_size)\n"
            "try:\n    f.truncate(1 << 40)\nexcept OSError as e:\n    print(e.errno)",
            "27 16777216\n27\n");
}

static void test_broken_pipe(void **state UNUSED)
{
    run_limited(RLIMIT_CPU, 0,
            "import os\nr, w = os.pipe()\nos.close(r)\ntry:\n    os.write(w, b'x')\n"
            "except BrokenPipeError:\n    print('broken')",
            "broken");
}

/* It can be killed, whatever it does. */
static void check_killed(const char *code)
{
    struct python_world w;
    struct python_child c;
    python_world_begin(&w, &options);
    python_child_begin(&w, &c);
    python_child_send(&c, code, 100);
    struct stat st;
    while (fstat(c.out, &st) || !st.st_size) /* it says when it is there */
        usleep(1000);
    usleep(300000); /* its time is up */
    python_child_kill(&c);
    python_child_wait(&w, &c);
    assert_true(WIFSIGNALED(c.wait_status) && WTERMSIG(c.wait_status) == SIGKILL);
    assert_null(c.notes);
    python_child_finish(&c);
    python_world_end(&w);
}

static void test_does_not_want_to_end(void **state UNUSED)
{
    check_killed("import signal\nsignal.signal(signal.SIGALRM, signal.SIG_IGN)\n"
                 "print('x', flush=True)\nwhile True: pass");
}

static void test_in_machine_code(void **state UNUSED)
{
    check_killed("print('x', flush=True)\nsum(range(10 ** 15))");
}

/* A server that dies: a process of its own, whose children come to us. */
static void play_server(int ready, bool only_zygote)
{
    struct python_world w;
    struct python_child waiting, busy;
    python_world_begin(&w, &options);
    python_child_begin(&w, &waiting);
    python_child_begin(&w, &busy);
    python_child_send(&busy, "while True: pass", 0);
    if (only_zygote) {
        kill(w.zygote.pid, SIGKILL);
        waitpid(w.zygote.pid, NULL, 0);
    }
    const pid_t all[] = { waiting.pid, busy.pid, only_zygote ? 0 : w.zygote.pid };
    if (write(ready, all, sizeof(all)) != sizeof(all))
        _exit(1);
    machine_destroy(&w.machine);
    for (;;)
        pause();
}

/* All that comes to us ends: its number. */
static unsigned reap_orphans(void)
{
    unsigned count = 0;
    while (waitpid(-1, NULL, 0) > 0)
        count++;
    return count;
}

static void check_orphans(bool only_zygote)
{
    int pipes[2];
    pid_t all[3];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    pid_t server = fork();
    if (!server)
        play_server(pipes[1], only_zygote);
    assert_int_equal(read(pipes[0], all, sizeof(all)), sizeof(all));
    alarm(60);
    if (!only_zygote)
        kill(server, SIGKILL);
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        while (all[i] && kill(all[i], 0) == 0 && waitpid(all[i], NULL, WNOHANG) <= 0)
            usleep(1000);
    if (only_zygote)
        kill(server, SIGKILL);
    reap_orphans();
    alarm(0);
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    close(pipes[0]);
    close(pipes[1]);
}

static void test_server_dies(void **state UNUSED)
{
    check_orphans(false);
}

static void test_zygote_dies(void **state UNUSED)
{
    check_orphans(true);
}

static bool says(pid_t pid, const char *file, const char *line)
{
    char path[64], text[8192];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    text[n < 0 ? 0 : n] = '\0';
    return strstr(text, line);
}

/* What forks the children has given up what it can, too. */
static void test_zygote(void **state UNUSED)
{
    struct python_world w;
    char none[] = "CapEff:\t0000000000000000\n", files[] = "CapEff:\t000000000000000b\n";
    python_world_begin(&w, &options);
    assert_true(says(w.zygote.pid, "status", "NoNewPrivs:\t1\n"));
    assert_true(says(w.zygote.pid, "status", geteuid() ? none : files));
    assert_true(says(
            w.zygote.pid, "limits", "Max core file size        0                    0 "));
    /* Not dumpable: its files in /proc are root's. */
    struct stat st;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/environ", (int)w.zygote.pid);
    assert_int_equal(stat(path, &st), 0);
    assert_true(!geteuid() || st.st_uid != geteuid());
    python_world_end(&w);
}

static int test_all(enum host host)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fork_bomb),
        cmocka_unit_test(test_thread_bomb),
        cmocka_unit_test(test_big_object),
        cmocka_unit_test(test_many_objects),
        cmocka_unit_test(test_own_limit),
        cmocka_unit_test(test_big_file),
        cmocka_unit_test(test_broken_pipe),
        cmocka_unit_test(test_does_not_want_to_end),
        cmocka_unit_test(test_in_machine_code),
        cmocka_unit_test(test_server_dies),
        cmocka_unit_test(test_zygote_dies),
        cmocka_unit_test(test_zygote),
    };
    fprintf(stderr, "# as uid %u, %s\n", geteuid(), host_names[host]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    char folder[] = "/tmp/paddock-limits-XXXXXX", command[1024], copy[64];
    scratch_make(folder);
    snprintf(copy, sizeof(copy), "%s/python", folder);
    snprintf(command, sizeof(command), "cp '%s' '%s' && chmod 755 '%s'",
            getenv("PADDOCK_PYTHON_BARE"), copy, folder);
    if (system(command))
        return 1;
    options.program = copy;
    int failed = host_run(HOST_NO_MOUNTS, false, test_all);
    if (!geteuid())
        failed += host_run(HOST_NO_MOUNTS, true, test_all);
    failed += host_run(HOST_WHOLE, geteuid() == 0, test_all);
    scratch_remove(folder);
    return failed != 0;
}
