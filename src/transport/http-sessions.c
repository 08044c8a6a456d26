#include "transport/http-sessions.h"

#include "transport/http-rules.h"

#include <errno.h>
#include <sys/random.h>

/* Ids are random, so that their first digits spread them. */
static size_t bucket_of(struct str id)
{
    size_t n = 0;
    for (size_t i = 0; i < 4 && i < id.len; i++)
        n = n * 31 + (unsigned char)id.data[i];
    return n % HTTP_SESSION_BUCKETS;
}

struct http_session *http_sessions_find(
        const struct http_sessions *t, enum http_session_kind kind, struct str id)
{
    for (struct http_session *s = t->buckets[bucket_of(id)]; s; s = s->next)
        if (http_same_secret(id, str_of(s->id)) && s->kind == kind && !s->ended)
            return s;
    return NULL;
}

bool http_sessions_make_id(char id[HTTP_SESSION_DIGITS + 1], struct error *err)
{
    unsigned char bytes[HTTP_SESSION_DIGITS / 2];
    if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
        return error_errno(err, errno, "cannot make a session id");
    auto_buf text = BUF(HTTP_SESSION_DIGITS + 1);
    buf_add_hex(&text, bytes, sizeof(bytes));
    memcpy(id, text.data, HTTP_SESSION_DIGITS + 1);
    return true;
}

bool http_sessions_is_id(struct str id)
{
    for (size_t i = 0; i < id.len; i++)
        if (!id.data[i] || !strchr("0123456789abcdef", id.data[i]))
            return false;
    return id.len == HTTP_SESSION_DIGITS;
}

static void append(struct http_sessions *t, struct http_session *s)
{
    s->newer = NULL;
    s->older = t->newest;
    *(t->newest ? &t->newest->newer : &t->oldest) = s;
    t->newest = s;
}

static void unlink_by_use(struct http_sessions *t, struct http_session *s)
{
    *(s->older ? &s->older->newer : &t->oldest) = s->newer;
    *(s->newer ? &s->newer->older : &t->newest) = s->older;
}

struct http_session *http_sessions_add(struct http_sessions *t,
        enum http_session_kind kind, const char *id, const struct http_client *client,
        uint64_t now)
{
    struct http_session *s = xcalloc(1, sizeof(*s));
    memcpy(s->id, id, sizeof(s->id));
    s->kind = kind;
    s->client = *client;
    s->used = now;
    struct http_session **bucket = &t->buckets[bucket_of(str_of(s->id))];
    s->next = *bucket;
    *bucket = s;
    append(t, s);
    t->count++;
    return s;
}

void http_sessions_touch(struct http_sessions *t, struct http_session *s, uint64_t now)
{
    s->used = now;
    unlink_by_use(t, s);
    append(t, s);
}

struct http_session *http_sessions_expired(const struct http_sessions *t, uint64_t before)
{
    for (struct http_session *s = t->oldest; s && s->used < before; s = s->newer)
        if (!s->running)
            return s;
    return NULL;
}

struct http_session *http_sessions_dispensable(const struct http_sessions *t)
{
    for (struct http_session *s = t->oldest; s; s = s->newer)
        if (!s->running && !s->has_worked)
            return s;
    return NULL;
}

struct http_client http_sessions_remove(struct http_sessions *t, struct http_session *s)
{
    struct http_session **at = &t->buckets[bucket_of(str_of(s->id))];
    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    unlink_by_use(t, s);
    t->count--;
    struct http_client client = s->client;
    free(s);
    return client;
}
