#include "session/session.h"

#include "base/log.h"
#include "broker/problems.h"
#include "session/worker.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#define START_MS      30000 /* a worker that is not ready by then is stuck */
#define CANCEL_ASK_MS 50    /* between two requests to stop a cancelled call... */
#define CANCEL_ASKS   20    /* ...and how many it gets before it is killed */
#define LATE_GRACE_MS 2000

struct session_call {
    struct session_call *next;
    char *tool, *args;
    size_t args_len;
    session_done_fn *done; /* NULL: cancelled */
    void *user;
};

struct session {
    struct session_config config;
    uv_timer_t timer; /* one wait at a time: start, late call, cancelled call */
    struct worker *worker;
    struct door_line *line;     /* the worker's way to programs, or NULL */
    bool ready;                 /* the worker takes calls */
    bool used;                  /* it has run a call: there is state to lose */
    bool problems_told;         /* unless that is shared */
    bool lost;                  /* state was lost, and nobody was told yet */
    struct session_call *first; /* waiting */
    struct session_call **last; /* where the next one is linked in */
    struct session_call *running;
    unsigned asks;       /* to stop, while a cancelled call runs */
    size_t calls, bytes; /* waiting and running */
    char start_error[256];
};

static const char reset_note[] = "[paddock: the shell was restarted; its working "
                                 "directory, variables and functions were reset]\n";

static void pump(struct session *s);
static void go_on(struct session *s);
static void wait_ms(struct session *s, uint64_t ms);

static void free_call(struct session *s, struct session_call *call)
{
    s->calls--;
    s->bytes -= call->args_len;
    free(call->tool);
    free(call->args);
    free(call);
}

/* Answer `call` and forget it; the first answer after a loss says so. */
static void answer(struct session *s, struct session_call *call, bool is_error,
        struct str text, struct str notes)
{
    session_done_fn *done = call->done;
    void *user = call->user;
    free_call(s, call);
    if (!done)
        return;
    if (!s->lost) {
        done(user, is_error, text, notes);
        return;
    }
    s->lost = false;
    auto_buf noted = BUF(SIZE_MAX / 4);
    buf_add(&noted, str_of(reset_note));
    buf_add(&noted, text);
    done(user, is_error, buf_str(&noted), notes);
}

static struct session_call *take_first(struct session *s)
{
    struct session_call *call = s->first;
    s->first = call->next;
    if (!s->first)
        s->last = &s->first;
    return call;
}

/* No worker can be had: answer the call that waited longest, and try for the next. */
static void fail_start(struct session *s, const char *why)
{
    log_line(LOG_ERROR, "cannot start a worker: %s", why);
    if (s->first) {
        auto_buf text = BUF(4096);
        buf_addf(&text, "paddock: the worker process could not start: %s", why);
        answer(s, take_first(s), true, buf_str(&text), STR(""));
    }
    go_on(s);
}

/* A request that comes before the worker has begun the call is lost on it: ask again. */
static void ask_to_stop(struct session *s)
{
    if (s->asks++ >= CANCEL_ASKS) {
        worker_kill(s->worker, "a cancelled call did not stop");
        return;
    }
    worker_interrupt(s->worker);
    wait_ms(s, CANCEL_ASK_MS);
}

static void on_timer(uv_timer_t *timer)
{
    struct session *s = timer->data;
    char why[96];
    if (!s->worker) {
        fail_start(s, s->start_error);
    } else if (!s->ready) {
        worker_kill(s->worker, "it was not ready in time");
    } else if (!s->running->done) {
        ask_to_stop(s);
    } else {
        snprintf(why, sizeof(why), "the call did not end by itself after %u.%03u s",
                s->config.timeout_ms / 1000, s->config.timeout_ms % 1000);
        worker_kill(s->worker, why);
    }
}

static void wait_ms(struct session *s, uint64_t ms)
{
    uv_update_time(s->config.loop);
    uv_timer_start(&s->timer, on_timer, ms, 0);
}

static void on_ready(void *user, struct str status)
{
    struct session *s = user;
    problems_tell(status, s->config.problems_told);
    uv_timer_stop(&s->timer);
    s->ready = true;
    pump(s);
}

static void on_reply(void *user, bool is_error, struct str text, struct str notes)
{
    struct session *s = user;
    struct session_call *call = TAKE(s->running);
    uv_timer_stop(&s->timer);
    if (s->line)
        door_rest(s->line);
    answer(s, call, is_error, text, notes);
    go_on(s);
}

static const char shell_end[] =
        "paddock: the worker process of this shell ended during the call: %s. Its "
        "working directory, variables and functions are lost; files that it had "
        "written are as it left them. The next call gets a new shell.";
static const char stateless_end[] =
        "paddock: the worker process ended during the call: %s. Files that it had "
        "written "
        "are as it left them. The next call gets a new process.";

static void answer_lost_call(struct session *s, const char *why)
{
    auto_buf text = BUF(4096);
    buf_addf(&text, s->config.stateless ? stateless_end : shell_end, why);
    answer(s, TAKE(s->running), true, buf_str(&text), STR(""));
}

static void close_line(struct session *s)
{
    if (s->line)
        door_close(TAKE(s->line));
}

static void end_worker(struct session *s)
{
    if (s->worker && s->config.count)
        s->config.count->running--;
    worker_destroy(TAKE(s->worker));
    close_line(s);
}

static void on_ended(void *user, const char *why)
{
    struct session *s = user;
    bool was_ready = s->ready;
    uv_timer_stop(&s->timer);
    end_worker(s);
    s->ready = false;
    bool lost = s->used && !s->config.stateless;
    s->used = false;
    if (s->running)
        answer_lost_call(s, why);
    s->lost = s->lost || lost;
    if (was_ready)
        go_on(s);
    else
        fail_start(s, why);
}

static const struct worker_events events = { on_ready, on_reply, on_ended };

static bool start_worker(
        struct session *s, const struct helper_spec *spec, struct error *err)
{
    if (!session_has_room(s))
        return error_set(err, ERR_LIMIT,
                "%u shells run already, and there may be no more; try again later",
                s->config.count->running);
    if (!worker_start(s->config.loop, spec, s->config.setup, s->config.max_reply, &events,
                s, &s->worker, err))
        return false;
    if (s->config.count)
        s->config.count->running++;
    return true;
}

/* With one descriptor more, its way to the door. */
static bool start_with_door(struct session *s, struct error *err)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
        return error_errno(err, errno, "cannot make a socket pair");
    auto_fd int ours = ends[0];
    auto_fd int theirs = ends[1];
    struct helper_spec spec = s->config.worker;
    auto_free int *fds = xmalloc((spec.fd_count + 1) * sizeof(*fds));
    if (spec.fd_count)
        memcpy(fds, spec.fds, spec.fd_count * sizeof(*fds));
    fds[spec.fd_count++] = theirs;
    spec.fds = fds;
    if (!start_worker(s, &spec, err))
        return false;
    s->line = door_open(s->config.door, ours, s->config.timeout_ms);
    ours = -1;
    door_rest(s->line);
    return true;
}

void session_warm(struct session *s)
{
    struct error err;
    if (s->worker)
        return;
    if (s->config.door ? start_with_door(s, &err)
                       : start_worker(s, &s->config.worker, &err)) {
        wait_ms(s, START_MS);
        return;
    }
    snprintf(s->start_error, sizeof(s->start_error), "%.255s", err.message);
    wait_ms(s, 0); /* answers come from the loop */
}

/* Give the worker its next call, if there is one and it is free. */
static void pump(struct session *s)
{
    if (s->running || !s->first)
        return;
    if (!s->ready) {
        session_warm(s);
        return;
    }
    struct session_call *call = s->running = take_first(s);
    s->used = true;
    if (s->line)
        door_resume(s->line, s->config.timeout_ms);
    worker_call(
            s->worker, str_of(call->tool), (struct str){ call->args, call->args_len });
    wait_ms(s, (uint64_t)s->config.timeout_ms + LATE_GRACE_MS);
}

/* After a call has ended. */
static void go_on(struct session *s)
{
    pump(s);
    if (session_is_idle(s) && s->config.idle)
        s->config.idle(s->config.idle_user);
}

struct session *session_create(const struct session_config *config)
{
    struct session *s = xcalloc(1, sizeof(*s));
    s->config = *config;
    if (!s->config.problems_told)
        s->config.problems_told = &s->problems_told;
    s->last = &s->first;
    uv_timer_init(config->loop, &s->timer);
    s->timer.data = s;
    return s;
}

bool session_call(struct session *s, struct str tool, struct str args,
        session_done_fn *done, void *user, struct session_call **out, struct error *err)
{
    if (s->calls >= SESSION_MAX_CALLS || s->bytes + args.len > SESSION_MAX_CALL_BYTES)
        return error_set(err, ERR_LIMIT,
                "too many calls are waiting for this shell (%zu); wait for replies first",
                s->calls);
    struct session_call *call = xcalloc(1, sizeof(*call));
    call->tool = str_copy(tool);
    call->args = str_copy(args);
    call->args_len = args.len;
    call->done = done;
    call->user = user;
    s->calls++;
    s->bytes += args.len;
    *s->last = call;
    s->last = &call->next;
    *out = call;
    pump(s);
    return true;
}

bool session_is_idle(const struct session *s)
{
    return !s->calls;
}

bool session_has_room(const struct session *s)
{
    const struct worker_count *count = s->config.count;
    return s->worker || !count || count->running < count->most;
}

static void drop_waiting(struct session *s, struct session_call *call)
{
    struct session_call **at = &s->first;
    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    if (s->last == &call->next)
        s->last = at;
    free_call(s, call);
}

void session_cancel(struct session *s, struct session_call *call)
{
    if (call != s->running) {
        drop_waiting(s, call);
        return;
    }
    call->done = NULL;
    s->asks = 0;
    ask_to_stop(s);
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void session_destroy(struct session *s)
{
    if (!s)
        return;
    end_worker(s);
    if (s->running)
        free_call(s, s->running);
    while (s->first)
        free_call(s, take_first(s));
    uv_close((uv_handle_t *)&s->timer, on_timer_closed);
}
