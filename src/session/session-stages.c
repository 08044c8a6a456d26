#include "base/clean-text.h"
#include "base/log.h"
#include "broker/problems.h"
#include "session/session-parts.h"
#include "session/spare.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>

#define START_MS      30000 /* a worker that is not ready by then is stuck */
#define CANCEL_ASK_MS 50    /* between two requests to stop a cancelled call... */
#define CANCEL_ASKS   80    /* ...and how many it gets before it is killed */
#define LATE_GRACE_MS 6000  /* a copy of 256 MiB on a busy machine is no hang */

static const char reset_note[] = "[paddock: the shell was restarted; its working "
                                 "directory, variables and functions were reset]\n";
static const char unloaded_note[] =
        "[paddock: the shell had been put to sleep, and could not be restored; its "
        "working directory, variables and functions were reset]\n";

static void on_ready(void *user, struct str status);
static void proceed(struct session *s);
static void leave_by_itself(struct session *s);
static void wait_ms(struct session *s, uint64_t ms);

void session_leave_place(struct session *s)
{
    struct shells *shells = s->config.shells;
    if (!shells)
        return;
    places_leave(shells->places, &s->place);
    if (shells->spare)
        spare_begin(shells->spare);
}

/* No worker can be had: answer the call that waited longest, and try for the next. */
static void tell_trouble(struct session *s)
{
    auto_free char *trouble = TAKE(s->trouble);
    session_leave_place(s);
    session_shared_free(s);
    if (s->first)
        session_answer(s, session_take_first(s), true, str_of(trouble), STR(""));
    session_go_on(s);
}

static void set_trouble(struct session *s, const char *what, const char *why)
{
    auto_buf text = BUF(4096);
    buf_addf(&text, "paddock: %s: %s", what, why);
    free(s->trouble);
    s->trouble = str_copy(buf_str(&text));
}

static void set_start_trouble(struct session *s, const char *why)
{
    log_line(LOG_ERROR, "cannot start a worker: %s", why);
    set_trouble(s, "the worker process could not start", why);
}

const char session_no_place[] =
        "all of them are taken (--max-workers), and too many shells wait already or "
        "those that have one cannot be put to sleep; try again later";

/* A request that comes before the worker has begun the call is lost on it: ask again. */
void session_ask_to_stop(struct session *s)
{
    if (s->asks++ >= CANCEL_ASKS) {
        worker_kill(s->worker, "a cancelled call did not stop");
        return;
    }
    worker_interrupt(s->worker);
    wait_ms(s, CANCEL_ASK_MS);
}

static void on_late(struct session *s)
{
    char why[96];
    if (!s->running->done) {
        session_ask_to_stop(s);
        return;
    }
    snprintf(why, sizeof(why), "the call did not end by itself after %u.%03u s",
            s->config.timeout_ms / 1000, s->config.timeout_ms % 1000);
    worker_kill(s->worker, why);
}

static void on_late_start(struct session *s)
{
    auto_free char *status = TAKE(s->status);
    if (status)
        on_ready(s, str_of(status));
    else
        worker_kill(s->worker, "it was not ready in time");
}

static void on_timer(uv_timer_t *timer)
{
    struct session *s = timer->data;
    switch (s->stage) {
    case STAGE_NONE:
        tell_trouble(s);
        break;
    case STAGE_STARTING:
        on_late_start(s);
        break;
    case STAGE_LOADING:
        worker_kill(s->worker, "it did not load the state of its shell in time");
        break;
    case STAGE_READY:
        if (s->running)
            on_late(s);
        else
            leave_by_itself(s);
        break;
    case STAGE_SAVING:
        worker_kill(s->worker, "it did not save the state of its shell in time");
        break;
    case STAGE_ENDING:
        break;
    }
}

static void wait_ms(struct session *s, uint64_t ms)
{
    uv_update_time(s->config.loop);
    uv_timer_start(&s->timer, on_timer, ms, 0);
}

/* The worker takes calls from now on. */
static void be_ready(struct session *s)
{
    s->stage = STAGE_READY;
    s->turn = uv_now(s->config.loop);
    proceed(s);
}

void session_load(struct session *s, struct str state)
{
    s->stage = STAGE_LOADING;
    worker_call(s->worker, STR("shell.load"), state);
    wait_ms(s, s->config.shells->save_ms);
}

/* What the worker says is outside bytes. */
static void log_reason(enum log_level level, const char *what, struct str why)
{
    auto_buf text = BUF(1024);
    clean_text(str_sub(why, 0, 300), false, &text);
    struct str rest = buf_str(&text), line = str_cut(&rest, '\n');
    log_line(level, "%s: %.*s", what, STR_ARG(line));
}

static void on_loaded(struct session *s, bool is_error, struct str text)
{
    if (is_error) {
        log_reason(LOG_WARN, "the state of a shell was lost", text);
        session_drop_state(s);
        s->note = unloaded_note;
    }
    s->shared.version = s->shared.coming;
    be_ready(s);
}

static void on_ready(void *user, struct str status)
{
    struct session *s = user;
    problems_tell(status, s->config.problems_told);
    uv_timer_stop(&s->timer);
    s->is_spare = false;
    s->shared.version = 0;
    if (s->state)
        session_load(s, (struct str){ s->state, s->state_len });
    else if (s->shared.load)
        session_load(s, (struct str){ s->shared.load, s->shared.load_len });
    else
        be_ready(s);
    free(TAKE(s->shared.load));
}

static void save_state(struct session *s)
{
    s->stage = STAGE_SAVING;
    worker_call(s->worker, STR("shell.save"), STR("{}"));
    wait_ms(s, s->config.shells->save_ms);
}

static void dismiss(struct session *s)
{
    uv_timer_stop(&s->timer);
    s->stage = STAGE_ENDING;
    worker_dismiss(s->worker);
}

/* Its place is counted as leaving. */
static void go_to_sleep(struct session *s)
{
    assert(s->stage == STAGE_READY && !s->running);
    if (s->used)
        save_state(s);
    else
        dismiss(s);
}

static void leave_by_itself(struct session *s)
{
    places_leaving(s->config.shells->places, &s->place);
    go_to_sleep(s);
}

/* It has a place, whatever it was about to do with it, and works. */
void session_keep_place(struct session *s)
{
    bool waits;
    if (s->place.state != PLACE_WORKING)
        s->turn = uv_now(s->config.loop);
    bool has_it = places_take(s->config.shells->places, &s->place, &waits);
    assert(has_it && !waits);
}

/* It cannot sleep. */
static void stay_awake(struct session *s, struct str why)
{
    if (!s->stay_told)
        log_reason(LOG_INFO, "a shell cannot be put to sleep", why);
    s->stay_told = true;
    s->stage = STAGE_READY;
    if (s->first) {
        session_keep_place(s);
        proceed(s);
    } else {
        places_stay(s->config.shells->places, &s->place);
    }
}

static void on_saved(struct session *s, bool is_error, struct str text)
{
    if (s->config.store) {
        s->stage = STAGE_READY;
        session_shared_saved(s, is_error, text);
    } else if (is_error) {
        stay_awake(s, text);
    } else if (!session_keep_state(s, text)) {
        stay_awake(s, STR("there is no room for its state"));
    } else if (s->first && !places_waiting(s->config.shells->places)) {
        s->stage = STAGE_READY;
        session_keep_place(s);
        proceed(s);
    } else {
        dismiss(s);
    }
}

static void on_answer(struct session *s, bool is_error, struct str text, struct str notes)
{
    if (s->line)
        door_rest(s->line);
    if (s->config.store) {
        session_shared_keep(s, is_error, text, notes);
        save_state(s);
        return;
    }
    struct session_call *call = TAKE(s->running);
    session_answer(s, call, is_error, text, notes);
    session_go_on(s);
}

static void on_reply(void *user, bool is_error, struct str text, struct str notes)
{
    struct session *s = user;
    uv_timer_stop(&s->timer);
    if (s->stage == STAGE_LOADING)
        on_loaded(s, is_error, text);
    else if (s->stage == STAGE_SAVING)
        on_saved(s, is_error, text);
    else
        on_answer(s, is_error, text, notes);
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
    session_answer(s, TAKE(s->running), true, buf_str(&text), STR(""));
}

static void close_line(struct session *s)
{
    if (s->line)
        door_close(TAKE(s->line));
}

static void forget_worker(struct session *s)
{
    worker_destroy(TAKE(s->worker));
    close_line(s);
    free(TAKE(s->status));
    s->is_spare = false;
    s->stage = STAGE_NONE;
}

void session_end_worker(struct session *s)
{
    forget_worker(s);
    session_leave_place(s);
}

/* What the next answer says first, of a worker that has ended in this stage. */
static const char *find_note(const struct session *s, enum stage stage)
{
    if (s->config.stateless || s->config.store)
        return NULL;
    if (stage == STAGE_LOADING)
        return unloaded_note;
    return s->used ? reset_note : s->note;
}

static void on_ended(void *user, const char *why)
{
    struct session *s = user;
    enum stage stage = s->stage;
    bool was_spare = s->is_spare;
    uv_timer_stop(&s->timer);
    session_end_worker(s);
    if (was_spare) { /* nothing is lost: we start one of our own */
        session_go_on(s);
        return;
    }
    const char *note = find_note(s, stage);
    if (stage == STAGE_LOADING)
        session_drop_state(s);
    s->used = false;
    if (s->config.store)
        session_shared_lost(s, why);
    else if (s->running)
        answer_lost_call(s, why);
    s->note = note;
    if (stage == STAGE_STARTING) {
        set_start_trouble(s, why);
        tell_trouble(s);
    } else {
        session_go_on(s);
    }
}

static const struct worker_events events = { on_ready, on_reply, on_ended };

static bool start_worker(
        struct session *s, const struct helper_spec *spec, struct error *err)
{
    return worker_start(s->config.loop, spec, s->config.setup, s->config.max_reply,
            &events, s, &s->worker, err);
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

/* One that was started ahead; how it went is told from the loop in any case. */
static bool take_spare(struct session *s)
{
    struct spare *spare = s->config.shells ? s->config.shells->spare : NULL;
    if (!spare)
        return false;
    s->is_spare = spare_take(spare, &events, s, &s->worker, &s->status);
    if (s->config.once)
        spare_want(spare);
    if (!s->is_spare)
        return false;
    s->stage = STAGE_STARTING;
    wait_ms(s, s->status ? 0 : START_MS);
    return true;
}

/* It has a place. */
static void start(struct session *s)
{
    struct error err;
    if (take_spare(s))
        return;
    if (s->config.door ? start_with_door(s, &err)
                       : start_worker(s, &s->config.worker, &err)) {
        s->stage = STAGE_STARTING;
        wait_ms(s, START_MS);
        return;
    }
    set_start_trouble(s, err.message);
    wait_ms(s, 0); /* answers come from the loop */
}

void session_new_worker(struct session *s)
{
    forget_worker(s);
    start(s);
}

static void on_granted(void *user)
{
    start(user);
}

static void on_refused(void *user)
{
    struct session *s = user;
    set_trouble(s, "no worker is free", session_no_place);
    wait_ms(s, 0);
}

static void on_leave(void *user)
{
    go_to_sleep(user);
}

const struct place_events session_place_events = { on_granted, on_refused, on_leave };

void session_warm(struct session *s)
{
    struct shells *shells = s->config.shells;
    bool waits = false;
    if (s->stage != STAGE_NONE)
        return;
    if (shells && !places_take(shells->places, &s->place, &waits))
        on_refused(s);
    else if (!waits)
        start(s);
}

static void run_first(struct session *s)
{
    struct session_call *call = s->running = session_take_first(s);
    if (s->config.shells)
        session_keep_place(s);
    session_drop_state(s); /* from now on that is another one */
    s->used = !s->config.store;
    if (s->line)
        door_resume(s->line, s->config.timeout_ms);
    worker_call(
            s->worker, str_of(call->tool), (struct str){ call->args, call->args_len });
    wait_ms(s, (uint64_t)s->config.timeout_ms + LATE_GRACE_MS);
}

void session_pump(struct session *s)
{
    if (s->running || !s->first)
        return;
    if (s->stage != STAGE_READY)
        session_warm(s);
    else if (!s->config.store || session_shared_begin(s))
        run_first(s);
}

/* Others wait, and it has worked for a while. */
static bool has_had_its_turn(const struct session *s)
{
    const struct shells *shells = s->config.shells;
    return shells && places_are_wanted(shells->places) &&
           uv_now(s->config.loop) - s->turn >= SESSION_TURN_MS;
}

/* It is idle, and may be asked to leave at once. */
static void rest(struct session *s)
{
    struct shells *shells = s->config.shells;
    session_shared_free(s);
    if (!shells)
        return;
    if (shells->idle_ms)
        wait_ms(s, shells->idle_ms);
    places_idle(shells->places, &s->place);
}

/* What comes next for one whose worker has done what it had to, or is gone. */
static void proceed(struct session *s)
{
    if (s->stage == STAGE_READY && s->first && has_had_its_turn(s))
        leave_by_itself(s);
    else
        session_pump(s);
    if (s->stage == STAGE_READY && !s->running && !s->first)
        rest(s);
}

/* After a call has ended. */
void session_go_on(struct session *s)
{
    proceed(s);
    if (session_is_idle(s) && s->config.idle)
        s->config.idle(s->config.idle_user);
}
