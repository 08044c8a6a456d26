#include "shell/builtin/diff/diff.h"

#include "shell/builtin/quote.h"

#include <ctype.h>
#include <errno.h>
#include <time.h>

#define MAX_LINES ((size_t)8 << 20) /* of one file */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t mtime_of(struct stream *in)
{
    struct vfs_stat st;
    struct vfile *file = stream_vfile(in);
    return file && !vfile_stat(file, &st) ? st.mtime_ns : now_ns();
}

bool diff_read(struct diff *d, struct diff_file *f)
{
    struct cmd *c = d->c;
    struct stream *in;
    f->text = BUF(c->budget->max_memory);
    if (f->is_missing)
        return true;
    int errnum = cmd_open(c, f->name, true, &in);
    if (!errnum) {
        f->mtime_ns = mtime_of(in);
        if (!stream_read_all(in, &f->text))
            errnum = f->text.full ? EFBIG : stream_error(in);
        stream_unref(in);
    }
    if (errnum)
        cmd_err(c, "%s: %s", quote_maybe(c, f->name), errno_text(errnum));
    return !errnum;
}

static size_t count_lines(struct str text)
{
    size_t n = 0;
    for (const char *p = text.data, *end = p + text.len; p < end; n++) {
        const char *at = memchr(p, '\n', (size_t)(end - p));
        p = at ? at + 1 : end;
    }
    return n;
}

static bool split_lines(struct diff *d, struct diff_file *f)
{
    struct str rest = buf_str(&f->text);
    f->count = count_lines(rest);
    if (f->count > MAX_LINES) {
        cmd_err(d->c, "%s: more than %zu lines", f->name, MAX_LINES);
        return false;
    }
    f->no_newline = rest.len && rest.data[rest.len - 1] != '\n';
    f->lines = xcalloc(f->count + 1, sizeof(*f->lines));
    f->ids = xcalloc(f->count + 1, sizeof(*f->ids));
    f->changed = xcalloc(f->count + 2, sizeof(*f->changed));
    for (size_t i = 0; i < f->count; i++)
        f->lines[i] = str_cut(&rest, '\n');
    return true;
}

static bool is_space(char ch)
{
    return ch == ' ' || (ch >= '\t' && ch <= '\r');
}

/* What of the line is compared, appended to `out`. */
static void add_key(const struct diff *d, struct str line, bool newline, struct buf *out)
{
    if (d->ignore_cr && newline && line.len && line.data[line.len - 1] == '\r')
        line.len--;
    while (d->space != SPACE_KEEP && line.len && is_space(line.data[line.len - 1]))
        line.len--;
    for (size_t i = 0; i < line.len; i++) {
        char ch = line.data[i];
        if (d->space >= SPACE_CHANGE && is_space(ch)) {
            while (i + 1 < line.len && is_space(line.data[i + 1]))
                i++;
            if (d->space == SPACE_CHANGE)
                buf_addc(out, ' ');
            continue;
        }
        buf_addc(out, d->ignore_case ? (char)tolower((unsigned char)ch) : ch);
    }
    if (newline || d->space != SPACE_KEEP)
        buf_addc(out, '\n');
}

static bool number_lines(struct diff *d, struct diff_file *f, struct linediff_table *t,
        const struct buf *keys)
{
    struct str rest = buf_str(keys);
    for (size_t i = 0; i < f->count; i++) {
        const char *end = memchr(rest.data, '\n', rest.len);
        struct str key = end ? str_sub(rest, 0, (size_t)(end - rest.data) + 1) : rest;
        rest = str_from(rest, key.len);
        if (!linediff_number(t, key, d->c->budget, &f->ids[i]))
            return false;
    }
    return true;
}

static bool make_keys(struct diff *d, const struct diff_file *f, struct buf *keys)
{
    for (size_t i = 0; i < f->count; i++) {
        if (!cmd_tick(d->c))
            return false;
        add_key(d, f->lines[i], i + 1 < f->count || !f->no_newline, keys);
    }
    return !keys->full || budget_stop(d->c->budget, BUDGET_MEMORY);
}

bool diff_split(struct diff *d, struct diff_pair *pair)
{
    struct diff_file *f = pair->files;
    if (!split_lines(d, &f[0]) || !split_lines(d, &f[1]))
        return false;
    auto_linediff_table t = { 0 };
    linediff_table_init(&t, f[0].count + f[1].count);
    auto_buf first = BUF(SIZE_MAX / 4);
    auto_buf second = BUF(SIZE_MAX / 4);
    bool ok = make_keys(d, &f[0], &first) && number_lines(d, &f[0], &t, &first) &&
              make_keys(d, &f[1], &second) && number_lines(d, &f[1], &t, &second);
    pair->id_count = t.count;
    return ok;
}

bool diff_compare(struct diff *d, struct diff_pair *pair)
{
    struct linediff_side sides[2];
    for (int i = 0; i < 2; i++) {
        const struct diff_file *f = &pair->files[i];
        sides[i] = (struct linediff_side){ f->ids, f->changed, f->count };
    }
    return linediff_compare(sides, pair->id_count, d->c->budget);
}

void diff_pair_finish(struct diff_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        struct diff_file *f = &pair->files[i];
        buf_finish(&f->text);
        free(f->lines);
        free(f->ids);
        free(f->changed);
    }
}
