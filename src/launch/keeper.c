#include "launch/keeper.h"

#include "launch/child.h"
#include "launch/report.h"
#include "launch/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILL_AFTER_MS  2000 /* from SIGTERM to SIGKILL */
#define SWEEP_LIMIT_MS 900
#define CHUNK          256 /* bytes of orders, which are short */

struct keeper {
    const struct job *job;
    const struct view_status *view;
    int children; /* signalfd: one has ended */
    pid_t command;
    bool has_ended;  /* the command, and the server knows */
    int64_t kill_at; /* on the monotonic clock, in ms; 0: nobody has asked */
    struct buf in;   /* from the server */
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* If the server is gone, its socket will say so soon. */
static void tell(enum wire_kind kind, struct str first, const char *second)
{
    struct error ignored;
    const struct wire_message m = { kind, second ? 2 : 1,
        { first, second ? str_of(second) : STR("") } };
    bool sent = wire_send(JOB_SOCKET, &m, &ignored);
    (void)sent;
}

void keeper_refuse(const char *step, int error)
{
    char number[16];
    snprintf(number, sizeof(number), "%d", error);
    tell(WIRE_NOT_STARTED, str_of(step), number);
}

static void tell_started(const struct keeper *k, const struct child_held *held)
{
    auto_buf json = BUF((size_t)1 << 16);
    report_write(k->job, k->view, held, &json);
    tell(WIRE_STARTED, buf_str(&json), NULL);
}

/* Whoever is left is our child, or below one.  Without /proc of its own a PID namespace
 * cannot be counted: one, if any. */
static unsigned count_left(const struct keeper *k)
{
    if (waitpid(-1, NULL, WNOHANG) < 0)
        return 0;
    return k->view->has_pids && !k->view->has_proc ? 1 : tree_count();
}

static void tell_ended(struct keeper *k, int status)
{
    char number[16], left[16];
    snprintf(number, sizeof(number), "%d", status);
    snprintf(left, sizeof(left), "%u", count_left(k));
    k->has_ended = true;
    tell(WIRE_ENDED, str_of(number), left);
}

/* Never kill(-1) outside a namespace: that would be everything of the user. */
static void signal_all(const struct keeper *k, int signal)
{
    if (k->view->has_pids)
        kill(-1, signal);
    else
        tree_signal(signal);
}

static bool read_report(int fd, struct child_report *out)
{
    ssize_t n;
    do
        n = read(fd, out, sizeof(*out));
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof(*out);
}

/* What becomes of it: true when the program runs.  A second report is a failure. */
static bool await_start(struct keeper *k, int fd)
{
    struct child_report first, second;
    if (!read_report(fd, &first)) {
        keeper_refuse("start", ECHILD);
        return false;
    }
    if (first.failed || read_report(fd, &second)) {
        const struct child_report *r = first.failed ? &first : &second;
        keeper_refuse(r->failed, r->error);
        return false;
    }
    tell_started(k, &first.held);
    return true;
}

static bool start(struct keeper *k)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC)) {
        keeper_refuse("start", errno);
        return false;
    }
    k->command = fork();
    if (!k->command)
        child_run(k->job, k->view, ends[1]);
    int error = errno;
    close(ends[1]);
    close(JOB_STDIN); /* the command's end of them is the only one now */
    close(JOB_STDOUT);
    close(JOB_STDERR);
    bool runs = false;
    if (k->command < 0)
        keeper_refuse("start", error);
    else
        runs = await_start(k, ends[0]);
    close(ends[0]);
    return runs;
}

static void reap(struct keeper *k)
{
    struct signalfd_siginfo info;
    ssize_t n = read(k->children, &info, sizeof(info)); /* only to take it off */
    (void)n;
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        if (pid == k->command)
            tell_ended(k, status);
}

static void stop(struct keeper *k)
{
    if (k->kill_at)
        return;
    k->kill_at = now_ms() + KILL_AFTER_MS;
    signal_all(k, SIGTERM);
    signal_all(k, SIGCONT); /* who is stopped does not see the first */
}

/* To the command itself, if it has not ended: then its number is another's. */
static bool pass_signal(const struct keeper *k, struct str number)
{
    int64_t signal;
    if (!str_int(number, &signal) || signal < 1 || signal > SIGRTMAX)
        return false;
    if (!k->has_ended)
        kill(k->command, (int)signal);
    return true;
}

static bool obey(struct keeper *k, const struct wire_message *m)
{
    if (m->kind == WIRE_STOP)
        stop(k);
    else if (m->kind != WIRE_SIGNAL || m->count != 1 || !pass_signal(k, m->fields[0]))
        return false;
    return true;
}

/* False: the server is gone, or has said what it may not. */
static bool hear(struct keeper *k)
{
    char *to = buf_reserve(&k->in, CHUNK);
    ssize_t n = to ? read(JOB_SOCKET, to, CHUNK) : 0;
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0)
        return false;
    k->in.len += (size_t)n;
    struct str rest = buf_str(&k->in);
    struct wire_message m;
    struct error ignored;
    bool got;
    while (wire_parse(&rest, &m, &got, &ignored)) {
        if (!got) {
            memmove(k->in.data, rest.data, rest.len);
            k->in.len = rest.len;
            return true;
        }
        if (!obey(k, &m))
            return false;
    }
    return false;
}

static int time_left(const struct keeper *k)
{
    if (!k->kill_at)
        return -1;
    int64_t left = k->kill_at - now_ms();
    return left > 0 ? (int)left : 0;
}

static void stay(struct keeper *k)
{
    for (;;) {
        struct pollfd wait[] = { { .fd = JOB_SOCKET, .events = POLLIN },
            { .fd = k->children, .events = POLLIN } };
        int ready = poll(wait, ARRAY_LEN(wait), time_left(k));
        if (wait[1].revents)
            reap(k);
        if (wait[0].revents && !hear(k))
            return;
        if (!ready && k->kill_at) {
            signal_all(k, SIGKILL);
            k->kill_at = now_ms() + KILL_AFTER_MS;
        }
    }
}

static int watch_children(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void keeper_run(const struct job *job, const struct view_status *view)
{
    struct keeper k = { .job = job,
        .view = view,
        .children = watch_children(),
        .in = BUF((size_t)4 * CHUNK) };
    if (!view->has_pids)
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (start(&k))
        stay(&k);
    close_fd(&k.children);
    buf_finish(&k.in);
    if (!view->has_pids)
        tree_kill(SWEEP_LIMIT_MS);
}
