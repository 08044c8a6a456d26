#include "python/mcp-client.h"

#include "base/json.h"
#include "base/rights.h"
#include "python/caller.h"
#include "python/command-client.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_CALLS 16 /* at once, what the door takes */
#define TICK_MS   50 /* a signal may have come to another thread */
#define PIECE     ((size_t)256 << 10)

static size_t running; /* only used with the GIL */

/* False: a signal's handler has raised an exception. */
static bool await(int fd, short events)
{
    struct pollfd socket = { .fd = fd, .events = events };
    Py_BEGIN_ALLOW_THREADS;
    poll(&socket, 1, TICK_MS);
    Py_END_ALLOW_THREADS;
    return !PyErr_CheckSignals();
}

/* More threads than may call at once wait for each other. */
static bool await_turn(void)
{
    while (running >= MAX_CALLS)
        if (!await(-1, 0))
            return false;
    return true;
}

static bool raise_errno(int error)
{
    errno = error;
    PyErr_SetFromErrno(PyExc_OSError);
    return false;
}

static bool send_request(const struct mcp_request *r, int end)
{
    json_auto_t *request = json_pack("{s:o, s:o, s:I, s:I, s:s}", "call",
            json_text(r->server), "tool", json_text(r->tool), "bytes",
            (json_int_t)r->arguments.len, "timeout_ms", (json_int_t)r->timeout_ms,
            "caller", caller_name(caller_responsible()));
    int error = client_send(request, &end, 1);
    if (error == EPIPE)
        PyErr_SetString(PyExc_ConnectionError,
                "the server takes no calls of tools from this snippet any more");
    else if (error > 0)
        raise_errno(error);
    return !error;
}

/* An answer may come before all of them are sent: it is a refusal. */
static bool send_arguments(int fd, struct str arguments)
{
    while (arguments.len) {
        ssize_t n = rights_send(fd, str_sub(arguments, 0, PIECE), NULL, 0, MSG_DONTWAIT);
        if (n < 0 && errno != EAGAIN)
            return true; /* what is said about it, receive() tells */
        if (n < 0 && !await(fd, POLLOUT))
            return false;
        if (n > 0)
            arguments = str_from(arguments, (size_t)n);
    }
    return true;
}

static bool receive(int fd, struct buf *answer)
{
    for (;;) {
        char *to = buf_reserve(answer, PIECE);
        if (!to)
            return raise_errno(EMSGSIZE);
        ssize_t n = recv(fd, to, PIECE, MSG_DONTWAIT);
        if (!n || (n < 0 && errno == ECONNRESET)) /* it has not read all that it got */
            return true;
        if (n > 0)
            answer->len += (size_t)n;
        else if (errno != EAGAIN && errno != EINTR)
            return raise_errno(errno);
        else if (!await(fd, POLLIN))
            return false;
    }
}

static bool exchange(const struct mcp_request *r, struct buf *answer)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return raise_errno(errno);
    auto_fd int own = ends[0];
    bool sent = send_request(r, ends[1]);
    close(ends[1]);
    return sent && send_arguments(own, r->arguments) && receive(own, answer);
}

bool mcp_ask(const struct mcp_request *request, struct buf *answer)
{
    if (!await_turn())
        return false;
    running++;
    bool fine = exchange(request, answer);
    running--;
    return fine;
}
