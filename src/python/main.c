/*
 * paddock-python: started by the server with a socket as descriptor 3 and "/" as 4.  It
 * enters its view of the machine, starts the interpreter, and then forks a child for each
 * snippet, which confines itself before it reads it (invariant 4).
 */
#include "python/main.h"
#include "python/embed.h"
#include "python/zygote.h"

#include "base/json.h"
#include "base/log.h"
#include "base/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define SOCKET_FD  3
#define MACHINE_FD 4
#define PARKED_FD  16 /* below it children have their own */
#define NAME       "paddock-python"

static bool receive_setup(struct wire_reader *reader, struct arena *arena,
        struct python_setup *setup, struct error *err)
{
    struct wire_message m;
    if (!wire_receive(reader, &m, err))
        return false;
    if (m.kind != WIRE_SETUP || m.count != 1)
        return error_set(err, ERR_INVALID, "the first message is no setup");
    return python_setup_parse(m.fields[0], arena, setup, err);
}

/* What is held each child says for itself. */
static bool send_ready(struct error *err)
{
    static const char version[] = "{\"version\":\"" PY_VERSION "\"}";
    const struct wire_message m = { WIRE_READY, 1, { str_of(version) } };
    return wire_send(SOCKET_FD, &m, err);
}

/* Descriptor 4 stays taken: the roots that are opened next must not get its number. */
static int park_machine(struct error *err)
{
    int machine = fcntl(MACHINE_FD, F_DUPFD_CLOEXEC, PARKED_FD);
    if (machine < 0 || dup3(STDIN_FILENO, MACHINE_FD, O_CLOEXEC) < 0) {
        error_errno(err, errno, "descriptor %d", MACHINE_FD);
        return -1;
    }
    return machine;
}

static bool enter(int server, struct hostview *view, struct arena *arena,
        struct confine_status *status, struct error *err)
{
    const struct hostview_options options = {
        .paths = guard.setup->paths,
        .devices = true,
        .no_programs = true,
        /* Clients of services have credentials to read. */
        .trusted_reads = guard.setup->network,
        .also_readable = embed_folders(arena),
    };
    int machine = park_machine(err);
    if (machine < 0)
        return false;
    hostview_find(&options, machine, arena, view);
    if (!hostview_enter(view, server, arena, status, err))
        return false;
    struct str workspace = path_policy_workspace(guard.setup->paths);
    if (chdir(arena_cstr(arena, workspace)))
        return error_errno(err, errno, "cannot enter '%.*s'", STR_ARG(workspace));
    return true;
}

static bool work(
        int server, struct confine_status *status, struct arena *arena, struct error *err)
{
    struct wire_reader reader;
    struct python_setup setup;
    struct hostview view;
    wire_reader_init(&reader, SOCKET_FD);
    bool got = receive_setup(&reader, arena, &setup, err);
    wire_reader_finish(&reader);
    if (!got)
        return false;
    guard.setup = &setup;
    guard.arena = arena;
    if (!enter(server, &view, arena, status, err))
        return false;
    confine_before_forks(!geteuid(), status);
    guard.fixed_modes = status->view_error;
    return embed_start(err) && send_ready(err) &&
           zygote_serve(SOCKET_FD, &view, status, err);
}

/* The server logs it, and tells the runs that wait. */
static void say_why(const struct error *why)
{
    struct error unused;
    const struct wire_message m = { WIRE_NOT_STARTED, 1, { str_of(why->message) } };
    if (!wire_send(SOCKET_FD, &m, &unused))
        log_line(LOG_ERROR, "%s", why->message);
}

static int serve(void)
{
    struct confine_status status = { 0 };
    struct error err = { 0 };
    int server;
    int failure = confine_begin(NAME, SOCKET_FD, &server, &status);
    if (failure)
        return failure;
    auto_arena *arena = arena_create();
    if (work(server, &status, arena, &err))
        return 0;
    say_why(&err);
    return 1;
}

int main(int argc, char **argv)
{
    log_init(NAME);
    int status = argc > 1 && !strcmp(argv[1], "--snippet")
                         ? snippet_main(argc - 1, argv + 1)
                         : serve();
    _exit(status);
}
