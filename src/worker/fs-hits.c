#include "worker/fs-hits.h"

#define MAX_REPLY 50000              /* bytes, about */
#define MAX_KEPT  ((size_t)16 << 20) /* bytes, before a file keeps only its half */

struct fs_hits_file {
    char *name;
    struct buf records;
    uint64_t matches, share; /* found; shown */
};

void fs_hits_init(struct fs_hits *h, uint64_t max, bool single)
{
    *h = (struct fs_hits){ .max = max, .half = single || max < 2 ? max : max / 2 };
}

void fs_hits_finish(struct fs_hits *h)
{
    for (size_t i = 0; i < h->count; i++) {
        free(h->files[i].name);
        buf_finish(&h->files[i].records);
    }
    free(h->files);
}

static bool next_hit(struct str *records, struct fs_hit *hit, struct str *text)
{
    if (!records->len)
        return false;
    memcpy(hit, records->data, sizeof(*hit));
    *text = str_sub(*records, sizeof(*hit), hit->len);
    *records = str_from(*records, sizeof(*hit) + hit->len);
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Keep the records; matches beyond the half only while there is memory for them. */
static void keep(struct fs_hits *h, struct fs_hits_file *f, struct str records)
{
    struct fs_hit hit;
    struct str rest = records, text;
    while (next_hit(&rest, &hit, &text)) {
        f->matches += hit.mark == ':';
        if (f->matches > h->half && h->bytes > MAX_KEPT) {
            h->dropped = true;
            continue;
        }
        size_t len = sizeof(hit) + hit.len;
        buf_add(&f->records, (struct str){ text.data - sizeof(hit), len });
        h->bytes += len;
    }
}

void fs_hits_add(struct fs_hits *h, const char *name, bool first, struct str records)
{
    if (first) {
        GROW(h->files, h->count, h->cap);
        h->files[h->count++] = (struct fs_hits_file){ .name = xstrdup(name),
            .records = BUF((size_t)64 << 20) };
    }
    struct fs_hits_file *f = &h->files[h->count - 1];
    uint64_t before = least(f->matches, h->half);
    keep(h, f, records);
    h->taken += least(f->matches, h->half) - before;
    h->enough = h->taken > h->max;
}

/* Each file its half, as long as there is room; what is left goes to the first ones. */
static bool share_out(struct fs_hits *h)
{
    uint64_t room = h->max;
    bool more = h->dropped;
    for (size_t i = 0; i < h->count; i++) {
        struct fs_hits_file *f = &h->files[i];
        f->share = least(least(f->matches, h->half), room);
        room -= f->share;
    }
    for (size_t i = 0; i < h->count; i++) {
        struct fs_hits_file *f = &h->files[i];
        uint64_t extra = least(f->matches - f->share, room);
        f->share += extra;
        room -= extra;
        more |= f->share < f->matches;
    }
    return more;
}

/* The first `share` matches of a file with their context; false: the reply is full. */
static bool write_file(struct fs_hits *h, const struct fs_hits_file *f, uint64_t context,
        struct buf *out)
{
    struct fs_hit hit;
    struct str rest = buf_str(&f->records), text;
    uint64_t written = 0, last = 0;
    while (f->share && next_hit(&rest, &hit, &text)) {
        bool done = written == f->share;
        if (done && (hit.mark != '-' || hit.number > last + context))
            break; /* what follows belongs to a match that is not shown */
        if (out->len > MAX_REPLY)
            return false;
        if (!hit.mark) {
            buf_addf(out, "%.*s\n", STR_ARG(text));
            continue;
        }
        buf_addf(out, "%s%c%llu%c ", f->name, hit.mark, (unsigned long long)hit.number,
                hit.mark);
        buf_add(out, text);
        buf_addc(out, '\n');
        if (hit.mark == ':') {
            last = hit.number;
            written++;
            h->shown++;
        }
    }
    return true;
}

bool fs_hits_write(struct fs_hits *h, uint64_t context, struct buf *out)
{
    bool more = share_out(h);
    for (size_t i = 0; i < h->count; i++)
        if (!write_file(h, &h->files[i], context, out))
            return h->full = true;
    return more;
}
