/*
 * The broker of run_python over real commands, with a process that says what it likes at
 * the other end: this test.
 */
#include "session/door.h"

#include "command-world.h"
#include "session/door-request.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_MS 60000 /* to catch a hang */

struct fixture {
    struct world world;
    uv_loop_t loop;
    struct door *broker;
    void *run;
    int fd;      /* our end */
    int null[3]; /* streams that nobody looks at */
    char reply[DOOR_REQUEST_MAX + 1];
};

static void open_run(struct fixture *f)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    f->run = door_fns.start(f->broker, ends[0], LONG_MS);
    f->fd = ends[1];
}

static void begin(struct fixture *f)
{
    memset(f, 0, sizeof(*f));
    world_create(&f->world);
    world_section(&f->world, "sh", "^sh$")->arg_paths = ARG_PATHS_NONE;
    world_section(&f->world, "env", "^env$");
    world_section(&f->world, "cat", "^cat$");
    world_section(&f->world, "absent", "^absent$");
    world_section(&f->world, "jobs", "^tools/jobs/.*$");
    world_variable(&f->world, "PATH", "/usr/bin:/bin");
    world_variable(&f->world, "COLOUR", "blue");
    world_ready(&f->world);
    uv_loop_init(&f->loop);
    const struct door_config config = { .loop = &f->loop,
        .launcher = TEST_LAUNCHER,
        .policy = &f->world.policy,
        .paths = f->world.paths,
        .commands = f->world.commands };
    f->broker = door_create(&config);
    for (size_t i = 0; i < 3; i++)
        f->null[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
    open_run(f);
}

static void end(struct fixture *f)
{
    door_fns.end(f->run);
    door_destroy(f->broker);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    close_fd(&f->fd);
    for (size_t i = 0; i < 3; i++)
        close_fd(&f->null[i]);
    world_destroy(&f->world);
}

static void turn(struct fixture *f)
{
    uv_run(&f->loop, UV_RUN_NOWAIT);
    struct pollfd wait = { .fd = f->fd, .events = POLLIN };
    poll(&wait, f->fd >= 0, 2);
}

static bool send_raw(
        struct fixture *f, const void *bytes, size_t len, const int *fds, size_t count)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(128 * sizeof(int))] = { 0 };
    union {
        const void *in;
        void *out;
    } data = { bytes };
    struct iovec part = { data.out, len };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    if (count) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        *c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(count * sizeof(int)),
            .cmsg_level = SOL_SOCKET,
            .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    }
    return sendmsg(f->fd, &message, MSG_NOSIGNAL) == (ssize_t)len;
}

static void request(struct fixture *f, const char *json, const int *fds)
{
    assert_true(send_raw(f, json, strlen(json), fds ? fds : f->null, 3));
}

static void send_signal(struct fixture *f, int id, int number)
{
    char json[64];
    snprintf(json, sizeof(json), "{\"signal\":%d,\"number\":%d}", id, number);
    assert_true(send_raw(f, json, strlen(json), NULL, 0));
}

/* The next reply, or "" when nobody is there any more. */
static const char *reply(struct fixture *f)
{
    for (;;) {
        ssize_t n = recv(f->fd, f->reply, sizeof(f->reply) - 1, MSG_DONTWAIT);
        if (n < 0 && errno == EAGAIN) {
            turn(f);
            continue;
        }
        f->reply[n > 0 ? n : 0] = '\0';
        return f->reply;
    }
}

static void expect(struct fixture *f, const char *json)
{
    assert_string_equal(reply(f), json);
}

static void expect_part(struct fixture *f, const char *part)
{
    if (!strstr(reply(f), part))
        fail_msg("'%s' is not in '%s'", part, f->reply);
}

static void expect_gone(struct fixture *f)
{
    while (*reply(f))
        ;
    assert_int_equal(door_commands(f->broker), 0);
}

/* All that comes out of a pipe until nobody holds its other end. */
static void expect_output(struct fixture *f, int fd, const char *text)
{
    char got[4096];
    size_t len = 0;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (ssize_t n; (n = read(fd, got + len, sizeof(got) - 1 - len));) {
        if (n > 0)
            len += (size_t)n;
        else
            turn(f);
    }
    got[len] = '\0';
    assert_string_equal(got, text);
    close(fd);
}

static size_t count_descriptors(void)
{
    size_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* When there are `want` of them, or no fewer for a while: what was killed ends soon. */
static size_t settled_descriptors(struct fixture *f, size_t want)
{
    size_t count = count_descriptors();
    for (int same = 0; same < 200 && count != want; same++) {
        turn(f);
        size_t now = count_descriptors();
        if (now != count)
            same = 0;
        count = now;
    }
    return count;
}

#define SH(id, script) "{\"spawn\":" #id ",\"argv\":[\"sh\",\"-c\",\"" script "\"]}"

static void test_streams(void **state UNUSED)
{
    struct fixture f;
    int in[2], out[2], err[2];
    begin(&f);
    assert_int_equal(
            pipe2(in, O_CLOEXEC) | pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
    request(&f, SH(1, "cat; echo err >&2; exit 3"), (int[]){ in[0], out[1], err[1] });
    close(in[0]);
    close(out[1]);
    close(err[1]);
    expect(&f, "{\"id\":1,\"started\":true}");
    assert_int_equal(write(in[1], "text", 4), 4);
    close(in[1]);
    expect_output(&f, out[0], "text");
    expect_output(&f, err[0], "err\n");
    expect(&f, "{\"id\":1,\"ended\":768,\"notes\":\"\"}");
    end(&f);
}

static void test_only_the_streams(void **state UNUSED)
{
    struct fixture f;
    int out[2];
    begin(&f);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    request(&f, SH(1, "ls /proc/self/fd | tr '\\\\n' ' '"),
            (int[]){ f.null[0], out[1], f.null[2] });
    close(out[1]);
    expect_output(&f, out[0], "0 1 2 3 "); /* 3 is ls's own */
    end(&f);
}

static void test_environment(void **state UNUSED)
{
    struct fixture f;
    int out[2];
    begin(&f);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    request(&f,
            "{\"spawn\":1,\"argv\":[\"sh\",\"-c\",\"echo "
            "$COLOUR-$SHAPE-$MODE-$1\",\"sh\","
            "{\"hex\":\"ff41\"}],\"env\":[[\"COLOUR\",\"\"],[\"SHAPE\",\"round\"],"
            "[{\"hex\":\"4d4f4445\"},{\"hex\":\"78\"}]],\"cwd\":\"src\"}",
            (int[]){ f.null[0], out[1], f.null[2] });
    close(out[1]);
    expect_output(&f, out[0],
            "-round-x-\xff"
            "A\n");
    expect(&f, "{\"id\":1,\"started\":true}");
    expect(&f, "{\"id\":1,\"ended\":0,\"notes\":\"\"}");
    request(&f, "{\"spawn\":2,\"argv\":[\"env\"],\"env\":[[\"A\",\"../x\"]]}", NULL);
    expect_part(&f, "\"refused\":\"setting the variable 'A' is not permitted");
    assert_non_null(strstr(f.reply, "\"rule\":\"["));
    end(&f);
}

static void test_refusals(void **state UNUSED)
{
    static const struct {
        const char *argv, *cwd, *want;
    } cases[] = {
        { "[\"id\"]", "", "Command 'id' is not allowed\\nRule: " },
        { "[\"/bin/sh\",\"-c\",\"id\"]", "", "is not allowed" },
        { "[\"cat\",\"../out/secret.txt\"]", "", "\"refused\":" },
        { "[\"cat\",\".pyddock/pyddock.toml\"]", "", "\"refused\":" },
        { "[\"cat\"]", ".pyddock", "\"refused\":" },
        { "[\"cat\"]", "..", "\"refused\":" },
        { "[\"cat\"]", "nowhere", "no such folder" },
        { "[\"absent\"]", "", "\"errno\":2,\"text\":\"Command not found: 'absent'" },
    };
    struct fixture f;
    begin(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char json[256];
        snprintf(json, sizeof(json), "{\"spawn\":%zu,\"argv\":%s,\"cwd\":\"%s\"}", i + 1,
                cases[i].argv, cases[i].cwd);
        request(&f, json, NULL);
        expect_part(&f, cases[i].want);
        snprintf(json, sizeof(json), "\"id\":%zu,", i + 1);
        assert_non_null(strstr(f.reply, json));
    }
    end(&f);
}

static void test_what_does_not_run(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    world_file(&f.world, "ws/tools/jobs/plain", "no program\n", 0644);
    world_file(&f.world, "ws/tools/jobs/noise", "\x7f no program\n", 0755);
    request(&f, "{\"spawn\":100,\"argv\":[\"tools/jobs/noise\"]}", NULL);
    expect_part(&f,
            "{\"id\":100,\"errno\":8,\"text\":\"cannot run the program: Exec format "
            "error. It is no program, or a script without a '#!' line.");
    /* What the launcher says is heard, also if its end is seen at the same time. */
    for (int i = 101; i <= 140; i++) {
        char json[64];
        snprintf(json, sizeof(json), "{\"spawn\":%d,\"argv\":[\"tools/jobs/plain\"]}", i);
        request(&f, json, NULL);
        expect_part(&f, "\"errno\":13,\"text\":\"cannot run the program");
    }
    end(&f);
}

static void test_no_policies(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    f.world.policy.shell_count = 0;
    request(&f, "{\"spawn\":1,\"argv\":[\"env\"]}", NULL);
    expect_part(&f, "{\"id\":1,\"refused\":\"No shell policies are configured");
    end(&f);
}

static void test_signals(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    request(&f, SH(1, "sleep 100"), NULL);
    expect(&f, "{\"id\":1,\"started\":true}");
    send_signal(&f, 1, SIGKILL);
    expect(&f, "{\"id\":1,\"ended\":9,\"notes\":\"\"}");
    send_signal(&f, 1, SIGKILL); /* it is gone: nothing happens */
    /* Several at once, in their order. */
    request(&f, SH(2, "trap 'exit 7' USR1; while :; do sleep 0.01; done"), NULL);
    expect(&f, "{\"id\":2,\"started\":true}");
    send_signal(&f, 2, SIGWINCH);
    send_signal(&f, 2, SIGCONT);
    send_signal(&f, 2, SIGTERM);
    expect(&f, "{\"id\":2,\"ended\":15,\"notes\":\"\"}");
    /* Before it has started. */
    request(&f, SH(3, "sleep 100"), NULL);
    send_signal(&f, 3, SIGKILL);
    expect(&f, "{\"id\":3,\"started\":true}");
    expect(&f, "{\"id\":3,\"ended\":9,\"notes\":\"\"}");
    end(&f);
}

/* Whatever is wrong with a message, it is the last, and what ran is killed. */
static void expect_hang_up(struct fixture *f, const char *bytes, size_t len, size_t fds)
{
    int many[128], out[2];
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = f->null[0];
    open_run(f);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    request(f, SH(5, "setsid sleep 100 & sleep 100"),
            (int[]){ f->null[0], out[1], f->null[2] });
    close(out[1]);
    expect(f, "{\"id\":5,\"started\":true}");
    send_raw(f, bytes, len, many, fds);
    expect_gone(f);
    expect_output(f, out[0], "");
    door_fns.end(f->run);
    close_fd(&f->fd);
}

static void test_malformed(void **state UNUSED)
{
    static const struct {
        const char *json;
        size_t fds;
    } cases[] = {
        { "", 3 },
        { "{", 3 },
        { "[]", 3 },
        { "\xff\xfe", 3 },
        { "{\"spawn\":6}", 3 },
        { "{\"spawn\":6,\"argv\":[]}", 3 },
        { "{\"spawn\":6,\"argv\":\"env\"}", 3 },
        { "{\"spawn\":6,\"argv\":[1]}", 3 },
        { "{\"spawn\":6,\"argv\":[\"env\\u0000\"]}", 3 },
        { "{\"spawn\":6,\"argv\":[{\"hex\":\"0\"}]}", 3 },
        { "{\"spawn\":6,\"argv\":[{\"hex\":\"0g\"}]}", 3 },
        { "{\"spawn\":6,\"argv\":[{\"hex\":\"4100\"}]}", 3 },
        { "{\"spawn\":6,\"argv\":[\"env\"],\"cwd\":1}", 3 },
        { "{\"spawn\":6,\"argv\":[\"env\"],\"env\":{\"A\":\"b\"}}", 3 },
        { "{\"spawn\":6,\"argv\":[\"env\"],\"env\":[[\"A\"]]}", 3 },
        { "{\"spawn\":6,\"argv\":[\"env\"],\"env\":[[\"A=B\",\"c\"]]}", 3 },
        { "{\"spawn\":6,\"argv\":[\"env\"],\"env\":[[\"\",\"c\"]]}", 3 },
        { "{\"spawn\":-6,\"argv\":[\"env\"]}", 3 },
        { "{\"spawn\":\"6\",\"argv\":[\"env\"]}", 3 },
        { "{\"spawn\":6,\"argv\":[\"env\"],\"signal\":5,\"number\":9}", 3 },
        { "{\"spawn\":5,\"argv\":[\"env\"]}", 3 }, /* was there before */
        { "{\"spawn\":4,\"argv\":[\"env\"]}", 3 },
        { "{\"spawn\":6,\"argv\":[\"env\"]}", 0 },
        { "{\"spawn\":6,\"argv\":[\"env\"]}", 2 },
        { "{\"spawn\":6,\"argv\":[\"env\"]}", 4 },
        { "{\"spawn\":6,\"argv\":[\"env\"]}", 100 },
        { "{\"signal\":5,\"number\":0}", 0 },
        { "{\"signal\":5,\"number\":-9}", 0 },
        { "{\"signal\":5,\"number\":999}", 0 },
        { "{\"signal\":5}", 0 },
        { "{\"signal\":5,\"number\":9}", 3 },
        { "{\"wait\":5}", 0 },
    };
    struct fixture f;
    begin(&f);
    close_fd(&f.fd);
    void *first = f.run;
    expect_hang_up(&f, "", 0, 0); /* the loop opens some of its own */
    size_t before = settled_descriptors(&f, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_hang_up(&f, cases[i].json, strlen(cases[i].json), cases[i].fds);
    assert_int_equal(settled_descriptors(&f, before), before);
    f.run = first;
    end(&f);
}

static void test_oversized(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    close_fd(&f.fd);
    void *first = f.run;
    size_t size = DOOR_REQUEST_MAX + 1;
    auto_free char *json = xmalloc(size + 1);
    memset(json, ' ', size);
    json[size] = '\0';
    memcpy(json, SH(6, ":"), sizeof(SH(6, ":")) - 1);
    expect_hang_up(&f, json, size, 3);
    /* One byte less is just as long as may be. */
    open_run(&f);
    assert_true(send_raw(&f, json, size - 1, f.null, 3));
    expect(&f, "{\"id\":6,\"started\":true}");
    expect_part(&f, "\"ended\":0");
    door_fns.end(f.run);
    f.run = first;
    end(&f);
}

static int listening_socket(const char *path)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(name.sun_path, sizeof(name.sun_path), "%s", path);
    assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)) | listen(fd, 1), 0);
    return fd;
}

/* An end of a pair that another process has made. */
static int foreign_pair(void)
{
    int ends[2], pair[2];
    char byte = 0;
    struct fixture f = { .fd = -1 };
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_t pid = fork();
    if (!pid) {
        f.fd = ends[1];
        bool made = !socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
        _exit(!made || !send_raw(&f, &byte, 1, pair, 1));
    }
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control) };
    assert_int_equal(recvmsg(ends[0], &message, MSG_CMSG_CLOEXEC), 1);
    memcpy(pair, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
    close(ends[1]);
    return pair[0];
}

static void test_descriptors(void **state UNUSED)
{
    struct fixture f;
    int pair[2], packets[2];
    begin(&f);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    auto_fd int foreign = foreign_pair();
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, packets), 0);
    const char *file = world_path(&f.world, "ws/notes.txt");
    const struct {
        int fd;
        const char *want; /* NULL: it may be passed */
    } cases[] = {
        { open(world_path(&f.world, "ws"), O_RDONLY | O_CLOEXEC), "be a directory" },
        { open(world_path(&f.world, "ws"), O_PATH | O_CLOEXEC), "only names a file" },
        { open(file, O_PATH | O_CLOEXEC), "only names a file" },
        { listening_socket(world_path(&f.world, "socket")), "a pair of its own" },
        { socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), "a pair of its own" },
        { socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "a pair of its own" },
        { packets[0], "a pair of its own" },
        { posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), "a device" },
        { pair[0], "a pair of its own" }, /* the server's, that is */
        { foreign, NULL },
        { open(file, O_RDWR | O_CLOEXEC), NULL },
        { open("/dev/zero", O_RDWR | O_CLOEXEC), NULL },
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char json[64];
        int streams[3] = { f.null[0], f.null[1], f.null[2] };
        assert_true(cases[i].fd >= 0);
        streams[i % 3] = cases[i].fd;
        snprintf(json, sizeof(json), "{\"spawn\":%zu,\"argv\":[\"env\"]}", i + 1);
        request(&f, json, streams);
        expect_part(&f, cases[i].want ? cases[i].want : "\"started\":true");
        if (!cases[i].want)
            expect_part(&f, "\"ended\":");
        close(cases[i].fd);
    }
    foreign = -1;
    close(pair[1]);
    close(packets[1]);
    end(&f);
}

static void check_too_many(struct fixture *f, int most)
{
    char json[128];
    for (int i = 1; i <= most; i++) {
        snprintf(json, sizeof(json),
                "{\"spawn\":%d,\"argv\":[\"sh\",\"-c\",\"sleep 100\"]}", i);
        request(f, json, NULL);
        expect_part(f, "\"started\":true");
    }
    snprintf(json, sizeof(json), "{\"spawn\":%d,\"argv\":[\"env\"]}", most + 1);
    request(f, json, NULL);
    expect_part(f, "\"errno\":11,\"text\":\"");
    snprintf(json, sizeof(json), "%d commands of this call run already", most);
    assert_non_null(strstr(f->reply, json));
    send_signal(f, 3, SIGKILL);
    expect(f, "{\"id\":3,\"ended\":9,\"notes\":\"\"}");
    snprintf(json, sizeof(json), "{\"spawn\":%d,\"argv\":[\"env\"]}", most + 2);
    request(f, json, NULL);
    expect_part(f, "\"started\":true");
}

static void open_shell(struct fixture *f);

static void test_too_many(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    check_too_many(&f, DOOR_MAX_COMMANDS);
    end(&f);
    begin(&f);
    open_shell(&f);
    check_too_many(&f, DOOR_MAX_OF_SHELL);
    end(&f);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left */
}

/* Nobody reads the replies at first: nothing is lost, and the server does not wait. */
static void test_flood(void **state UNUSED)
{
    struct fixture f;
    int sent = 0, got = 0, refused = 0;
    char json[64];
    begin(&f);
    fcntl(f.fd, F_SETFL, O_NONBLOCK);
    while (got < DOOR_MAX_REQUESTS + 10) {
        snprintf(json, sizeof(json), "{\"spawn\":%d,\"argv\":[\"id\"]}", sent + 1);
        if (sent < DOOR_MAX_REQUESTS + 10 &&
                send_raw(&f, json, strlen(json), f.null, 3)) {
            sent++;
            if (sent % 500)
                continue;
        }
        uv_run(&f.loop, UV_RUN_NOWAIT);
        while (recv(f.fd, f.reply, sizeof(f.reply), MSG_DONTWAIT) > 0) {
            char want[32];
            snprintf(want, sizeof(want), "{\"id\":%d,\"", ++got);
            assert_int_equal(strncmp(f.reply, want, strlen(want)), 0);
            refused += f.reply[strlen(want)] == 'r';
            uv_run(&f.loop, UV_RUN_NOWAIT);
        }
    }
    assert_int_equal(refused, DOOR_MAX_REQUESTS);
    fcntl(f.fd, F_SETFL, 0);
    end(&f);
}

/* The process is gone, in whatever way: so is what it started, detached or not. */
static void test_death(void **state UNUSED)
{
    for (int way = 0; way < 3; way++) {
        struct fixture f;
        int out[2];
        begin(&f);
        assert_int_equal(pipe2(out, O_CLOEXEC), 0);
        request(&f, SH(1, "(setsid sleep 100 &) ; setsid sleep 100 & sleep 100"),
                (int[]){ f.null[0], out[1], f.null[2] });
        close(out[1]);
        if (way < 2)
            expect(&f, "{\"id\":1,\"started\":true}");
        if (way == 1) {
            door_fns.end(f.run);
            open_run(&f);
        } else {
            close_fd(&f.fd);
        }
        expect_output(&f, out[0], "");
        assert_int_equal(door_commands(f.broker), 0);
        end(&f);
    }
}

/* A command that nobody waits for ends at the latest a little after the run should. */
static void test_time_is_over(void **state UNUSED)
{
    struct fixture f;
    int ends[2];
    begin(&f);
    door_fns.end(f.run);
    close_fd(&f.fd);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    f.run = door_fns.start(f.broker, ends[0], 1);
    f.fd = ends[1];
    request(&f, SH(1, "sleep 100"), NULL);
    expect(&f, "{\"id\":1,\"started\":true}");
    expect(&f, "{\"id\":1,\"ended\":9,\"notes\":\"\"}");
    end(&f);
}

/* A shell: one call after the other on the same line, and nothing between them. */
static void test_calls(void **state UNUSED)
{
    struct fixture f;
    int out[2];
    begin(&f);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    request(&f, SH(1, "setsid sleep 100 & sleep 100"),
            (int[]){ f.null[0], out[1], f.null[2] });
    close(out[1]);
    expect(&f, "{\"id\":1,\"started\":true}");
    request(&f, SH(2, "sleep 100"), NULL); /* not read yet when the call is over */
    door_rest(f.run);
    expect_output(&f, out[0], "");
    expect_part(&f, "{\"id\":2,\"errno\":11,\"text\":\"the call is over\"");
    request(&f, SH(3, "sleep 100"), NULL);
    expect_part(&f, "{\"id\":3,\"errno\":11,");
    assert_int_equal(door_commands(f.broker), 0);
    door_resume(f.run, LONG_MS);
    request(&f, SH(4, "exit 3"), NULL);
    expect(&f, "{\"id\":4,\"started\":true}");
    expect(&f, "{\"id\":4,\"ended\":768,\"notes\":\"\"}");
    end(&f);
}

/* As the door of a shell, and not of a snippet. */
static void open_shell(struct fixture *f)
{
    struct door_config config = { .loop = &f->loop,
        .launcher = TEST_LAUNCHER,
        .policy = &f->world.policy,
        .paths = f->world.paths,
        .commands = f->world.commands,
        .for_shell = true };
    door_close(f->run);
    door_destroy(f->broker);
    close_fd(&f->fd);
    f->broker = door_create(&config);
    open_run(f);
}

/* A shell's files pass its own gate, so that no descriptor of one gets by. */
static void test_for_shell(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    open_shell(&f);
    auto_fd int file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    request(&f, SH(1, "exit 0"), (int[]){ file, f.null[1], f.null[2] });
    expect_part(&f, "\"refused\":\"stdin of a command cannot be a file of its own");
    request(&f, SH(2, "exit 0"), NULL);
    expect(&f, "{\"id\":2,\"started\":true}");
    end(&f);
}

static void ask(struct fixture *f, const char *json)
{
    assert_true(send_raw(f, json, strlen(json), NULL, 0));
}

#define ASK(id, words) "{\"ask\":" #id ",\"argv\":[" words "]"

/* What would be started, and what not: the same answers as to a spawn, and no process. */
static void test_ask(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    ask(&f, ASK(1, "\"sh\",\"-c\",\"echo x > made\"") "}");
    expect(&f, "{\"id\":1,\"allowed\":true}");
    ask(&f, ASK(2, "\"cat\",\"../out/secret.txt\"") "}");
    expect_part(&f, "{\"id\":2,\"refused\":\"");
    assert_null(strstr(f.reply, "unknown"));
    ask(&f, ASK(3, "\"id\"") "}");
    expect_part(&f, "{\"id\":3,\"refused\":\"Command 'id' is not allowed");
    assert_non_null(strstr(f.reply, "\"unknown\":true"));
    ask(&f, ASK(4, "\"env\"") ",\"env\":[[\"A\",\"../x\"]]}");
    expect_part(&f, "\"refused\":\"setting the variable 'A' is not permitted");
    ask(&f, ASK(5, "\"cat\"") ",\"cwd\":\"..\"}");
    expect_part(&f, "\"refused\":");
    ask(&f, ASK(6, "\"absent\"") "}"); /* that it is not there is told by a spawn */
    expect(&f, "{\"id\":6,\"allowed\":true}");
    assert_int_equal(door_commands(f.broker), 0);
    assert_false(!access(world_path(&f.world, "ws/made"), F_OK));
    /* The answer opens nothing: a spawn is decided by itself. */
    f.world.policy.shell_count = 0;
    request(&f, SH(7, "echo x > made"), NULL);
    expect_part(&f, "{\"id\":7,\"refused\":");
    assert_false(!access(world_path(&f.world, "ws/made"), F_OK));
    end(&f);
}

/* Asked as none of ours asks: that is the end, and nobody is left. */
static void test_ask_malformed(void **state UNUSED)
{
    static const struct {
        const char *json;
        size_t fds;
    } cases[] = {
        { ASK(6, "\"cat\"") "}", 3 },
        { ASK(6, "\"cat\"") "}", 1 },
        { ASK(5, "\"cat\"") "}", 0 }, /* was there before */
        { ASK(4, "\"cat\"") "}", 0 },
        { ASK(0, "\"cat\"") "}", 0 },
        { ASK(-6, "\"cat\"") "}", 0 },
        { ASK(6, "") "}", 0 },
        { ASK(6, "\"cat\\u0000\"") "}", 0 },
        { ASK(6, "\"cat\"") ",\"cwd\":1}", 0 },
        { ASK(6, "\"cat\"") ",\"spawn\":7}", 0 },
        { ASK(6, "\"cat\"") ",\"signal\":5,\"number\":9}", 0 },
        { "{\"ask\":\"6\",\"argv\":[\"cat\"]}", 0 },
        { "{\"ask\":[6],\"argv\":[\"cat\"]}", 0 },
        { "{\"ask\":null,\"argv\":[\"cat\"]}", 0 },
        { "{\"ask\":6}", 0 },
    };
    struct fixture f;
    begin(&f);
    close_fd(&f.fd);
    void *first = f.run;
    expect_hang_up(&f, "", 0, 0);
    size_t before = settled_descriptors(&f, 0);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_hang_up(&f, cases[i].json, strlen(cases[i].json), cases[i].fds);
    assert_int_equal(settled_descriptors(&f, before), before);
    f.run = first;
    end(&f);
}

/* Somebody asks and asks: he is answered for a while, a spawn all the same, and the
 * loop belongs to others too. */
static void test_ask_flood(void **state UNUSED)
{
    struct fixture f;
    char json[128];
    begin(&f);
    door_rest(f.run);
    door_resume(f.run, LONG_MS);
    for (int i = 1; i <= DOOR_MAX_ASKS + 10; i++) {
        snprintf(json, sizeof(json), ASK(% d, "\"cat\",\"%d\"") "}", i, i);
        ask(&f, json);
        reply(&f);
        assert_non_null(strstr(f.reply, i <= DOOR_MAX_ASKS ? "allowed" : "\"errno\":11"));
    }
    request(&f, SH(30000, "exit 3"), NULL);
    expect(&f, "{\"id\":30000,\"started\":true}");
    expect(&f, "{\"id\":30000,\"ended\":768,\"notes\":\"\"}");
    /* Nothing is answered between two calls but that; then all again. */
    door_rest(f.run);
    ask(&f, ASK(30001, "\"cat\"") "}");
    expect_part(&f, "{\"id\":30001,\"errno\":11,");
    door_resume(f.run, LONG_MS);
    ask(&f, ASK(30002, "\"cat\"") "}");
    expect(&f, "{\"id\":30002,\"allowed\":true}");
    end(&f);
}

/* Nobody reads the answers: no more is read from him, and what waits is bounded. */
static void test_ask_unread(void **state UNUSED)
{
    struct fixture f;
    char json[128];
    int sent = 0;
    begin(&f);
    fcntl(f.fd, F_SETFL, O_NONBLOCK);
    for (int turns = 0; turns < 3000; turns++) {
        snprintf(json, sizeof(json), ASK(% d, "\"cat\"") "}", sent + 1);
        sent += send(f.fd, json, strlen(json), MSG_NOSIGNAL) > 0;
        uv_run(&f.loop, UV_RUN_NOWAIT);
    }
    assert_in_range(sent, 1, 2999);
    for (int i = 1; i <= sent; i++) {
        snprintf(json, sizeof(json), "{\"id\":%d,\"allowed\":true}", i);
        expect(&f, json);
    }
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_streams),
        cmocka_unit_test(test_only_the_streams),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_what_does_not_run),
        cmocka_unit_test(test_no_policies),
        cmocka_unit_test(test_signals),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_oversized),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_death),
        cmocka_unit_test(test_time_is_over),
        cmocka_unit_test(test_calls),
        cmocka_unit_test(test_for_shell),
        cmocka_unit_test(test_ask),
        cmocka_unit_test(test_ask_malformed),
        cmocka_unit_test(test_ask_flood),
        cmocka_unit_test(test_ask_unread),
    };
    signal(SIGPIPE, SIG_IGN); /* as the server does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
