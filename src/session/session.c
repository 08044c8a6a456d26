#include "session/session-parts.h"

static void free_call(struct session *s, struct session_call *call)
{
    s->calls--;
    s->bytes -= call->args_len;
    free(call->tool);
    free(call->args);
    free(call);
}

void session_answer(struct session *s, struct session_call *call, bool is_error,
        struct str text, struct str notes)
{
    session_done_fn *done = call->done;
    void *user = call->user;
    free_call(s, call);
    if (!done)
        return;
    if (!s->note) {
        done(user, is_error, text, notes);
        return;
    }
    auto_buf noted = BUF(SIZE_MAX / 4);
    buf_add(&noted, str_of(TAKE(s->note)));
    buf_add(&noted, text);
    done(user, is_error, buf_str(&noted), notes);
}

struct session_call *session_take_first(struct session *s)
{
    struct session_call *call = s->first;
    s->first = call->next;
    if (!s->first)
        s->last = &s->first;
    return call;
}

void session_drop_state(struct session *s)
{
    if (!s->state)
        return;
    s->config.shells->states -= s->state_len;
    s->config.shells->asleep--;
    free(TAKE(s->state));
}

bool session_keep_state(struct session *s, struct str state)
{
    struct shells *shells = s->config.shells;
    if (state.len > SESSION_MAX_STATE || state.len > shells->max_states - shells->states)
        return false;
    s->state = str_copy(state);
    s->state_len = state.len;
    shells->states += state.len;
    shells->asleep++;
    s->used = false;
    return true;
}

struct session *session_create(const struct session_config *config)
{
    struct session *s = xcalloc(1, sizeof(*s));
    s->config = *config;
    if (config->store)
        s->config.id.data = str_copy(config->id);
    if (!s->config.problems_told)
        s->config.problems_told = &s->problems_told;
    s->last = &s->first;
    s->place = (struct place){
        .events = &session_place_events, .user = s, .owner = config->owner
    };
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
    if (!session_has_room(s))
        return error_set(err, ERR_LIMIT, "no worker is free: %s", session_no_place);
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
    session_pump(s);
    return true;
}

bool session_is_idle(const struct session *s)
{
    return !s->calls;
}

bool session_has_room(const struct session *s)
{
    const struct shells *shells = s->config.shells;
    return s->worker || !shells || places_has_room(shells->places, &s->place);
}

bool session_waits(const struct session *s)
{
    return s->place.state == PLACE_WAITING;
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
        if (session_waits(s) && !s->first)
            session_leave_place(s);
        else if (s->shared.state == SHARED_ASKED && !s->first)
            session_go_on(s);
        return;
    }
    call->done = NULL;
    if (s->shared.state == SHARED_SETTLING)
        return; /* it has ended */
    s->asks = 0;
    session_ask_to_stop(s);
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void session_destroy(struct session *s)
{
    if (!s)
        return;
    session_end_worker(s);
    session_shared_free(s);
    if (s->config.store)
        free((char *)(uintptr_t)s->config.id.data);
    if (s->running)
        free_call(s, s->running);
    while (s->first)
        free_call(s, session_take_first(s));
    session_drop_state(s);
    free(TAKE(s->trouble));
    uv_close((uv_handle_t *)&s->timer, on_timer_closed);
}
