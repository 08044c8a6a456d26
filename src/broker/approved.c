#include "broker/approved.h"

#include "broker/plan-view.h"
#include "policy/log/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define STREAMS    3
#define MAX_SHOWN  20   /* names of files in a refusal */
#define MAX_DETAIL 4096 /* bytes of a record; the log cuts it again */

struct approved {
    struct approved_spec spec; /* its `streams` are ours, or NULL */
    int streams[STREAMS];      /* kept while something is asked */
    struct command *command;
    unsigned spent_ms; /* by what was asked first */
    approved_done_fn *done;
    void *user;
};

static void destroy(struct approved *a)
{
    for (size_t i = 0; i < STREAMS; i++)
        close_fd(&a->streams[i]);
    free(a);
}

static void answer(struct approved *a, const struct command_result *result,
        const struct refusal *refusal)
{
    approved_done_fn *done = a->done;
    void *user = a->user;
    destroy(a);
    done(user, result, refusal);
}

static void on_done(void *user, const struct command_result *result)
{
    answer(user, result, NULL);
}

static void on_started(void *user)
{
    struct approved *a = user;
    if (a->spec.started)
        a->spec.started(a->user);
}

static bool start_with(struct approved *a, const struct command_plan *plan,
        const int *streams, command_done_fn *done, struct error *err)
{
    const struct approved_spec *s = &a->spec;
    if (!plan->program)
        return error_set(err, ERR_NOT_FOUND,
                "Command not found: '%s'. It is not installed, or not in the PATH that "
                "the server was started with.",
                plan->argv[0]);
    struct command_spec spec = plan_spec(s->launcher, s->paths, plan, s->arena);
    spec.timeout_ms = s->timeout_ms - a->spent_ms;
    spec.streams = streams;
    spec.keep_bytes = spec.keep_tail_bytes = s->keep_bytes;
    spec.started = done == on_done ? on_started : NULL;
    return command_start(s->loop, &spec, done, a, &a->command, err);
}

static void refuse_for(struct approved *a, struct str files)
{
    const struct policy_shell *section = a->spec.plan->section;
    auto_refusal why;
    refusal_init(&why);
    refusal_begin(&why, "protected-files", &section->origin);
    buf_add(&why.what, STR("the command would change files that are protected:"));
    for (unsigned shown = 0; files.len && shown < MAX_SHOWN; shown++) {
        struct str file = str_cut(&files, '\n');
        buf_addf(&why.what, "%s %.*s", shown ? "," : "", STR_ARG(file));
    }
    buf_addf(&why.what, "%s; nothing was done", files.len ? ", ..." : "");
    buf_addf(&why.rule, "[shell.%.*s] sandbox = \"workspace\"", STR_ARG(section->name));
    buf_add(&why.hint, STR("Take the other files one by one (git restore "
                           "--source=REVISION -- PATH), or ask the user to do it."));
    answer(a, NULL, &why);
}

/* The program has said which protected files are concerned; if it could not tell, the
 * kernel holds them all the same. */
static void on_answer(void *user, const struct command_result *result)
{
    struct approved *a = user;
    struct command_result failed = { .end = COMMAND_NOT_STARTED };
    bool ended_well = result->end == COMMAND_EXITED && !result->status;
    a->command = NULL;
    if (result->end == COMMAND_TIMED_OUT || result->duration_ms >= a->spec.timeout_ms) {
        answer(a, result, NULL);
        return;
    }
    a->spent_ms = (unsigned)result->duration_ms;
    if (ended_well && result->out.head.len)
        refuse_for(a, result->out.head);
    else if (!start_with(a, a->spec.plan, a->spec.streams, on_done, &failed.error))
        answer(a, &failed, NULL);
    else
        for (size_t i = 0; i < STREAMS; i++)
            close_fd(&a->streams[i]);
}

static bool keep_streams(struct approved *a, struct error *err)
{
    const int *given = TAKE(a->spec.streams);
    for (size_t i = 0; given && i < STREAMS; i++) {
        a->streams[i] = fcntl(given[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
        if (a->streams[i] < 0)
            return error_errno(err, errno, "cannot keep a stream");
    }
    a->spec.streams = given ? a->streams : NULL;
    return true;
}

/* What is asked before may look, and no more. */
static bool ask_first(struct approved *a, struct error *err)
{
    struct command_plan asking = *a->spec.plan;
    asking.argv = asking.asks_first;
    asking.writable = asking.read_only = NULL;
    asking.network = false;
    return keep_streams(a, err) && start_with(a, &asking, NULL, on_answer, err);
}

static bool start(struct approved *a, struct error *err)
{
    return a->spec.plan->asks_first
                   ? ask_first(a, err)
                   : start_with(a, a->spec.plan, TAKE(a->spec.streams), on_done, err);
}

bool approved_start(const struct approved_spec *spec, approved_done_fn *done, void *user,
        struct approved **out, struct error *err)
{
    struct approved *a = xcalloc(1, sizeof(*a));
    *a = (struct approved){
        .spec = *spec, .streams = { -1, -1, -1 }, .done = done, .user = user
    };
    if (!start(a, err)) {
        destroy(a);
        return false;
    }
    *out = a;
    return true;
}

void approved_signal(struct approved *a, int signal)
{
    command_signal(a->command, signal);
}

void approved_cancel(struct approved *a)
{
    command_cancel(a->command);
    destroy(a);
}

void approved_kill(struct approved *a)
{
    command_kill(a->command);
    destroy(a);
}

void approved_destroy(struct approved *a)
{
    command_destroy(a->command);
    destroy(a);
}

static void begin_note(struct buf *out)
{
    if (out->len && out->data[out->len - 1] != '\n')
        buf_addc(out, '\n');
    buf_add(out, STR("[paddock: "));
}

void approved_notes(const struct command_plan *plan, const struct command_result *result,
        struct buf *out)
{
    unsigned left = result->end == COMMAND_EXITED ? result->left_running : 0;
    struct str lines = plan->notes;
    if (left) {
        begin_note(out);
        buf_addf(out, "%u %s still running when the command ended, and %s stopped]\n",
                left, left == 1 ? "process was" : "processes were",
                left == 1 ? "was" : "were");
    }
    while (lines.len) {
        struct str line = str_cut(&lines, '\n');
        begin_note(out);
        buf_addf(out, "%.*s]\n", STR_ARG(line));
    }
    for (size_t i = 0; i < result->stray_count; i++) {
        begin_note(out);
        stray_describe(&result->strays[i], out);
        buf_add(out, STR("]\n"));
    }
}

/* As Python writes it, so that one argument is never taken for two. */
static void write_quoted(struct str text, struct buf *out)
{
    buf_addc(out, '\'');
    for (size_t i = 0; i < text.len && !out->full; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '\'' || c == '\\')
            buf_addf(out, "\\%c", c);
        else if (c < 0x20 || c == 0x7F)
            buf_addf(out, "\\x%02x", c);
        else
            buf_addc(out, (char)c);
    }
    buf_addc(out, '\'');
}

void approved_record(struct audit *audit, const struct command_request *request,
        const char *caller, bool refused)
{
    if (!audit_wants_events(audit))
        return;
    auto_buf detail = BUF(MAX_DETAIL);
    buf_add(&detail, STR("exe="));
    write_quoted(request->command, &detail);
    buf_add(&detail, STR(" args=["));
    for (size_t i = 0; i < request->arg_count && !detail.full; i++) {
        buf_add(&detail, i ? STR(", ") : STR(""));
        write_quoted(request->args[i], &detail);
    }
    buf_addc(&detail, ']');
    const struct audit_event e = { .event = "subprocess.Popen",
        .decision = refused ? "deny" : "allow",
        .caller = caller,
        .pid = getpid(),
        .detail = buf_str(&detail) };
    audit_event(audit, &e);
}
