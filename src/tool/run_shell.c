#include "tool/run_shell.h"

#include "broker/approved.h"
#include "broker/problems.h"
#include "tool/report.h"
#include "tool/shell-notes.h"
#include "tool/time-limit.h"

struct shell_call {
    struct shell_call *next;
    struct run_shell *owner;
    struct arena *arena; /* the request and the plan */
    struct command_plan plan;
    struct approved *command; /* NULL: there is nothing to run, only to answer */
    uv_timer_t timer;         /* for answers that are known at once */
    unsigned timeout_ms;
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

static void refuse_by(struct shell_call *c, const struct refusal *refusal)
{
    auto_buf why = BUF((size_t)1 << 16);
    c->outcome.refused = true;
    buf_add(&c->rule, buf_str(&refusal->rule));
    refusal_write(refusal, &why);
    refuse(c, buf_str(&why));
}

static void tell(struct shell_call *c, const struct command_result *result)
{
    bool ended = result->end == COMMAND_EXITED;
    const struct report_style out_style = { "output", c->raw, REPORT_TAIL_CHARS },
                              err_style = { "stderr", c->raw, REPORT_TAIL_CHARS };
    auto_buf out = BUF(SIZE_MAX / 8), err = BUF(SIZE_MAX / 8);
    int code = write_end(c, result, &err);
    c->outcome.cut_bytes = report_stream(&result->out, &out_style, &out);
    c->outcome.cut_bytes += report_stream(&result->err, &err_style, &err);
    shell_notes_write(&c->plan, result, &err);
    problems_tell(result->confinement, &c->owner->problems_told);
    c->outcome.is_error = !ended;
    c->outcome.timed_out = result->end == COMMAND_TIMED_OUT;
    c->outcome.exit_status = ended ? code : SHELL_NO_STATUS;
    c->text.max = out.len + err.len + 4096;
    const struct report report = {
        .out = buf_str(&out), .err = buf_str(&err), .exit_code = code
    };
    report_write(&report, &c->text);
    answer(c);
}

static void on_command_done(
        void *user, const struct command_result *result, const struct refusal *refusal)
{
    struct shell_call *c = user;
    c->command = NULL;
    if (refusal)
        refuse_by(c, refusal);
    else
        tell(c, result);
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

/* Ask the policy; false: it has refused, and that is the reply. */
static bool decide(struct shell_call *c, const struct command_request *request)
{
    const struct run_shell_config *config = &c->owner->config;
    auto_refusal refusal;
    refusal_init(&refusal);
    bool allowed =
            command_decide(config->commands, request, c->arena, &c->plan, &refusal);
    approved_record(config->audit, request, "AGENT", !allowed);
    if (!allowed)
        refuse_by(c, &refusal);
    return allowed;
}

/* Start the program of the plan; false: `why` says what is wrong. */
static bool start(struct shell_call *c, struct buf *why)
{
    const struct run_shell_config *config = &c->owner->config;
    struct error err;
    const struct approved_spec spec = {
        .loop = config->loop,
        .launcher = config->launcher,
        .paths = config->paths,
        .plan = &c->plan,
        .arena = c->arena,
        .timeout_ms = c->timeout_ms,
        .keep_bytes = REPORT_KEEP_BYTES,
    };
    if (approved_start(&spec, on_command_done, c, &c->command, &err))
        return true;
    buf_add(why, str_of(err.message));
    return false;
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
            (decide(c, &request) && !start(c, &why)))
        refuse(c, buf_str(&why));
    *out = c;
    return true;
}

void run_shell_cancel(struct shell_call *c)
{
    if (c->command)
        approved_cancel(TAKE(c->command));
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
            approved_destroy(TAKE(r->calls->command));
        forget(r->calls);
    }
    free(r);
}
