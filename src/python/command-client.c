#include "python/command-client.h"

#include "base/json.h"
#include "base/rights.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define STREAMS     3
#define MAX_MESSAGE ((size_t)128 << 10) /* what the broker takes, and sends */
#define TICK_MS     20                  /* a thread that another one waits for */
#define BROKEN      "the server does not start commands any more"

enum state { ASKED, RUNS, ENDED, NOT_STARTED };

struct handle {
    struct handle *next;
    int64_t id;
    enum state state;
    int status;        /* ENDED */
    int error;         /* NOT_STARTED: errno, or 0 for a refusal */
    char *text;        /* NOT_STARTED: why */
    bool is_abandoned; /* nobody will ask any more */
};

/* All but `lock`, `news` and `has_reader` is only used with the GIL. */
static struct {
    struct handle *handles;
    int64_t last_id;
    bool is_broken;
    uint64_t generation; /* of `handles`; changed with the lock held as well */
    pthread_mutex_t lock;
    pthread_cond_t news;
    bool has_reader; /* one thread waits at the socket, the others for its news */
    char in[MAX_MESSAGE + 1];
} client = { .lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER };

static struct handle *find(int64_t id)
{
    struct handle *h = client.handles;
    while (h && h->id != id)
        h = h->next;
    return h;
}

static void forget(struct handle *h)
{
    struct handle **at = &client.handles;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    free(h->text);
    free(h);
}

/* The process's own stderr, whatever the snippet has made of sys.stderr. */
static void show(struct str notes)
{
    ssize_t n = notes.len ? write(STDERR_FILENO, notes.data, notes.len) : 0;
    (void)n;
}

static void set_failure(struct handle *h, int error, struct str text)
{
    h->state = NOT_STARTED;
    h->error = error;
    h->text = str_copy(text);
}

static void take_reply(const json_t *reply)
{
    struct handle *h = find(json_integer_value(json_object_get(reply, "id")));
    const json_t *ended = json_object_get(reply, "ended");
    const json_t *refused = json_object_get(reply, "refused");
    const json_t *error = json_object_get(reply, "errno");
    show(json_get_str(reply, "notes", STR("")));
    if (!h)
        return;
    if (ended) {
        h->state = ENDED;
        h->status = (int)json_integer_value(ended);
    } else if (refused) {
        guard_note_text(json_get_str(reply, "rule", STR("command")));
        set_failure(h, 0, json_str(refused));
    } else if (error) {
        set_failure(
                h, (int)json_integer_value(error), json_get_str(reply, "text", STR("")));
    } else {
        h->state = RUNS;
    }
    if (h->is_abandoned && h->state != RUNS)
        forget(h);
}

static void break_off(void)
{
    client.is_broken = true;
    for (struct handle *h = client.handles; h; h = h->next) {
        if (h->state == ASKED) {
            set_failure(h, EPIPE, STR(BROKEN));
        } else if (h->state == RUNS) {
            h->state = ENDED;
            h->status = SIGKILL;
        }
    }
}

/* False: there is nothing more at the moment. */
static bool receive(void)
{
    struct error ignored;
    json_auto_t *reply = NULL;
    ssize_t n = recv(guard.broker, client.in, sizeof(client.in), MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0 || !json_parse((struct str){ client.in, (size_t)n }, &reply, &ignored)) {
        break_off();
        return false;
    }
    take_reply(reply);
    return true;
}

/* What has come, unless there is a reader: it would not wake up for what is gone. */
static void take_replies(void)
{
    pthread_mutex_lock(&client.lock);
    if (!client.has_reader && !client.is_broken) {
        while (receive())
            ;
        client.generation++;
        pthread_cond_broadcast(&client.news);
    }
    pthread_mutex_unlock(&client.lock);
}

static struct timespec tick_from_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += TICK_MS * 1000000L;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Without the GIL: until there may be news, or a signal, or a while is over. */
static void wait_outside(uint64_t generation, short events)
{
    pthread_mutex_lock(&client.lock);
    if (client.generation != generation) {
        pthread_mutex_unlock(&client.lock);
        return;
    }
    if (client.has_reader) {
        struct timespec until = tick_from_now();
        pthread_cond_timedwait(&client.news, &client.lock, &until);
        pthread_mutex_unlock(&client.lock);
        return;
    }
    client.has_reader = true;
    pthread_mutex_unlock(&client.lock);
    struct pollfd socket = { .fd = guard.broker, .events = events };
    poll(&socket, 1, -1);
    pthread_mutex_lock(&client.lock);
    client.has_reader = false;
    pthread_cond_broadcast(&client.news);
    pthread_mutex_unlock(&client.lock);
}

/* False: the handler of a signal has raised an exception. */
static bool await(short events)
{
    uint64_t generation = client.generation;
    Py_BEGIN_ALLOW_THREADS;
    wait_outside(generation, events);
    Py_END_ALLOW_THREADS;
    take_replies();
    return !PyErr_CheckSignals();
}

int client_send(const json_t *request, const int *fds, size_t count)
{
    auto_buf json = BUF(MAX_MESSAGE);
    json_write(request, &json);
    if (json.full)
        return E2BIG;
    if (client.is_broken || guard.broker < 0)
        return EPIPE;
    for (;;) {
        ssize_t n = rights_send(guard.broker, buf_str(&json), fds, count, MSG_DONTWAIT);
        if (n >= 0 || errno != EAGAIN)
            return n < 0 ? errno : 0;
        if (!await(POLLIN | POLLOUT))
            return -1;
    }
}

static void raise_os_error(int error, const char *text, PyObject *program)
{
    auto_ref *message = PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
    auto_ref *value =
            message ? PyObject_CallFunction(PyExc_OSError, "iOO", error, message, program)
                    : NULL;
    if (value)
        PyErr_SetObject((PyObject *)Py_TYPE(value), value);
}

/* The command will have nobody who knows of it. */
static void abandon(struct handle *h)
{
    auto_ref *type = NULL, *value = NULL, *trace = NULL;
    PyErr_Fetch(&type, &value, &trace);
    h->is_abandoned = true;
    bool sent = client_signal(h->id, SIGKILL);
    (void)sent;
    PyErr_Clear();
    PyErr_Restore(TAKE(type), TAKE(value), TAKE(trace));
}

static int64_t finish_spawn(struct handle *h, PyObject *program)
{
    int64_t id = h->id;
    while (h->state == ASKED) {
        if (!await(POLLIN)) {
            abandon(h);
            return 0;
        }
    }
    if (h->state != NOT_STARTED)
        return id;
    if (h->error == ENOENT) /* as it is told where programs are started at once */
        raise_os_error(ENOENT, strerror(ENOENT), program);
    else if (h->error)
        raise_os_error(h->error, h->text, program);
    else
        PyErr_SetString(PyExc_PermissionError, h->text);
    forget(h);
    return 0;
}

int64_t client_spawn(json_t *request, const int *streams, PyObject *program)
{
    struct handle *h = xcalloc(1, sizeof(*h));
    h->id = ++client.last_id;
    h->next = client.handles;
    client.handles = h;
    json_object_set_new(request, "spawn", json_integer(h->id));
    int error = client_send(request, streams, STREAMS);
    json_decref(request);
    if (!error)
        return finish_spawn(h, program);
    if (error > 0)
        raise_os_error(error, error == EPIPE ? BROKEN : strerror(error), program);
    forget(h);
    return 0;
}

enum client_state client_wait(int64_t id, bool blocks, int *status)
{
    for (;;) {
        struct handle *h = find(id);
        if (!h || h->state == ASKED || h->is_abandoned)
            return CLIENT_UNKNOWN;
        if (h->state == ENDED) {
            *status = h->status;
            forget(h);
            return CLIENT_ENDED;
        }
        if (blocks) {
            if (!await(POLLIN))
                return CLIENT_FAILED;
            continue;
        }
        take_replies();
        h = find(id);
        if (h && h->state == RUNS)
            return CLIENT_RUNS;
    }
}

bool client_signal(int64_t id, int number)
{
    struct handle *h = find(id);
    if (!h || h->state == ENDED)
        return false;
    if (!number)
        return true;
    json_auto_t *request =
            json_pack("{s:I, s:i}", "signal", (json_int_t)id, "number", number);
    return client_send(request, NULL, 0) == 0;
}
