#include "bridge/sse.h"

#define BOM         "\xef\xbb\xbf"
#define MAX_TYPE    256
#define MAX_RETRY   ((int64_t)1 << 31)
#define KEEP_BUFFER ((size_t)64 << 10) /* of memory between events */

void sse_init(struct sse *s, size_t max_bytes, sse_event_fn *event, void *user)
{
    *s = (struct sse){
        .max_bytes = max_bytes,
        .event = event,
        .user = user,
        .line = BUF(max_bytes),
        .type = BUF(MAX_TYPE),
        .data = BUF(max_bytes),
        .next_id = BUF(SSE_MAX_ID),
        .id = BUF(SSE_MAX_ID),
        .retry_ms = -1,
    };
}

void sse_finish(struct sse *s)
{
    buf_finish(&s->line);
    buf_finish(&s->type);
    buf_finish(&s->data);
    buf_finish(&s->next_id);
    buf_finish(&s->id);
}

static void forget_event(struct sse *s)
{
    buf_clear(&s->type);
    buf_clear(&s->data);
    if (s->data.cap > KEEP_BUFFER)
        buf_finish(&s->data);
    s->has_data = false;
}

static void set_id(struct buf *to, struct str id)
{
    buf_clear(to);
    buf_add(to, id);
    if (to->full) /* half of it would name another event */
        buf_clear(to);
}

void sse_restart(struct sse *s)
{
    buf_clear(&s->line);
    forget_event(s);
    set_id(&s->next_id, buf_str(&s->id));
    s->is_begun = s->is_after_cr = false;
}

/* An empty line. */
static bool end_event(struct sse *s)
{
    bool goes_on = true;
    set_id(&s->id, buf_str(&s->next_id));
    if (s->has_data) {
        const struct sse_event event = {
            .type = s->type.full  ? STR("(too long)")
                    : s->type.len ? buf_str(&s->type)
                                  : STR("message"),
            .data = buf_str(&s->data),
        };
        goes_on = s->event(s->user, &event);
    }
    forget_event(s);
    return goes_on;
}

static void take_retry(struct sse *s, struct str value)
{
    int64_t ms = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.data[i] < '0' || value.data[i] > '9')
            return;
        if (ms < MAX_RETRY)
            ms = ms * 10 + (value.data[i] - '0');
    }
    if (value.len)
        s->retry_ms = ms < MAX_RETRY ? ms : MAX_RETRY;
}

static void take_field(struct sse *s, struct str name, struct str value)
{
    if (str_is(name, "data")) {
        if (s->has_data)
            buf_addc(&s->data, '\n');
        buf_add(&s->data, value);
        s->has_data = true;
    } else if (str_is(name, "event")) {
        buf_clear(&s->type);
        buf_add(&s->type, value);
    } else if (str_is(name, "id")) {
        if (!value.len || !memchr(value.data, 0, value.len))
            set_id(&s->next_id, value);
    } else if (str_is(name, "retry")) {
        take_retry(s, value);
    }
}

/* False: no more events are wanted. */
static bool take_line(struct sse *s, struct str line)
{
    if (!line.len)
        return end_event(s);
    if (line.data[0] == ':')
        return true;
    struct str value = line;
    struct str name = str_cut(&value, ':');
    if (name.len == line.len)
        value = STR("");
    else if (str_starts(value, STR(" ")))
        value = str_from(value, 1);
    take_field(s, name, value);
    return true;
}

/* The bytes before the first CR or LF, or all of them. */
static size_t line_length(struct str bytes)
{
    size_t len = 0;
    while (len < bytes.len && bytes.data[len] != '\n' && bytes.data[len] != '\r')
        len++;
    return len;
}

/* A whole line: what stands before it is in s->line. */
static bool end_line(struct sse *s, struct str rest)
{
    if (s->line.len) {
        buf_add(&s->line, rest);
        rest = buf_str(&s->line);
    }
    if (!s->is_begun && str_starts(rest, STR(BOM)))
        rest = str_from(rest, strlen(BOM));
    s->is_begun = true;
    bool goes_on = s->line.full || take_line(s, rest);
    s->line.len = 0;
    if (s->line.cap > KEEP_BUFFER && !s->line.full)
        buf_finish(&s->line);
    return goes_on;
}

/* Empty lines after one that has ended an event, or none: they mean nothing. */
static struct str skip_empty(struct sse *s, struct str bytes)
{
    size_t len = 0;
    while (len < bytes.len && (bytes.data[len] == '\n' || bytes.data[len] == '\r'))
        len++;
    if (len)
        s->is_after_cr = bytes.data[len - 1] == '\r';
    return str_from(bytes, len);
}

static bool is_too_big(const struct sse *s)
{
    return s->line.full || s->data.full;
}

bool sse_add(struct sse *s, struct str bytes, struct error *err)
{
    bool goes_on = true;
    while (bytes.len && goes_on && !is_too_big(s)) {
        if (s->is_after_cr && bytes.data[0] == '\n')
            bytes = str_from(bytes, 1);
        s->is_after_cr = false;
        if (!bytes.len)
            break;
        size_t len = line_length(bytes);
        struct str part = str_sub(bytes, 0, len);
        if (len == bytes.len) {
            buf_add(&s->line, part);
            break;
        }
        bool is_empty = !len && !s->line.len;
        s->is_after_cr = bytes.data[len] == '\r';
        bytes = str_from(bytes, len + 1);
        goes_on = end_line(s, part);
        if (is_empty && goes_on)
            bytes = skip_empty(s, bytes);
    }
    if (is_too_big(s))
        return error_set(
                err, ERR_LIMIT, "an event is larger than %zu bytes", s->max_bytes);
    return true;
}
