#include "bridge/sse.h"
#include "fuzz.h"

#define MAX_BYTES 512

struct seen {
    struct buf events;
    size_t count;
};

static bool on_event(void *user, const struct sse_event *event)
{
    struct seen *seen = user;
    assert(event->data.len <= MAX_BYTES && event->type.len);
    buf_add(&seen->events, event->type);
    buf_addc(&seen->events, 0);
    buf_add(&seen->events, event->data);
    buf_addc(&seen->events, 0);
    return ++seen->count < 1000;
}

static bool parse(struct sse *s, struct seen *seen, struct str bytes, size_t step)
{
    struct error err;
    bool fine = true;
    *seen = (struct seen){ .events = BUF((size_t)1 << 20) };
    sse_init(s, MAX_BYTES, on_event, seen);
    for (size_t at = 0; at < bytes.len && fine && seen->count < 1000; at += step)
        fine = sse_add(s, str_sub(bytes, at, step), &err);
    return fine;
}

/* However it is cut into pieces, the same events come out, until one is too big. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str bytes = { (const char *)data, size };
    struct sse one, two;
    struct seen whole, pieces;
    bool a = parse(&one, &whole, bytes, size ? size : 1);
    bool b = parse(&two, &pieces, bytes, size % 7 + 1);
    assert(a == b);
    assert(str_eq(buf_str(&whole.events), buf_str(&pieces.events)));
    if (a) {
        assert(str_eq(buf_str(&one.id), buf_str(&two.id)));
        assert(one.retry_ms == two.retry_ms);
    }
    sse_finish(&one);
    sse_finish(&two);
    buf_finish(&whole.events);
    buf_finish(&pieces.events);
    return 0;
}
