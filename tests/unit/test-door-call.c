/*
 * Tools of other servers asked for at the door.  This test is at both ends: the helper
 * that says what it likes, and the other servers, of which it knows all that reaches
 * them.
 */
#include "session/door.h"

#include "base/rights.h"
#include "command-world.h"
#include "peer/peers.h"
#include "session/door-request.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_MS 60000 /* to catch a hang */

/* One call that has reached the other servers. */
struct peer_call {
    struct peer_call *next;
    struct peers *peers;
    peer_done_fn *done;
    void *user;
    char *server, *tool;
    json_t *arguments;
    unsigned timeout_ms;
};

struct peers {
    struct peer_call *calls; /* the newest is first */
    size_t count, all, cancelled;
    bool is_full;
};

static void forget(struct peer_call *call)
{
    struct peer_call **at = &call->peers->calls;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    call->peers->count--;
    json_decref(call->arguments);
    free(call->server);
    free(call->tool);
    free(call);
}

bool peers_call(struct peers *p, const struct peer_request *r, peer_done_fn *done,
        void *user, struct peer_call **out, struct error *err)
{
    if (p->is_full)
        return error_set(err, ERR_LIMIT, "too many calls run");
    struct peer_call *call = xcalloc(1, sizeof(*call));
    *call = (struct peer_call){ .next = p->calls,
        .peers = p,
        .done = done,
        .user = user,
        .server = str_copy(r->server),
        .tool = str_copy(r->tool),
        .arguments = json_deep_copy(r->arguments),
        .timeout_ms = r->timeout_ms };
    p->calls = *out = call;
    p->count++;
    p->all++;
    return true;
}

void peers_cancel(struct peer_call *call)
{
    call->peers->cancelled++;
    forget(call);
}

struct fixture {
    struct world world;
    uv_loop_t loop;
    struct peers peers;
    struct door *door;
    struct door_line *line;
    int fd; /* our end of the line */
};

static void begin_with(struct fixture *f, struct peers *peers)
{
    int ends[2];
    memset(f, 0, sizeof(*f));
    world_create(&f->world);
    world_section(&f->world, "sh", "^sh$")->arg_paths = ARG_PATHS_NONE;
    world_variable(&f->world, "PATH", "/usr/bin:/bin");
    world_ready(&f->world);
    uv_loop_init(&f->loop);
    const struct door_config config = { .loop = &f->loop,
        .launcher = TEST_LAUNCHER,
        .policy = &f->world.policy,
        .paths = f->world.paths,
        .commands = f->world.commands,
        .peers = peers };
    f->door = door_create(&config);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
    f->line = door_open(f->door, ends[0], LONG_MS);
    f->fd = ends[1];
}

static void begin(struct fixture *f)
{
    begin_with(f, &f->peers);
}

static void end(struct fixture *f)
{
    door_destroy(f->door);
    uv_run(&f->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    assert_int_equal(f->peers.count, 0);
    close_fd(&f->fd);
    world_destroy(&f->world);
}

static void turn(struct fixture *f)
{
    uv_run(&f->loop, UV_RUN_NOWAIT);
}

/* A pair that another process has made, as that of a helper is. */
static void foreign_pair(int *out)
{
    int ends[2], made[2];
    char byte = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    pid_t pid = fork();
    if (!pid)
        _exit(socketpair(AF_UNIX, SOCK_STREAM, 0, made) ||
                rights_send(ends[1], STR("x"), made, 2, 0) != 1);
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control) };
    assert_int_equal(recvmsg(ends[0], &message, MSG_CMSG_CLOEXEC), 1);
    memcpy(out, CMSG_DATA(CMSG_FIRSTHDR(&message)), 2 * sizeof(int));
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    close(ends[0]);
    close(ends[1]);
}

static void ask_raw(struct fixture *f, const char *json, const int *fds, size_t count)
{
    assert_true(rights_send(f->fd, str_of(json), fds, count, MSG_DONTWAIT) > 0);
    turn(f);
}

/* Our end of a call whose arguments will have so many bytes. */
static int ask(struct fixture *f, const char *tool, size_t bytes, unsigned timeout_ms)
{
    int ends[2];
    char json[256];
    foreign_pair(ends);
    snprintf(json, sizeof(json),
            "{\"call\":\"box\",\"tool\":\"%s\",\"bytes\":%zu,\"timeout_ms\":%u,"
            "\"caller\":\"AGENT\"}",
            tool, bytes, timeout_ms);
    ask_raw(f, json, &ends[1], 1);
    close(ends[1]);
    return ends[0];
}

static void say(struct fixture *f, int fd, struct str text)
{
    while (text.len) {
        ssize_t n = send(fd, text.data, text.len, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0)
            text = str_from(text, (size_t)n);
        else
            assert_int_equal(errno, EAGAIN);
        turn(f);
    }
}

/* Our end of one with these arguments, which has reached the other server if it may. */
static int call(struct fixture *f, const char *tool, const char *arguments)
{
    int fd = ask(f, tool, strlen(arguments), 0);
    say(f, fd, str_of(arguments));
    turn(f);
    return fd;
}

/* All that is said, and closes our end. */
static void hear(struct fixture *f, int fd, struct buf *out)
{
    ssize_t n;
    do {
        char *to = buf_reserve(out, 65536);
        assert_non_null(to);
        n = recv(fd, to, 65536, MSG_DONTWAIT);
        out->len += n > 0 ? (size_t)n : 0;
        turn(f);
    } while (n > 0 || (n < 0 && errno == EAGAIN));
    close(fd);
}

static void expect(struct fixture *f, int fd, const char *text)
{
    auto_buf heard = BUF(1 << 20);
    hear(f, fd, &heard);
    buf_addc(&heard, '\0');
    assert_string_equal(heard.data, text);
}

static void expect_part(struct fixture *f, int fd, const char *part)
{
    auto_buf heard = BUF(1 << 20);
    hear(f, fd, &heard);
    buf_addc(&heard, '\0');
    if (!strstr(heard.data, part))
        fail_msg("'%s' is not in '%s'", part, heard.data);
}

/* The other server has ended its newest call. */
static void answer(struct fixture *f, struct peer_result result)
{
    struct peer_call *call = f->peers.calls;
    peer_done_fn *done = call->done;
    void *user = call->user;
    forget(call);
    done(user, &result);
}

static void test_ends(void **state UNUSED)
{
    struct fixture f;
    json_auto_t *object = json_pack("{s:[i, s]}", "a", 1, "\xc3\xa9"),
                *list = json_pack("[{s:s}]", "name", "get");
    const struct {
        struct peer_result result;
        const char *want;
    } cases[] = {
        { { .end = PEER_ANSWERED, .result = object },
                "{\"answered\":{\"a\":[1,\"\xc3\xa9\"]}}" },
        { { .end = PEER_LISTED, .result = list }, "{\"listed\":[{\"name\":\"get\"}]}" },
        { { .end = PEER_REFUSED, .text = STR("no \"x\""), .rule = STR("[mcp.box] a") },
                "{\"refused\":\"no \\\"x\\\"\",\"rule\":\"[mcp.box] a\"}" },
        { { .end = PEER_FAILED, .text = STR("died\xff") },
                "{\"failed\":\"died\xef\xbf\xbd\"}" },
        { { .end = PEER_TIMED_OUT, .text = STR("late") }, "{\"timed_out\":\"late\"}" },
    };
    begin(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int fd = call(&f, "get", "{\"id\":\"\xc3\xa9\",\"n\":2.5}");
        assert_int_equal(f.peers.count, 1);
        assert_string_equal(f.peers.calls->server, "box");
        assert_string_equal(f.peers.calls->tool, "get");
        json_auto_t *want = json_pack("{s:s, s:f}", "id", "\xc3\xa9", "n", 2.5);
        assert_true(json_equal(f.peers.calls->arguments, want));
        answer(&f, cases[i].result);
        expect(&f, fd, cases[i].want);
        assert_int_equal(f.peers.count, 0);
    }
    assert_int_equal(f.peers.cancelled, 0);
    end(&f);
}

static void test_no_arguments(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    int fd = ask(&f, "", 0, 0);
    assert_int_equal(f.peers.count, 1);
    assert_string_equal(f.peers.calls->tool, "");
    assert_int_equal(json_object_size(f.peers.calls->arguments), 0);
    answer(&f, (struct peer_result){ .end = PEER_FAILED, .text = STR("x") });
    expect(&f, fd, "{\"failed\":\"x\"}");
    end(&f);
}

static void test_time(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    int fd = ask(&f, "get", 0, 1234);
    assert_true(f.peers.calls->timeout_ms <= 1234 && f.peers.calls->timeout_ms > 1000);
    close(fd);
    fd = ask(&f, "get", 0, 100 * LONG_MS);
    assert_true(f.peers.calls->timeout_ms <= LONG_MS + 5000);
    close(fd);
    fd = ask(&f, "get", 0, 0);
    assert_true(f.peers.calls->timeout_ms <= LONG_MS + 5000);
    assert_true(f.peers.calls->timeout_ms > LONG_MS / 2);
    close(fd);
    end(&f);
}

/* Of the largest size, in pieces; and the largest result to one who reads slowly, while
 * others are served. */
static void test_large(void **state UNUSED)
{
    struct fixture f;
    size_t len = PEER_MAX_MESSAGE - 100;
    auto_free char *text = xmalloc(len);
    auto_buf arguments = BUF(DOOR_ARGUMENTS_MAX), heard = BUF((size_t)32 << 20);
    memset(text, 'x', len);
    begin(&f);
    buf_addf(&arguments, "{\"t\":\"%.*s\"}", (int)DOOR_ARGUMENTS_MAX - 8, text);
    assert_int_equal(arguments.len, DOOR_ARGUMENTS_MAX);
    int fd = ask(&f, "get", arguments.len, 0);
    say(&f, fd, str_sub(buf_str(&arguments), 0, 3));
    assert_int_equal(f.peers.count, 0);
    say(&f, fd, str_from(buf_str(&arguments), 3));
    while (!f.peers.count)
        turn(&f);
    assert_int_equal(json_string_length(json_object_get(f.peers.calls->arguments, "t")),
            DOOR_ARGUMENTS_MAX - 8);
    json_auto_t *result = json_pack("{s:s#}", "t", text, (int)len);
    answer(&f, (struct peer_result){ .end = PEER_ANSWERED, .result = result });
    for (int i = 0; i < 100; i++)
        turn(&f); /* it fills the socket, and waits */
    int other = call(&f, "get", "{}");
    answer(&f, (struct peer_result){ .end = PEER_FAILED, .text = STR("x") });
    expect(&f, other, "{\"failed\":\"x\"}");
    hear(&f, fd, &heard);
    assert_int_equal(heard.len, len + strlen("{\"answered\":{\"t\":\"\"}}"));
    assert_memory_equal(heard.data + heard.len - 6, "xxx\"}}", 6);
    end(&f);
}

/* What a result of the largest size can become when it is written once more. */
static void test_result_that_grows(void **state UNUSED)
{
    struct fixture f;
    auto_buf heard = BUF((size_t)32 << 20);
    json_auto_t *result = json_array();
    begin(&f);
    for (size_t i = 0; i < 3 * JSON_MAX_VALUES; i++) /* three times what can come */
        json_array_append_new(result, json_pack("[f]", 0.1 + (double)i));
    int fd = call(&f, "get", "{}");
    answer(&f, (struct peer_result){ .end = PEER_ANSWERED, .result = result });
    hear(&f, fd, &heard);
    assert_true(heard.len > (size_t)14 << 20);
    fd = call(&f, "get", "{}");
    for (size_t i = 0; i < 3 * JSON_MAX_VALUES; i++)
        json_array_append_new(result, json_pack("[f]", 0.1 + (double)i));
    answer(&f, (struct peer_result){ .end = PEER_ANSWERED, .result = result });
    expect(&f, fd, "{\"failed\":\"the result is too large\"}");
    end(&f);
}

static void test_bad_arguments(void **state UNUSED)
{
    static const struct {
        const char *json, *want;
    } cases[] = {
        { "{", "{\"failed\":\"the arguments: " },
        { "{} {}", "{\"failed\":\"the arguments: " },
        { "{\"a\":1,\"a\":2}", "{\"failed\":\"the arguments: " },
        { "{\"a\":NaN}", "{\"failed\":\"the arguments: " },
        { "{\"a\":\"\xff\"}", "{\"failed\":\"the arguments: " },
        { "[]", "have to be an object" },
        { "null", "have to be an object" },
        { "\"{}\"", "have to be an object" },
    };
    struct fixture f;
    begin(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_part(&f, call(&f, "get", cases[i].json), cases[i].want);
    auto_buf deep = BUF(10000);
    for (int i = 0; i < 1000; i++)
        buf_add(&deep, STR("{\"a\":"));
    expect_part(&f, call(&f, "get", deep.data), "{\"failed\":\"the arguments: ");
    assert_int_equal(f.peers.all, 0);
    end(&f);
}

/* Whoever closes his end has called it off, at every stage. */
static void test_called_off(void **state UNUSED)
{
    struct fixture f;
    begin(&f);
    int fd = ask(&f, "get", 100, 0);
    say(&f, fd, STR("{\"a\":"));
    close(fd);
    turn(&f);
    assert_int_equal(f.peers.all, 0);
    fd = call(&f, "get", "{}");
    assert_int_equal(f.peers.count, 1);
    close(fd);
    turn(&f);
    assert_int_equal(f.peers.count, 0);
    assert_int_equal(f.peers.cancelled, 1);
    /* More than was said is nothing that a helper of ours sends. */
    fd = ask(&f, "get", 2, 0);
    say(&f, fd, STR("{}{}"));
    turn(&f);
    assert_int_equal(f.peers.cancelled, 2);
    close(fd);
    /* The answer has nobody to go to. */
    json_auto_t *result = json_pack("{s:s%}", "t", f.world.root, (size_t)1);
    fd = call(&f, "get", "{}");
    answer(&f, (struct peer_result){ .end = PEER_ANSWERED, .result = result });
    close(fd);
    turn(&f);
    fd = call(&f, "get", "{}"); /* the line goes on */
    answer(&f, (struct peer_result){ .end = PEER_FAILED, .text = STR("x") });
    expect(&f, fd, "{\"failed\":\"x\"}");
    end(&f);
}

/* Neither the one who sends nothing nor the one who reads nothing holds anybody up. */
static void test_idle(void **state UNUSED)
{
    struct fixture f;
    int idle[4];
    auto_free char *text = xmalloc((size_t)1 << 20);
    memset(text, 'x', (size_t)1 << 20);
    json_auto_t *result = json_pack("{s:s#}", "t", text, 1 << 20);
    begin(&f);
    idle[0] = ask(&f, "get", 100, 0);
    idle[1] = ask(&f, "get", 100, 0);
    say(&f, idle[1], STR("{\"a\":"));
    idle[2] = call(&f, "get", "{}");
    idle[3] = call(&f, "get", "{}");
    answer(&f, (struct peer_result){ .end = PEER_ANSWERED, .result = result });
    for (int i = 0; i < 100; i++)
        turn(&f);
    assert_int_equal(f.peers.count, 1);
    door_rest(f.line);
    assert_int_equal(f.peers.count, 0);
    turn(&f);
    for (size_t i = 0; i < ARRAY_LEN(idle); i++) {
        auto_buf heard = BUF((size_t)2 << 20);
        hear(&f, idle[i], &heard);
        assert_true(heard.len < (size_t)1 << 20);
    }
    expect(&f, ask(&f, "get", 0, 0), "{\"failed\":\"the call is over\"}");
    door_resume(f.line, LONG_MS);
    int fd = call(&f, "get", "{}");
    answer(&f, (struct peer_result){ .end = PEER_FAILED, .text = STR("x") });
    expect(&f, fd, "{\"failed\":\"x\"}");
    end(&f);
}

static void test_too_many(void **state UNUSED)
{
    struct fixture f;
    int fds[DOOR_MAX_CALLS];
    begin(&f);
    for (size_t i = 0; i < DOOR_MAX_CALLS; i++)
        fds[i] = i % 2 ? call(&f, "get", "{}") : ask(&f, "get", 10, 0);
    expect(&f, ask(&f, "get", 0, 0),
            "{\"failed\":\"16 calls of tools run already; wait for one to end\"}");
    assert_int_equal(f.peers.all, DOOR_MAX_CALLS / 2);
    for (size_t i = 0; i < DOOR_MAX_CALLS; i++)
        close(fds[i]);
    turn(&f);
    f.peers.is_full = true;
    expect(&f, call(&f, "get", "{}"), "{\"failed\":\"too many calls run\"}");
    f.peers.is_full = false;
    /* What is only said to come counts as well. */
    for (size_t bytes = 0; bytes < DOOR_MAX_BYTES; bytes += DOOR_ARGUMENTS_MAX) {
        close(ask(&f, "get", DOOR_ARGUMENTS_MAX, 0));
        turn(&f);
    }
    expect_part(&f, ask(&f, "get", 1, 0), "{\"failed\":\"no more than 268435456 bytes");
    end(&f);
}

/* Of results that wait to be read there is an end, and it is given back. */
static void test_held(void **state UNUSED)
{
    struct fixture f;
    int fds[DOOR_MAX_CALLS];
    size_t len = (size_t)10 << 20;
    auto_free char *text = xmalloc(len);
    memset(text, 'x', len);
    json_auto_t *result = json_pack("{s:s#}", "t", text, (int)len);
    begin(&f);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 7; i++) {
            fds[i] = call(&f, "get", "{}");
            answer(&f, (struct peer_result){ .end = PEER_ANSWERED, .result = result });
        }
        expect(&f, fds[6],
                "{\"failed\":\"too many large results of this call are waiting to be "
                "read\"}");
        for (size_t i = 0; i < 6; i++) {
            auto_buf heard = BUF((size_t)32 << 20);
            if (round)
                hear(&f, fds[i], &heard);
            else
                close(fds[i]);
            assert_true(!round || heard.len > len);
        }
        for (int i = 0; i < 10; i++)
            turn(&f);
    }
    end(&f);
}

/* Of one end, so that all that is said comes to one place. */
static void test_flood(void **state UNUSED)
{
    static const char json[] = "{\"call\":\"box\",\"tool\":\"get\",\"bytes\":100}";
    struct fixture f;
    int ends[2];
    char heard[4096];
    ssize_t n = 0;
    begin(&f);
    foreign_pair(ends);
    for (int i = 0; i <= DOOR_MAX_REQUESTS; i++) {
        ask_raw(&f, json, &ends[1], 1);
        if (i >= DOOR_MAX_CALLS)
            n = recv(ends[0], heard, sizeof(heard) - 1, MSG_DONTWAIT);
    }
    assert_true(n > 0);
    heard[n] = '\0';
    assert_string_equal(heard, "{\"failed\":\"no call makes more than 20000 requests\"}");
    assert_int_equal(f.peers.all, 0);
    close(ends[0]);
    close(ends[1]);
    end(&f);
}

static void test_no_servers(void **state UNUSED)
{
    struct fixture f;
    begin_with(&f, NULL);
    expect_part(&f, call(&f, "get", "{}"), "no [mcp.NAME] section of the policy");
    expect_part(&f, ask(&f, "", 0, 0), "no [mcp.NAME] section of the policy");
    end(&f);
}

/* Such a helper is not listened to any more, and all that it has asked for is ended. */
static void expect_hang_up(const char *json, const int *fds, size_t count)
{
    struct fixture f;
    char byte;
    begin(&f);
    int fd = call(&f, "get", "{}");
    assert_int_equal(f.peers.count, 1);
    ask_raw(&f, json, fds, count);
    turn(&f);
    assert_int_equal(recv(f.fd, &byte, 1, MSG_DONTWAIT), 0);
    assert_int_equal(f.peers.count, 0);
    assert_int_equal(f.peers.all, 1);
    close(fd);
    end(&f);
}

#define CALL "{\"call\":\"box\",\"tool\":\"get\",\"bytes\":0}"

static void test_malformed(void **state UNUSED)
{
    static const char *const cases[] = {
        "{\"call\":\"box\"}",
        "{\"call\":\"box\",\"tool\":1,\"bytes\":0}",
        "{\"call\":[\"box\"],\"tool\":\"get\",\"bytes\":0}",
        "{\"call\":\"box\",\"tool\":\"get\",\"bytes\":-1}",
        "{\"call\":\"box\",\"tool\":\"get\",\"bytes\":4194305}",
        "{\"call\":\"box\",\"tool\":\"get\",\"bytes\":1e3}",
        "{\"call\":\"box\",\"tool\":\"get\",\"bytes\":\"1\"}",
        "{\"call\":\"box\",\"tool\":\"get\",\"bytes\":1,\"timeout_ms\":-1}",
        "{\"call\":\"box\",\"tool\":\"get\",\"bytes\":1,\"timeout_ms\":2147483648}",
        "{\"call\":\"box\",\"tool\":\"get\",\"bytes\":1,\"spawn\":1,\"argv\":[\"sh\"]}",
        "{\"call\":\"box\",\"tool\":\"get\",\"bytes\":1,\"signal\":1,\"number\":9}",
    };
    int pair[2];
    foreign_pair(pair);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        expect_hang_up(cases[i], &pair[0], 1);
    expect_hang_up(CALL, NULL, 0);
    expect_hang_up(CALL, pair, 2);
    expect_hang_up(CALL, (int[]){ pair[0], pair[0], pair[0] }, 3);
    close(pair[0]);
    close(pair[1]);
}

/* A descriptor whose reader could be made to wait, or that is no helper's own. */
static void test_descriptors(void **state UNUSED)
{
    int pipes[2], own[2], packets[2];
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, own), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, packets), 0);
    int fds[] = { pipes[0], pipes[1], own[0], packets[0],
        open("/dev/null", O_RDWR | O_CLOEXEC), open("/", O_PATH | O_CLOEXEC),
        open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
        socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0),
        socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        assert_true(fds[i] >= 0);
        expect_hang_up(CALL, &fds[i], 1);
        close(fds[i]);
    }
    close(own[1]);
    close(packets[1]);
}

/* The same end twice: two calls that share it, each with what it happens to read. */
static void test_shared_end(void **state UNUSED)
{
    struct fixture f;
    int ends[2];
    begin(&f);
    foreign_pair(ends);
    ask_raw(&f, "{\"call\":\"box\",\"tool\":\"one\",\"bytes\":2}", &ends[1], 1);
    ask_raw(&f, "{\"call\":\"box\",\"tool\":\"two\",\"bytes\":2}", &ends[1], 1);
    say(&f, ends[0], STR("{}{}"));
    turn(&f);
    assert_true(f.peers.all <= 2);
    close(ends[0]);
    close(ends[1]);
    for (int i = 0; i < 4; i++)
        turn(&f);
    assert_int_equal(f.peers.count, 0);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_no_arguments),
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_result_that_grows),
        cmocka_unit_test(test_bad_arguments),
        cmocka_unit_test(test_called_off),
        cmocka_unit_test(test_idle),
        cmocka_unit_test(test_too_many),
        cmocka_unit_test(test_held),
        cmocka_unit_test(test_flood),
        cmocka_unit_test(test_no_servers),
        cmocka_unit_test(test_malformed),
        cmocka_unit_test(test_descriptors),
        cmocka_unit_test(test_shared_end),
    };
    signal(SIGPIPE, SIG_IGN); /* as the server does */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
