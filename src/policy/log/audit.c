#include "policy/log/audit.h"
#include "base/path.h"
#include "policy/place.h"

#include "base/utf8.h"
#include "policy/log/logfile.h"
#include "policy/log/mask.h"
#include "policy/paths.h"

#include <nettle/sha2.h>
#include <stdio.h>
#include <time.h>

#define MAX_TEXT      1024               /* bytes of a string that is written out */
#define MAX_NAME      256                /* of a key, a session, a trace */
#define MAX_DETAIL    300                /* characters of an event's detail */
#define MAX_MASKED    ((size_t)16 << 20) /* of one string with its secrets masked */
#define MAX_ARGUMENTS ((size_t)64 << 10) /* of all, unless whole ones are asked for */
#define MAX_WHOLE     ((size_t)16 << 20)
#define MAX_WRITES    ((size_t)4 << 20)
#define MAX_LINE      ((size_t)24 << 20)

struct audit {
    const struct policy *policy;
    struct arena *arena;
    struct path_policy *paths;      /* where agents may write */
    struct logfile *calls, *events; /* NULL: that log is off */
    uint64_t lost;                  /* records since the last that was written */
    uint64_t failures;              /* records that were lost since the start */
    char debug_path[];
};

static void add_key(struct buf *out, const char *key)
{
    if (out->len && out->data[out->len - 1] != '{')
        buf_addc(out, ',');
    buf_addf(out, "\"%s\":", key);
}

/* A string with its secrets masked, at most `max` characters. */
static void add_masked(struct str text, size_t max, struct buf *out)
{
    auto_buf masked = BUF(MAX_MASKED);
    mask_text(text, &masked);
    struct str s = buf_str(&masked);
    json_write_text(str_sub(s, 0, utf8_offset(s, max)), out);
}

static void add_digest(struct str text, struct buf *out)
{
    uint8_t digest[SHA256_DIGEST_SIZE];
    struct sha256_ctx context;
    sha256_init(&context);
    sha256_update(&context, text.len, (const uint8_t *)text.data);
    sha256_digest(&context, sizeof(digest), digest);
    buf_addf(out, "{\"bytes\":%zu,\"sha256\":\"", text.len);
    buf_add_hex(out, digest, sizeof(digest));
    buf_add(out, STR("\"}"));
}

/* Arguments that are the content of something: they tell little, and may tell too much.
 */
static bool is_body(struct str key)
{
    static const char *const names[] = { "code", "content", "newStr", "new_string",
        "oldStr", "old_string" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(key, names[i]))
            return true;
    return false;
}

/* How the arguments of one call are written. */
struct arguments {
    struct buf *out;
    bool whole;
};

static void add_string(struct arguments *a, struct str key, struct str text)
{
    if (!a->whole && (is_body(key) || text.len > MAX_TEXT))
        add_digest(text, a->out);
    else
        add_masked(text, text.len, a->out);
}

static void add_value(
        struct arguments *a, struct str key, const json_t *value, bool secret);

/* `--password` alone: what follows in the array is it. */
static bool is_secret_option(const json_t *value)
{
    struct str s = json_str(value);
    return s.len > 1 && s.data[0] == '-' && !memchr(s.data, '=', s.len) &&
           mask_is_secret_name(s);
}

/* `-u` alone: what follows is NAME:PASSWORD. */
static bool is_user_option(const json_t *value)
{
    struct str s = json_str(value);
    return str_is(s, "-u") || str_is(s, "--user") || str_is(s, "--proxy-user");
}

static void add_credentials(struct arguments *a, struct str text)
{
    auto_buf masked = BUF(MAX_TEXT + sizeof(MASK));
    buf_add(&masked, str_cut(&text, ':'));
    buf_add(&masked, STR(":" MASK));
    json_write_text(buf_str(&masked), a->out);
}

static void add_array(
        struct arguments *a, struct str key, const json_t *array, bool secret)
{
    size_t i;
    json_t *item, *before = NULL;
    buf_addc(a->out, '[');
    json_array_foreach (array, i, item) {
        if (i)
            buf_addc(a->out, ',');
        struct str text = json_str(item);
        if (is_user_option(before) && !secret && text.len <= MAX_TEXT &&
                memchr(text.data, ':', text.len))
            add_credentials(a, text);
        else
            add_value(a, key, item, secret || is_secret_option(before));
        before = item;
    }
    buf_addc(a->out, ']');
}

static void add_object(struct arguments *a, const json_t *object, bool secret)
{
    const char *name;
    json_t *item;
    bool first = true;
    buf_addc(a->out, '{');
    json_object_foreach ((json_t *)(uintptr_t)object, name, item) {
        struct str key = str_of(name);
        if (!first)
            buf_addc(a->out, ',');
        first = false;
        add_masked(key, MAX_NAME, a->out);
        buf_addc(a->out, ':');
        add_value(a, key, item, secret || mask_is_secret_name(key));
    }
    buf_addc(a->out, '}');
}

/* As deep as the parser lets it be (JSON_MAX_DEPTH). */
static void add_value(
        struct arguments *a, struct str key, const json_t *value, bool secret)
{
    if (a->out->full)
        return;
    if (json_is_object(value))
        add_object(a, value, secret);
    else if (json_is_array(value))
        add_array(a, key, value, secret);
    else if (secret && !json_is_null(value))
        json_write_text(STR(MASK), a->out);
    else if (json_is_string(value))
        add_string(a, key, json_str(value));
    else
        json_write(value, a->out);
}

/* More than there is room for is told by its size and digest. */
static void add_arguments(const struct audit *a, const json_t *args, struct buf *out)
{
    bool whole = a->policy->audit_log.arguments;
    auto_buf text = BUF(whole ? MAX_WHOLE : MAX_ARGUMENTS);
    struct arguments writer = { &text, whole };
    add_value(&writer, STR(""), args, false);
    add_key(out, "arguments");
    if (!text.full) {
        buf_add(out, buf_str(&text));
        return;
    }
    auto_buf all = BUF(MAX_WHOLE);
    json_write(args, &all);
    add_digest(buf_str(&all), out);
}

static void add_writes(const struct audit_call *c, struct buf *out)
{
    auto_buf text = BUF(MAX_WRITES);
    uint64_t left_out = c->writes_left_out;
    if (json_array_size(c->writes)) {
        json_write(c->writes, &text);
        left_out += text.full ? json_array_size(c->writes) : 0;
    }
    if (text.len && !text.full) {
        add_key(out, "writes");
        buf_add(out, buf_str(&text));
    }
    if (left_out) {
        add_key(out, "writes_left_out");
        buf_addf(out, "%llu", (unsigned long long)left_out);
    }
}

/* "2026-01-31T09:00:00.123456Z" */
static void add_time(struct buf *out)
{
    struct timespec now;
    struct tm utc;
    char text[40];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &utc);
    buf_addf(out, "{\"t\":\"%s.%06ldZ\"", text, now.tv_nsec / 1000);
}

/* A word of ours, or one that was checked. */
static void add_word(struct buf *out, const char *key, struct str word)
{
    if (!word.len)
        return;
    add_key(out, key);
    json_write_text(str_sub(word, 0, utf8_offset(word, MAX_NAME)), out);
}

static void write_call(const struct audit *a, const struct audit_call *c, struct buf *out)
{
    add_time(out);
    if (a->lost)
        buf_addf(out, ",\"lost\":%llu", (unsigned long long)a->lost);
    add_word(out, "session", c->session);
    add_word(out, "tool", c->tool);
    if (c->args)
        add_arguments(a, c->args, out);
    add_word(out, "decision", str_of(c->decision));
    if (c->rule.len) {
        add_key(out, "rule");
        add_masked(c->rule, MAX_TEXT, out);
    }
    buf_addf(out, ",\"is_error\":%s", c->is_error ? "true" : "false");
    if (c->cancelled)
        buf_add(out, STR(",\"cancelled\":true"));
    if (c->exit_status != AUDIT_NO_EXIT)
        buf_addf(out, ",\"exit\":%d", c->exit_status);
    buf_addf(out, ",\"bytes\":%llu,\"duration_us\":%llu", (unsigned long long)c->bytes,
            (unsigned long long)c->duration_us);
    add_writes(c, out);
    add_word(out, "trace", c->trace);
    buf_addc(out, '}');
}

void audit_call(struct audit *a, const struct audit_call *call)
{
    if (!a || !a->calls)
        return;
    auto_buf line = BUF(MAX_LINE);
    write_call(a, call, &line);
    assert(!line.full); /* its parts have ceilings */
    bool written = logfile_append(a->calls, buf_str(&line));
    a->lost = written ? 0 : a->lost + 1;
    a->failures += !written;
}

uint64_t audit_failures(const struct audit *a)
{
    return a ? a->failures : 0;
}

/* The line of [audit] about an event: its name exactly, or the first prefix. */
static const struct policy_audit *find_rule(const struct policy *policy, struct str event)
{
    const struct policy_audit *prefix = NULL;
    for (size_t i = 0; i < policy->audit_count; i++) {
        struct str name = policy->audit[i].event;
        if (str_eq(name, event))
            return &policy->audit[i];
        bool starts = name.len && name.data[name.len - 1] == '*' &&
                      str_starts(event, str_sub(name, 0, name.len - 1));
        if (!prefix && starts)
            prefix = &policy->audit[i];
    }
    return prefix;
}

void audit_event(struct audit *a, const struct audit_event *event)
{
    if (!audit_wants_events(a))
        return;
    const struct policy_audit *rule = find_rule(a->policy, str_of(event->event));
    if (rule ? rule->disposition == AUDIT_ALLOW : !event->always)
        return;
    bool observed = rule && rule->disposition == AUDIT_OBSERVE;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    auto_buf line = BUF(1 << 16);
    buf_addf(&line, "{\"t\":%lld.%06ld,\"pid\":%d", (long long)now.tv_sec,
            now.tv_nsec / 1000, event->pid);
    add_word(&line, "event", str_of(event->event));
    add_word(&line, "decision", str_of(observed ? "observe" : event->decision));
    add_word(&line, "caller", str_of(event->caller));
    add_key(&line, "detail");
    add_masked(event->detail, MAX_DETAIL, &line);
    buf_addc(&line, '}');
    if (!line.full)
        logfile_append(a->events, buf_str(&line));
}

bool audit_wants_events(const struct audit *a)
{
    return a && a->events;
}

/* "/a" of "/a/b", "" of "/a". */
static struct str folder_of(struct str path)
{
    while (path.len && path.data[path.len - 1] != '/')
        path.len--;
    return str_sub(path, 0, path.len ? path.len - 1 : 0);
}

static bool refuse_place(struct str place, const struct origin *origin, struct error *err)
{
    error_set(err, ERR_DENIED, "agents may write in '%.*s'", STR_ARG(place));
    if (origin)
        error_context(err, "%s:%u", origin->file, origin->line);
    return error_hint(err, "Give [audit_log] a path outside of it.");
}

/*
 * The audit log lies outside of everything that an agent or its commands may write.  A
 * guard does not make up for a writable place, since some programs may pass it; where
 * everything is writable there are only guards, and they must hold the folders above too.
 */
static bool judge_calls(const void *user, struct str path, struct error *err)
{
    const struct audit *a = user;
    const struct policy *policy = a->policy;
    if (path_is_in(path, policy->workspace_real) || path_is_in(path, policy->workspace))
        return refuse_place(policy->workspace_real, NULL, err);
    const struct policy_path *place = place_written_by_any(policy, path);
    if (place)
        return refuse_place(place->path, &place->origin, err);
    for (struct str above = path; above.len > 1; above = folder_of(above))
        if (path_allowed(a->paths, above, PATH_WRITE, NULL))
            return refuse_place(above, NULL, err);
    return true;
}

/* The debug log is where it is said to be: no folder on the way is a link. */
static bool judge_events(const void *user, struct str path, struct error *err)
{
    if (str_is(path, user))
        return true;
    return error_set(err, ERR_DENIED, "a symbolic link leads to '%.*s'", STR_ARG(path));
}

static bool open_calls(struct audit *a, struct error *err)
{
    const struct policy_audit_log *log = &a->policy->audit_log;
    struct logfile_options options = {
        .what = "audit log",
        .path = log->path,
        .create_below = a->policy->home,
        .max_bytes = log->max_bytes,
        .keep = log->keep,
        .judge = judge_calls,
        .user = a,
    };
    return !log->path.len || logfile_open(&options, &a->calls, err);
}

static bool open_events(struct audit *a, struct error *err)
{
    struct logfile_options options = {
        .what = "debug log",
        .path = str_of(a->debug_path),
        .create_below = a->policy->workspace_real,
        .judge = judge_events,
        .user = a->debug_path,
    };
    return logfile_open(&options, &a->events, err);
}

bool audit_open(
        const struct policy *policy, bool debug, struct audit **out, struct error *err)
{
    struct str root = policy->workspace_real;
    size_t size = root.len + sizeof("/.pyddock" AUDIT_DEBUG_LOG);
    struct audit *a = xcalloc(1, sizeof(*a) + size);
    a->policy = policy;
    a->arena = arena_create();
    a->paths = path_policy_create(policy, a->arena);
    snprintf(a->debug_path, size, "%.*s/.pyddock" AUDIT_DEBUG_LOG, STR_ARG(root));
    if (!open_calls(a, err) || (debug && !open_events(a, err))) {
        audit_close(a);
        return false;
    }
    *out = a;
    return true;
}

void audit_close(struct audit *a)
{
    if (!a)
        return;
    logfile_close(a->calls);
    logfile_close(a->events);
    arena_destroy(a->arena);
    free(a);
}
