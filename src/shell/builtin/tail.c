#include "shell/builtin/ends.h"

/* A line without an end is not read to its beginning for somebody who is shown a small
 * part of it: the limit of what may be written would come first, and hide the end. */
#define MAX_SHOWN ((uint64_t)64 << 20)

static bool from_start(const struct ends *e, struct stream *s)
{
    uint64_t skip = e->count ? e->count - 1 : 0;
    if (e->bytes ? skip_bytes(e->c, s, skip) : skip_lines(e->c, s, e->end, skip))
        return copy_bytes(e->c, s, UINT64_MAX);
    return true;
}

static bool last_of_stream(const struct ends *e, struct stream *s)
{
    struct queue q = { .e = e };
    struct str view;
    bool ok = true;
    while (ok && cmd_tick(e->c) && stream_peek(s, &view)) {
        ok = queue_add(&q, view);
        stream_consume(s, view.len);
    }
    ok = ok && cmd_put(e->c, queue_kept(&q));
    buf_finish(&q.bytes);
    return ok;
}

/* Where in a block the wanted lines begin: after the end number `*left`, from the back;
 * -1 if it has fewer (then `*left` is less by those). */
static ptrdiff_t line_start(struct str block, char end, uint64_t *left)
{
    while (block.len) {
        const char *at = memrchr(block.data, end, block.len);
        if (!at)
            return -1;
        block.len = (size_t)(at - block.data);
        if (!--*left)
            return (ptrdiff_t)block.len + 1;
    }
    return -1;
}

/* The offset of the last lines of a file of `size` bytes, read backwards; if they begin
 * before `first`, one near that. */
static int find_last_lines(const struct ends *e, struct vfile *f, uint64_t size,
        uint64_t first, uint64_t *offset)
{
    char block[16384];
    uint64_t left = e->count + 1, at = size;
    if (!e->count) {
        *offset = size;
        return 0;
    }
    while (at > first && cmd_tick(e->c)) {
        size_t want = at % sizeof(block) ? at % sizeof(block) : sizeof(block), got;
        int errnum = vfile_pread(f, block, want, at - want, &got);
        if (errnum)
            return errnum;
        struct str view = { block, got };
        /* An unfinished last line counts as a line. */
        if (at == size && got && block[got - 1] != e->end)
            left--;
        ptrdiff_t start = line_start(view, e->end, &left);
        at -= want;
        if (start >= 0) {
            *offset = at + (uint64_t)start;
            return 0;
        }
    }
    *offset = at;
    return 0;
}

/* How far back it makes sense to look. */
static uint64_t first_offset(const struct ends *e, uint64_t size)
{
    bool is_cut = stream_is_screen(e->c->out) && size > MAX_SHOWN;
    return is_cut ? size - MAX_SHOWN : 0;
}

/* Go to the place of a regular file where output begins.  False: read it as a stream. */
static bool seek_to_last(const struct ends *e, const char *name, struct stream *s)
{
    struct vfs_stat st;
    struct vfile *f = stream_vfile(s);
    if (!f || vfile_stat(f, &st) || st.type != VFS_FILE || !st.size)
        return false;
    uint64_t offset = st.size > e->count ? st.size - e->count : 0;
    uint64_t first = first_offset(e, st.size);
    if (!e->bytes && find_last_lines(e, f, st.size, first, &offset))
        return false;
    bool is_cut = e->bytes ? offset < first : first && offset <= first;
    if (is_cut)
        cmd_err(e->c, "%s: only the last 64 MiB are shown of what was asked for", name);
    return !vfile_seek(f, is_cut ? first : offset);
}

static bool tail_one(const struct ends *e, const char *name, struct stream *s)
{
    if (e->from_start)
        return from_start(e, s);
    /* stdin may have been read from already, so it has no known size. */
    if (!input_is_stdin(name) && seek_to_last(e, name, s))
        return copy_bytes(e->c, s, UINT64_MAX);
    return last_of_stream(e, s);
}

static int cmd_tail(struct cmd *c)
{
    struct ends e;
    if (!ends_parse(c, true, &e))
        return 1;
    if (e.follow) {
        cmd_err(c, "following a file would never end here; run tail again to see what "
                   "was added");
        return 1;
    }
    bool first = true;
    struct inputs in = inputs_open(c);
    in.style = INPUT_HEAD;
    while (inputs_next(&in)) {
        if (!ends_header(&e, in.name, first) || !tail_one(&e, in.name, in.stream))
            in.next = in.count;
        first = false;
    }
    return in.status;
}

const struct command command_tail = {
    "tail",
    cmd_tail,
    tail_options,
    "[OPTION]... [FILE]...",
    "Print the last 10 lines of each file.",
    0,
};
