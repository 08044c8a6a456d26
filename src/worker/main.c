/*
 * paddock-worker: started by the server with a socket as descriptor 3 and its roots from
 * 4 on, and nothing else.  It confines itself before it reads a byte that comes from an
 * agent (invariant 4), then answers one call after the other until the socket closes.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/wire.h"
#include "worker/alarm.h"
#include "worker/door.h"
#include "worker/view.h"
#include "worker/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SOCKET_FD 3
#define NAME      "paddock-worker"
#define MAX_NOTES ((size_t)16 << 20)

static const struct {
    const char *name;
    worker_tool_fn *run;
} tools[] = {
    { "edit", worker_edit },
    { "fs_append", worker_fs_append },
    { "fs_delete", worker_fs_delete },
    { "fs_find", worker_fs_find },
    { "fs_grep", worker_fs_grep },
    { "fs_readfile", worker_fs_readfile },
    { "fs_stat", worker_fs_stat },
    { "fs_str_replace", worker_fs_str_replace },
    { "run", worker_run },
    { "shell.load", worker_shell_load },
    { "shell.save", worker_shell_save },
};

static bool receive_setup(struct wire_reader *reader, struct arena *arena,
        struct setup *setup, struct error *err)
{
    struct wire_message m;
    if (!wire_receive(reader, &m, err))
        return false;
    if (m.kind != WIRE_SETUP || m.count != 1)
        return error_set(err, ERR_INVALID, "the first message is no setup");
    return setup_parse(m.fields[0], arena, setup, err);
}

/* isError; what is said about it is in `text`. */
static bool run_tool(struct worker *w, const struct wire_message *m, struct buf *text)
{
    struct error err;
    json_auto_t *args = NULL;
    if (!json_parse(m->fields[1], &args, &err)) {
        buf_addf(text, "arguments: %s", err.message);
        return true;
    }
    auto_arena *arena = arena_create();
    for (size_t i = 0; i < ARRAY_LEN(tools); i++)
        if (str_is(m->fields[0], tools[i].name))
            return tools[i].run(w, args, arena, text);
    buf_addf(text, "Unknown tool: '%.*s'", STR_ARG(m->fields[0]));
    return true;
}

static bool answer_call(struct worker *w, const struct wire_message *m, struct error *err)
{
    if (m->kind != WIRE_CALL || m->count != 2)
        return error_set(err, ERR_INVALID, "expected a call");
    auto_buf text = BUF(WIRE_MAX_MESSAGE - MAX_NOTES - 4096), notes = BUF(MAX_NOTES);
    notes_begin(&w->notes);
    bool is_error = run_tool(w, m, &text);
    notes_write(&w->notes, &notes);
    if (notes.full)
        buf_clear(&notes); /* half of it is no JSON */
    const struct wire_message reply = { WIRE_REPLY, 3,
        { is_error ? STR("1") : STR("0"), buf_str(&text), buf_str(&notes) } };
    return wire_send(SOCKET_FD, &reply, err);
}

static void tell_programs(
        struct programs *p, const struct view *view, struct arena *arena)
{
    p->root = view_cwd(view, arena).text;
    p->files = view->setup->files;
    p->file_count = view->setup->file_count;
}

static void open_shell(struct worker *w, const struct view *view, struct arena *arena)
{
    if (w->door)
        tell_programs(door_programs(w->door), view, arena);
    const struct shell_options options = {
        .vfs = view->vfs,
        .name = arena_cstr(arena, view->setup->name),
        .cwd = view_cwd(view, arena),
        .env = view_env(view, arena),
        .programs = w->door ? door_programs(w->door) : NULL,
        .elsewhere = view->setup->programs ? "the tool run_shell" : NULL,
    };
    w->shell = shell_create(&options);
}

/* Until the server closes the socket, which is no error.  The shell begins with the first
 * call: its time counts from there, however early the worker was started. */
static bool serve(struct worker *w, const struct view *view, struct wire_reader *reader,
        struct arena *arena, struct error *err)
{
    struct wire_message m;
    while (wire_receive(reader, &m, err)) {
        if (!w->shell)
            open_shell(w, view, arena);
        if (!answer_call(w, &m, err))
            return false;
    }
    return err->code == ERR_NOT_FOUND;
}

/* /dev/null is out of reach later. */
static bool open_door(struct worker *w, struct view_also *also, struct error *err)
{
    int fd = w->setup->door;
    if (!fd)
        return true;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return error_errno(err, errno, "cannot open /dev/null");
    if (fcntl(fd, F_SETFL, O_NONBLOCK))
        return error_errno(err, errno, "cannot use the door");
    signal(SIGPIPE, SIG_IGN);
    also->fds[also->count++] = fd;
    also->fds[also->count++] = null;
    also->passes_descriptors = true;
    w->door = door_create(fd, null);
    return true;
}

static bool work(
        int server, struct confine_status *status, struct arena *arena, struct error *err)
{
    struct wire_reader reader;
    struct setup setup;
    struct view view;
    wire_reader_init(&reader, SOCKET_FD);
    if (!receive_setup(&reader, arena, &setup, err) ||
            !view_create(&setup, arena, &view, err))
        return false;
    struct worker w = { .setup = &setup, .vfs = view.vfs, .alarm = alarm_install() };
    struct view_also also = { { SOCKET_FD }, .count = 1 };
    if (!open_door(&w, &also, err) ||
            !view_confine(&view, &also, server, arena, status, err) ||
            !confine_send_ready(SOCKET_FD, status, err))
        return false;
    notes_init(&w.notes, &setup, view.vfs);
    bool fine = serve(&w, &view, &reader, arena, err);
    notes_finish(&w.notes);
    shell_destroy(w.shell);
    door_destroy(w.door);
    view_finish(&view);
    wire_reader_finish(&reader);
    return fine;
}

static int serve_main(void)
{
    struct confine_status status = { 0 };
    int server;
    int failure = confine_begin(NAME, SOCKET_FD, &server, &status);
    if (failure)
        return failure;
    /* The file with the zone is out of reach later; named, it is not looked at again. */
    setenv("TZ", ":/etc/localtime", 0);
    tzset();
    struct error err = { 0 };
    auto_arena *arena = arena_create();
    if (work(server, &status, arena, &err))
        return 0;
    log_line(LOG_ERROR, "%s", err.message);
    return 1;
}

int main(int argc, char **argv)
{
    log_init(NAME);
    /* Letters beyond ASCII have a case and a class; read before the confinement. */
    setlocale(LC_CTYPE, "C.UTF-8");
    int status;
    if (argc > 1 && !strcmp(argv[1], "--shell"))
        status = worker_shell_main(argc - 1, argv + 1);
    else if (argc > 1 && !strcmp(argv[1], "--analyse"))
        status = worker_analyse_main();
    else
        status = serve_main();
    _exit(status); /* at once: nothing is left to flush, and the filter is strict */
}
