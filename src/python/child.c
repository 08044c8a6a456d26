#include "python/hook.h"
#include "python/imports.h"
#include "python/run.h"
#include "python/script.h"
#include "python/zygote.h"

#include "base/json.h"
#include "base/log.h"
#include "base/wire.h"
#include "confine/mounts.h"

#include <fcntl.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#define MIN_MEMORY    ((uint64_t)1 << 30)
#define MAX_MEMORY    ((uint64_t)8 << 30)
#define MAX_FILE_SIZE ((uint64_t)4 << 30)
#define MAX_FILES     1024

/* Of a reply: its text, and its notes with the images. */
#define MAX_RESULT ((size_t)1 << 20)
#define MAX_NOTES  ((size_t)16 << 20)

#ifdef PYTHON_WITHOUT_RULES
static int max_landlock(void)
{
    const char *abi = getenv("PADDOCK_TEST_LANDLOCK"); /* of an older kernel */
    return abi ? atoi(abi) : 0;
}
#else
static int max_landlock(void)
{
    return 0;
}
#endif

/* Everything that a first snippet would touch for the first time is touched by these;
 * the second one where the policy allows it. */
static const char warm_up[] = "def f(a, *b, c=1):\n"
                              "    return [x for x in (a, c)]\n"
                              "try:\n"
                              "    f('%s' % f'{1}', 2)\n"
                              "    raise ValueError\n"
                              "except ValueError as e:\n"
                              "    print(end='')\n"
                              "2 + 2\n";
static const char warm_up_imports[] = "import sys, json, re\n"
                                      "json.dumps({'a': re.sub('a', 'b', 'a')})\n";

/* Everything else is closed once the kernel has been told about the roots. */
static void take_descriptors(const int *fds)
{
    int at[CHILD_FDS];
    for (size_t i = 0; i < CHILD_FDS; i++)
        at[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 100);
    dup2(at[CHILD_OUT], STDOUT_FILENO);
    dup2(at[CHILD_ERR], STDERR_FILENO);
    dup3(at[CHILD_CONTROL], CONTROL_FD, O_CLOEXEC);
    dup3(at[CHILD_BROKER], BROKER_FD, O_CLOEXEC);
}

static void close_others(struct hostview *view)
{
    static const int keep[] = { CONTROL_FD, BROKER_FD };
    confine_close_others(keep, ARRAY_LEN(keep));
    view->root_count = 0;
    view->machine = -1;
}

/* Half of the machine's, so that one snippet does not bring the others down. */
static uint64_t max_memory(void)
{
    struct sysinfo machine;
    if (sysinfo(&machine))
        return MIN_MEMORY;
    uint64_t half = (uint64_t)machine.totalram * machine.mem_unit / 2;
    return half < MIN_MEMORY ? MIN_MEMORY : half > MAX_MEMORY ? MAX_MEMORY : half;
}

/* Whoever may not read everything can still look at itself. */
static struct confine_root open_own_proc(void)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d", (int)getpid());
    return (struct confine_root){ mount_open_path(path), false };
}

static void confine(struct hostview *view, struct confine_status *status)
{
    struct confine_root *roots = xcalloc(view->root_count + 1, sizeof(*roots));
    size_t count = view->root_count;
    memcpy(roots, view->roots, count * sizeof(*roots));
    roots[count] = open_own_proc();
    count += roots[count].fd >= 0;
    const struct confine_request request = {
        .roots = roots,
        .root_count = count,
        .view = &view->mounts,
        .no_capabilities = geteuid(),
        .max_memory = max_memory(),
        .max_file_size = MAX_FILE_SIZE,
        .max_files = MAX_FILES,
        .interpreter = true,
        .network = guard.setup->network,
        .max_landlock = max_landlock(),
    };
    confine_self(&request, status);
    free(roots);
    close_others(view);
}

static bool send_ready(const struct confine_status *status, struct error *err)
{
    auto_buf text = BUF((size_t)1 << 16);
    json_auto_t *json = confine_status_json(status);
    json_write(json, &text);
    const struct wire_message m = { WIRE_READY, 1, { buf_str(&text) } };
    return wire_send(CONTROL_FD, &m, err);
}

/* A policy may refuse parts of it, which is no concern of the snippet that follows. */
static void run_silently(struct str code)
{
    struct outcome outcome;
    const struct snippet snippet = { .code = code, .is_rehearsal = true };
    auto_fd int null = open("/dev/null", O_WRONLY | O_CLOEXEC),
                stderr_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 100);
    if (null < 0 || stderr_fd < 0)
        return;
    dup2(null, STDERR_FILENO);
    outcome_init(&outcome);
    run_snippet(&snippet, &outcome);
    outcome_finish(&outcome);
    guard_forget_rule();
    dup2(stderr_fd, STDERR_FILENO);
}

static void run_warm_up(void)
{
    run_silently(str_of(warm_up));
    if (imports_is_allowed(STR("sys")) && imports_is_allowed(STR("json")) &&
            imports_is_allowed(STR("re")))
        run_silently(str_of(warm_up_imports));
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

/* What a reply shows is cut much shorter by the server. */
static struct str cut_result(const struct outcome *o)
{
    struct str all = buf_str(&o->result);
    size_t len = all.len < MAX_RESULT ? all.len : MAX_RESULT;
    while (len < all.len && len && ((unsigned char)all.data[len] & 0xc0) == 0x80)
        len--; /* not within a character */
    return str_sub(all, 0, len);
}

/* As if Python itself had said it. */
static void complain(struct buf *why)
{
    buf_addc(why, '\n');
    for (struct str rest = buf_str(why); rest.len;) {
        ssize_t n = write(STDERR_FILENO, rest.data, rest.len);
        if (n < 0)
            return;
        rest = str_from(rest, (size_t)n);
    }
}

/* What the server is told beside the result. */
static void write_notes(const struct outcome *o, bool was_cut, json_t *notes)
{
    json_object_set_new(notes, "exit", json_integer(o->exit_code));
    json_object_set_new(notes, "has_result", json_boolean(o->has_result));
    json_object_set_new(notes, "timed_out", json_boolean(o->timed_out));
    json_object_set_new(notes, "was_cut", json_boolean(was_cut));
    if (o->retry_network) {
        json_object_set_new(notes, "retry", json_string("network"));
        json_object_set(notes, "modules", o->modules);
    }
    if (o->images)
        json_object_set(notes, "images", o->images);
    hook_take_notes(notes);
}

static bool answer(const struct outcome *o, json_t *notes, struct error *err)
{
    struct str result = o->has_result ? cut_result(o) : STR("");
    write_notes(
            o, o->has_result && (o->result.full || result.len < o->result.len), notes);
    auto_buf text = BUF(MAX_NOTES), why = BUF(256);
    json_write(notes, &text);
    if (text.full) {
        buf_clear(&text);
        json_object_del(notes, "images");
        json_write(notes, &text);
        buf_add(&why, STR("[paddock: the image is too large to be shown]"));
        complain(&why);
    }
    close_streams();
    const struct wire_message reply = { WIRE_REPLY, 3,
        { o->exit_code ? STR("1") : STR("0"), result, buf_str(&text) } };
    return wire_send(CONTROL_FD, &reply, err);
}

/* The text of the snippet; false: it is a file that cannot be read, which is told. */
static bool get_code(
        const json_t *args, struct buf *script, struct str *code, json_t *notes)
{
    auto_buf why = BUF((size_t)1 << 16);
    const json_t *file = json_object_get(args, "file");
    *code = json_get_str(args, "code", STR(""));
    if (!file)
        return true;
    if (!script_read(json_str(file), script, &why, notes)) {
        complain(&why);
        json_object_set_new(notes, "not_run", json_true());
        return false;
    }
    *code = buf_str(script);
    return true;
}

static bool run_call(
        const json_t *args, const struct confine_status *status, struct error *err)
{
    auto_buf script = BUF(SCRIPT_MAX_BYTES + 1);
    json_auto_t *notes = json_object();
    struct outcome outcome;
    struct snippet snippet = {
        .argv = json_object_get(args, "argv"),
        .timeout_ms = (unsigned)json_integer_value(json_object_get(args, "timeout_ms")),
        .seals = status->needs_seal,
    };
    outcome_init(&outcome);
    if (get_code(args, &script, &snippet.code, notes))
        run_snippet(&snippet, &outcome);
    else
        outcome.exit_code = 1;
    return answer(&outcome, notes, err);
}

static bool work(const struct confine_status *status, struct error *err)
{
    struct wire_reader reader;
    struct wire_message m;
    json_auto_t *args = NULL;
    wire_reader_init(&reader, CONTROL_FD);
    if (!wire_receive(&reader, &m, err))
        return false;
    if (m.kind != WIRE_CALL || m.count != 2)
        return error_set(err, ERR_INVALID, "expected a call");
    if (!json_parse(m.fields[1], &args, err))
        return false;
    wire_reader_finish(&reader);
    guard.events = CONTROL_FD; /* before, the server expects none */
    return run_call(args, status, err);
}

_Noreturn void child_main(pid_t zygote, const int *fds, struct hostview *view,
        const struct confine_status *status)
{
    struct confine_status own = *status;
    struct error err = { 0 };
    take_descriptors(fds);
    guard.broker = BROKER_FD;
    if (!confine_follow_parent(zygote, &own))
        _exit(1);
    confine(view, &own);
    guard.armed = HAS_RULES;
    run_warm_up();
    bool fine = send_ready(&own, &err) && work(&own, &err);
    if (!fine && err.code != ERR_NOT_FOUND)
        log_line(LOG_ERROR, "%s", err.message);
    _exit(fine ? 0 : 1);
}
