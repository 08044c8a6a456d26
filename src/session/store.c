#include "session/store.h"

#include "base/log.h"
#include "session/redis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

#define PREFIX       "paddock:"
#define MAX_KEY      (sizeof(PREFIX "{}:hold") + STORE_MAX_ID)
#define MAX_MESSAGE  ((size_t)64 << 10) /* of Redis beside a state */
#define LEAST_PAUSE  2                  /* ms, between two tries to hold */
#define MOST_PAUSE   50
#define TOKEN_DIGITS 32

/*
 * Each script is one step: nobody else is served in between.  KEYS: the record, its hold,
 * all ids, those that are not used.  ARGV: how long a record lives unused, its id.
 */
#define IT_LIVES                                       \
    "local until_s = redis.call('TIME')[1] + ARGV[1] " \
    "redis.call('EXPIRE', KEYS[1], ARGV[1]) "          \
    "redis.call('ZADD', KEYS[3], until_s, ARGV[2]) "   \
    "redis.call('ZADD', KEYS[4], 'XX', until_s, ARGV[2]) "

/*
 * The record comes first: where Redis has no memory left it refuses that, but nothing
 * that comes after a removal.  Those whose time is over are forgotten next, then one that
 * nobody will miss.
 */
static const char script_add[] =
        "if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end "
        "redis.call('HSET', KEYS[1], 'revision', ARGV[3], 'version', '0') "
        "local over = '(' .. redis.call('TIME')[1] "
        "redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', over) "
        "redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', over) "
        "while redis.call('ZCARD', KEYS[3]) >= tonumber(ARGV[4]) do "
        "local one = redis.call('ZPOPMIN', KEYS[4])[1] "
        "if not one then redis.call('DEL', KEYS[1]) return -1 end "
        "redis.call('ZREM', KEYS[3], one) "
        "redis.call('DEL', '" PREFIX "{' .. one .. '}') end "
        "redis.call('ZADD', KEYS[4], 0, ARGV[2]) " IT_LIVES "return 1";

static const char script_touch[] =
        "local revision = redis.call('HGET', KEYS[1], 'revision') "
        "if revision then " IT_LIVES "end return revision";

/* What can fail comes first, so that no hold is left behind. */
static const char script_hold[] =
        "local version = redis.call('HGET', KEYS[1], 'version') "
        "if not version then return 'none' end "
        "if redis.call('HSTRLEN', KEYS[1], 'state') > tonumber(ARGV[6]) "
        "then return 'big' end "
        "if not redis.call('SET', KEYS[2], ARGV[3], 'NX', 'PX', ARGV[4]) "
        "then return 'busy' end "
        "redis.call('ZREM', KEYS[4], ARGV[2]) " IT_LIVES
        "if version == ARGV[5] then return {version, ''} end "
        "return {version, redis.call('HGET', KEYS[1], 'state') or ''}";

static const char script_let_go[] =
        "if redis.call('GET', KEYS[2]) ~= ARGV[3] then return 0 end "
        "redis.call('DEL', KEYS[2]) "
        "if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end "
        "if ARGV[4] then "
        "redis.call('HSET', KEYS[1], 'version', ARGV[4], 'state', ARGV[5]) end " IT_LIVES
        "return 1";

static const char script_remove[] =
        "redis.call('ZREM', KEYS[3], ARGV[2]) redis.call('ZREM', KEYS[4], ARGV[2]) "
        "return redis.call('DEL', KEYS[1], KEYS[2])";

/* A record that this process holds. */
struct hold {
    struct hold *next;
    char *id;
    char token[TOKEN_DIGITS + 1];
};

typedef void read_fn(
        struct store_job *job, const redisReply *reply, struct store_answer *out);

struct store_job {
    struct store_job *next, **at; /* of the store's */
    struct store *store;
    store_done_fn *done; /* NULL: cancelled */
    void *user;
    read_fn *read;
    bool sent;         /* a reply is to come */
    uint64_t due;      /* ms: when it is to be tried again or has failed; 0: neither */
    struct hold *hold; /* that is to be or to end; NULL: it is about none */
    /* Of one that is to hold: */
    uint64_t known, until;
    unsigned ms, pause;
};

struct store {
    struct redis *redis;
    uv_loop_t *loop;
    uv_timer_t timer; /* of the job that is due next */
    struct store_job *jobs;
    struct hold *holds;
    char idle[24], max_state[24], max_records[24];
    size_t most; /* bytes of a state */
    unsigned char secret[STORE_SECRET];
    bool open;        /* it was reached once */
    char reason[512]; /* why it was not; "": that is not known yet */
    void (*secret_changed)(void *user);
    void *user;
};

static void try_hold(struct store_job *job);

static void free_hold(struct hold *hold)
{
    if (hold)
        free(hold->id);
    free(hold);
}

static struct hold **find_hold(struct store *s, struct str id)
{
    struct hold **at = &s->holds;
    while (*at && !str_is(id, (*at)->id))
        at = &(*at)->next;
    return at;
}

static void free_job(struct store_job *job)
{
    *job->at = job->next;
    if (job->next)
        job->next->at = job->at;
    free_hold(job->hold);
    free(job);
}

static void end_job(struct store_job *job, const struct store_answer *answer)
{
    store_done_fn *done = job->done;
    void *user = job->user;
    free_job(job);
    if (done)
        done(user, answer);
}

static struct store_answer failed(const char *why)
{
    return (struct store_answer){ .end = STORE_FAILED, .error = why };
}

/* Jobs that fail before anything was sent do so from the loop, as all others. */
static void on_due(uv_timer_t *timer);

static void set_timer(struct store *s)
{
    uint64_t now = uv_now(s->loop), first = 0;
    for (const struct store_job *job = s->jobs; job; job = job->next)
        if (job->due && (!first || job->due < first))
            first = job->due;
    if (first)
        uv_timer_start(&s->timer, on_due, first > now ? first - now : 0, 0);
    else
        uv_timer_stop(&s->timer);
}

static void on_due(uv_timer_t *timer)
{
    static const char full[] = "too much waits for it already";
    struct store *s = timer->data;
    uint64_t now = uv_now(s->loop);
    struct store_job *job = s->jobs;
    while (job) {
        bool due = job->due && job->due <= now;
        job->due = due ? 0 : job->due;
        if (due && job->hold) {
            try_hold(job);
        } else if (due) {
            const struct store_answer answer = failed(full);
            end_job(job, &answer);
            job = s->jobs; /* others may be gone, too */
            continue;
        }
        job = job->next;
    }
    set_timer(s);
}

/* KEYS and ARGV of a script. */
struct script {
    const char *text;
    struct str id;
    struct str args[5]; /* behind those of all; .data NULL: no more */
};

static bool send_script(
        struct store *s, const struct script *script, redis_done_fn *done, void *user)
{
    char key[MAX_KEY], hold[MAX_KEY];
    snprintf(key, sizeof(key), PREFIX "{%.*s}", STR_ARG(script->id));
    snprintf(hold, sizeof(hold), PREFIX "{%.*s}:hold", STR_ARG(script->id));
    struct str words[9 + ARRAY_LEN(script->args)] = { STR("EVAL"), str_of(script->text),
        STR("4"), str_of(key), str_of(hold), STR(PREFIX "sessions"), STR(PREFIX "unused"),
        str_of(s->idle), script->id };
    size_t count = 9;
    for (size_t i = 0; i < ARRAY_LEN(script->args) && script->args[i].data; i++)
        words[count++] = script->args[i];
    return redis_send(s->redis, words, count, done, user);
}

static void on_let_go(
        void *user UNUSED, const redisReply *reply UNUSED, const char *problem UNUSED)
{
}

/* Let go of what nobody waits for.  Should that not get through, it expires. */
static void give_back(struct store *s, const struct hold *hold)
{
    const struct script script = {
        .text = script_let_go, .id = str_of(hold->id), .args = { str_of(hold->token) }
    };
    if (!send_script(s, &script, on_let_go, NULL))
        log_line(LOG_WARN, "a session stays held in the store until that expires");
}

static void on_reply(void *user, const redisReply *reply, const char *problem)
{
    struct store_job *job = user;
    job->sent = false;
    struct store_answer answer = failed(reply ? "the record is none of ours" : problem);
    if (reply)
        job->read(job, reply, &answer);
    else if (job->hold && job->done)
        give_back(job->store, job->hold); /* it may have been done after all */
    if (!job->due)
        end_job(job, &answer);
}

static void start(struct store_job *job, const struct script *script)
{
    job->sent = send_script(job->store, script, on_reply, job);
    if (job->sent)
        return;
    free_hold(TAKE(job->hold)); /* it is due to fail, not to be tried again */
    job->due = 1;
    set_timer(job->store);
}

static struct store_job *add_job(
        struct store *s, read_fn *read, store_done_fn *done, void *user)
{
    struct store_job *job = xcalloc(1, sizeof(*job));
    *job = (struct store_job){ .next = s->jobs,
        .at = &s->jobs,
        .store = s,
        .done = done,
        .user = user,
        .read = read };
    if (job->next)
        job->next->at = &job->next;
    s->jobs = job;
    return job;
}

static void read_number(
        struct store_job *job UNUSED, const redisReply *reply, struct store_answer *out)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        out->end = reply->integer > 0 ? STORE_DONE : STORE_NOT_FOUND;
}

static void read_added(
        struct store_job *job, const redisReply *reply, struct store_answer *out)
{
    read_number(job, reply, out);
    if (out->end != STORE_NOT_FOUND)
        return;
    out->end = STORE_FULL;
    if (!reply->integer)
        *out = failed("there is a record of this name already");
}

static void read_revision(
        struct store_job *job UNUSED, const redisReply *reply, struct store_answer *out)
{
    if (reply->type == REDIS_REPLY_NIL)
        out->end = STORE_NOT_FOUND;
    if (reply->type != REDIS_REPLY_STRING || reply->len > STORE_MAX_REVISION)
        return;
    out->end = STORE_DONE;
    out->revision = (struct str){ reply->str, reply->len };
}

struct store_job *store_add(struct store *s, struct str id, struct str revision,
        store_done_fn *done, void *user)
{
    assert(id.len <= STORE_MAX_ID && revision.len <= STORE_MAX_REVISION);
    struct store_job *job = add_job(s, read_added, done, user);
    start(job, &(struct script){ .text = script_add,
                       .id = id,
                       .args = { revision, str_of(s->max_records) } });
    return job;
}

struct store_job *store_touch(
        struct store *s, struct str id, store_done_fn *done, void *user)
{
    struct store_job *job = add_job(s, read_revision, done, user);
    if (id.len > STORE_MAX_ID)
        id.len = 0; /* there is none of that name */
    start(job, &(struct script){ .text = script_touch, .id = id });
    return job;
}

struct store_job *store_remove(
        struct store *s, struct str id, store_done_fn *done, void *user)
{
    assert(id.len <= STORE_MAX_ID);
    struct store_job *job = add_job(s, read_number, done, user);
    start(job, &(struct script){ .text = script_remove, .id = id });
    return job;
}

/* Not yet: again in a while, which grows; or it is enough. */
static void wait_for_hold(struct store_job *job, struct store_answer *out)
{
    uint64_t now = uv_now(job->store->loop);
    out->end = STORE_BUSY;
    if (now >= job->until || !job->done)
        return;
    job->due = now + job->pause < job->until ? now + job->pause : job->until;
    job->pause = job->pause * 2 < MOST_PAUSE ? job->pause * 2 : MOST_PAUSE;
    set_timer(job->store);
}

static bool read_record(
        struct store_job *job, const redisReply *reply, struct store_answer *out)
{
    int64_t version;
    const redisReply *first = reply->elements == 2 ? reply->element[0] : NULL;
    const redisReply *second = first ? reply->element[1] : NULL;
    if (!first || first->type != REDIS_REPLY_STRING ||
            second->type != REDIS_REPLY_STRING || second->len > job->store->most ||
            !str_int((struct str){ first->str, first->len }, &version) || version < 0)
        return false;
    *out = (struct store_answer){ .version = (uint64_t)version };
    out->state = (struct str){ second->str, second->len };
    if (out->version == job->known)
        out->state.len = 0;
    return true;
}

static void read_held(
        struct store_job *job, const redisReply *reply, struct store_answer *out)
{
    struct store *s = job->store;
    struct str word = { reply->str, reply->len };
    if (reply->type == REDIS_REPLY_ARRAY) {
        bool fine = read_record(job, reply, out);
        if (fine && job->done) {
            job->hold->next = s->holds;
            s->holds = TAKE(job->hold);
        } else if (job->done) {
            give_back(s, job->hold);
        }
    } else if (reply->type == REDIS_REPLY_STRING) {
        if (str_is(word, "none"))
            out->end = STORE_NOT_FOUND;
        else if (str_is(word, "busy"))
            wait_for_hold(job, out);
        else if (str_is(word, "big"))
            *out = failed("the state there is longer than one can be");
    }
}

static void try_hold(struct store_job *job)
{
    char ms[STR_INT_MAX], known[STR_INT_MAX];
    start(job, &(struct script){ .text = script_hold,
                       .id = str_of(job->hold->id),
                       .args = { str_of(job->hold->token), str_of_int(job->ms, ms),
                               str_of_int((int64_t)job->known, known),
                               str_of(job->store->max_state) } });
}

/* Of no use to anybody who cannot read it in the store. */
static bool make_token(char token[TOKEN_DIGITS + 1])
{
    unsigned char bytes[TOKEN_DIGITS / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return false;
    auto_buf text = BUF(TOKEN_DIGITS + 1);
    buf_add_hex(&text, bytes, sizeof(bytes));
    memcpy(token, text.data, TOKEN_DIGITS + 1);
    return true;
}

struct store_job *store_hold(struct store *s, struct str id, uint64_t known, unsigned ms,
        unsigned wait_ms, store_done_fn *done, void *user)
{
    assert(id.len <= STORE_MAX_ID && !*find_hold(s, id));
    struct store_job *job = add_job(s, read_held, done, user);
    job->hold = xcalloc(1, sizeof(*job->hold));
    job->hold->id = str_copy(id);
    job->known = known;
    job->ms = ms;
    job->pause = LEAST_PAUSE;
    job->until = uv_now(s->loop) + wait_ms;
    if (make_token(job->hold->token)) {
        try_hold(job);
    } else {
        free_hold(TAKE(job->hold));
        job->due = 1;
        set_timer(s);
    }
    return job;
}

struct store_job *store_let_go(struct store *s, struct str id, uint64_t version,
        struct str state, store_done_fn *done, void *user)
{
    struct hold **at = find_hold(s, id);
    struct hold *hold = *at;
    char number[STR_INT_MAX];
    assert(hold && state.len <= s->most);
    *at = hold->next;
    struct script script = {
        .text = script_let_go, .id = id, .args = { str_of(hold->token) }
    };
    if (state.data) {
        script.args[1] = str_of_int((int64_t)version, number);
        script.args[2] = state;
    }
    struct store_job *job = add_job(s, read_number, done, user);
    job->hold = hold;
    start(job, &script);
    return job;
}

void store_cancel(struct store_job *job)
{
    job->done = NULL;
    /* This comes to Redis behind the attempt. */
    if (job->sent && job->hold)
        give_back(job->store, job->hold);
    if (!job->sent)
        free_job(job);
}

static void on_secret(void *user, const redisReply *reply, const char *problem)
{
    struct store *s = user;
    if (!reply) {
        snprintf(s->reason, sizeof(s->reason), "%s", problem);
        return;
    }
    if (reply->type != REDIS_REPLY_STRING || reply->len != STORE_SECRET) {
        snprintf(s->reason, sizeof(s->reason), "'" PREFIX "key' there is none of ours");
        return;
    }
    bool changed = memcmp(s->secret, reply->str, STORE_SECRET);
    memcpy(s->secret, reply->str, STORE_SECRET);
    if (s->open && changed && s->secret_changed)
        s->secret_changed(s->user);
    s->open = true;
}

static void on_secret_set(
        void *user UNUSED, const redisReply *reply UNUSED, const char *problem UNUSED)
{
}

/* With each connection, since a Redis that was restarted may have lost it. */
static void on_connected(void *user)
{
    struct store *s = user;
    const struct str set[] = { STR("SET"), STR(PREFIX "key"),
        { (const char *)s->secret, STORE_SECRET }, STR("NX") };
    const struct str get[] = { STR("GET"), STR(PREFIX "key") };
    if (!redis_send(s->redis, set, ARRAY_LEN(set), on_secret_set, s) ||
            !redis_send(s->redis, get, ARRAY_LEN(get), on_secret, s))
        log_line(LOG_WARN, "the secret of the store could not be asked for");
}

static void on_reached(void *user, const redisReply *reply, const char *problem)
{
    struct store *s = user;
    if (!reply)
        snprintf(s->reason, sizeof(s->reason), "%s", problem);
    else if (!s->open && !s->reason[0])
        snprintf(s->reason, sizeof(s->reason), "it gives no secret");
}

static bool reach(struct store *s, const char *url, struct error *err)
{
    const struct str ping[] = { STR("PING") };
    if (!redis_send(s->redis, ping, 1, on_reached, s))
        return error_set(err, ERR_BUG, "nothing can be sent to the store");
    while (!s->open && !s->reason[0])
        uv_run(s->loop, UV_RUN_ONCE);
    return s->open ||
           error_set(err, ERR_IO, "the store '%.200s': %.200s", url, s->reason);
}

static bool prepare(
        const struct store_config *config, struct redis_config *out, struct error *err)
{
    if (!store_url_parse(str_of(config->url), &out->address, err) ||
            !redis_library_load(&out->library, err))
        return false;
    if (!out->address.user[0] || config->password)
        return true;
    error_set(err, ERR_INVALID, "the URL names a user, but there is no password");
    return error_hint(err, "Give --state-password-file FILE.");
}

bool store_open(const struct store_config *config, struct store **out, struct error *err)
{
    struct redis_config redis = { .loop = config->loop,
        .password = config->password,
        .max_reply = config->max_state + MAX_MESSAGE,
        .answer_ms = STORE_ANSWER_MS,
        .connected = on_connected };
    if (!prepare(config, &redis, err))
        return false;
    struct store *s = xcalloc(1, sizeof(*s));
    if (getrandom(s->secret, STORE_SECRET, 0) != STORE_SECRET) {
        free(s);
        return error_errno(err, errno, "cannot make a secret");
    }
    s->loop = config->loop;
    s->most = config->max_state;
    s->secret_changed = config->secret_changed;
    s->user = config->user;
    snprintf(s->idle, sizeof(s->idle), "%u", config->idle_s);
    snprintf(s->max_state, sizeof(s->max_state), "%zu", config->max_state);
    snprintf(s->max_records, sizeof(s->max_records), "%u", config->max_records);
    redis.user = s;
    s->redis = redis_create(&redis);
    uv_timer_init(s->loop, &s->timer);
    s->timer.data = s;
    if (!reach(s, config->url, err)) {
        store_close(s);
        return false;
    }
    *out = s;
    return true;
}

const unsigned char *store_secret(const struct store *s)
{
    return s->secret;
}

static void on_timer_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void store_close(struct store *s)
{
    if (!s)
        return;
    redis_destroy(s->redis);
    while (s->jobs)
        free_job(s->jobs);
    while (s->holds) {
        struct hold *hold = s->holds;
        s->holds = hold->next;
        free_hold(hold);
    }
    uv_close((uv_handle_t *)&s->timer, on_timer_closed);
}
