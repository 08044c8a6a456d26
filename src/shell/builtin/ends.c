#include "shell/builtin/ends.h"

#include "shell/builtin/number.h"
#include "shell/builtin/quote.h"

const struct cmd_opt head_options[] = {
    { 'c', "bytes", ARG_REQUIRED, "[-]NUM",
            "print the first NUM bytes; with '-', all but the last NUM" },
    { 'n', "lines", ARG_REQUIRED, "[-]NUM",
            "print the first NUM lines (10); with '-', all but the last NUM" },
    { 'q', "quiet", ARG_NONE, NULL, "never print headers with file names" },
    { 'q', "silent", ARG_NONE, NULL, "the same as --quiet" },
    { 'v', "verbose", ARG_NONE, NULL, "always print headers with file names" },
    { 'z', "zero-terminated", ARG_NONE, NULL, "lines end with NUL" },
    { 0 },
};

const struct cmd_opt tail_options[] = {
    { 'c', "bytes", ARG_REQUIRED, "[+]NUM",
            "print the last NUM bytes; with '+', from byte NUM on" },
    { 'f', "follow", ARG_OPTIONAL, "HOW", "not possible here: it would never end" },
    { 'F', NULL, ARG_NONE, NULL, "not possible here" },
    { 'n', "lines", ARG_REQUIRED, "[+]NUM",
            "print the last NUM lines (10); with '+', from line NUM on" },
    { 'q', "quiet", ARG_NONE, NULL, "never print headers with file names" },
    { 'q', "silent", ARG_NONE, NULL, "the same as --quiet" },
    { 'v', "verbose", ARG_NONE, NULL, "always print headers with file names" },
    { 'z', "zero-terminated", ARG_NONE, NULL, "lines end with NUL" },
    { 0 },
};

/* The old spelling, as the first argument only: -5, -5c, -20qv; for tail +5 too. */
static void rewrite_old(struct cmd *c, bool is_tail)
{
    const char *arg = c->argc > 1 ? c->argv[1] : "";
    bool plus = is_tail && arg[0] == '+';
    size_t n = (plus || arg[0] == '-') ? strspn(arg + 1, "0123456789") : 0;
    if (!n)
        return;
    const char *rest = arg + 1 + n;
    bool bytes = *rest == 'c';
    rest += bytes || *rest == 'l';
    if (rest[strspn(rest, "qvz")] || (plus && *rest))
        return;
    c->argv[1] = arena_printf(c->arena, "-%s%c%s%.*s", rest, bytes ? 'c' : 'n',
            plus ? "+" : "", (int)n, arg + 1);
}

static bool parse_count(struct ends *e, bool is_tail, bool bytes, const char *value)
{
    struct str s = str_of(value);
    bool minus = s.len && s.data[0] == '-', plus = s.len && s.data[0] == '+';
    e->bytes = bytes;
    e->from_end = !is_tail && minus;
    e->from_start = is_tail && plus;
    if (number_size(str_from(s, minus || plus), &e->count))
        return true;
    cmd_err(e->c, "invalid number of %s: %s", bytes ? "bytes" : "lines",
            quote(e->c, value));
    return false;
}

bool ends_parse(struct cmd *c, bool is_tail, struct ends *e)
{
    *e = (struct ends){ .c = c, .count = 10, .end = '\n' };
    rewrite_old(c, is_tail);
    int headers = -1;
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        switch (k) {
        case 'c':
        case 'n':
            if (!parse_count(e, is_tail, k == 'c', o.value))
                return false;
            break;
        case 'f':
        case 'F':
            e->follow = true;
            break;
        case 'q':
        case 'v':
            headers = k == 'v';
            break;
        case 'z':
            e->end = 0;
            break;
        default:
            return false;
        }
    e->headers = headers < 0 ? c->argc > 1 : headers;
    return true;
}

bool ends_header(const struct ends *e, const char *name, bool first)
{
    if (!e->headers)
        return true;
    if (input_is_stdin(name))
        name = "standard input";
    return cmd_printf(e->c, "%s==> %s <==\n", first ? "" : "\n", name);
}

/* Bytes at the front of the queue that are too many. */
static size_t surplus(struct queue *q)
{
    size_t kept = q->bytes.len - q->start;
    if (q->e->bytes)
        return kept > q->e->count ? kept - (size_t)q->e->count : 0;
    bool partial = kept && q->bytes.data[q->bytes.len - 1] != q->e->end;
    size_t drop = 0;
    while (q->lines + partial > q->e->count) {
        const char *from = q->bytes.data + q->start + drop;
        const char *at = memchr(from, q->e->end, kept - drop);
        if (!at) /* no line at all may be kept, and the last is unfinished */
            return kept;
        drop += (size_t)(at - from) + 1;
        q->lines--;
    }
    return drop;
}

static bool drop_front(struct queue *q)
{
    size_t drop = surplus(q);
    if (drop && q->emit && !cmd_put(q->e->c, str_sub(buf_str(&q->bytes), q->start, drop)))
        return false;
    q->start += drop;
    if (q->start > q->bytes.len / 2) {
        q->bytes.len -= q->start;
        memmove(q->bytes.data, q->bytes.data + q->start, q->bytes.len);
        q->start = 0;
    }
    return true;
}

static uint64_t count_ends(struct str s, char end)
{
    uint64_t n = 0;
    const char *at = s.data, *stop = s.data + s.len;
    while (at < stop && (at = memchr(at, end, (size_t)(stop - at)))) {
        n++;
        at++;
    }
    return n;
}

bool queue_add(struct queue *q, struct str data)
{
    if (!q->bytes.max)
        q->bytes.max = q->e->c->budget->max_memory;
    buf_add(&q->bytes, data);
    if (q->bytes.full)
        return budget_stop(q->e->c->budget, BUDGET_MEMORY);
    q->lines += q->e->bytes ? 0 : count_ends(data, q->e->end);
    return drop_front(q);
}

struct str queue_kept(struct queue *q)
{
    return str_from(buf_str(&q->bytes), q->start);
}
