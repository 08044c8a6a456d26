/* The workers are real ones; what they guard is made for them and removed again. */
#include "cli/doctor.h"

#include "base/rights.h"
#include "base/wire.h"
#include "broker/spawn.h"
#include "policy/pyre/pyre.h"
#include "policy/python-setup.h"
#include "policy/setup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_SECONDS 20
#define SECRET       ".paddock-secret"

/* The worker's first message, as JSON. */
static bool receive_status(int socket, json_t **out, struct error *err)
{
    struct wire_reader reader;
    struct wire_message m;
    wire_reader_init(&reader, socket);
    bool got = wire_receive(&reader, &m, err);
    if (got && (m.kind != WIRE_READY || m.count != 1))
        got = error_set(err, ERR_BUG, "its first message is no status");
    got = got && json_parse(m.fields[0], out, err);
    wire_reader_finish(&reader);
    return got;
}

/* A socket that blocks, but not for ever. */
static void make_blocking(int socket)
{
    const struct timeval limit = { .tv_sec = WAIT_SECONDS };
    fcntl(socket, F_SETFL, 0);
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
}

/* Start a helper that gets `fds`, and tell it what it is to do. */
static bool start_helper_with(const char *path, const int *fds, size_t count,
        struct str setup, struct helper *helper, struct error *err)
{
    static const char *const env[] = { "LC_ALL=C.UTF-8", NULL };
    const struct helper_spec spec = {
        .path = path, .env = env, .fds = fds, .fd_count = count
    };
    const struct wire_message m = { WIRE_SETUP, 1, { setup } };
    if (!helper_spawn(&spec, helper, err))
        return false;
    make_blocking(helper->socket);
    return wire_send(helper->socket, &m, err);
}

static bool start_helper(const char *path, int fd, struct str setup,
        struct helper *helper, struct error *err)
{
    return start_helper_with(path, &fd, 1, setup, helper, err);
}

/* `folder` becomes the root; `paths` may be NULL. */
static bool ask_worker(const char *path, const char *folder,
        const struct path_policy *paths, json_t **out, struct error *err)
{
    auto_fd int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    const struct setup_root root = { STR("/"), SETUP_LOCAL, SETUP_FIRST_ROOT_FD,
        str_of(folder) };
    const struct setup setup = { .name = STR("doctor"),
        .max_output = 1,
        .timeout_ms = 1000,
        .roots = &root,
        .root_count = 1,
        .paths = paths };
    struct helper helper = HELPER_NONE;
    auto_buf json = BUF((size_t)1 << 16);
    setup_write(&setup, &json);
    bool good = start_helper(path, fd, buf_str(&json), &helper, err) &&
                receive_status(helper.socket, out, err);
    helper_finish(&helper);
    return good;
}

/* Have the zygote fork a child, and keep our end of the socket to it.  There is no
 * broker, and what it prints is for who asked the doctor. */
static bool fork_child(int zygote, int *child, struct error *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return error_errno(err, errno, "cannot make a socket");
    *child = pair[0];
    auto_fd int theirs = pair[1];
    const int fds[] = { theirs, theirs, STDERR_FILENO, STDERR_FILENO };
    auto_buf order = BUF(64);
    wire_write(&(struct wire_message){ WIRE_FORK, 0, { { 0 } } }, &order);
    make_blocking(*child);
    return rights_send(zygote, buf_str(&order), fds, ARRAY_LEN(fds), 0) ==
                   (ssize_t)order.len ||
           error_errno(err, errno, "cannot ask for a child");
}

/* What holds in a child, as one that runs a snippet; "version" is of the interpreter. */
static bool ask_interpreter(
        const char *path, struct str setup, json_t **out, struct error *err)
{
    auto_fd int machine = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), child = -1;
    struct helper zygote = HELPER_NONE;
    json_auto_t *first = NULL;
    bool good = start_helper(path, machine, setup, &zygote, err) &&
                receive_status(zygote.socket, &first, err) &&
                fork_child(zygote.socket, &child, err) && receive_status(child, out, err);
    if (good)
        json_object_set(*out, "version", json_object_get(first, "version"));
    helper_finish(&zygote);
    return good;
}

/* Start a program in an empty folder that is gone afterwards. */
typedef bool ask_fn(
        const char *path, const char *folder, json_t **out, struct error *err);

static json_t *examine(const char *program, ask_fn *ask)
{
    struct error err = { 0 };
    char folder[] = "/tmp/paddock-doctor-XXXXXX";
    auto_free char *path = NULL;
    json_t *worker = NULL;
    if (!helper_find(program, &path, &err))
        return json_pack("{s:n, s:s}", "path", "error", err.message);
    if (!mkdtemp(folder))
        error_errno(&err, errno, "cannot make a folder in /tmp");
    else if (!ask(path, folder, &worker, &err))
        error_context(&err, "it did not start");
    rmdir(folder);
    if (!worker)
        worker = json_pack("{s:s}", "error", err.message);
    json_object_set_new(worker, "path", json_text(str_of(path)));
    return worker;
}

static bool ask_about_folder(
        const char *path, const char *folder, json_t **out, struct error *err)
{
    return ask_worker(path, folder, NULL, out, err);
}

json_t *doctor_folder_worker(void)
{
    return examine("paddock-worker", ask_about_folder);
}

/* A workspace with something protected in it, which is its own home with a secret. */
static bool make_places(const char *protected, const char *secret, struct error *err)
{
    auto_fd int fd = open(secret, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0 || mkdir(protected, 0700) < 0)
        return error_errno(err, errno, "cannot make '%s'", fd < 0 ? secret : protected);
    return true;
}

/* Ask a helper that is told of a policy. */
typedef bool ask_policy_fn(const char *path, const struct policy *policy,
        const struct path_policy *paths, json_t **out, struct error *err);

static bool ask_about_places(const char *path, struct str real, const char *protected,
        ask_policy_fn *ask, struct arena *arena, json_t **out, struct error *err)
{
    struct policy_guard guard = { .regex.text = STR("/\\" SECRET "$"),
        .disposition = GUARD_DENY_ALL };
    struct policy_protected folder = {
        .kind = PROTECTED_SCRIPTS, .path = str_of(protected), .except = STR("")
    };
    struct policy_path writable = { .text = STR("."), .path = real };
    const struct policy policy = { .workspace = real,
        .workspace_real = real,
        .home = real,
        .writable = &writable,
        .writable_count = 1,
        .readable_all = true,
        .guards = &guard,
        .guard_count = 1,
        .protected = &folder,
        .protected_count = 1 };
    if (!pyre_create(guard.regex.text, 0, &guard.regex.pattern, err))
        return false;
    bool good = ask(path, &policy, path_policy_create(&policy, arena), out, err);
    pyre_destroy(guard.regex.pattern);
    return good;
}

static bool ask_about_machine(const char *path, const char *folder, ask_policy_fn *ask,
        json_t **out, struct error *err)
{
    auto_arena *arena = arena_create();
    auto_free char *real = realpath(folder, NULL);
    if (!real)
        return error_errno(err, errno, "cannot find '%s'", folder);
    const char *protected = arena_printf(arena, "%s/protected", real);
    const char *secret = arena_printf(arena, "%s/" SECRET, real);
    bool good = make_places(protected, secret, err) &&
                ask_about_places(path, str_of(real), protected, ask, arena, out, err);
    rmdir(protected);
    unlink(secret);
    return good;
}

static bool tell_worker(const char *path, const struct policy *policy UNUSED,
        const struct path_policy *paths, json_t **out, struct error *err)
{
    return ask_worker(path, "/", paths, out, err);
}

static bool ask_machine_worker(
        const char *path, const char *folder, json_t **out, struct error *err)
{
    return ask_about_machine(path, folder, tell_worker, out, err);
}

json_t *doctor_machine_worker(void)
{
    return examine("paddock-worker", ask_machine_worker);
}

static bool tell_interpreter(const char *path, const struct policy *policy,
        const struct path_policy *paths, json_t **out, struct error *err)
{
    const char *const env[] = { "LC_ALL=C.UTF-8", NULL };
    const struct python_setup setup = { .paths = paths, .policy = policy, .env = env };
    auto_buf json = BUF((size_t)1 << 20);
    python_setup_write(&setup, &json);
    return ask_interpreter(path, buf_str(&json), out, err);
}

static bool ask_machine_interpreter(
        const char *path, const char *folder, json_t **out, struct error *err)
{
    return ask_about_machine(path, folder, tell_interpreter, out, err);
}

json_t *doctor_interpreter(void)
{
    return examine("paddock-python", ask_machine_interpreter);
}

/* It connects to nobody before it is given a message, and there is none. */
static bool ask_bridge(
        const char *path, const char *folder UNUSED, json_t **out, struct error *err)
{
    auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int fds[] = { null, null }; /* input and output */
    struct helper helper = HELPER_NONE;
    bool good = start_helper_with(path, fds, ARRAY_LEN(fds),
                        STR("{\"url\":\"http://localhost/\"}"), &helper, err) &&
                receive_status(helper.socket, out, err);
    helper_finish(&helper);
    return good;
}

json_t *doctor_bridge(void)
{
    return examine("paddock-bridge", ask_bridge);
}
