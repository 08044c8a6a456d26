#include "worker/output.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>

/* The front of `rest` is dropped when it has this much more than it needs. */
#define SLACK 65536

static const size_t no_ceiling = SIZE_MAX / 4; /* what is kept is bounded by `max` */

void output_init(struct output *o, size_t max)
{
    *o = (struct output){
        .max = max ? max : OUTPUT_DEFAULT_MAX,
        .head = BUF(no_ceiling),
        .rest = BUF(no_ceiling),
    };
}

void output_finish(struct output *o)
{
    buf_finish(&o->head);
    buf_finish(&o->rest);
}

static size_t head_max(const struct output *o)
{
    return o->max / 3 * 2 + o->max % 3 * 2 / 3;
}

static uint64_t count_lines(struct str s)
{
    uint64_t lines = 0;
    for (const char *p = s.data, *end = s.data + s.len; s.len && p < end; p++) {
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p)
            break;
        lines++;
    }
    return lines;
}

/* Leave as much of the end of `rest`. */
static void drop_front(struct output *o, size_t keep)
{
    struct str rest = buf_str(&o->rest);
    if (o->rest_cost <= keep)
        return;
    size_t left = utf8_cost_tail(rest, keep);
    struct str gone = str_sub(rest, 0, rest.len - left);
    o->dropped_bytes += gone.len;
    o->dropped_chars += utf8_count(gone);
    o->dropped_lines += count_lines(gone);
    memmove(o->rest.data, o->rest.data + gone.len, left);
    o->rest.len = left;
    o->rest_cost = utf8_cost(buf_str(&o->rest));
}

static void add_valid(struct output *o, struct str text)
{
    if (!o->head_full) {
        struct str first =
                str_sub(text, 0, utf8_cost_offset(text, head_max(o) - o->head_cost));
        buf_add(&o->head, first);
        o->head_cost += utf8_cost(first);
        text = str_from(text, first.len);
        o->head_full = text.len;
    }
    buf_add(&o->rest, text);
    o->rest_cost += utf8_cost(text);
    if (o->rest_cost > 2 * (o->max - head_max(o)) + SLACK)
        drop_front(o, o->max - head_max(o));
}

/* Bytes at the end that may be the start of a character whose rest is still to come. */
static size_t unfinished(struct str s)
{
    for (size_t back = 1; back <= 3 && back <= s.len; back++) {
        unsigned char c = (unsigned char)s.data[s.len - back];
        if (c < 0x80)
            return 0;
        if (c >= 0xc0) {
            size_t need = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : 2;
            return back < need ? back : 0;
        }
    }
    return 0;
}

static void add_any(struct output *o, struct str bytes)
{
    if (utf8_valid(bytes)) {
        add_valid(o, bytes);
        return;
    }
    auto_buf fixed = BUF(no_ceiling);
    utf8_repair(bytes, &fixed);
    add_valid(o, buf_str(&fixed));
}

void output_add(struct output *o, struct str bytes)
{
    while (o->partial_len && bytes.len) {
        o->partial[o->partial_len++] = bytes.data[0];
        bytes = str_from(bytes, 1);
        struct str partial = { o->partial, o->partial_len };
        if (o->partial_len < sizeof(o->partial) && unfinished(partial) == partial.len)
            continue;
        size_t keep = unfinished(partial);
        add_any(o, str_sub(partial, 0, partial.len - keep));
        memmove(o->partial, o->partial + o->partial_len - keep, keep);
        o->partial_len = keep;
    }
    size_t keep = unfinished(bytes);
    add_any(o, str_sub(bytes, 0, bytes.len - keep));
    if (keep)
        memcpy(o->partial, bytes.data + bytes.len - keep, keep);
    o->partial_len += keep;
}

static void add_grouped(struct buf *out, uint64_t n)
{
    char digits[24];
    int len = snprintf(digits, sizeof(digits), "%" PRIu64, n);
    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            buf_addc(out, ',');
        buf_addc(out, digits[i]);
    }
}

static void add_note(const struct output *o, struct buf *out)
{
    buf_add(out, STR("\n... [output truncated: "));
    add_grouped(out, o->dropped_lines);
    buf_add(out, STR(" lines ("));
    add_grouped(out, o->dropped_chars);
    buf_add(out, STR(" characters) omitted; use head, tail, grep or redirect to a "
                     "file] ...\n"));
}

void output_write(struct output *o, int status, struct buf *out)
{
    add_any(o, (struct str){ o->partial, o->partial_len });
    o->partial_len = 0;
    if (o->dropped_chars || o->head_cost + o->rest_cost > o->max)
        drop_front(o, o->max / 3);
    size_t start = out->len;
    buf_add(out, buf_str(&o->head));
    if (o->dropped_chars)
        add_note(o, out);
    buf_add(out, buf_str(&o->rest));
    if (!status)
        return;
    if (out->len > start && out->data[out->len - 1] != '\n')
        buf_addc(out, '\n');
    buf_addf(out, "[exit %d]", status);
}

void output_format(struct str bytes, size_t max, int status, struct buf *out)
{
    struct output o;
    output_init(&o, max);
    output_add(&o, bytes);
    output_write(&o, status, out);
    output_finish(&o);
}
