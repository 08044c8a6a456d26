#include "base/clean-text.h"
#include "session/session-parts.h"

#define MAX_TEXT  (SIZE_MAX / 4)
#define MAX_NOTES ((size_t)64 << 20)

static void on_nothing(void *user UNUSED, const struct store_answer *answer UNUSED)
{
}

/* Let go of a record that did not change; nobody waits for that. */
static void let_go(struct session *s)
{
    s->shared.state = SHARED_FREE;
    store_let_go(
            s->config.store, s->config.id, 0, (struct str){ NULL, 0 }, on_nothing, NULL);
}

void session_shared_free(struct session *s)
{
    if (!s->config.store)
        return;
    /* While its worker saves, the record is held, too. */
    bool held = s->shared.state == SHARED_HELD ||
                (s->shared.state == SHARED_SETTLING && !s->shared.job);
    if (s->shared.job)
        store_cancel(TAKE(s->shared.job));
    if (held)
        let_go(s);
    s->shared.state = SHARED_FREE;
    free(TAKE(s->shared.load));
    buf_finish(&s->shared.text);
    buf_finish(&s->shared.notes);
}

/* The call was not run, since the record cannot be had. */
static void refuse_first(struct session *s, const struct store_answer *answer)
{
    auto_buf text = BUF(1024);
    if (answer->end == STORE_BUSY)
        buf_add(&text,
                STR("paddock: another server has been running calls of this session "
                    "for all the time; nothing was done; try again later"));
    else if (answer->end == STORE_NOT_FOUND)
        buf_add(&text, STR("paddock: this session is there no more: it was ended, or not "
                           "used for too long; nothing was done"));
    else
        buf_addf(&text,
                "paddock: the store of sessions cannot be reached: %s; nothing was done; "
                "try again later",
                answer->error);
    session_answer(s, session_take_first(s), true, buf_str(&text), STR(""));
    session_go_on(s);
}

/* The worker is ready, and has run nothing since it was loaded. */
static void on_held(void *user, const struct store_answer *answer)
{
    struct session *s = user;
    struct shared *shared = &s->shared;
    shared->job = NULL;
    shared->state = answer->end == STORE_DONE ? SHARED_HELD : SHARED_FREE;
    shared->coming = answer->version;
    if (answer->end != STORE_DONE)
        refuse_first(s, answer);
    else if (answer->version == shared->version)
        session_pump(s);
    else if (!shared->version && answer->state.len)
        session_load(s, answer->state);
    else {
        shared->load = answer->state.len ? str_copy(answer->state) : NULL;
        shared->load_len = answer->state.len;
        session_new_worker(s);
    }
}

bool session_shared_begin(struct session *s)
{
    struct shared *shared = &s->shared;
    unsigned hold_ms = s->config.timeout_ms + SESSION_HOLD_MS;
    if (shared->state != SHARED_FREE)
        return shared->state == SHARED_HELD;
    uv_timer_stop(&s->timer);
    session_keep_place(s);
    shared->state = SHARED_ASKED;
    shared->job = store_hold(
            s->config.store, s->config.id, shared->version, hold_ms, hold_ms, on_held, s);
    return false;
}

void session_shared_keep(
        struct session *s, bool is_error, struct str text, struct str notes)
{
    struct shared *shared = &s->shared;
    shared->state = SHARED_SETTLING;
    shared->is_error = is_error;
    shared->text = BUF(MAX_TEXT);
    shared->notes = BUF(MAX_NOTES);
    buf_add(&shared->text, text);
    buf_add(&shared->notes, notes);
}

/* The answer that has waited; `lost`: why the state could not be kept, or "". */
static void answer_running(struct session *s, struct str lost)
{
    struct shared *shared = &s->shared;
    auto_buf text = shared->text;
    auto_buf notes = shared->notes;
    shared->text = shared->notes = BUF(0);
    if (lost.len) {
        if (text.len && text.data[text.len - 1] != '\n')
            buf_addc(&text, '\n');
        buf_add(&text, STR("[paddock: this shell's state was not kept: "));
        clean_text(str_sub(lost, 0, 300), false, &text);
        buf_add(&text, STR("; the next call finds the shell as it was before this one]"));
    }
    session_answer(
            s, TAKE(s->running), shared->is_error, buf_str(&text), buf_str(&notes));
}

/* The worker has another state than the store. */
static void give_up_state(struct session *s, struct str why)
{
    session_end_worker(s);
    answer_running(s, why);
    session_go_on(s);
}

static void on_settled(void *user, const struct store_answer *answer)
{
    struct session *s = user;
    s->shared.job = NULL;
    s->shared.state = SHARED_FREE;
    if (answer->end == STORE_FAILED) {
        auto_buf why = BUF(512);
        buf_addf(&why, "the store of sessions cannot be reached: %s", answer->error);
        give_up_state(s, buf_str(&why));
    } else if (answer->end != STORE_DONE) {
        give_up_state(s, STR("the session was ended, or held for too long"));
    } else {
        s->shared.version++;
        answer_running(s, STR(""));
        session_go_on(s);
    }
}

void session_shared_saved(struct session *s, bool is_error, struct str text)
{
    if (is_error || text.len > SESSION_MAX_STATE) {
        auto_buf why = BUF(512);
        buf_add(&why, is_error ? str_sub(text, 0, 300) : STR("it is too long"));
        let_go(s);
        give_up_state(s, buf_str(&why));
        return;
    }
    s->shared.job = store_let_go(
            s->config.store, s->config.id, s->shared.version + 1, text, on_settled, s);
}

/* It was being loaded: so it would be again. */
static void refuse_restored(struct session *s, const char *why)
{
    auto_buf text = BUF(1024);
    buf_addf(&text,
            "paddock: the state of this shell could not be restored: %s; nothing was "
            "done",
            why);
    session_answer(s, session_take_first(s), true, buf_str(&text), STR(""));
}

/* Its worker is gone. */
void session_shared_lost(struct session *s, const char *why)
{
    bool settling = s->shared.state == SHARED_SETTLING;
    if (s->running && !settling) {
        auto_buf text = BUF(4096);
        buf_addf(&text,
                "paddock: the worker process of this shell ended during the call: %s. "
                "Files that it had written are as it left them. The next call finds the "
                "shell as it was before this one.",
                why);
        let_go(s);
        session_answer(s, TAKE(s->running), true, buf_str(&text), STR(""));
    } else if (settling && !s->shared.job) {
        let_go(s);
        answer_running(s, str_of(why));
    } else if (!settling) {
        bool held = s->shared.state == SHARED_HELD;
        session_shared_free(s);
        if (held && s->first)
            refuse_restored(s, why);
    }
}
