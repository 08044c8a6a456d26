#include "python/run.h"
#include "python/zygote.h"

#include "base/json.h"
#include "base/log.h"
#include "base/wire.h"

#include <fcntl.h>
#include <unistd.h>

#define MAX_MEMORY    ((uint64_t)8 << 30)
#define MAX_FILE_SIZE ((uint64_t)4 << 30)
#define MAX_FILES     1024

/* Everything that a first snippet would touch for the first time is touched by this. */
static const char warm_up[] = "import sys, json, re\n"
                              "def f(a, *b, c=1):\n"
                              "    return [x for x in (a, c)]\n"
                              "try:\n"
                              "    f(json.dumps({'a': re.sub('a', 'b', 'a')}), 2)\n"
                              "    raise ValueError\n"
                              "except ValueError as e:\n"
                              "    print(end='')\n"
                              "2 + 2\n";

static void take_descriptors(const int *fds, struct hostview *view)
{
    int at[CHILD_FDS];
    for (size_t i = 0; i < CHILD_FDS; i++)
        at[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 100);
    dup2(at[CHILD_OUT], STDOUT_FILENO);
    dup2(at[CHILD_ERR], STDERR_FILENO);
    dup3(at[CHILD_CONTROL], CONTROL_FD, O_CLOEXEC);
    dup3(at[CHILD_BROKER], BROKER_FD, O_CLOEXEC);
    int keep[2 + 64], count = 0;
    keep[count++] = CONTROL_FD;
    keep[count++] = BROKER_FD;
    for (size_t i = 0; i < view->root_count && count < (int)ARRAY_LEN(keep); i++)
        keep[count++] = view->roots[i].fd;
    confine_close_others(keep, (size_t)count);
}

static void confine(struct hostview *view, struct confine_status *status)
{
    const struct confine_request request = {
        .roots = view->roots,
        .root_count = view->root_count,
        .view = &view->mounts,
        .no_capabilities = geteuid(),
        .max_memory = MAX_MEMORY,
        .max_file_size = MAX_FILE_SIZE,
        .max_files = MAX_FILES,
        .interpreter = true,
    };
    confine_self(&request, status);
    hostview_close_roots(view);
    close_fd(&view->machine);
}

static bool send_ready(const struct confine_status *status, struct error *err)
{
    auto_buf text = BUF((size_t)1 << 16);
    json_auto_t *json = confine_status_json(status);
    json_write(json, &text);
    const struct wire_message m = { WIRE_READY, 1, { buf_str(&text) } };
    return wire_send(CONTROL_FD, &m, err);
}

static void run_warm_up(void)
{
    struct outcome outcome;
    const struct snippet snippet = { .code = { warm_up, sizeof(warm_up) - 1 } };
    outcome_init(&outcome);
    run_snippet(&snippet, &outcome);
    if (outcome.exit_code)
        log_line(LOG_WARN, "the first snippet of a child failed");
    outcome_finish(&outcome);
}

/* The pipes end here, so that nobody need wait for the memory to be taken down. */
static void close_streams(void)
{
    auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
}

static bool answer(const struct outcome *o, struct error *err)
{
    auto_buf notes = BUF((size_t)64 << 20);
    json_auto_t *object = json_pack("{s:i, s:b, s:b}", "exit", o->exit_code, "has_result",
            o->has_result, "timed_out", o->timed_out);
    if (o->retry_network)
        json_object_set_new(object, "retry", json_string("network"));
    if (o->images)
        json_object_set(object, "images", o->images);
    json_write(object, &notes);
    const struct wire_message reply = { WIRE_REPLY, 3,
        { o->exit_code ? STR("1") : STR("0"), buf_str(&o->result), buf_str(&notes) } };
    return wire_send(CONTROL_FD, &reply, err);
}

static bool work(struct error *err)
{
    struct wire_reader reader;
    struct wire_message m;
    json_auto_t *args = NULL;
    wire_reader_init(&reader, CONTROL_FD);
    if (!wire_receive(&reader, &m, err))
        return false;
    if (m.kind != WIRE_CALL || m.count != 2 || !json_parse(m.fields[1], &args, err))
        return error_set(err, ERR_INVALID, "expected a call");
    struct outcome outcome;
    outcome_init(&outcome);
    const struct snippet snippet = {
        .code = json_get_str(args, "code", STR("")),
        .argv = json_object_get(args, "argv"),
        .timeout_ms = (unsigned)json_integer_value(json_object_get(args, "timeout_ms")),
    };
    run_snippet(&snippet, &outcome);
    close_streams();
    return answer(&outcome, err);
}

_Noreturn void child_main(
        const int *fds, struct hostview *view, const struct confine_status *status)
{
    struct confine_status own = *status;
    struct error err = { 0 };
    pid_t zygote = getppid();
    take_descriptors(fds, view);
    guard.broker = BROKER_FD;
    guard.events = CONTROL_FD;
    if (!confine_follow_parent(zygote, &own))
        _exit(1);
    confine(view, &own);
    guard.armed = true;
    run_warm_up();
    bool fine = send_ready(&own, &err) && work(&err);
    _exit(fine ? 0 : 1);
}
