#include "base/lines.h"

#define KEEP_BYTES ((size_t)64 << 10) /* of memory between long lines */

void lines_init(struct lines *l, size_t max_bytes,
        void (*line)(void *user, struct str line), void (*too_long)(void *user),
        void *user)
{
    *l = (struct lines){
        .partial = BUF(max_bytes + 1),
        .max_bytes = max_bytes,
        .line = line,
        .too_long = too_long,
        .user = user,
    };
}

void lines_finish(struct lines *l)
{
    buf_finish(&l->partial);
}

static bool is_blank(struct str s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.data[i] != ' ' && s.data[i] != '\t' && s.data[i] != '\r')
            return false;
    return true;
}

static void hand_on(struct lines *l, struct str line)
{
    if (line.len && line.data[line.len - 1] == '\r')
        line.len--;
    if (!is_blank(line))
        l->line(l->user, line);
}

/* The end of a line has come; `tail` is what it has beyond the partial one. */
static void end_line(struct lines *l, struct str tail)
{
    if (l->skipping) {
        l->skipping = false;
        return;
    }
    if (l->partial.len + tail.len > l->max_bytes) {
        l->too_long(l->user);
    } else if (!l->partial.len) {
        hand_on(l, tail);
    } else {
        buf_add(&l->partial, tail);
        hand_on(l, buf_str(&l->partial));
    }
    buf_clear(&l->partial);
    if (l->partial.cap > KEEP_BYTES)
        buf_finish(&l->partial);
}

static void keep_partial(struct lines *l, struct str bytes)
{
    if (l->skipping)
        return;
    if (l->partial.len + bytes.len > l->max_bytes) {
        buf_finish(&l->partial);
        l->skipping = true;
        l->too_long(l->user);
        return;
    }
    buf_add(&l->partial, bytes);
}

/* Empty lines are dropped, however many there are. */
static struct str skip_empty(const struct lines *l, struct str bytes)
{
    size_t count = 0;
    while (!l->partial.len && !l->skipping && count < bytes.len &&
            bytes.data[count] == '\n')
        count++;
    return str_from(bytes, count);
}

void lines_add(struct lines *l, struct str bytes)
{
    const char *end;
    bytes = skip_empty(l, bytes);
    while (bytes.len && (end = memchr(bytes.data, '\n', bytes.len))) {
        size_t len = (size_t)(end - bytes.data);
        end_line(l, str_sub(bytes, 0, len));
        bytes = skip_empty(l, str_from(bytes, len + 1));
    }
    if (bytes.len)
        keep_partial(l, bytes);
}

void lines_end(struct lines *l)
{
    if (l->partial.len)
        end_line(l, STR(""));
}
