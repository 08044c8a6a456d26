#include "worker/door.h"

#include "base/json.h"
#include "base/rights.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>

#define STREAMS     3
#define MAX_REQUEST ((size_t)192 << 10) /* what the server takes... */
#define MAX_REPLY   ((size_t)128 << 10) /* ...and sends */
#define KNOWN       64                  /* answers that are remembered */
#define BROKEN      "the server does not start programs any more"

struct handle {
    struct program program; /* first: the shell knows it by this */
    struct handle *next;
    int64_t id;
    bool is_forgotten;
    uint64_t digest; /* of an ask */
};

struct door {
    struct programs programs; /* first, for the same reason */
    struct handle *handles;
    int64_t last_id;
    bool is_broken;
    char *rule; /* of the first refusal of this call, or NULL */
    /* What would be started, as digests of the requests: of this call, the last ones. */
    uint64_t known[KNOWN];
    size_t known_count;
    char in[MAX_REPLY + 1];
};

static struct handle *find(struct door *d, int64_t id)
{
    struct handle *h = d->handles;
    while (h && h->id != id)
        h = h->next;
    return h;
}

static void destroy(struct door *d, struct handle *h)
{
    struct handle **at = &d->handles;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    free(h->program.text);
    free(h->program.notes);
    free(h);
}

static void set_state(struct program *p, enum program_state state)
{
    p->state = state;
    p->is_answered = state != PROGRAM_ASKED;
    p->has_ended = p->is_answered && state != PROGRAM_RUNS;
}

static char *text_of(const json_t *reply, const char *key)
{
    struct str text = json_get_str(reply, key, STR(""));
    return text.len ? str_copy(text) : NULL;
}

static int number_of(const json_t *reply, const char *key)
{
    return (int)json_integer_value(json_object_get(reply, key));
}

static void set_answer(struct program *p, const json_t *reply)
{
    if (json_object_get(reply, "ended") && p->state == PROGRAM_RUNS) {
        p->status = number_of(reply, "ended");
        p->notes = text_of(reply, "notes");
        set_state(p, PROGRAM_ENDED);
    } else if (json_object_get(reply, "refused")) {
        p->text = text_of(reply, "refused");
        set_state(p, json_is_true(json_object_get(reply, "unknown")) ? PROGRAM_UNKNOWN
                                                                     : PROGRAM_REFUSED);
    } else if (json_object_get(reply, "errno")) {
        p->error = number_of(reply, "errno");
        p->text = text_of(reply, "text");
        set_state(p, PROGRAM_FAILED);
    } else if (json_object_get(reply, "allowed")) {
        set_state(p, PROGRAM_ALLOWED);
    } else {
        set_state(p, PROGRAM_RUNS);
    }
}

/* The line of a refusal that says by what. */
static void keep_rule(struct door *d, const char *text)
{
    static const char mark[] = "\nRule: ";
    const char *at = text && !d->rule ? strstr(text, mark) : NULL;
    struct str rest = str_of(at ? at + sizeof(mark) - 1 : "");
    if (rest.len)
        d->rule = str_copy(str_cut(&rest, '\n'));
}

/* What ended in the last call may still be told. */
static void take_reply(struct door *d, const json_t *reply)
{
    struct handle *h = find(d, json_integer_value(json_object_get(reply, "id")));
    if (!h || h->program.has_ended)
        return;
    set_answer(&h->program, reply);
    if (h->program.state == PROGRAM_REFUSED)
        keep_rule(d, h->program.text);
    if (h->program.state == PROGRAM_ALLOWED)
        d->known[d->known_count++ % KNOWN] = h->digest;
    if (h->is_forgotten && h->program.has_ended)
        destroy(d, h);
}

static void break_off(struct door *d)
{
    d->is_broken = true;
    for (struct handle *h = d->handles; h; h = h->next) {
        struct program *p = &h->program;
        if (!p->is_answered) {
            p->error = EPIPE;
            p->text = str_copy(STR(BROKEN));
            set_state(p, PROGRAM_FAILED);
        } else if (!p->has_ended) {
            p->status = SIGKILL;
            set_state(p, PROGRAM_ENDED);
        }
    }
}

static void take(struct programs *programs)
{
    struct door *d = (struct door *)programs;
    struct error ignored;
    while (!d->is_broken) {
        json_auto_t *reply = NULL;
        ssize_t n = read(d->programs.fd, d->in, sizeof(d->in));
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n > 0 && json_parse((struct str){ d->in, (size_t)n }, &reply, &ignored))
            take_reply(d, reply);
        else
            break_off(d);
    }
}

/* A string that is no text is told by its bytes. */
static json_t *bytes_json(struct str s)
{
    json_t *text = json_stringn(s.data, s.len);
    if (text)
        return text;
    auto_buf hex = BUF(2 * s.len + 1);
    buf_add_hex(&hex, s.data, s.len);
    return json_pack("{s:s}", "hex", hex.data);
}

static json_t *env_json(const struct program_request *r)
{
    json_t *list = json_array();
    for (size_t i = 0; i < r->env_count; i++) {
        struct str value = str_of(r->env[i]), name = str_cut(&value, '=');
        json_array_append_new(
                list, json_pack("[o, o]", bytes_json(name), bytes_json(value)));
    }
    return list;
}

static json_t *request_json(const char *kind, int64_t id, const struct program_request *r)
{
    json_t *argv = json_array();
    for (int i = 0; i < r->argc; i++)
        json_array_append_new(argv, bytes_json(str_of(r->argv[i])));
    return json_pack("{s:I, s:o, s:o, s:o, s:s}", kind, (json_int_t)id, "argv", argv,
            "cwd", bytes_json(r->cwd), "env", env_json(r), "caller", "AGENT");
}

/* 0, or an errno. */
static int send_message(const struct door *d, const json_t *json, const int *streams)
{
    auto_buf text = BUF(MAX_REQUEST);
    json_write(json, &text);
    if (text.full)
        return E2BIG;
    ssize_t n = rights_send(
            d->programs.fd, buf_str(&text), streams, streams ? STREAMS : 0, MSG_DONTWAIT);
    return n >= 0 ? 0 : errno == EMSGSIZE ? E2BIG : errno;
}

static int request(struct door *d, const char *kind,
        const struct program_request *request, const int *streams, struct program **out)
{
    if (d->is_broken)
        return EPIPE;
    json_auto_t *json = request_json(kind, d->last_id + 1, request);
    int error = send_message(d, json, streams);
    if (error)
        return error;
    struct handle *h = xcalloc(1, sizeof(*h));
    h->id = ++d->last_id;
    h->next = d->handles;
    d->handles = h;
    *out = &h->program;
    return 0;
}

static int start(
        struct programs *programs, const struct program_request *r, struct program **out)
{
    return request((struct door *)programs, "spawn", r, r->streams, out);
}

/* FNV-1a; two requests of the same digest only make a refusal come later. */
static void digest_add(uint64_t *digest, struct str s)
{
    for (size_t i = 0; i <= s.len; i++) {
        *digest ^= i < s.len ? (unsigned char)s.data[i] : 0x100u;
        *digest *= 0x100000001b3u;
    }
}

static uint64_t digest_of(const struct program_request *r)
{
    uint64_t digest = 0xcbf29ce484222325u;
    digest_add(&digest, r->cwd);
    for (int i = 0; i < r->argc; i++)
        digest_add(&digest, str_of(r->argv[i]));
    digest_add(&digest, STR(""));
    for (size_t i = 0; i < r->env_count; i++)
        digest_add(&digest, str_of(r->env[i]));
    return digest;
}

static int ask(
        struct programs *programs, const struct program_request *r, struct program **out)
{
    struct door *d = (struct door *)programs;
    uint64_t digest = digest_of(r);
    for (size_t i = 0; i < d->known_count && i < KNOWN; i++) {
        if (d->known[i] == digest) {
            *out = NULL;
            return 0;
        }
    }
    int error = request(d, "ask", r, NULL, out);
    if (!error)
        ((struct handle *)*out)->digest = digest;
    return error;
}

/* What cannot be sent now ends with the call. */
static void send_signal(struct programs *programs, struct program *program, int number)
{
    struct door *d = (struct door *)programs;
    struct handle *h = (struct handle *)program;
    json_auto_t *json =
            json_pack("{s:I, s:i}", "signal", (json_int_t)h->id, "number", number);
    if (!d->is_broken && !h->program.has_ended)
        (void)send_message(d, json, NULL);
}

static void forget(struct programs *programs, struct program *program)
{
    struct handle *h = (struct handle *)program;
    h->is_forgotten = true;
    if (h->program.has_ended)
        destroy((struct door *)programs, h);
}

static const struct program_ops ops = { start, ask, take, send_signal, forget };

struct door *door_create(int fd, int null)
{
    struct door *d = xcalloc(1, sizeof(*d));
    d->programs = (struct programs){ .ops = &ops, .fd = fd, .null = null };
    return d;
}

struct programs *door_programs(struct door *d)
{
    return &d->programs;
}

struct str door_rule(const struct door *d)
{
    return str_of(d && d->rule ? d->rule : "");
}

void door_end_call(struct door *d)
{
    if (!d)
        return;
    while (d->handles)
        destroy(d, d->handles);
    d->known_count = 0;
    free(TAKE(d->rule));
}

void door_destroy(struct door *d)
{
    door_end_call(d);
    free(d);
}
