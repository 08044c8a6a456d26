/*
 * The store in front of a real redis-server, which each test starts in a folder of its
 * own; and the connection in front of servers that answer as none would.
 */
#include "session/redis.h"
#include "session/store.h"

#include "scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SERVER    "/usr/bin/redis-server"
#define MAX_STATE ((size_t)64 << 10)
#define IDLE_S    60

#define MAX_RECORDS 4

struct world {
    char folder[40], url[64], address[44];
    uv_loop_t loop;
    pid_t server;
    struct store *one, *two;
    struct redis *raw;
    size_t changes; /* of the secret */
};

/* What a job has answered. */
struct heard {
    size_t count;
    struct store_answer last;
    char revision[65], error[300];
    struct buf state;
};

static void on_heard(void *user, const struct store_answer *answer)
{
    struct heard *h = user;
    h->count++;
    h->last = *answer;
    snprintf(h->revision, sizeof(h->revision), "%.*s", STR_ARG(answer->revision));
    snprintf(h->error, sizeof(h->error), "%s", answer->error ? answer->error : "");
    buf_finish(&h->state);
    h->state = BUF((size_t)1 << 20);
    buf_add(&h->state, answer->state);
}

static void wait_for(struct world *w, struct heard *h, size_t count)
{
    while (h->count < count)
        assert_true(uv_run(&w->loop, UV_RUN_ONCE) || h->count >= count);
}

static enum store_end hear(struct world *w, struct heard *h)
{
    wait_for(w, h, 1);
    assert_int_equal(h->count, 1);
    h->count = 0;
    return h->last.end;
}

/* A Redis has its socket file before it listens on it. */
static bool listens(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool yes = !connect(fd, (const struct sockaddr *)&address, sizeof(address));
    close(fd);
    return yes;
}

/* It ends with this process, and holds nothing of it, also when a test fails. */
static void start_server(struct world *w, const char *password)
{
    char path[60];
    snprintf(path, sizeof(path), "%s/s", w->folder);
    const char *const argv[] = { SERVER, "--port", "0", "--unixsocket", path, "--save",
        "", "--appendonly", "no", "--dir", w->folder, "--logfile", "log",
        password ? "--requirepass" : "--loglevel", password ? password : "warning",
        NULL };
    w->server = fork();
    if (!w->server) {
        int nothing = open("/dev/null", O_RDWR);
        dup2(nothing, 1);
        dup2(nothing, 2);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        execv(SERVER, (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    assert_true(w->server > 0);
    while (!listens(path)) {
        assert_int_equal(waitpid(w->server, NULL, WNOHANG), 0);
        usleep(2000);
    }
}

static void stop_server(struct world *w)
{
    char path[60];
    snprintf(path, sizeof(path), "%s/s", w->folder);
    kill(w->server, SIGKILL);
    waitpid(w->server, NULL, 0);
    w->server = 0;
    unlink(path);
}

static void on_changed(void *user)
{
    struct world *w = user;
    w->changes++;
}

static bool open_store(struct world *w, const char *url, const char *password,
        struct store **out, struct error *err)
{
    const struct store_config config = { .loop = &w->loop,
        .url = url,
        .password = password,
        .idle_s = IDLE_S,
        .max_state = MAX_STATE,
        .max_records = MAX_RECORDS,
        .secret_changed = on_changed,
        .user = w };
    return store_open(&config, out, err);
}

static void open_world(struct world *w)
{
    struct error err;
    *w = (struct world){ .folder = "/tmp/paddock-store-XXXXXX" };
    scratch_make(w->folder);
    uv_loop_init(&w->loop);
    snprintf(w->url, sizeof(w->url), "redis+unix://%s/s", w->folder);
    start_server(w, NULL);
    if (!open_store(w, w->url, NULL, &w->one, &err) ||
            !open_store(w, w->url, NULL, &w->two, &err))
        fail_msg("%s", err.message);
    struct redis_config raw = {
        .loop = &w->loop, .max_reply = (size_t)1 << 20, .answer_ms = 10000
    };
    assert_true(store_url_parse(str_of(w->url), &raw.address, &err));
    assert_true(redis_library_load(&raw.library, &err));
    w->raw = redis_create(&raw);
}

static void close_world(struct world *w)
{
    store_close(w->one);
    store_close(w->two);
    redis_destroy(w->raw);
    uv_run(&w->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w->loop), 0);
    if (w->server)
        stop_server(w);
    scratch_remove(w->folder);
}

/* A command as it is, and its answer: a number, or a text. */
struct answer {
    bool there;
    long long number;
    char text[200];
};

static void on_answer(void *user, const redisReply *reply, const char *problem)
{
    struct answer *a = user;
    a->there = true;
    if (reply) {
        a->number = reply->integer;
        snprintf(a->text, sizeof(a->text), "%.*s", (int)reply->len,
                reply->str ? reply->str : "");
    } else {
        snprintf(a->text, sizeof(a->text), "problem: %s", problem);
    }
}

static struct answer command(struct world *w, const char *text)
{
    struct answer a = { .there = false };
    struct str rest = str_of(text), words[8];
    size_t count = 0;
    while (rest.len)
        words[count++] = str_cut(&rest, ' ');
    assert_true(redis_send(w->raw, words, count, on_answer, &a));
    while (!a.there)
        uv_run(&w->loop, UV_RUN_ONCE);
    return a;
}

static enum store_end hold(
        struct world *w, struct store *s, const char *id, uint64_t known, struct heard *h)
{
    store_hold(s, str_of(id), known, 30000, 0, on_heard, h);
    return hear(w, h);
}

static enum store_end let_go(struct world *w, struct store *s, const char *id,
        uint64_t version, const char *state, struct heard *h)
{
    store_let_go(s, str_of(id), version, state ? str_of(state) : (struct str){ NULL, 0 },
            on_heard, h);
    return hear(w, h);
}

static void add(struct world *w, const char *id)
{
    struct heard h = { .count = 0 };
    store_add(w->one, str_of(id), STR("2025-06-18"), on_heard, &h);
    assert_int_equal(hear(w, &h), STORE_DONE);
    buf_finish(&h.state);
}

static void test_record(void **state UNUSED)
{
    struct world w;
    struct heard h = { .count = 0 };
    open_world(&w);
    store_touch(w.two, STR("a"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_NOT_FOUND);
    assert_int_equal(hold(&w, w.two, "a", 0, &h), STORE_NOT_FOUND);
    add(&w, "a");
    store_add(w.two, STR("a"), STR("other"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_FAILED);
    store_touch(w.two, STR("a"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_DONE);
    assert_string_equal(h.revision, "2025-06-18");

    assert_int_equal(hold(&w, w.one, "a", 0, &h), STORE_DONE);
    assert_int_equal(h.last.version, 0);
    assert_int_equal(h.state.len, 0);
    assert_int_equal(let_go(&w, w.one, "a", 1, "state 1", &h), STORE_DONE);
    assert_int_equal(hold(&w, w.two, "a", 0, &h), STORE_DONE);
    assert_int_equal(h.last.version, 1);
    assert_string_equal(h.state.data, "state 1");
    assert_int_equal(let_go(&w, w.two, "a", 0, NULL, &h), STORE_DONE); /* as it was */
    assert_int_equal(hold(&w, w.one, "a", 1, &h), STORE_DONE);
    assert_int_equal(h.last.version, 1);
    assert_int_equal(h.state.len, 0); /* it is known */
    assert_int_equal(let_go(&w, w.one, "a", 2, "", &h), STORE_DONE);
    assert_int_equal(hold(&w, w.two, "a", 1, &h), STORE_DONE);
    assert_int_equal(h.last.version, 2);

    store_remove(w.one, STR("a"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_DONE);
    store_remove(w.one, STR("a"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_NOT_FOUND);
    assert_int_equal(let_go(&w, w.two, "a", 3, "late", &h), STORE_NOT_FOUND);
    assert_int_equal(command(&w, "EXISTS paddock:{a} paddock:{a}:hold").number, 0);
    buf_finish(&h.state);
    close_world(&w);
}

static enum store_end try_add(struct world *w, struct store *s, const char *id)
{
    struct heard h = { .count = 0 };
    store_add(s, str_of(id), STR("2025-06-18"), on_heard, &h);
    enum store_end end = hear(w, &h);
    buf_finish(&h.state);
    return end;
}

static bool is_there(struct world *w, const char *id)
{
    struct heard h = { .count = 0 };
    store_touch(w->two, str_of(id), on_heard, &h);
    enum store_end end = hear(w, &h);
    buf_finish(&h.state);
    return end == STORE_DONE;
}

static void use(struct world *w, const char *id)
{
    struct heard h = { .count = 0 };
    assert_int_equal(hold(w, w->two, id, 0, &h), STORE_DONE);
    assert_int_equal(let_go(w, w->two, id, 1, "used", &h), STORE_DONE);
    buf_finish(&h.state);
}

/* One more displaces the oldest that nobody has used; of those that are used none. */
static void test_full(void **state UNUSED)
{
    static const char *const ids[MAX_RECORDS] = { "a", "b", "c", "d" };
    struct world w;
    struct heard h = { .count = 0 };
    open_world(&w);
    for (size_t i = 0; i < MAX_RECORDS; i++)
        add(&w, ids[i]);
    use(&w, "a");
    char oldest[60];
    snprintf(oldest, sizeof(oldest), "ZADD paddock:unused %lld c",
            (long long)time(NULL) + IDLE_S / 2);
    command(&w, oldest);
    assert_int_equal(try_add(&w, w.two, "e"), STORE_DONE);
    assert_false(is_there(&w, "c"));
    assert_true(is_there(&w, "a") && is_there(&w, "b") && is_there(&w, "d"));
    use(&w, "b");
    use(&w, "d");
    assert_int_equal(
            hold(&w, w.one, "e", 0, &h), STORE_DONE); /* used, though not saved */
    assert_int_equal(try_add(&w, w.two, "f"), STORE_FULL);
    assert_int_equal(command(&w, "EXISTS paddock:{f}").number, 0);
    assert_int_equal(command(&w, "ZCARD paddock:sessions").number, MAX_RECORDS);
    assert_int_equal(command(&w, "ZCARD paddock:unused").number, 0);
    assert_int_equal(let_go(&w, w.one, "e", 0, NULL, &h), STORE_DONE);

    store_remove(w.one, STR("a"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_DONE);
    assert_int_equal(try_add(&w, w.one, "f"), STORE_DONE);
    use(&w, "f");
    command(&w, "DEL paddock:{b}"); /* as when its time is over, of which the set says: */
    command(&w, "ZADD paddock:sessions 1 b");
    assert_int_equal(try_add(&w, w.one, "g"), STORE_DONE);
    assert_int_equal(command(&w, "ZCARD paddock:sessions").number, MAX_RECORDS);
    static const char *const left[] = { "d", "e", "f", "g" };
    for (size_t i = 0; i < ARRAY_LEN(left); i++) {
        assert_true(is_there(&w, left[i]));
        store_remove(w.two, str_of(left[i]), on_heard, &h);
        assert_int_equal(hear(&w, &h), STORE_DONE);
    }
    assert_int_equal(command(&w, "EXISTS paddock:sessions paddock:unused").number, 0);
    buf_finish(&h.state);
    close_world(&w);
}

/* Whose memory is full takes no new record and begins no call; what runs is still saved.
 */
static void test_no_memory(void **state UNUSED)
{
    struct world w;
    struct heard h = { .count = 0 };
    open_world(&w);
    add(&w, "a");
    add(&w, "b");
    assert_int_equal(hold(&w, w.one, "b", 0, &h), STORE_DONE);
    command(&w, "CONFIG SET maxmemory 1");
    assert_int_equal(try_add(&w, w.two, "c"), STORE_FAILED);
    assert_int_equal(hold(&w, w.two, "a", 0, &h), STORE_FAILED);
    assert_int_equal(let_go(&w, w.one, "b", 1, "kept", &h), STORE_DONE);
    assert_int_equal(command(&w, "EXISTS paddock:{c}").number, 0);
    assert_int_equal(command(&w, "EXISTS paddock:{a}:hold").number, 0);
    assert_int_equal(command(&w, "ZCARD paddock:sessions").number, 2);
    command(&w, "CONFIG SET maxmemory 0");
    assert_int_equal(try_add(&w, w.two, "c"), STORE_DONE);
    assert_int_equal(hold(&w, w.two, "b", 0, &h), STORE_DONE);
    assert_true(str_is(buf_str(&h.state), "kept"));
    buf_finish(&h.state);
    close_world(&w);
}

/* Of two that want one record, each gets it after the other; who waits too long is told.
 */
static void test_contention(void **state UNUSED)
{
    struct world w;
    struct heard a = { .count = 0 }, b = { .count = 0 };
    open_world(&w);
    add(&w, "x");
    assert_int_equal(hold(&w, w.one, "x", 0, &a), STORE_DONE);
    assert_int_equal(hold(&w, w.two, "x", 0, &b), STORE_BUSY);
    uint64_t began = uv_hrtime();
    store_hold(w.two, STR("x"), 0, 30000, 120, on_heard, &b);
    assert_int_equal(hear(&w, &b), STORE_BUSY);
    assert_true(uv_hrtime() - began >= 100 * 1000000ull);

    store_hold(w.two, STR("x"), 0, 30000, 60000, on_heard, &b);
    for (int i = 0; i < 20; i++)
        uv_run(&w.loop, UV_RUN_ONCE);
    assert_int_equal(b.count, 0);
    assert_int_equal(let_go(&w, w.one, "x", 1, "from one", &a), STORE_DONE);
    assert_int_equal(hear(&w, &b), STORE_DONE);
    assert_string_equal(b.state.data, "from one");
    assert_int_equal(let_go(&w, w.two, "x", 2, "from two", &b), STORE_DONE);
    buf_finish(&a.state);
    buf_finish(&b.state);
    close_world(&w);
}

/* One store adds one to a number, again and again, while another does the same. */
struct adder {
    struct store *store;
    unsigned left;
    uint64_t known;
};

static void on_added(void *user, const struct store_answer *answer);

static void on_got(void *user, const struct store_answer *answer)
{
    struct adder *a = user;
    char text[STR_INT_MAX];
    int64_t n = 0;
    assert_int_equal(answer->end, STORE_DONE);
    assert_true(!answer->state.len || str_int(answer->state, &n));
    a->known = answer->version + 1;
    store_let_go(a->store, STR("n"), a->known, str_of_int(n + 1, text), on_added, a);
}

static void on_added(void *user, const struct store_answer *answer)
{
    struct adder *a = user;
    assert_int_equal(answer->end, STORE_DONE);
    if (--a->left)
        store_hold(a->store, STR("n"), UINT64_MAX >> 1, 30000, 60000, on_got, a);
}

static void test_counting(void **state UNUSED)
{
    struct world w;
    struct heard h = { .count = 0 };
    open_world(&w);
    add(&w, "n");
    struct adder one = { .store = w.one, .left = 50 };
    struct adder two = { .store = w.two, .left = 50 };
    store_hold(w.one, STR("n"), UINT64_MAX >> 1, 30000, 60000, on_got, &one);
    store_hold(w.two, STR("n"), UINT64_MAX >> 1, 30000, 60000, on_got, &two);
    while (one.left || two.left)
        uv_run(&w.loop, UV_RUN_ONCE);
    assert_int_equal(hold(&w, w.one, "n", 0, &h), STORE_DONE);
    assert_string_equal(h.state.data, "100");
    assert_int_equal(h.last.version, 100);
    buf_finish(&h.state);
    close_world(&w);
}

/* Who held it for too long writes nothing. */
static void test_late_writer(void **state UNUSED)
{
    struct world w;
    struct heard a = { .count = 0 }, b = { .count = 0 };
    open_world(&w);
    add(&w, "x");
    store_hold(w.one, STR("x"), 0, 20, 0, on_heard, &a);
    assert_int_equal(hear(&w, &a), STORE_DONE);
    store_hold(w.two, STR("x"), 0, 30000, 10000, on_heard, &b);
    assert_int_equal(hear(&w, &b), STORE_DONE);
    assert_int_equal(let_go(&w, w.one, "x", 7, "late", &a), STORE_NOT_FOUND);
    assert_int_equal(command(&w, "EXISTS paddock:{x}:hold").number, 1); /* two's, still */
    assert_int_equal(let_go(&w, w.two, "x", 1, "fine", &b), STORE_DONE);
    assert_int_equal(hold(&w, w.one, "x", 0, &a), STORE_DONE);
    assert_int_equal(a.last.version, 1);
    assert_string_equal(a.state.data, "fine");
    buf_finish(&a.state);
    buf_finish(&b.state);
    close_world(&w);
}

/* Each use lets it live on for the idle time, and no longer. */
static void test_expiry(void **state UNUSED)
{
    struct world w;
    struct heard h = { .count = 0 };
    open_world(&w);
    add(&w, "x");
    assert_in_range(command(&w, "TTL paddock:{x}").number, IDLE_S - 5, IDLE_S);
    command(&w, "PEXPIRE paddock:{x} 5000");
    store_touch(w.one, STR("x"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_DONE);
    assert_in_range(command(&w, "TTL paddock:{x}").number, IDLE_S - 5, IDLE_S);
    command(&w, "PEXPIRE paddock:{x} 5000");
    assert_int_equal(hold(&w, w.one, "x", 0, &h), STORE_DONE);
    assert_in_range(command(&w, "TTL paddock:{x}").number, IDLE_S - 5, IDLE_S);
    assert_in_range(command(&w, "PTTL paddock:{x}:hold").number, 20000, 30000);
    command(&w, "PEXPIRE paddock:{x} 5000");
    assert_int_equal(let_go(&w, w.one, "x", 1, "s", &h), STORE_DONE);
    assert_in_range(command(&w, "TTL paddock:{x}").number, IDLE_S - 5, IDLE_S);
    command(&w, "PEXPIRE paddock:{x} 1");
    usleep(5000);
    store_touch(w.one, STR("x"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_NOT_FOUND);
    assert_int_equal(command(&w, "EXISTS paddock:{x}").number, 0);
    buf_finish(&h.state);
    close_world(&w);
}

/* What is in the record is not what we have put there. */
static void test_garbage(void **state UNUSED)
{
    static const struct {
        const char *commands[2], *want;
    } cases[] = {
        { { "SET paddock:{x} text" }, "WRONGTYPE" },
        { { "LPUSH paddock:{x} a b" }, "WRONGTYPE" },
        { { "HSET paddock:{x} revision r version one" }, "none of ours" },
        { { "HSET paddock:{x} revision r version -1" }, "none of ours" },
        { { "HSET paddock:{x} revision r version 1", "SETRANGE big 65536 x" }, "longer" },
    };
    struct world w;
    struct heard h = { .count = 0 };
    open_world(&w);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        command(&w, "DEL paddock:{x}");
        for (size_t k = 0; k < 2 && cases[i].commands[k]; k++)
            command(&w, cases[i].commands[k]);
        if (cases[i].commands[1]) {
            const struct str eval[] = { STR("EVAL"),
                STR("return redis.call('HSET','paddock:{x}','state',"
                    "redis.call('GET','big'))"),
                STR("0") };
            struct answer a = { .there = false };
            assert_true(redis_send(w.raw, eval, 3, on_answer, &a));
            while (!a.there)
                uv_run(&w.loop, UV_RUN_ONCE);
        }
        assert_int_equal(hold(&w, w.one, "x", 0, &h), STORE_FAILED);
        if (!strstr(h.error, cases[i].want))
            fail_msg("'%s' is not in '%s'", cases[i].want, h.error);
        /* Nobody is kept from it. */
        assert_int_equal(command(&w, "EXISTS paddock:{x}:hold").number, 0);
    }
    command(&w, "DEL paddock:{x}");
    command(&w, "HSET paddock:{x} version 1");
    store_touch(w.one, STR("x"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_NOT_FOUND);
    store_touch(w.one, STR("key"), on_heard, &h); /* there is 'paddock:key' */
    assert_int_equal(hear(&w, &h), STORE_NOT_FOUND);
    buf_finish(&h.state);
    close_world(&w);
}

/* What runs when Redis dies fails; what comes when it is back works. */
static void test_restart(void **state UNUSED)
{
    struct world w;
    struct heard h = { .count = 0 }, many = { .count = 0 };
    unsigned char secret[STORE_SECRET];
    open_world(&w);
    add(&w, "x");
    memcpy(secret, store_secret(w.one), sizeof(secret));
    assert_int_equal(hold(&w, w.one, "x", 0, &h), STORE_DONE);
    kill(w.server, SIGSTOP);
    store_let_go(w.one, STR("x"), 1, STR("state"), on_heard, &h);
    for (int i = 0; i < 100; i++)
        store_touch(w.two, STR("x"), on_heard, &many);
    uv_run(&w.loop, UV_RUN_NOWAIT);
    stop_server(&w);
    assert_int_equal(hear(&w, &h), STORE_FAILED);
    wait_for(&w, &many, 100);
    assert_int_equal(many.last.end, STORE_FAILED);

    store_touch(w.one, STR("x"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_FAILED);
    assert_non_null(strstr(h.error, "cannot connect"));
    start_server(&w, NULL);
    store_touch(w.one, STR("x"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_NOT_FOUND); /* it has forgotten */
    add(&w, "x");
    store_touch(w.two, STR("x"), on_heard, &h);
    assert_int_equal(hear(&w, &h), STORE_DONE);
    /* The secret was kept by those who knew it. */
    assert_memory_equal(store_secret(w.one), secret, sizeof(secret));
    assert_memory_equal(store_secret(w.two), secret, sizeof(secret));
    assert_int_equal(w.changes, 0);
    assert_int_equal(many.count, 100);
    buf_finish(&h.state);
    buf_finish(&many.state);
    close_world(&w);
}

/* Who comes first after a restart decides on the secret; others are told. */
static void test_new_secret(void **state UNUSED)
{
    struct world w;
    struct heard h = { .count = 0 };
    open_world(&w);
    assert_memory_equal(store_secret(w.one), store_secret(w.two), STORE_SECRET);
    command(&w, "SET paddock:key 0123456789abcdef0123456789abcdef");
    command(&w, "CLIENT KILL TYPE normal");
    store_touch(w.one, STR("x"), on_heard, &h);
    hear(&w, &h);
    store_touch(w.one, STR("x"), on_heard, &h);
    hear(&w, &h);
    assert_memory_equal(store_secret(w.one), "0123456789abcdef0123456789abcdef", 32);
    assert_int_equal(w.changes, 1);
    buf_finish(&h.state);
    close_world(&w);
}

static void test_cancel(void **state UNUSED)
{
    struct world w;
    struct heard no = { .count = 0 }, h = { .count = 0 };
    open_world(&w);
    add(&w, "x");
    /* Sent, and cancelled before its reply: it is let go of. */
    store_cancel(store_hold(w.one, STR("x"), 0, 30000, 0, on_heard, &no));
    assert_int_equal(hold(&w, w.one, "x", 0, &h), STORE_DONE);
    /* Waiting for another one. */
    struct store_job *job = store_hold(w.two, STR("x"), 0, 30000, 60000, on_heard, &no);
    for (int i = 0; i < 10; i++)
        uv_run(&w.loop, UV_RUN_ONCE);
    store_cancel(job);
    store_cancel(store_touch(w.two, STR("x"), on_heard, &no));
    store_cancel(store_let_go(w.one, STR("x"), 1, STR("s"), on_heard, &no));
    assert_int_equal(hold(&w, w.one, "x", 0, &h), STORE_DONE);
    assert_int_equal(hold(&w, w.two, "x", 0, &h), STORE_BUSY);
    assert_int_equal(no.count, 0);
    /* Open ends when the store is closed. */
    store_hold(w.two, STR("x"), 0, 30000, 60000, on_heard, &no);
    store_touch(w.two, STR("x"), on_heard, &no);
    buf_finish(&h.state);
    close_world(&w);
    assert_int_equal(no.count, 0);
}

static void test_password(void **state UNUSED)
{
    struct world w;
    struct error err;
    struct store *s = NULL;
    char url[80];
    open_world(&w);
    command(&w, "ACL SETUSER bob on >bobs-secret ~* +@all");
    snprintf(url, sizeof(url), "redis+unix://bob@%s/s", w.folder);
    assert_false(open_store(&w, url, NULL, &s, &err));
    assert_non_null(strstr(err.message, "no password"));
    assert_false(open_store(&w, url, "wrong-secret", &s, &err));
    assert_int_equal(err.code, ERR_IO);
    assert_non_null(strstr(err.message, "WRONGPASS"));
    assert_null(strstr(err.message, "wrong-secret"));
    assert_null(s);
    assert_true(open_store(&w, url, "bobs-secret", &s, &err));
    assert_memory_equal(store_secret(s), store_secret(w.one), STORE_SECRET);
    store_close(s);
    stop_server(&w);
    start_server(&w, "of-all");
    assert_false(open_store(&w, w.url, "wrong-secret", &s, &err));
    assert_false(open_store(&w, w.url, NULL, &s, &err));
    assert_non_null(strstr(err.message, "NOAUTH"));
    assert_true(open_store(&w, w.url, "of-all", &s, &err));
    store_close(s);
    close_world(&w);
}

/* A port that is free now; somebody else may take it, which is seen then. */
static unsigned free_port(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET };
    socklen_t len = sizeof(at);
    auto_fd int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    return ntohs(at.sin_port);
}

/* By an address and by a name, which has addresses where nobody is; into a database. */
static void test_network(void **state UNUSED)
{
    static const char *const hosts[] = { "127.0.0.1", "localhost" };
    struct world w;
    struct error err;
    char url[80], set[60];
    open_world(&w);
    unsigned port = free_port();
    snprintf(set, sizeof(set), "CONFIG SET port %u", port);
    assert_string_equal(command(&w, set).text, "OK");
    command(&w, "SELECT 3");
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        struct store *s;
        command(&w, "DEL paddock:key");
        snprintf(url, sizeof(url), "redis://%s:%u/3", hosts[i], port);
        if (!open_store(&w, url, NULL, &s, &err))
            fail_msg("%s", err.message);
        assert_int_equal(command(&w, "EXISTS paddock:key").number, 1);
        store_close(s);
    }
    struct store *none = NULL;
    snprintf(url, sizeof(url), "redis://127.0.0.1:%u/16", port); /* it has 16 */
    assert_false(open_store(&w, url, NULL, &none, &err));
    snprintf(url, sizeof(url), "redis://127.0.0.1:%u", free_port());
    assert_false(open_store(&w, url, NULL, &none, &err));
    assert_non_null(strstr(err.message, "cannot connect"));
    assert_false(open_store(&w, "redis://no-such-host.invalid", NULL, &none, &err));
    assert_non_null(strstr(err.message, "looked up"));
    assert_null(none);
    close_world(&w);
}

/* A server that says one thing to everybody. */
struct liar {
    uv_pipe_t pipe, client;
    const char *says;
    size_t times;
    uv_write_t write;
};

static void on_client(uv_stream_t *pipe, int status)
{
    struct liar *l = pipe->data;
    assert_int_equal(status, 0);
    uv_pipe_init(pipe->loop, &l->client, 0);
    assert_int_equal(uv_accept(pipe, (uv_stream_t *)&l->client), 0);
    uv_buf_t bufs[64];
    for (size_t i = 0; i < l->times; i++)
        bufs[i] = uv_buf_init((char *)(uintptr_t)l->says, (unsigned)strlen(l->says));
    uv_write(&l->write, (uv_stream_t *)&l->client, bufs, (unsigned)l->times, NULL);
}

static void lie(const char *says, size_t times, struct error *err)
{
    struct world w = { .folder = "/tmp/paddock-store-XXXXXX" };
    struct liar l = { .says = says, .times = times };
    struct store *s = NULL;
    scratch_make(w.folder);
    uv_loop_init(&w.loop);
    snprintf(w.address, sizeof(w.address), "%s/s", w.folder);
    snprintf(w.url, sizeof(w.url), "redis+unix://%s", w.address);
    uv_pipe_init(&w.loop, &l.pipe, 0);
    l.pipe.data = &l;
    assert_int_equal(uv_pipe_bind(&l.pipe, w.address), 0);
    assert_int_equal(uv_listen((uv_stream_t *)&l.pipe, 4, on_client), 0);
    assert_false(open_store(&w, w.url, NULL, &s, err));
    uv_close((uv_handle_t *)&l.pipe, NULL);
    uv_close((uv_handle_t *)&l.client, NULL);
    uv_run(&w.loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&w.loop), 0);
    scratch_remove(w.folder);
}

static void test_liars(void **state UNUSED)
{
    static const char *const odd[] = { "HTTP/1.1 400 Bad Request\r\n\r\n", "garbage\r\n",
        "*1000000000\r\n", "*9\r\n:1\r\n", "*1\r\n*1\r\n:1\r\n", "$-7\r\n",
        "$99999999999999999999\r\n", ":1\r\n:1\r\n:1\r\n:1\r\n:1\r\n",
        "+OK\r\n+OK\r\n$3\r\nabc\r\n+PONG\r\n", "-ERR \x1b[31mred\r\n" };
    struct error err;
    char *big = xmalloc(8193);
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        err.message[0] = '\0';
        lie(odd[i], 1, &err);
        assert_int_equal(err.code, ERR_IO);
        assert_null(strchr(err.message, '\x1b'));
    }
    /* A reply without an end. */
    memset(big, 'x', 8192);
    memcpy(big, "$500000\r\n", 9);
    big[8192] = '\0';
    lie(big, 64, &err);
    assert_non_null(strstr(err.message, "too long"));
    free(big);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_full),
        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_contention),
        cmocka_unit_test(test_counting),
        cmocka_unit_test(test_late_writer),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_restart),
        cmocka_unit_test(test_new_secret),
        cmocka_unit_test(test_cancel),
        cmocka_unit_test(test_password),
        cmocka_unit_test(test_network),
        cmocka_unit_test(test_liars),
    };
    if (access(SERVER, X_OK)) {
        fprintf(stderr, "skipped: there is no " SERVER " (scripts/setup check)\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
