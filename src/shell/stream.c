#include "shell/stream.h"

#include "shell/sched.h"
#include "vfs/vfs.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

#define FILE_BUFFER ((size_t)128 << 10)
#define PIPE_BUFFER ((size_t)64 << 10)
#define LOAN_MIN    ((size_t)16 << 10)

/*
 * The memory between the two ends of a pipe.  Bytes lie in [at, at+len) of `data`, or in
 * the writer's own buffer while it is lent: a big write to an empty pipe is not copied,
 * the writer waits until the reader has had it.
 */
struct pipe {
    struct sched *sched;
    char *data;
    const char *loan; /* NULL: the bytes are in `data` */
    size_t at, len;
    int ends; /* streams alive: 2, 1, 0 */
    bool has_reader, has_writer;
    bool readable; /* what sched_wait() looks at: bytes, or the end */
    bool writable; /* room, or no reader */
    bool grew;     /* for a reader that wants more than there is */
};

enum stream_kind {
    STREAM_NULL,
    STREAM_ZERO,
    STREAM_RANDOM,
    STREAM_TEXT,
    STREAM_SINK,
    STREAM_BUFFER,
    STREAM_FILE,
    STREAM_FD,
    STREAM_PIPE_READER,
    STREAM_PIPE_WRITER,
};

struct stream {
    enum stream_kind kind;
    int refs;
    int read_error, write_error;
    bool readable, writable, is_screen;
    size_t pending; /* bytes of the last line handed out: consumed on the next call */
    char *in;       /* bytes read and not yet consumed: [in_at, in_len) */
    size_t in_at, in_len, in_cap;
    struct buf out;  /* bytes written and not yet flushed */
    struct buf line; /* a line that did not lie in one piece */
    struct buf back; /* put back, from `back_at` on: comes before all else */
    size_t back_at;
    union {
        struct {
            stream_sink_fn *fn;
            void *user;
        } sink;
        struct buf *buffer;
        struct {
            struct vfile *file;
            uint64_t offset; /* of the file, as far as we have read */
        };
        int fd;
        struct pipe *pipe;
    };
};

static struct stream *create(enum stream_kind kind, bool readable, bool writable)
{
    struct stream *s = xcalloc(1, sizeof(*s));
    *s = (struct stream){ .kind = kind,
        .refs = 1,
        .readable = readable,
        .writable = writable,
        .out = BUF(FILE_BUFFER * 2),
        .line = BUF(SIZE_MAX / 4),
        .back = BUF(SIZE_MAX / 4) };
    return s;
}

struct stream *stream_null(void)
{
    return create(STREAM_NULL, true, true);
}

struct stream *stream_zero(void)
{
    return create(STREAM_ZERO, true, true);
}

struct stream *stream_random(void)
{
    return create(STREAM_RANDOM, true, true);
}

struct stream *stream_file(struct vfile *file, bool readable, bool writable)
{
    struct stream *s = create(STREAM_FILE, readable, writable);
    s->file = file;
    return s;
}

struct stream *stream_text(struct str text)
{
    struct stream *s = create(STREAM_TEXT, true, false);
    s->in = xmalloc(text.len);
    if (text.len)
        memcpy(s->in, text.data, text.len);
    s->in_len = s->in_cap = text.len;
    return s;
}

struct stream *stream_sink(stream_sink_fn *fn, void *user)
{
    struct stream *s = create(STREAM_SINK, false, true);
    s->sink.fn = fn;
    s->sink.user = user;
    return s;
}

struct stream *stream_screen(stream_sink_fn *fn, void *user)
{
    struct stream *s = stream_sink(fn, user);
    s->is_screen = true;
    return s;
}

struct stream *stream_buffer(struct buf *out)
{
    struct stream *s = create(STREAM_BUFFER, false, true);
    s->buffer = out;
    return s;
}

struct stream *stream_fd(int fd)
{
    struct stream *s = create(STREAM_FD, true, true);
    s->fd = fd;
    return s;
}

void stream_pipe(struct sched *sched, struct stream **reader, struct stream **writer)
{
    struct pipe *p = xcalloc(1, sizeof(*p));
    *p = (struct pipe){ .sched = sched,
        .ends = 2,
        .has_reader = true,
        .has_writer = true,
        .writable = true };
    *reader = create(STREAM_PIPE_READER, true, false);
    *writer = create(STREAM_PIPE_WRITER, false, true);
    (*reader)->pipe = (*writer)->pipe = p;
}

struct stream *stream_ref(struct stream *s)
{
    s->refs++;
    return s;
}

static void pipe_close(struct pipe *p, bool reader)
{
    if (reader)
        p->has_reader = false;
    else
        p->has_writer = false;
    p->readable = p->writable = p->grew = true;
    if (--p->ends)
        return;
    free(p->data);
    free(p);
}

static void close_stream(struct stream *s)
{
    stream_flush(s);
    if (s->kind == STREAM_FILE)
        vfile_close(s->file);
    else if (s->kind == STREAM_PIPE_READER || s->kind == STREAM_PIPE_WRITER)
        pipe_close(s->pipe, s->kind == STREAM_PIPE_READER);
    free(s->in);
    buf_finish(&s->out);
    buf_finish(&s->line);
    buf_finish(&s->back);
    free(s);
}

void stream_unref(struct stream *s)
{
    if (s && !--s->refs)
        close_stream(s);
}

static bool read_failed(struct stream *s, int errnum)
{
    if (!s->read_error)
        s->read_error = errnum;
    return false;
}

static bool write_failed(struct stream *s, int errnum)
{
    if (!s->write_error)
        s->write_error = errnum;
    return false;
}

static int why_blocked(const struct pipe *p)
{
    return budget_stopped(sched_budget(p->sched)) ? ECANCELED : EDEADLK;
}

static size_t pipe_view(const struct pipe *p, struct str *view)
{
    *view = (struct str){ (p->loan ? p->loan : p->data) + p->at, p->len };
    return p->len;
}

static bool pipe_peek(struct stream *s, struct str *view)
{
    struct pipe *p = s->pipe;
    while (!p->len) {
        if (!p->has_writer)
            return false;
        p->readable = false;
        if (!sched_wait(p->sched, &p->readable))
            return read_failed(s, why_blocked(p));
    }
    pipe_view(p, view);
    return true;
}

static void pipe_consume(struct pipe *p, size_t n)
{
    p->at += n;
    p->len -= n;
    if (!p->len) {
        p->at = 0;
        p->loan = NULL;
        p->writable = true;
    } else if (!p->loan && p->len <= PIPE_BUFFER / 2) {
        p->writable = true;
    }
}

/* Move what is there to the front of our own memory, so that more can follow it. */
static void pipe_gather(struct pipe *p)
{
    if (!p->data)
        p->data = xmalloc(PIPE_BUFFER);
    size_t keep = p->len < PIPE_BUFFER ? p->len : PIPE_BUFFER;
    memmove(p->data, (p->loan ? p->loan : p->data) + p->at, keep);
    assert(keep == p->len);
    p->loan = NULL;
    p->at = 0;
}

static bool pipe_peek_more(struct stream *s, size_t want, struct str *view)
{
    struct pipe *p = s->pipe;
    if (!pipe_peek(s, view))
        return false;
    while (p->len < want && p->has_writer) {
        if (p->at || p->loan)
            pipe_gather(p);
        p->writable = true;
        p->grew = false;
        if (!sched_wait(p->sched, &p->grew))
            break;
    }
    pipe_view(p, view);
    return true;
}

static bool read_file(struct stream *s, char *to, size_t size, size_t *got)
{
    int errnum = vfile_read(s->file, to, size, got);
    if (errnum)
        return read_failed(s, errnum);
    s->offset += *got;
    return true;
}

static bool read_fd(struct stream *s, char *to, size_t size, size_t *got)
{
    ssize_t n = read(s->fd, to, size);
    if (n < 0)
        return read_failed(s, errno == EINTR ? ECANCELED : errno);
    *got = (size_t)n;
    return true;
}

static bool read_zero(struct stream *s UNUSED, char *to, size_t size, size_t *got)
{
    memset(to, 0, size);
    *got = size;
    return true;
}

static bool read_random(struct stream *s, char *to, size_t size, size_t *got)
{
    ssize_t n = getrandom(to, size, 0);
    if (n < 0)
        return read_failed(s, errno);
    *got = (size_t)n;
    return true;
}

typedef bool read_fn(struct stream *s, char *to, size_t size, size_t *got);

/* Where more comes from; NULL: there is no more than what is buffered. */
static read_fn *reader_of(const struct stream *s)
{
    switch (s->kind) {
    case STREAM_FILE:
        return read_file;
    case STREAM_FD:
        return read_fd;
    case STREAM_ZERO:
        return read_zero;
    case STREAM_RANDOM:
        return read_random;
    case STREAM_NULL:
    case STREAM_TEXT:
    case STREAM_SINK:
    case STREAM_BUFFER:
    case STREAM_PIPE_READER:
    case STREAM_PIPE_WRITER:
        break;
    }
    return NULL;
}

/* Add at least one byte to the buffer; false at the end or on failure. */
static bool fill(struct stream *s)
{
    read_fn *reader = reader_of(s);
    if (!reader)
        return false;
    if (s->read_error)
        return false;
    if (s->out.len && !stream_flush(s))
        return false;
    if (!s->in)
        s->in = xmalloc(s->in_cap = FILE_BUFFER);
    if (s->in_at) {
        memmove(s->in, s->in + s->in_at, s->in_len - s->in_at);
        s->in_len -= s->in_at;
        s->in_at = 0;
    }
    size_t got = 0;
    bool ok = reader(s, s->in + s->in_len, s->in_cap - s->in_len, &got);
    s->in_len += got;
    return ok && got;
}

static size_t back_len(const struct stream *s)
{
    return s->back.len - s->back_at;
}

static struct str back_view(const struct stream *s)
{
    return str_from(buf_str(&s->back), s->back_at);
}

static void drop_back(struct stream *s)
{
    buf_finish(&s->back);
    s->back = BUF(SIZE_MAX / 4);
    s->back_at = 0;
}

static void take_below(struct stream *s, size_t n)
{
    if (s->kind == STREAM_PIPE_READER)
        pipe_consume(s->pipe, n);
    else
        s->in_at += n;
}

static void take(struct stream *s, size_t n)
{
    if (!back_len(s)) {
        take_below(s, n);
        return;
    }
    s->back_at += n;
    if (!back_len(s))
        drop_back(s);
}

/* Take what stream_line() handed out.  Not earlier: between two calls the caller may
 * block on its output, and whoever feeds us must not overwrite the line meanwhile. */
static void settle(struct stream *s)
{
    size_t n = s->pending;
    s->pending = 0;
    if (n)
        take(s, n);
}

static bool peek_below(struct stream *s, struct str *view)
{
    if (s->kind == STREAM_PIPE_READER)
        return pipe_peek(s, view);
    if (!s->readable)
        return read_failed(s, EBADF);
    if (s->in_at == s->in_len && !fill(s))
        return false;
    *view = (struct str){ s->in + s->in_at, s->in_len - s->in_at };
    return true;
}

bool stream_peek(struct stream *s, struct str *view)
{
    settle(s);
    if (!back_len(s))
        return peek_below(s, view);
    *view = back_view(s);
    return true;
}

/* What was put back is one piece with what comes after it. */
static void join_back(struct stream *s, size_t want)
{
    struct str more;
    while (back_len(s) < want && peek_below(s, &more)) {
        more = str_sub(more, 0, want - back_len(s));
        buf_add(&s->back, more);
        take_below(s, more.len);
    }
}

bool stream_peek_more(struct stream *s, size_t want, struct str *view)
{
    if (want > PIPE_BUFFER)
        want = PIPE_BUFFER;
    settle(s);
    if (back_len(s)) {
        join_back(s, want);
        *view = back_view(s);
        return true;
    }
    if (s->kind == STREAM_PIPE_READER)
        return pipe_peek_more(s, want, view);
    if (!stream_peek(s, view))
        return false;
    while (s->in_len - s->in_at < want && fill(s))
        ;
    *view = (struct str){ s->in + s->in_at, s->in_len - s->in_at };
    return true;
}

void stream_unread(struct stream *s, struct str data)
{
    settle(s);
    if (!data.len)
        return;
    struct buf all = BUF(SIZE_MAX / 4);
    buf_add(&all, data);
    buf_add(&all, back_view(s));
    buf_finish(&s->back);
    s->back = all;
    s->back_at = 0;
}

void stream_consume(struct stream *s, size_t n)
{
    settle(s);
    take(s, n);
}

size_t stream_read(struct stream *s, void *data, size_t size)
{
    struct str view;
    if (!size || !stream_peek(s, &view))
        return 0;
    if (view.len > size)
        view.len = size;
    memcpy(data, view.data, view.len);
    stream_consume(s, view.len);
    return view.len;
}

static bool long_line(struct stream *s, char end, size_t max, struct str *line)
{
    struct str view;
    while (stream_peek(s, &view)) {
        const char *at = memchr(view.data, end, view.len);
        size_t n = at ? (size_t)(at - view.data) + 1 : view.len;
        if (s->line.len + n > max)
            return read_failed(s, EFBIG);
        buf_add(&s->line, str_sub(view, 0, n));
        stream_consume(s, n);
        if (at)
            break;
    }
    *line = buf_str(&s->line);
    return line->len && !s->read_error;
}

bool stream_line(struct stream *s, char end, size_t max, struct str *line)
{
    struct str view;
    if (s->line.cap > FILE_BUFFER)
        buf_finish(&s->line);
    if (!stream_peek(s, &view))
        return false;
    const char *at = memchr(view.data, end, view.len);
    if (at && (size_t)(at - view.data) < max) {
        *line = str_sub(view, 0, (size_t)(at - view.data) + 1);
        s->pending = line->len;
        return true;
    }
    buf_clear(&s->line);
    return long_line(s, end, max, line);
}

bool stream_read_all(struct stream *s, struct buf *out)
{
    struct str view;
    while (!out->full && stream_peek(s, &view)) {
        buf_add(out, view);
        stream_consume(s, view.len);
    }
    return !out->full && !s->read_error;
}

/* Wait for room; false: the reader is gone, or nobody will ever read. */
static bool wait_writable(struct stream *s)
{
    struct pipe *p = s->pipe;
    p->writable = false;
    if (!p->has_reader)
        return write_failed(s, EPIPE);
    if (!sched_wait(p->sched, &p->writable))
        return write_failed(s, why_blocked(p));
    return p->has_reader || write_failed(s, EPIPE);
}

/* Lend a big block to the reader instead of copying it. */
static bool pipe_lend(struct stream *s, struct str *data)
{
    struct pipe *p = s->pipe;
    p->loan = data->data;
    p->at = 0;
    p->len = data->len;
    p->readable = p->grew = true;
    bool ok = true;
    while (ok && p->loan == data->data && p->len)
        ok = wait_writable(s);
    if (p->loan == data->data) { /* failed with the loan still out: take it back */
        p->loan = NULL;
        p->at = p->len = 0;
    }
    *data = str_from(*data, data->len);
    return ok;
}

static bool pipe_write(struct stream *s, struct str data)
{
    struct pipe *p = s->pipe;
    while (data.len) {
        if (!p->has_reader)
            return write_failed(s, EPIPE);
        if (!p->len && data.len >= LOAN_MIN) {
            if (!pipe_lend(s, &data))
                return false;
            continue;
        }
        if (!p->data)
            p->data = xmalloc(PIPE_BUFFER);
        /* What the reader looks at must stay where it is, so only the reader moves it. */
        size_t n = p->loan ? 0 : PIPE_BUFFER - p->at - p->len;
        if (!n) {
            if (!wait_writable(s))
                return false;
            continue;
        }
        if (n > data.len)
            n = data.len;
        memcpy(p->data + p->at + p->len, data.data, n);
        p->len += n;
        p->readable = p->grew = true;
        data = str_from(data, n);
    }
    return true;
}

static bool write_fd(struct stream *s, struct str data)
{
    while (data.len) {
        ssize_t n = write(s->fd, data.data, data.len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return write_failed(s, errno);
        data = str_from(data, (size_t)n);
    }
    return true;
}

static bool write_through(struct stream *s, struct str data)
{
    if (s->kind == STREAM_FD)
        return write_fd(s, data);
    int errnum = vfile_write(s->file, data);
    return !errnum || write_failed(s, errnum);
}

static bool write_buffered(struct stream *s, struct str data)
{
    if (s->in_at < s->in_len || back_len(s))
        stream_sync(s);
    if (s->out.len + data.len > FILE_BUFFER && !stream_flush(s))
        return false;
    if (data.len >= FILE_BUFFER)
        return write_through(s, data);
    buf_add(&s->out, data);
    return true;
}

static bool write_to_buffer(struct stream *s, struct str data)
{
    buf_add(s->buffer, data);
    return !s->buffer->full || write_failed(s, EFBIG);
}

bool stream_write(struct stream *s, struct str data)
{
    if (!s->writable)
        return write_failed(s, EBADF);
    if (s->write_error)
        return false;
    switch (s->kind) {
    case STREAM_NULL:
    case STREAM_ZERO:
    case STREAM_RANDOM:
        return true;
    case STREAM_SINK: {
        int errnum = s->sink.fn(s->sink.user, data);
        return !errnum || write_failed(s, errnum);
    }
    case STREAM_BUFFER:
        return write_to_buffer(s, data);
    case STREAM_FILE:
    case STREAM_FD:
        return write_buffered(s, data);
    case STREAM_PIPE_WRITER:
        return pipe_write(s, data);
    case STREAM_TEXT:
    case STREAM_PIPE_READER:
        break;
    }
    return write_failed(s, EBADF);
}

bool stream_flush(struct stream *s)
{
    if (!s->out.len)
        return !s->write_error;
    bool ok = write_through(s, buf_str(&s->out));
    buf_clear(&s->out);
    return ok;
}

int stream_error(const struct stream *s)
{
    return s->read_error ? s->read_error : s->write_error;
}

void stream_clear_error(struct stream *s)
{
    s->read_error = s->write_error = 0;
}

struct vfile *stream_vfile(struct stream *s)
{
    return s->kind == STREAM_FILE ? s->file : NULL;
}

void stream_sync(struct stream *s)
{
    if (s->kind != STREAM_FILE)
        return;
    settle(s);
    stream_flush(s);
    size_t unread = s->in_len - s->in_at + back_len(s);
    if (unread) {
        s->offset -= unread;
        int errnum = vfile_seek(s->file, s->offset);
        if (errnum)
            write_failed(s, errnum);
    }
    s->in_at = s->in_len = 0;
    if (back_len(s))
        drop_back(s);
}

bool stream_is_shared(const struct stream *s)
{
    return s->refs > 1;
}

bool stream_is_pipe(const struct stream *s)
{
    return s->kind == STREAM_PIPE_READER || s->kind == STREAM_PIPE_WRITER;
}

bool stream_is_null(const struct stream *s)
{
    return s->kind == STREAM_NULL;
}

bool stream_is_screen(const struct stream *s)
{
    return s->is_screen;
}
