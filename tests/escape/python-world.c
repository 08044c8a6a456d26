#include "python-world.h"

#include "policy/config/config.h"
#include "policy/environ.h"
#include "policy/python-setup.h"

#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 60000 /* so that nothing hangs */

static const char more_modules[] =
        "[imports]\nasyncio = true\nthreading = true\nshutil = true\nzipfile = true\n"
        "tarfile = true\nzoneinfo = true\nmmap = true\nfcntl = true\nsignal = true\n"
        "concurrent = true\nselect = true\nresource = true\nlocale = true\n"
        "platform = true\nqueue = true\ngzip = true\n"
        "multiprocessing = true\ninspect = true\n";

const char *python_world_library(void)
{
    static char path[256];
    glob_t found;
    if (glob("/usr/lib*/*/libz.so.1", 0, NULL, &found))
        fail_msg("no library to try it with");
    snprintf(path, sizeof(path), "%s", found.gl_pathv[0]);
    globfree(&found);
    return path;
}

static void put_library(const struct python_world *w)
{
    char command[1024];
    if (!w->options->library)
        return;
    snprintf(command, sizeof(command), "mkdir -p '%s/ws/%s' && cp '%s' '%s/ws/%s/lib.so'",
            w->machine.top, w->options->library, python_world_library(), w->machine.top,
            w->options->library);
    assert_int_equal(system(command), 0);
}

static char *make_setup(struct python_world *w)
{
    struct error err;
    struct policy *policy;
    const struct machine *m = &w->machine;
    if (unlink(machine_path(m, "ws/.pyddock/pyddock.toml")))
        assert(!"the file of machine.h is no policy");
    const char *more = w->options->policy ? w->options->policy : "";
    machine_write(m, "ws/.pyddock/pyddock.override.toml",
            arena_printf(m->arena, "%s%s", more_modules, more));
    put_library(w);
    const struct config_request request = { .workspace = machine_path(m, "ws"),
        .home = machine_path(m, "home") };
    if (!config_load(&request, m->arena, &policy, &err))
        fail_msg("%s", err.message);
    const char *env[] = { "PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8", w->options->variable,
        NULL };
    const struct python_setup setup = {
        .paths = path_policy_create(policy, m->arena),
        .policy = policy,
        .env = env,
        .network = w->options->network,
    };
    auto_buf text = BUF((size_t)16 << 20);
    python_setup_write(&setup, &text);
    return strndup(text.data, text.len);
}

static void expect(
        struct wire_reader *reader, struct wire_message *m, enum wire_kind kind)
{
    struct error err = { 0 };
    if (!wire_receive(reader, m, &err))
        fail_msg("%s", err.message);
    assert_int_equal(m->kind, kind);
}

void python_world_begin(struct python_world *w, const struct python_world_options *o)
{
    struct error err = { 0 };
    struct wire_message ready;
    *w = (struct python_world){ .zygote = HELPER_NONE, .options = o };
    machine_create(&w->machine, geteuid());
    auto_free char *setup = make_setup(w);
    auto_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    static const char *const env[] = { "LC_ALL=C.UTF-8", NULL };
    const struct helper_spec spec = {
        .path = o->program, .env = env, .fds = &root, .fd_count = 1
    };
    if (!helper_spawn(&spec, &w->zygote, &err))
        fail_msg("%s", err.message);
    fcntl(w->zygote.socket, F_SETFL, 0);
    wire_reader_init(&w->reader, w->zygote.socket);
    const struct wire_message m = { WIRE_SETUP, 1, { str_of(setup) } };
    if (!wire_send(w->zygote.socket, &m, &err))
        fail_msg("%s", err.message);
    expect(&w->reader, &ready, WIRE_READY);
}

void python_world_end(struct python_world *w)
{
    helper_finish(&w->zygote);
    wire_reader_finish(&w->reader);
    machine_destroy(&w->machine);
}

static void send_fork(const struct python_world *w, const int *fds, size_t count)
{
    const struct wire_message order = { .kind = WIRE_FORK };
    auto_buf bytes = BUF(4096);
    wire_write(&order, &bytes);
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = { 0 };
    struct iovec iov = { bytes.data, bytes.len };
    struct msghdr message = { .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control) };
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(count * sizeof(int));
    memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    assert_int_equal(sendmsg(w->zygote.socket, &message, 0), bytes.len);
}

static void receive_pid(struct python_world *w, struct python_child *c)
{
    int64_t pid;
    struct wire_message m;
    expect(&w->reader, &m, WIRE_FORKED);
    assert_true(str_int(m.fields[0], &pid));
    if (pid <= 0)
        fail_msg("no child: %.*s", STR_ARG(m.fields[1]));
    c->pid = (pid_t)pid;
}

void python_child_begin(struct python_world *w, struct python_child *c)
{
    struct error err;
    struct wire_message m;
    int control[2], broker[2];
    *c = (struct python_child){ .wait_status = -1 };
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, broker), 0);
    c->control = control[0];
    c->broker = broker[0];
    c->out = memfd_create("out", MFD_CLOEXEC);
    c->err = memfd_create("err", MFD_CLOEXEC);
    const int fds[] = { control[1], broker[1], c->out, c->err };
    send_fork(w, fds, ARRAY_LEN(fds));
    close(control[1]);
    close(broker[1]);
    receive_pid(w, c);
    wire_reader_init(&c->reader, c->control);
    expect(&c->reader, &m, WIRE_READY);
    assert_true(json_parse(m.fields[0], &c->status, &err));
}

void python_child_send(struct python_child *c, const char *code, unsigned timeout_ms)
{
    struct error err;
    auto_buf text = BUF((size_t)1 << 20);
    json_auto_t *args =
            json_pack("{s:s, s:i}", "code", code, "timeout_ms", (int)timeout_ms);
    json_write(args, &text);
    const struct wire_message call = { WIRE_CALL, 2,
        { STR("run_python"), buf_str(&text) } };
    if (!wire_send(c->control, &call, &err))
        fail_msg("%s", err.message);
}

void python_child_kill(const struct python_child *c)
{
    assert_int_equal(kill(c->pid, SIGKILL), 0);
}

static void read_output(struct python_child *c)
{
    auto_buf all = BUF((size_t)1 << 20);
    const int files[] = { c->out, c->err };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        char block[4096];
        off_t at = 0;
        for (ssize_t n; (n = pread(files[i], block, sizeof(block), at)) > 0; at += n)
            buf_add(&all, (struct str){ block, (size_t)n });
    }
    c->output = strndup(all.data ? all.data : "", all.len);
}

void python_child_wait(struct python_world *w, struct python_child *c)
{
    struct error err = { 0 };
    struct wire_message m;
    if (wire_receive(&c->reader, &m, &err) && m.kind == WIRE_REPLY && m.count == 3) {
        json_auto_t *notes = NULL;
        if (json_parse(m.fields[2], &notes, &err))
            c->notes = json_incref(notes);
        if (json_is_true(json_object_get(c->notes, "has_result")))
            c->result = strndup(m.fields[1].data, m.fields[1].len);
    }
    for (int64_t pid = 0; pid != c->pid;) {
        int64_t status = -1;
        expect(&w->reader, &m, WIRE_GONE);
        assert_true(str_int(m.fields[0], &pid) && str_int(m.fields[1], &status));
        c->wait_status = (int)status;
    }
    read_output(c);
}

void python_child_finish(struct python_child *c)
{
    wire_reader_finish(&c->reader);
    close_fd(&c->control);
    close_fd(&c->broker);
    close_fd(&c->out);
    close_fd(&c->err);
    json_decref(c->status);
    json_decref(c->notes);
    free(c->result);
    free(c->output);
}

void python_child_run(struct python_world *w, const char *code, struct python_child *c)
{
    python_child_begin(w, c);
    python_child_send(c, code, TIMEOUT_MS);
    python_child_wait(w, c);
}

bool python_child_holds(const struct python_child *c, const char *property)
{
    const json_t *all = json_object_get(c->status, "properties");
    return json_is_true(json_object_get(json_object_get(all, property), "held"));
}
