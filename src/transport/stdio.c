#include "transport/stdio.h"

#include "base/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#define HIGH_FD    100 /* out of the reach of anything that closes low numbers */
#define READ_BYTES 65536
#define HIGH_WATER ((size_t)1 << 20) /* of queued replies: stop reading */
#define LOW_WATER  ((size_t)64 << 10)

/* One of the two ends: a stream of libuv, or a file that is read and written directly. */
struct end {
    int fd;
    int flags; /* of the open file, to be restored: others may share it */
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_pipe_t pipe;
        uv_tty_t tty;
    };
    bool is_file;
};

struct stdio {
    struct end in, out;
    uv_idle_t file_reader; /* used if `in` is a file */
    uv_timer_t grace;
    struct lines lines;
    const struct stdio_events *events;
    void *user;
    bool paused, ended, closing;
    unsigned open_handles;
    char bytes[READ_BYTES];
};

struct pending_write {
    uv_write_t request;
    struct buf bytes;
};

static void stop_reading(struct stdio *s)
{
    if (s->in.is_file)
        uv_idle_stop(&s->file_reader);
    else
        uv_read_stop(&s->in.stream);
}

static void end_reading(struct stdio *s, enum stdio_end end)
{
    if (s->ended)
        return;
    s->ended = true;
    stop_reading(s);
    s->events->end(s->user, end);
}

static void on_lost(uv_timer_t *timer)
{
    struct stdio *s = timer->data;
    s->events->end(s->user, STDIO_HANGUP);
}

/* Nobody reads our replies.  Told later: the caller may be in the middle of a message. */
static void lose_client(struct stdio *s)
{
    if (s->ended)
        return;
    s->ended = true;
    stop_reading(s);
    uv_timer_start(&s->grace, on_lost, 0, 0);
}

static void on_alloc(uv_handle_t *handle, size_t wanted UNUSED, uv_buf_t *out)
{
    struct stdio *s = handle->data;
    *out = uv_buf_init(s->bytes, sizeof(s->bytes));
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *unused UNUSED)
{
    struct stdio *s = stream->data;
    if (n < 0)
        end_reading(s, STDIO_HANGUP);
    else if (n > 0)
        lines_add(&s->lines, (struct str){ s->bytes, (size_t)n });
}

/* A file never makes us wait, so it is read in turns of the loop. */
static void on_file_turn(uv_idle_t *idle)
{
    struct stdio *s = idle->data;
    ssize_t n = read(s->in.fd, s->bytes, sizeof(s->bytes));
    if (n > 0) {
        lines_add(&s->lines, (struct str){ s->bytes, (size_t)n });
    } else if (!n) {
        lines_end(&s->lines);
        end_reading(s, STDIO_EOF);
    } else if (errno != EINTR) {
        end_reading(s, STDIO_HANGUP);
    }
}

static void resume_reading(struct stdio *s)
{
    s->paused = false;
    if (s->in.is_file)
        uv_idle_start(&s->file_reader, on_file_turn);
    else
        uv_read_start(&s->in.stream, on_alloc, on_read);
}

static void close_handles(struct stdio *s);

static void on_written(uv_write_t *request, int failure)
{
    struct pending_write *p = (struct pending_write *)request;
    struct stdio *s = request->handle->data;
    buf_finish(&p->bytes);
    free(p);
    size_t queued = uv_stream_get_write_queue_size(&s->out.stream);
    if (failure == UV_ECANCELED)
        return;
    if (failure)
        lose_client(s);
    else if (s->paused && !s->ended && queued <= LOW_WATER)
        resume_reading(s);
    if (s->closing && (failure || !queued))
        close_handles(s);
}

static void queue(struct stdio *s, struct str message, struct str newline)
{
    struct pending_write *p = xcalloc(1, sizeof(*p));
    p->bytes = BUF(message.len + 2);
    buf_add(&p->bytes, message);
    buf_add(&p->bytes, newline);
    uv_buf_t bytes = uv_buf_init(p->bytes.data, (unsigned)p->bytes.len);
    if (uv_write(&p->request, &s->out.stream, &bytes, 1, on_written)) {
        buf_finish(&p->bytes);
        free(p);
        lose_client(s);
        return;
    }
    if (!s->paused && !s->ended &&
            uv_stream_get_write_queue_size(&s->out.stream) > HIGH_WATER) {
        s->paused = true;
        stop_reading(s);
    }
}

/* A file takes all at once; a full device or a closed one ends us. */
static void write_file(struct stdio *s, struct str text)
{
    while (text.len) {
        ssize_t n = write(s->out.fd, text.data, text.len);
        if (n >= 0) {
            text = str_from(text, (size_t)n);
        } else if (errno == EAGAIN) {
            struct pollfd wait = { .fd = s->out.fd, .events = POLLOUT };
            poll(&wait, 1, -1);
        } else if (errno != EINTR) {
            lose_client(s);
            return;
        }
    }
}

void stdio_send(struct stdio *s, struct str message)
{
    struct str newline = STR("\n");
    if (s->closing)
        return;
    if (s->out.is_file) {
        write_file(s, message);
        write_file(s, newline);
        return;
    }
    /* In one system call, as long as the client keeps up. */
    uv_buf_t parts[] = { { (char *)(uintptr_t)message.data, message.len },
        { (char *)(uintptr_t)newline.data, 1 } };
    int n = uv_try_write(&s->out.stream, parts, 2);
    if (n < 0 && n != UV_EAGAIN) {
        lose_client(s);
        return;
    }
    size_t sent = n < 0 ? 0 : (size_t)n;
    if (sent <= message.len)
        queue(s, str_from(message, sent), newline);
}

/* Move descriptor `fd` up and put `replacement` in its place. */
static bool move_away(int fd, int replacement, int *out, struct error *err)
{
    *out = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
    if (*out < 0)
        return error_errno(err, errno, fd ? "cannot use stdout" : "cannot use stdin");
    dup2(replacement, fd);
    return true;
}

static bool take_descriptors(struct stdio *s, struct error *err)
{
    auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return error_errno(err, errno, "cannot open '/dev/null'");
    return move_away(STDIN_FILENO, null, &s->in.fd, err) &&
           move_away(STDOUT_FILENO, STDERR_FILENO, &s->out.fd, err);
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct stdio *s = handle->data;
    if (--s->open_handles)
        return;
    lines_finish(&s->lines);
    free(s);
}

static bool open_end(uv_loop_t *loop, struct stdio *s, struct end *end, struct error *err)
{
    end->flags = fcntl(end->fd, F_GETFL);
    uv_handle_type kind = uv_guess_handle(end->fd);
    end->is_file = kind == UV_FILE;
    if (end->is_file)
        return true;
    int failure;
    if (kind == UV_TTY) {
        failure = uv_tty_init(loop, &end->tty, end->fd, 0);
    } else {
        uv_pipe_init(loop, &end->pipe, 0);
        failure = uv_pipe_open(&end->pipe, end->fd);
    }
    if (failure)
        return error_set(err, ERR_IO, "cannot use %s: %s",
                end == &s->in ? "stdin" : "stdout", uv_strerror(failure));
    end->handle.data = s;
    s->open_handles++;
    return true;
}

bool stdio_open(uv_loop_t *loop, const struct stdio_events *events, void *user,
        struct stdio **out, struct error *err)
{
    struct stdio *s = xmalloc(sizeof(*s));
    memset(s, 0, offsetof(struct stdio, bytes));
    s->events = events;
    s->user = user;
    if (!take_descriptors(s, err) || !open_end(loop, s, &s->in, err) ||
            !open_end(loop, s, &s->out, err)) {
        free(s); /* the program ends now, and the loop is not run */
        return false;
    }
    lines_init(&s->lines, STDIO_MAX_LINE, events->line, events->too_long, user);
    uv_idle_init(loop, &s->file_reader);
    uv_timer_init(loop, &s->grace);
    s->file_reader.data = s->grace.data = s;
    s->open_handles += 2;
    resume_reading(s);
    *out = s;
    return true;
}

static void close_end(struct end *end)
{
    if (end->flags >= 0 && !end->is_file)
        fcntl(end->fd, F_SETFL, end->flags);
    if (end->is_file)
        close_fd(&end->fd);
    else
        uv_close(&end->handle, on_handle_closed);
}

static void close_handles(struct stdio *s)
{
    if (uv_is_closing((uv_handle_t *)&s->grace))
        return;
    close_end(&s->in);
    close_end(&s->out);
    uv_close((uv_handle_t *)&s->file_reader, on_handle_closed);
    uv_close((uv_handle_t *)&s->grace, on_handle_closed);
}

static void on_grace_over(uv_timer_t *timer)
{
    close_handles(timer->data);
}

void stdio_close(struct stdio *s, unsigned grace_ms)
{
    s->closing = true;
    stop_reading(s);
    s->ended = true;
    uv_timer_stop(&s->grace);
    if (grace_ms && !s->out.is_file && uv_stream_get_write_queue_size(&s->out.stream))
        uv_timer_start(&s->grace, on_grace_over, grace_ms, 0);
    else
        close_handles(s);
}
