#include "tool/run_shell.h"

#include "broker/problems.h"
#include "tool/record.h"
#include "tool/report.h"
#include "tool/shell-notes.h"
#include "tool/shell-view.h"
#include "tool/time-limit.h"

struct shell_call {
    struct shell_call *next;
    struct run_shell *owner;
    struct arena *arena; /* the request and the plan */
    struct command_plan plan;
    struct command *command;       /* NULL: there is nothing to run, only to answer */
    uv_timer_t timer;              /* for answers that are known at once */
    unsigned timeout_ms, spent_ms; /* of all of it; by what was asked first */
    bool raw;
    shell_done_fn *done;
    void *user;
    struct shell_outcome outcome; /* its texts are in the buffers */
    struct buf text, rule;
};

struct run_shell {
    struct run_shell_config config;
    struct shell_call *calls;
    size_t count;
    bool problems_told; /* of commands */
};

static void on_timer_closed(uv_handle_t *handle)
{
    struct shell_call *c = handle->data;
    arena_destroy(c->arena);
    buf_finish(&c->text);
    buf_finish(&c->rule);
    free(c);
}

/* Take it off the list; it is freed when the loop has let go of it. */
static void forget(struct shell_call *c)
{
    struct shell_call **at = &c->owner->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->owner->count--;
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

static void answer(struct shell_call *c)
{
    shell_done_fn *done = c->done;
    void *user = c->user;
    c->outcome.text = buf_str(&c->text);
    c->outcome.rule = buf_str(&c->rule);
    forget(c); /* the buffers live until the loop turns */
    done(user, &c->outcome);
}

static void on_timer(uv_timer_t *timer)
{
    answer(timer->data);
}

/* Nothing is run: `why` is the reply, given from the loop. */
static void refuse(struct shell_call *c, struct str why)
{
    c->outcome.is_error = true;
    c->outcome.exit_status = SHELL_NO_STATUS;
    report_write(&(struct report){ .err = why, .exit_code = 1 }, &c->text);
    uv_timer_start(&c->timer, on_timer, 0, 0);
}

/* What is said on top of the program's own errors; returns the exit code to show. */
static int write_end(
        const struct shell_call *c, const struct command_result *result, struct buf *out)
{
    switch (result->end) {
    case COMMAND_EXITED:
        return report_exit_code(result->status);
    case COMMAND_TIMED_OUT:
        time_limit_tell(c->owner->config.policy, "command", c->timeout_ms, out);
        return 1;
    case COMMAND_NOT_STARTED:
        buf_addf(out, "%s%s%s\n", result->error.message,
                result->error.hint[0] ? ". " : "", result->error.hint);
        return 1;
    case COMMAND_LOST:
        buf_addf(out, "paddock: the command was lost: %s\n", result->error.message);
        return 1;
    }
    return 1;
}

static void on_command_done(void *user, const struct command_result *result)
{
    struct shell_call *c = user;
    bool ended = result->end == COMMAND_EXITED;
    const struct report_style out_style = { "output", c->raw, REPORT_TAIL_CHARS },
                              err_style = { "stderr", c->raw, REPORT_TAIL_CHARS };
    auto_buf out = BUF(SIZE_MAX / 8), err = BUF(SIZE_MAX / 8);
    int code = write_end(c, result, &err);
    report_stream(&result->out, &out_style, &out);
    report_stream(&result->err, &err_style, &err);
    shell_notes_write(&c->plan, result, &err);
    problems_tell(result->confinement, &c->owner->problems_told);
    c->command = NULL;
    c->outcome.is_error = !ended;
    c->outcome.exit_status = ended ? code : SHELL_NO_STATUS;
    c->text.max = out.len + err.len + 4096;
    const struct report report = {
        .out = buf_str(&out), .err = buf_str(&err), .exit_code = code
    };
    report_write(&report, &c->text);
    answer(c);
}

static bool has_nul(struct str s)
{
    return s.len && memchr(s.data, '\0', s.len);
}

/* The arguments as the policy wants them; they look into `args`. */
static bool read_request(struct shell_call *c, const json_t *args,
        struct command_request *r, struct buf *why)
{
    const json_t *list = json_object_get(args, "args");
    size_t count = json_array_size(list);
    struct str *words = arena_alloc(c->arena, (count + 1) * sizeof(*words));
    *r = (struct command_request){ .command = json_get_str(args, "command", STR("")),
        .args = words,
        .arg_count = count,
        .cwd = json_get_str(args, "cwd", STR("")) };
    bool bad = has_nul(r->command) || has_nul(r->cwd);
    for (size_t i = 0; i < count; i++) {
        words[i] = json_str(json_array_get(list, i));
        bad = bad || has_nul(words[i]);
    }
    if (bad)
        buf_add(why, STR("no argument of a program can contain a NUL character"));
    else if (!r->command.len || strspn(r->command.data, " \t\r\n") == r->command.len)
        buf_add(why, STR("'command' is required: the name of a program"));
    return !why->len;
}

/* Ask the policy; false: `why` is its refusal. */
static bool decide(struct shell_call *c, const json_t *args,
        const struct command_request *request, struct buf *why)
{
    const struct run_shell_config *config = &c->owner->config;
    auto_refusal refusal;
    refusal_init(&refusal);
    bool allowed =
            command_decide(config->commands, request, c->arena, &c->plan, &refusal);
    record_shell_decision(config->audit, args, !allowed);
    if (allowed)
        return true;
    c->outcome.refused = true;
    buf_add(&c->rule, buf_str(&refusal.rule));
    refusal_write(&refusal, why);
    return false;
}

/* Start the program of the plan; false: `why` says what is wrong. */
static bool start_with(struct shell_call *c, const struct command_plan *plan,
        command_done_fn *done, struct buf *why)
{
    const struct run_shell_config *config = &c->owner->config;
    struct error err;
    size_t count;
    const struct view_path *paths = shell_view(config->paths, plan, c->arena, &count);
    const struct command_spec spec = {
        .launcher = config->launcher,
        .program = plan->program,
        .argv = plan->argv,
        .env = plan->env,
        .cwd = plan->cwd,
        .sandboxed = plan->sandbox != SANDBOX_NONE,
        .network = plan->network,
        .paths = paths,
        .path_count = count,
        .timeout_ms = c->timeout_ms - c->spent_ms,
        .keep_bytes = REPORT_KEEP_BYTES,
        .keep_tail_bytes = REPORT_KEEP_BYTES,
        .must_not_appear = shell_absent(config->paths, plan, c->arena),
        .quarantine = arena_printf(c->arena, "%.*s/.pyddock/quarantine",
                STR_ARG(path_policy_workspace(config->paths))),
    };
    if (!plan->program)
        buf_addf(why,
                "Command not found: '%s'. It is not installed, or not in the PATH that "
                "the server was started with.",
                plan->argv[0]);
    else if (!command_start(config->loop, &spec, done, c, &c->command, &err))
        buf_add(why, str_of(err.message));
    return !why->len;
}

static command_done_fn on_answer;

/* What is asked before may look, and no more. */
static bool ask_first(struct shell_call *c, struct buf *why)
{
    struct command_plan asking = c->plan;
    asking.argv = c->plan.asks_first;
    asking.writable = asking.read_only = NULL;
    asking.network = false;
    return start_with(c, &asking, on_answer, why);
}

static bool start(struct shell_call *c, struct buf *why)
{
    return c->plan.asks_first ? ask_first(c, why)
                              : start_with(c, &c->plan, on_command_done, why);
}

static void refuse_for(struct shell_call *c, struct str files)
{
    auto_buf why = BUF(files.len + 4096);
    auto_refusal refusal;
    refusal_init(&refusal);
    refusal_begin(&refusal, "protected-files", &c->plan.section->origin);
    buf_add(&refusal.what, STR("the command would change files that are protected:"));
    for (unsigned shown = 0; files.len && shown < 20; shown++) {
        struct str file = str_cut(&files, '\n');
        buf_addf(&refusal.what, "%s %.*s", shown ? "," : "", STR_ARG(file));
    }
    buf_addf(&refusal.what, "%s; nothing was done", files.len ? ", ..." : "");
    buf_addf(&refusal.rule, "[shell.%.*s] sandbox = \"workspace\"",
            STR_ARG(c->plan.section->name));
    buf_add(&refusal.hint, STR("Take the other files one by one (git restore "
                               "--source=REVISION -- PATH), or ask the user to do it."));
    c->outcome.refused = true;
    buf_add(&c->rule, buf_str(&refusal.rule));
    refusal_write(&refusal, &why);
    refuse(c, buf_str(&why));
}

/* The program has said which protected files are concerned; if it could not tell, the
 * kernel holds them all the same. */
static void on_answer(void *user, const struct command_result *result)
{
    struct shell_call *c = user;
    auto_buf why = BUF((size_t)1 << 16);
    c->command = NULL;
    bool ended_well = result->end == COMMAND_EXITED && !result->status;
    if (result->end == COMMAND_TIMED_OUT || result->duration_ms >= c->timeout_ms) {
        on_command_done(c, result);
        return;
    }
    c->spent_ms = (unsigned)result->duration_ms;
    if (ended_well && result->out.head.len)
        refuse_for(c, result->out.head);
    else if (!start_with(c, &c->plan, on_command_done, &why))
        refuse(c, buf_str(&why));
}

static struct shell_call *create_call(
        struct run_shell *r, const json_t *args, shell_done_fn *done, void *user)
{
    struct shell_call *c = xcalloc(1, sizeof(*c));
    *c = (struct shell_call){ .next = r->calls,
        .owner = r,
        .arena = arena_create(),
        .raw = json_is_true(json_object_get(args, "raw")),
        .done = done,
        .user = user,
        .text = BUF((size_t)1 << 20),
        .rule = BUF(4096) };
    uv_timer_init(r->config.loop, &c->timer);
    c->timer.data = c;
    r->calls = c;
    r->count++;
    return c;
}

bool run_shell_start(struct run_shell *r, const json_t *args, shell_done_fn *done,
        void *user, struct shell_call **out, struct error *err)
{
    if (r->count >= RUN_SHELL_MAX)
        return error_set(err, ERR_LIMIT,
                "%zu commands are running, and more at once are not allowed; wait for "
                "one "
                "to end",
                r->count);
    struct shell_call *c = create_call(r, args, done, user);
    struct command_request request;
    auto_buf why = BUF((size_t)1 << 16);
    if (!read_request(c, args, &request, &why) ||
            !time_limit_read(r->config.policy, args, &c->timeout_ms, &why) ||
            !decide(c, args, &request, &why) || !start(c, &why))
        refuse(c, buf_str(&why));
    *out = c;
    return true;
}

void run_shell_cancel(struct shell_call *c)
{
    if (c->command)
        command_cancel(TAKE(c->command));
    forget(c);
}

struct run_shell *run_shell_create(const struct run_shell_config *config)
{
    struct run_shell *r = xcalloc(1, sizeof(*r));
    r->config = *config;
    return r;
}

void run_shell_destroy(struct run_shell *r)
{
    if (!r)
        return;
    while (r->calls) {
        if (r->calls->command)
            command_destroy(TAKE(r->calls->command));
        forget(r->calls);
    }
    free(r);
}
