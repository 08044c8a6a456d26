/*
 * test-zygote.c - a zygote whose children misbehave on demand, for tests of the server.
 *
 * It speaks the wire like paddock-python.  What it does itself is in its setup:
 *   {"network":true}   its children run what needs a network
 *   {"start":"..."}    "die", "hang", "garbage", "say" instead of becoming ready
 *   {"fork":"..."}     "deaf" (orders are not answered), "refuse"
 *   {"child":"..."}    "die", "hang", "garbage", "die-ready" before any run
 * What a child does with a run is in its code:
 *   echo               answer with that
 *   parent             answer with the pid of the zygote
 *   broker             answer with what the broker says
 *   die N, kill N      exit with a status, die of a signal
 *   garbage, big, early, notes, result, ready      break the protocol
 *   network            answer that nothing was run, until there is a network
 *   hold               answer, but keep the pipes open
 *   hang, flood N, events N
 */
#include "base/json.h"
#include "base/wire.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SOCKET = 3, CONTROL = 0, BROKER, OUT, ERR, FDS };

static struct {
    const json_t *setup;
    int fds[FDS];
} zygote;

static bool has(const char *key, const char *value)
{
    return str_is(json_get_str(zygote.setup, key, STR("")), value);
}

static void hang(void)
{
    for (;;)
        pause();
}

static void send_to(int fd, enum wire_kind kind, struct str a, struct str b, struct str c)
{
    struct error err;
    struct wire_message m = { kind, 3, { a, b, c } };
    while (m.count && !m.fields[m.count - 1].data)
        m.count--;
    if (!wire_send(fd, &m, &err))
        _exit(9);
}

#define NOTHING ((struct str){ NULL, 0 })

static void send_garbage(int fd)
{
    if (send(fd, "\3\0\0\0\xff\xff\xff", 7, MSG_NOSIGNAL) < 0)
        _exit(9);
}

static void reply(struct str text, struct str notes)
{
    send_to(zygote.fds[CONTROL], WIRE_REPLY, STR("0"), text, notes);
}

static const struct str good_notes = { "{\"exit\":0,\"has_result\":true}", 28 };

static void close_streams(void)
{
    close(zygote.fds[OUT]);
    close(zygote.fds[ERR]);
}

static void echo(void)
{
    dprintf(zygote.fds[OUT], "out\n");
    dprintf(zygote.fds[ERR], "err\n");
    close_streams();
    reply(STR("echo"), good_notes);
    _exit(0);
}

static void echo_parent(void)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", (int)getppid());
    close_streams();
    reply(str_of(text), good_notes);
    _exit(0);
}

static void echo_broker(void)
{
    char text[64];
    ssize_t n = recv(zygote.fds[BROKER], text, sizeof(text), 0);
    close_streams();
    reply((struct str){ text, n < 0 ? 0 : (size_t)n }, good_notes);
    _exit(0);
}

static void send_big(void)
{
    static const char block[1 << 16];
    struct str head = { "\0\0\0\x0f\x04\x03", 6 };
    if (send(zygote.fds[CONTROL], head.data, head.len, MSG_NOSIGNAL) < 0)
        _exit(9);
    while (send(zygote.fds[CONTROL], block, sizeof(block), MSG_NOSIGNAL) > 0)
        ;
    _exit(9);
}

static void send_long_result(void)
{
    enum { SIZE = 3 << 20 };
    char *text = xcalloc(1, SIZE);
    memset(text, 'x', SIZE);
    reply((struct str){ text, SIZE }, good_notes);
    hang();
}

static void flood(int64_t megabytes)
{
    static char block[1 << 20];
    memset(block, 'x', sizeof(block));
    for (int64_t i = 0; i < megabytes; i++)
        for (size_t done = 0; done < sizeof(block);) {
            ssize_t n = write(zygote.fds[OUT], block + done, sizeof(block) - done);
            if (n < 0)
                _exit(9);
            done += (size_t)n;
        }
    echo();
}

static void send_events(int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        send_to(zygote.fds[CONTROL], WIRE_EVENT, STR("{\"event\":\"open\"}"), NOTHING,
                NOTHING);
    echo();
}

static void misbehave(struct str word)
{
    int control = zygote.fds[CONTROL];
    if (str_is(word, "garbage"))
        send_garbage(control);
    else if (str_is(word, "big"))
        send_big();
    else if (str_is(word, "early"))
        send_to(control, WIRE_STARTED, STR(""), NOTHING, NOTHING);
    else if (str_is(word, "ready"))
        send_to(control, WIRE_READY, STR("{}"), NOTHING, NOTHING);
    else if (str_is(word, "notes"))
        reply(STR("x"), STR("{\"exit\":\"no\"}"));
    else if (str_is(word, "result"))
        send_long_result();
    else if (str_is(word, "event"))
        send_to(control, WIRE_EVENT, STR("not JSON"), NOTHING, NOTHING);
    hang();
}

static void run(struct str code)
{
    int64_t n = 0;
    struct str word = str_cut(&code, ' ');
    if (code.len && !str_int(code, &n))
        _exit(9);
    if (str_is(word, "echo"))
        echo();
    if (str_is(word, "parent"))
        echo_parent();
    if (str_is(word, "broker"))
        echo_broker();
    if (str_is(word, "die"))
        _exit((int)n);
    if (str_is(word, "kill"))
        kill(getpid(), (int)n), hang();
    if (str_is(word, "flood"))
        flood(n);
    if (str_is(word, "events"))
        send_events(n);
    if (str_is(word, "hold")) {
        dprintf(zygote.fds[OUT], "held\n");
        reply(STR("held"), good_notes);
        hang();
    }
    if (str_is(word, "network")) {
        if (json_is_true(json_object_get(zygote.setup, "network")))
            echo();
        close_streams();
        reply(STR(""),
                STR("{\"exit\":1,\"retry\":\"network\",\"modules\":[\"polars\"]}"));
        _exit(0);
    }
    misbehave(word);
}

static void child_main(pid_t parent)
{
    struct wire_reader reader;
    struct wire_message m;
    struct error err;
    json_t *args;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before that */
        _exit(1);
    if (has("child", "die"))
        _exit(7);
    if (has("child", "hang"))
        hang();
    if (has("child", "garbage"))
        send_garbage(zygote.fds[CONTROL]), hang();
    send_to(zygote.fds[CONTROL], WIRE_READY, STR("{}"), NOTHING, NOTHING);
    if (has("child", "die-ready"))
        _exit(7);
    wire_reader_init(&reader, zygote.fds[CONTROL]);
    if (!wire_receive(&reader, &m, &err) || m.kind != WIRE_CALL ||
            !json_parse(m.fields[1], &args, &err))
        _exit(9);
    run(json_get_str(args, "code", STR("")));
}

/* `fd` goes with it unless it is negative. */
static void tell(enum wire_kind kind, int first, int second, int fd)
{
    char one[16], two[16];
    auto_buf text = BUF(64);
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
    snprintf(one, sizeof(one), "%d", first);
    snprintf(two, sizeof(two), "%d", second);
    const struct wire_message m = { kind, 2, { str_of(one), str_of(two) } };
    wire_write(&m, &text);
    struct iovec bytes = { text.data, text.len };
    struct msghdr message = { .msg_iov = &bytes, .msg_iovlen = 1 };
    if (fd >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof(control);
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof(int));
    }
    if (sendmsg(SOCKET, &message, MSG_NOSIGNAL) < 0)
        _exit(9);
}

static void fork_child(void)
{
    if (has("fork", "deaf"))
        return;
    if (has("fork", "refuse")) {
        tell(WIRE_FORKED, 0, EAGAIN, -1);
    } else {
        pid_t own = getpid(), pid = fork();
        if (!pid)
            child_main(own);
        int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
        tell(WIRE_FORKED, (int)pid, 0, pidfd);
        close(pidfd);
    }
    for (size_t i = 0; i < FDS; i++)
        close(zygote.fds[i]);
}

static void receive_order(void)
{
    char byte[256];
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(FDS * sizeof(int))];
    struct iovec bytes = { byte, 6 }; /* an order without fields */
    struct msghdr message = { .msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control) };
    if (recvmsg(SOCKET, &message, MSG_CMSG_CLOEXEC) <= 0)
        _exit(0);
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (!c || c->cmsg_len != CMSG_LEN(sizeof(zygote.fds)))
        _exit(9);
    memcpy(zygote.fds, CMSG_DATA(c), sizeof(zygote.fds));
    fork_child();
}

static void reap(int signals)
{
    struct signalfd_siginfo unused;
    int status;
    if (read(signals, &unused, sizeof(unused)) < 0)
        return;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        tell(WIRE_GONE, (int)pid, status, -1);
}

static void serve(void)
{
    sigset_t children;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, NULL);
    int signals = signalfd(-1, &children, SFD_NONBLOCK);
    struct pollfd ready[] = { { .fd = SOCKET, .events = POLLIN },
        { .fd = signals, .events = POLLIN } };
    for (;;) {
        poll(ready, 2, -1);
        if (ready[1].revents)
            reap(signals);
        if (ready[0].revents)
            receive_order();
    }
}

int main(void)
{
    struct wire_reader reader;
    struct wire_message m;
    struct error err;
    json_t *setup;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    wire_reader_init(&reader, SOCKET);
    if (!wire_receive(&reader, &m, &err) || m.kind != WIRE_SETUP ||
            !json_parse(m.fields[0], &setup, &err))
        _exit(9);
    zygote.setup = setup;
    if (has("start", "die"))
        _exit(7);
    if (has("start", "say")) {
        send_to(SOCKET, WIRE_NOT_STARTED, STR("no \x1b[31mlibrary"), NOTHING, NOTHING);
        _exit(1);
    }
    if (has("start", "hang"))
        hang();
    if (has("start", "garbage"))
        send_garbage(SOCKET), hang();
    send_to(SOCKET, WIRE_READY, STR("{}"), NOTHING, NOTHING);
    serve();
}
