/*
 * stream.h - what a file descriptor of the shell refers to.
 *
 * A stream is an open file description: shared by reference between fds, subshells and
 * stages, with its buffer inside, so that whoever reads next goes on exactly where the
 * last one stopped (`read` in a loop takes one line and no byte more).
 *
 * Reading: stream_peek() shows what is buffered (blocking until there is a byte),
 * stream_consume() takes some of it.  Writing: stream_write() takes everything or fails.
 * "Blocking" on a pipe switches to the coroutine at its other end (sched.h).  A failure
 * is kept in `error` (an errno; EPIPE when the reader is gone, ECANCELED when the budget
 * is spent); end of input is not a failure.
 *
 * Files: writes are buffered and reach the file when stream_flush() is called; the shell
 * does that after every command, so that the next one sees them.
 */
#ifndef SHELL_STREAM_H
#define SHELL_STREAM_H

#include "base/budget.h"
#include "base/str.h"

struct sched;
struct vfile;
struct stream;

/* Receives what is written; returns 0 or an errno. */
typedef int stream_sink_fn(void *user, struct str data);

/* All return a stream with one reference. */
struct stream *stream_null(void);
struct stream *stream_zero(void);   /* endless NULs; writing is for nothing */
struct stream *stream_random(void); /* endless random bytes */
struct stream *stream_file(
        struct vfile *file, bool readable, bool writable); /* takes over */
struct stream *stream_text(struct str text);               /* reads a copy of `text` */
struct stream *stream_sink(stream_sink_fn *fn, void *user);
struct stream *stream_screen(stream_sink_fn *fn, void *user); /* somebody reads that */
struct stream *stream_buffer(
        struct buf *out);         /* appends to `out`; EFBIG when it is full */
struct stream *stream_fd(int fd); /* a real descriptor, not closed by us */

/* Both ends of a pipe with a 64 KiB ring. */
void stream_pipe(struct sched *sched, struct stream **reader, struct stream **writer);

struct stream *stream_ref(struct stream *s);
bool stream_is_shared(const struct stream *s); /* more than one reference */
void stream_unref(struct stream *s); /* NULL is fine; the last one flushes and closes */

/* True with at least one byte in `*view` (valid until the next call on this stream: write
 * it on before consuming it);
 * false at the end of input or on failure (look at stream_error). */
bool stream_peek(struct stream *s, struct str *view);
void stream_consume(struct stream *s, size_t n);

/* Try to have at least `want` bytes in the view (fewer only at the end of input).  `want`
 * up to 64 KiB is always possible. */
bool stream_peek_more(struct stream *s, size_t want, struct str *view);

/* Copies up to `size` bytes; 0 at the end or on failure. */
size_t stream_read(struct stream *s, void *data, size_t size);

/*
 * The next line with its newline (the last may lack it).  It stays valid until the next
 * call on this stream, even if the caller blocks on another one meanwhile.  False at the
 * end or on failure; EFBIG: longer than `max`.
 */
bool stream_line(struct stream *s, char end, size_t max, struct str *line);

/* Put bytes that were consumed back in front of what comes next. */
void stream_unread(struct stream *s, struct str data);

/* Everything up to the end, appended to `out`; false on failure or when `out` is full. */
bool stream_read_all(struct stream *s, struct buf *out);

MUST_CHECK bool stream_write(struct stream *s, struct str data);

/* Write out what is buffered; false on failure. */
bool stream_flush(struct stream *s);

int stream_error(const struct stream *s);
void stream_clear_error(struct stream *s);

/* NULL if the stream is no file.  Its offset is that of the *unbuffered* file; call
 * stream_sync() first to drop the buffer and put the offset where reading stopped. */
struct vfile *stream_vfile(struct stream *s);
void stream_sync(struct stream *s);

bool stream_is_pipe(const struct stream *s);
bool stream_is_null(const struct stream *s);   /* /dev/null */
bool stream_is_screen(const struct stream *s); /* what is written is for reading only */

#endif
