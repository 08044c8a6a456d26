#include "peer/bridge-start.h"

#include "base/json.h"
#include "base/wire.h"

#include <errno.h>
#include <signal.h>
#include <strings.h>
#include <sys/socket.h>

#define MAX_SETUP ((size_t)64 << 10) /* as in bridge/bridge.h; it fits into a socket */

struct peer_bridge {
    struct helper process;
    uv_poll_t death; /* watches `pidfd` */
    int pidfd;
    peer_bridge_done_fn *done; /* NULL: nobody waits any more */
    void *user;
};

/* NULL: it is not there, or empty. */
static const char *find_variable(const struct peer_definition *d, const char *name)
{
    size_t len = strlen(name);
    for (const char *const *one = d->env; one && *one; one++)
        if (!strncmp(*one, name, len) && (*one)[len] == '=' && (*one)[len + 1])
            return *one + len + 1;
    return NULL;
}

static void set_text(json_t *object, const char *key, const char *text)
{
    if (text)
        json_object_set_new(object, key, json_text(str_of(text)));
}

static json_t *setup_of(const struct peer_definition *d)
{
    bool is_tls = !strncasecmp(d->url, "https:", strlen("https:"));
    json_t *setup = json_object(), *headers = json_array();
    for (const char *const *one = d->headers; one && *one; one++)
        json_array_append_new(headers, json_text(str_of(*one)));
    json_object_set_new(setup, "headers", headers);
    set_text(setup, "url", d->url);
    set_text(setup, "ca_file", find_variable(d, "SSL_CERT_FILE"));
    set_text(setup, "proxy", find_variable(d, is_tls ? "HTTPS_PROXY" : "HTTP_PROXY"));
    return setup;
}

/* All at once, into an empty socket. */
static bool send_setup(int socket, const struct peer_definition *d, struct error *err)
{
    auto_buf json = BUF(MAX_SETUP), bytes = BUF(MAX_SETUP + 64);
    json_auto_t *setup = setup_of(d);
    json_write(setup, &json);
    if (json.full)
        return error_set(err, ERR_LIMIT, "its URL and headers are longer than %zu bytes",
                MAX_SETUP);
    const struct wire_message m = { WIRE_SETUP, 1, { buf_str(&json) } };
    wire_write(&m, &bytes);
    ssize_t n = send(socket, bytes.data, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n != (ssize_t)bytes.len)
        return error_errno(err, n < 0 ? errno : EAGAIN, "cannot tell it what to do");
    return true;
}

static void on_death_closed(uv_handle_t *handle)
{
    struct peer_bridge *b = handle->data;
    close_fd(&b->pidfd);
    helper_finish(&b->process);
    free(b);
}

static void on_death(uv_poll_t *poll, int failure UNUSED, int events UNUSED)
{
    struct peer_bridge *b = poll->data;
    int status;
    if (!helper_reap(&b->process, &status))
        return;
    peer_bridge_done_fn *done = TAKE(b->done);
    uv_poll_stop(poll);
    uv_close((uv_handle_t *)poll, on_death_closed);
    if (done)
        done(b->user, status);
}

static bool watch(uv_loop_t *loop, struct peer_bridge *b, struct error *err)
{
    b->pidfd = helper_pidfd(&b->process);
    if (b->pidfd < 0)
        return error_errno(err, errno, "cannot watch it");
    uv_poll_init(loop, &b->death, b->pidfd);
    b->death.data = b;
    uv_poll_start(&b->death, UV_READABLE, on_death);
    return true;
}

bool peer_bridge_start(uv_loop_t *loop, const struct bridge_spec *spec, int input,
        int output, peer_bridge_done_fn *done, void *user, struct peer_bridge **out,
        int *errors, struct error *err)
{
    static const char *const env[] = { NULL };
    const int fds[] = { input, output };
    const struct helper_spec helper = { .path = spec->program,
        .env = env,
        .fds = fds,
        .fd_count = ARRAY_LEN(fds),
        .pipe_stderr = true };
    struct peer_bridge *b = xcalloc(1, sizeof(*b));
    *b = (struct peer_bridge){
        .process = HELPER_NONE, .pidfd = -1, .done = done, .user = user
    };
    if (!helper_spawn(&helper, &b->process, err) ||
            !send_setup(b->process.socket, spec->definition, err) ||
            !watch(loop, b, err)) {
        helper_finish(&b->process);
        free(b);
        return false;
    }
    *errors = b->process.errors;
    b->process.errors = -1;
    *out = b;
    return true;
}

void peer_bridge_stop(struct peer_bridge *b)
{
    helper_signal(&b->process, SIGKILL);
}

void peer_bridge_destroy(struct peer_bridge *b)
{
    if (!b)
        return;
    b->done = NULL;
    helper_finish(&b->process);
    if (!uv_is_closing((uv_handle_t *)&b->death))
        uv_close((uv_handle_t *)&b->death, on_death_closed);
}
