/* fs_readfile and fs_stat. */
#include "base/datetime.h"
#include "base/utf8.h"
#include "edit/lookalike.h"
#include "search/text.h"
#include "worker/fs.h"

#include <errno.h>

#define MAX_SHOWN 50000               /* of one reply, by utf8_cost() */
#define TAIL_SIZE ((size_t)512 << 10) /* read of the end of a huge file */

/* Lines kept to be shown; `text` holds them one after the other. */
struct kept {
    struct buf text;
    size_t *ends, count, cap;
    uint64_t first;      /* number of the first one */
    size_t cost, have;   /* of all lines; of the one being kept */
    bool cut;            /* there are more than fit */
    uint64_t left_out;   /* characters of the only line, which is too long */
    bool left_out_front; /* they are its beginning */
};

struct reading {
    struct fs *fs;
    const struct fs_path *path;
    struct vfile *file;
    struct vfs_stat st;
    struct text_lines lines;
    int64_t start, end; /* 1 to INT64_MAX; as asked for */
    bool tail;          /* `start` counts from the end */
    uint64_t total;     /* lines, if `counted` */
    bool counted;
    struct kept kept;
};

static void reading_finish(struct reading *r)
{
    vfile_close(r->file);
    text_lines_finish(&r->lines);
    buf_finish(&r->kept.text);
    free(r->kept.ends);
}

/* Open a regular file; false: it was said why not. */
static bool open_file(struct fs *fs, const struct fs_path *path, const char *what,
        struct vfile **file, struct vfs_stat *st)
{
    int errnum = vfs_stat(fs->vfs, path->at, VFS_FOLLOW, st);
    if (!errnum && st->type != VFS_FILE)
        return !fs_fail_type(fs, path, st->type);
    if (!errnum)
        errnum = vfs_open(fs->vfs, path->at, VFS_READ, 0, file);
    if (errnum)
        return !fs_fail_errno(fs, what, path, errnum);
    errnum = vfile_stat(*file, st);
    if (!errnum && st->type == VFS_FILE)
        return true;
    vfile_close(TAKE(*file));
    return errnum ? !fs_fail_errno(fs, what, path, errnum)
                  : !fs_fail_type(fs, path, st->type);
}

static bool fail_read(struct reading *r, int errnum)
{
    if (budget_stopped(&r->fs->budget)) {
        char why[256];
        budget_describe(&r->fs->budget, why, sizeof(why));
        return !fs_fail(r->fs, "Cannot read '%.*s': %s", STR_ARG(r->path->given), why);
    }
    return !fs_fail_errno(r->fs, "read", r->path, errnum);
}

static bool check_text(struct reading *r)
{
    const struct text_reader *reader = &r->lines.reader;
    bool utf16 = reader->encoding != TEXT_UTF8;
    if (!utf16 && reader->bad_at == TEXT_FINE)
        return true;
    const char *what = utf16 ? "UTF-16 text" : "binary or not UTF-8";
    uint64_t at = utf16 ? 0 : reader->bad_at;
    return !fs_fail(r->fs,
            "'%.*s' is %s (first seen at byte %llu), and fs_readfile shows only UTF-8. "
            "fs_grep with this path searches it; fs_stat shows its size",
            STR_ARG(r->path->given), what, (unsigned long long)at);
}

static bool start_lines(struct reading *r, uint64_t offset)
{
    int errnum = vfile_seek(r->file, offset);
    if (!errnum)
        errnum = text_lines_start(&r->lines, r->file);
    return errnum ? fail_read(r, errnum) : check_text(r);
}

/* Pass over lines up to number `upto` (UINT64_MAX: all); how many there were. */
static bool pass_lines(struct reading *r, uint64_t upto, uint64_t *passed)
{
    struct str part;
    bool ended = true;
    *passed = 0;
    while (*passed < upto && text_lines_next(&r->lines, &part, &ended)) {
        *passed += ended;
        if (!budget_spend(&r->fs->budget, 1))
            return fail_read(r, EINTR);
    }
    *passed += !ended;
    if (r->lines.error)
        return fail_read(r, r->lines.error);
    return check_text(r);
}

static size_t digits_of(uint64_t n)
{
    size_t digits = 1;
    while (n /= 10)
        digits++;
    return digits;
}

/* Drop the front of an overlong line, so that its end is kept. */
static void drop_front(struct kept *k)
{
    struct str text = buf_str(&k->text);
    size_t at = text.len - utf8_cost_tail(text, MAX_SHOWN);
    if (!at)
        return;
    k->left_out += utf8_count(str_sub(text, 0, at));
    k->left_out_front = true;
    memmove(k->text.data, k->text.data + at, text.len - at);
    k->text.len = text.len - at;
}

/* One more part of the line being kept; only the first line may be too long. */
static void keep_part(struct kept *k, struct str part, bool keep_end)
{
    if (k->count || keep_end) {
        if (k->text.len < 8 * (size_t)MAX_SHOWN + part.len || keep_end)
            buf_add(&k->text, part);
        if (keep_end && !k->count && k->text.len > 8 * (size_t)MAX_SHOWN)
            drop_front(k);
        return;
    }
    struct str shown = str_sub(part, 0, utf8_cost_offset(part, MAX_SHOWN - k->have));
    buf_add(&k->text, shown);
    k->have = shown.len < part.len ? MAX_SHOWN : k->have + utf8_cost(shown);
    k->left_out += utf8_count(str_from(part, shown.len));
}

/* The line is whole; false: it does not fit any more, and is dropped. */
static bool keep_line(struct kept *k, bool keep_end)
{
    size_t from = k->count ? k->ends[k->count - 1] : 0;
    if (!k->count && keep_end)
        drop_front(k);
    size_t cost = utf8_cost(str_from(buf_str(&k->text), from)) +
                  digits_of(k->first + k->count) + 3;
    if (k->count && k->cost + cost > MAX_SHOWN) {
        k->text.len = from;
        k->cut = true;
        return false;
    }
    GROW(k->ends, k->count, k->cap);
    k->ends[k->count++] = k->text.len;
    k->cost += cost;
    return true;
}

/* Keep the lines [first, last] of what comes next; *passed: lines read. */
static bool keep_lines(struct reading *r, uint64_t last, uint64_t *passed)
{
    struct kept *k = &r->kept;
    struct str part;
    bool ended = true, more = true;
    *passed = 0;
    while (k->first + *passed <= last &&
            (more = text_lines_next(&r->lines, &part, &ended))) {
        keep_part(k, part, r->tail);
        if (!budget_spend(&r->fs->budget, 1))
            return fail_read(r, EINTR);
        if (!ended)
            continue;
        ++*passed;
        if (!keep_line(k, r->tail))
            break;
    }
    if (!more && !ended) {
        ++*passed;
        keep_line(k, r->tail);
    }
    if (r->lines.error)
        return fail_read(r, r->lines.error);
    return check_text(r);
}

/* The number of the first line that is wanted. */
static bool find_first(struct reading *r)
{
    r->kept.first = (uint64_t)(r->start > 0 ? r->start : 1);
    if (!r->tail)
        return true;
    uint64_t back = (uint64_t)-r->start;
    if (!start_lines(r, 0) || !pass_lines(r, UINT64_MAX, &r->total))
        return false;
    r->counted = true;
    r->kept.first = r->total > back ? r->total - back + 1 : 1;
    return true;
}

static bool read_range(struct reading *r)
{
    uint64_t before, shown, after = 0;
    uint64_t last = r->end < 0 ? 0 : (uint64_t)r->end;
    if (!find_first(r) || !start_lines(r, 0) ||
            !pass_lines(r, r->kept.first - 1, &before) || !keep_lines(r, last, &shown))
        return false;
    if (!r->counted && r->st.size <= FS_MAX_COUNTED) {
        if (!pass_lines(r, UINT64_MAX, &after))
            return false;
        r->total = before + shown + after;
        r->counted = true;
    }
    return true;
}

/* How many of the lines that come next are to be passed over, so that the last `back` of
 * them are shown, or as many as fit. */
static bool choose_skip(struct reading *r, uint64_t back, uint64_t *skip)
{
    struct sizes {
        size_t *costs, count, cap;
    } lines = { 0 };
    struct str part;
    bool ended = true;
    for (bool fresh = true; text_lines_next(&r->lines, &part, &ended); fresh = ended) {
        if (fresh) {
            GROW(lines.costs, lines.count, lines.cap);
            lines.costs[lines.count++] = 8; /* the number before it */
        }
        lines.costs[lines.count - 1] += utf8_cost(part);
    }
    size_t total = 0, at = lines.count;
    while (at && lines.count - at < back && total + lines.costs[at - 1] <= MAX_SHOWN)
        total += lines.costs[--at];
    *skip = at < lines.count ? at : lines.count ? lines.count - 1 : 0;
    free(lines.costs);
    if (r->lines.error)
        return fail_read(r, r->lines.error);
    return check_text(r);
}

/* The end of a file that is too large to count its lines. */
static bool read_tail(struct reading *r)
{
    uint64_t offset = r->st.size > TAIL_SIZE ? r->st.size - TAIL_SIZE : 0, skip, passed;
    char start[4];
    size_t got = 0;
    int errnum = vfile_pread(r->file, start, sizeof(start), offset, &got);
    if (errnum)
        return fail_read(r, errnum);
    for (size_t i = 0; i < got && (start[i] & 0xC0) == 0x80; i++)
        offset++; /* the rest of a character */
    return start_lines(r, offset) && choose_skip(r, (uint64_t)-r->start, &skip) &&
           start_lines(r, offset) && pass_lines(r, skip, &passed) &&
           keep_lines(r, UINT64_MAX, &passed);
}

/* A hole in a sparse file is long and says nothing. */
static void add_shown(struct str line, struct buf *out)
{
    enum { FEW = 16 };
    while (line.len) {
        size_t plain = strnlen(line.data, line.len), end = plain;
        while (end < line.len && !line.data[end])
            end++;
        bool few = end - plain < FEW;
        buf_add(out, str_sub(line, 0, few ? end : plain));
        if (!few)
            buf_addf(out, "[%zu NUL characters]", end - plain);
        line = str_from(line, end);
    }
}

static void write_number(const struct reading *r, size_t i, int width, struct buf *out)
{
    const struct kept *k = &r->kept;
    if (r->counted || !r->tail)
        buf_addf(out, "%*llu| ", width, (unsigned long long)(k->first + i));
    else
        buf_addf(out, "%*lld| ", (int)digits_of(k->count) + 1,
                (long long)i - (long long)k->count);
}

/* As wide as the number of the last line that was asked for. */
static int number_width(const struct reading *r)
{
    uint64_t last = r->kept.first + r->kept.count - 1;
    if (r->counted)
        last = (uint64_t)r->end < r->total ? (uint64_t)r->end : r->total;
    return (int)digits_of(last);
}

static void write_lines(const struct reading *r, struct buf *out)
{
    const struct kept *k = &r->kept;
    int width = number_width(r);
    for (size_t i = 0, from = 0; i < k->count; from = k->ends[i++]) {
        bool part = !i && k->left_out;
        write_number(r, i, width, out);
        if (part && k->left_out_front)
            buf_addf(out, "[the line begins before this] ");
        add_shown(str_sub(buf_str(&k->text), from, k->ends[i] - from), out);
        if (part && !k->left_out_front)
            buf_addf(out, " [%llu more characters of this line]",
                    (unsigned long long)k->left_out);
        buf_addc(out, '\n');
    }
}

static void write_total(const struct reading *r, struct buf *out)
{
    if (r->counted)
        buf_addf(out, " of %llu", (unsigned long long)r->total);
}

/* What else there is, and how to go on. */
static void write_hint(const struct reading *r, struct buf *out)
{
    const struct kept *k = &r->kept;
    uint64_t last = k->first + k->count - 1;
    bool partial = !r->counted || k->count < r->total;
    if (!partial && !k->left_out)
        return;
    if (!k->count) {
        if (r->total)
            buf_addf(out, "[No lines in that range: the file has %llu line%s.]\n",
                    (unsigned long long)r->total, r->total == 1 ? "" : "s");
        return;
    }
    if (!r->counted && r->tail) {
        buf_addf(out,
                "\n[Showing the last %zu line%s of a file of %llu bytes, whose lines "
                "are not counted.]\n",
                k->count, k->count == 1 ? "" : "s", (unsigned long long)r->st.size);
        return;
    }
    buf_addf(out, "\n[Showing lines %llu-%llu", (unsigned long long)k->first,
            (unsigned long long)last);
    write_total(r, out);
    buf_addc(out, '.');
    bool more = !r->counted || last < r->total;
    if (k->cut || k->left_out)
        buf_addf(out, " Truncated at ~50 KB.");
    if (k->left_out && !more && !k->left_out_front)
        buf_addf(out, " Use start=-1 to see the end of this line, fs_grep to search it.");
    else if (k->left_out)
        buf_addf(out, " fs_grep searches the whole line.");
    if ((k->cut || k->left_out) && more)
        buf_addf(out, " Use start=%llu to continue.", (unsigned long long)(last + 1));
    buf_addf(out, "]\n");
}

static bool read_lines(struct reading *r)
{
    bool huge = r->st.size > FS_MAX_COUNTED;
    if (!(r->tail && huge ? read_tail(r) : read_range(r)))
        return false;
    write_lines(r, r->fs->text);
    write_hint(r, r->fs->text);
    if (!r->fs->text->len)
        buf_addc(r->fs->text, '\n');
    return true;
}

bool fs_readfile(struct fs *fs)
{
    struct fs_path path;
    if (!fs_path_arg(fs, "path", &path))
        return true;
    struct reading r = { .fs = fs,
        .path = &path,
        .start = fs_int_arg(fs, "start", 1),
        .end = fs_int_arg(fs, "end", INT64_MAX),
        .kept = { .text = BUF((size_t)64 << 20) } };
    r.tail = r.start < 0;
    if (r.tail) {
        r.start = r.start == INT64_MIN ? -INT64_MAX : r.start;
        r.end = INT64_MAX;
    }
    if (!open_file(fs, &path, "read", &r.file, &r.st))
        return true;
    bool ok = read_lines(&r);
    reading_finish(&r);
    return !ok;
}

bool fs_count_lines(struct fs *fs, struct vfile *file, uint64_t *out)
{
    struct str part;
    auto_text_lines l = { 0 };
    uint64_t lines = 0;
    bool ended = true;
    bool ok = !vfile_seek(file, 0) && !text_lines_start(&l, file) &&
              l.reader.encoding == TEXT_UTF8;
    while (ok && text_lines_next(&l, &part, &ended)) {
        lines += ended;
        ok = l.reader.bad_at == TEXT_FINE && budget_spend(&fs->budget, 1);
    }
    if (!ok || l.error || l.reader.bad_at != TEXT_FINE)
        return false;
    *out = lines + !ended;
    return true;
}

static bool count_lines(struct fs *fs, const struct fs_path *path, uint64_t *lines)
{
    struct vfile *file;
    if (vfs_open(fs->vfs, path->at, VFS_READ, 0, &file))
        return false;
    bool ok = fs_count_lines(fs, file, lines);
    vfile_close(file);
    return ok;
}

static void describe_lines(struct fs *fs, const struct fs_path *path, uint64_t size)
{
    uint64_t lines;
    if (size > FS_MAX_COUNTED)
        buf_addf(fs->text, "lines: (not counted: the file is larger than 1 GiB)\n");
    else if (count_lines(fs, path, &lines))
        buf_addf(fs->text, "lines: %llu\n", (unsigned long long)lines);
    else
        buf_addf(fs->text, "lines: (binary or unreadable)\n");
}

bool fs_stat(struct fs *fs)
{
    struct fs_path path;
    struct vfs_stat st;
    if (!fs_path_arg(fs, "path", &path))
        return true;
    int errnum = vfs_stat(fs->vfs, path.at, VFS_FOLLOW, &st);
    if (errnum == ENOENT || errnum == ENOTDIR) {
        auto_buf hint = BUF(8192);
        buf_addf(fs->text, "exists: false\n");
        if (lookalikes_tell(fs->vfs, path.at, fs->workspace.text, fs->arena, &hint))
            buf_addf(fs->text, "%.*s\n", STR_ARG(buf_str(&hint)));
        return false;
    }
    if (errnum)
        return fs_fail_errno(fs, "look at", &path, errnum);
    buf_addf(fs->text, "exists: true\ntype: %s\nsize: %llu bytes\n",
            fs_type_name(st.type), (unsigned long long)st.size);
    if (st.type == VFS_FILE)
        describe_lines(fs, &path, st.size);
    buf_addf(fs->text, "modified: ");
    datetime_format(
            STR("%Y-%m-%dT%H:%M:%S"), datetime_from_ns(st.mtime_ns), false, fs->text);
    buf_addc(fs->text, '\n');
    return false;
}
