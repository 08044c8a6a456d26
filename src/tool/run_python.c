#include "tool/run_python.h"

#include "policy/log/audit.h"
#include "tool/images.h"
#include "tool/report.h"
#include "tool/snippet-modules.h"
#include "tool/time-limit.h"

/* An interpreter that was told something, and is not told anything else later. */
struct engine {
    struct engine *next;
    struct python *python;
    size_t runs;
};

struct snippet_call {
    struct snippet_call *next;
    struct run_python *owner;
    struct engine *engine;
    struct python_run *run; /* NULL: there is nothing to run, or not yet */
    json_t *args;           /* to run it with */
    struct snippet_modules modules;
    uv_timer_t timer; /* for answers that are known at once, and how long it may wait */
    unsigned timeout_ms;
    snippet_done_fn *done;
    void *user;
    struct snippet_outcome outcome; /* its text is in the buffer */
    struct buf text;
    json_t *images, *notes;
};

struct run_python {
    struct run_python_config config;
    struct engine *engines; /* the newest is first; NULL: none was needed yet */
    uv_timer_t sweeper;     /* of engines that are not needed any more */
    bool installs;          /* the packages have been asked for */
    struct snippet_call *calls;
    size_t count;
};

static void on_timer_closed(uv_handle_t *handle)
{
    struct snippet_call *c = handle->data;
    json_decref(c->args);
    json_decref(c->images);
    json_decref(c->notes);
    buf_finish(&c->text);
    free(c);
}

static void on_sweep(uv_timer_t *timer)
{
    struct run_python *r = timer->data;
    struct engine **at = r->engines ? &r->engines->next : &r->engines;
    while (*at) {
        struct engine *e = *at;
        if (e->runs) {
            at = &e->next;
            continue;
        }
        *at = e->next;
        python_destroy(e->python);
        free(e);
    }
}

/* It does not run any more. */
static void leave_engine(struct snippet_call *c)
{
    struct engine *e = TAKE(c->engine);
    c->run = NULL;
    if (e && !--e->runs && e != c->owner->engines)
        uv_timer_start(&c->owner->sweeper, on_sweep, 0, 0);
}

/* Take it off the list; it is freed when the loop has let go of it. */
static void forget(struct snippet_call *c)
{
    struct snippet_call **at = &c->owner->calls;
    while (*at != c)
        at = &(*at)->next;
    *at = c->next;
    c->owner->count--;
    snippet_modules_finish(&c->modules);
    uv_close((uv_handle_t *)&c->timer, on_timer_closed);
}

static void answer(struct snippet_call *c)
{
    snippet_done_fn *done = c->done;
    void *user = c->user;
    c->outcome.text = buf_str(&c->text);
    c->outcome.images = c->images;
    c->outcome.notes = c->notes;
    forget(c); /* what it owns lives until the loop turns */
    done(user, &c->outcome);
}

static void on_timer(uv_timer_t *timer)
{
    answer(timer->data);
}

/* Nothing is run: `why` is the reply, given from the loop. */
static void refuse(struct snippet_call *c, struct str why)
{
    c->outcome.is_error = true;
    c->outcome.exit_status = AUDIT_NO_EXIT;
    report_write(&(struct report){ .err = why, .exit_code = 1 }, &c->text);
    uv_timer_start(&c->timer, on_timer, 0, 0);
}

/* "job.py", as Python's pathlib sees a suffix: ".py" alone has none. */
static bool has_suffix(struct str file)
{
    return str_ends(file, STR(".py")) && !str_is(file, ".py") &&
           !str_ends(file, STR("/.py"));
}

static bool has_nul(struct str s)
{
    return s.len && memchr(s.data, '\0', s.len);
}

/* What is to run; it looks into `args`. */
static bool read_request(
        const json_t *args, struct python_request *request, struct buf *why)
{
    const json_t *code = json_object_get(args, "code"),
                 *file = json_object_get(args, "file");
    if (code && file)
        buf_add(why, STR("give 'code' or 'file', not both"));
    else if (!code && !file)
        buf_add(why, STR("'code' or 'file' is required: the text of a snippet, or the "
                         "path of a .py file"));
    else if (file && !has_suffix(json_str(file)))
        buf_add(why, STR("'file' must be the path of a .py file; give 'code' to run "
                         "something else"));
    else if (file && has_nul(json_str(file)))
        buf_add(why, STR("'file' cannot contain a NUL character"));
    *request = (struct python_request){
        .code = json_str(code),
        .file = json_str(file),
        .argv = json_object_get(args, "args"),
    };
    return !why->len;
}

/* What paddock has to say before the snippet's own errors. */
static void tell_end(
        const struct snippet_call *c, const struct python_result *result, struct buf *out)
{
    if (result->end == PYTHON_TIMED_OUT)
        time_limit_tell(c->owner->config.policy, "snippet", c->timeout_ms, out);
    if (result->end == PYTHON_NOT_STARTED)
        buf_addf(out, "%s%s%s\n", result->error.message,
                result->error.hint[0] ? ". " : "", result->error.hint);
}

/* And after them. */
static void tell_death(const struct python_result *result, struct buf *out)
{
    if (result->end != PYTHON_DIED || !result->error.message[0])
        return;
    if (out->len && out->data[out->len - 1] != '\n')
        buf_addc(out, '\n');
    buf_addf(out, "[paddock: %s]\n", result->error.message);
}

static void parse_notes(struct snippet_call *c, struct str notes)
{
    struct error err;
    if (notes.len && !json_parse(notes, &c->notes, &err))
        c->notes = NULL;
}

/* It did not do what it was meant to do, and not by its own fault. */
static bool was_kept_from_it(const struct snippet_call *c)
{
    return str_is(json_get_str(c->notes, "decision", STR("")), "deny") ||
           json_is_true(json_object_get(c->notes, "not_run"));
}

/* How many bytes of it are left out. */
static uint64_t write_result(const struct python_result *result, struct buf *out)
{
    const struct report_style style = { "result", true, REPORT_DATA_TAIL_CHARS };
    const struct command_stream whole = { .head = result->result };
    uint64_t cut = report_stream(&whole, &style, out);
    if (result->was_cut)
        buf_add(out, STR("\n[truncated: the value's repr() is longer than this]"));
    return cut;
}

static void write_report(
        struct snippet_call *c, const struct python_result *result, int exit_code)
{
    const struct report_style out_style = { "output", true, REPORT_DATA_TAIL_CHARS },
                              err_style = { "stderr", false, REPORT_TAIL_CHARS };
    auto_buf value = BUF(SIZE_MAX / 8), out = BUF(SIZE_MAX / 8), err = BUF(SIZE_MAX / 8);
    if (result->has_result)
        c->outcome.cut_bytes = write_result(result, &value);
    c->outcome.cut_bytes += report_stream(&result->out, &out_style, &out);
    tell_end(c, result, &err);
    c->outcome.cut_bytes += report_stream(&result->err, &err_style, &err);
    if (exit_code)
        snippet_modules_tell_failed(&c->modules, &err);
    tell_death(result, &err);
    c->images = images_choose(result->images, &err);
    c->text.max = value.len + out.len + err.len + 4096;
    const struct report report = { .has_result = result->has_result,
        .result = buf_str(&value),
        .out = buf_str(&out),
        .err = buf_str(&err),
        .exit_code = exit_code };
    report_write(&report, &c->text);
}

/* A snippet is about to be run, and this is what it imports. */
static bool can_import(void *user, const json_t *modules)
{
    struct snippet_call *c = user;
    return snippet_modules_set(&c->modules, modules);
}

static void on_waited_long_enough(uv_timer_t *timer)
{
    struct snippet_call *c = timer->data;
    auto_buf why = BUF((size_t)1 << 12);
    snippet_modules_tell_pending(&c->modules, &why);
    snippet_modules_stop_waiting(&c->modules);
    refuse(c, buf_str(&why));
}

static void run_again(void *user);

/* Nothing of it has been run, so that it can begin from the start. */
static void wait_for_modules(struct snippet_call *c)
{
    if (!snippet_modules_wait(&c->modules, run_again, c)) {
        run_again(c);
        return;
    }
    uv_update_time(c->timer.loop);
    uv_timer_start(&c->timer, on_waited_long_enough, c->timeout_ms, 0);
}

static void on_python_done(void *user, const struct python_result *result)
{
    struct snippet_call *c = user;
    if (result->end == PYTHON_NOT_YET) {
        leave_engine(c);
        wait_for_modules(c);
        return;
    }
    bool ended = result->end == PYTHON_ENDED || result->end == PYTHON_DIED;
    int exit_code = ended ? result->exit_code : 1;
    leave_engine(c);
    parse_notes(c, result->notes);
    write_report(c, result, exit_code);
    /* A snippet that dealt with a refusal has done what it was meant to do. */
    c->outcome.is_error = !ended || (exit_code && was_kept_from_it(c));
    c->outcome.exit_status = ended ? exit_code : AUDIT_NO_EXIT;
    c->outcome.timed_out = result->end == PYTHON_TIMED_OUT;
    answer(c);
}

static struct snippet_call *create_call(
        struct run_python *r, snippet_done_fn *done, void *user)
{
    struct snippet_call *c = xcalloc(1, sizeof(*c));
    *c = (struct snippet_call){ .next = r->calls,
        .owner = r,
        .modules.packages = r->config.packages,
        .done = done,
        .user = user,
        .text = BUF((size_t)1 << 20) };
    uv_timer_init(r->config.python.loop, &c->timer);
    c->timer.data = c;
    r->calls = c;
    r->count++;
    return c;
}

static void add_engine(struct run_python *r)
{
    struct engine *e = xcalloc(1, sizeof(*e));
    r->config.tell(r->config.user, &r->config.python);
    *e = (struct engine){ r->engines, python_create(&r->config.python), 0 };
    r->engines = e;
}

/* Hand it to the newest interpreter. */
static bool run(
        struct snippet_call *c, const struct python_request *request, struct error *err)
{
    if (!c->owner->engines)
        add_engine(c->owner);
    struct engine *e = c->owner->engines;
    if (!python_run(e->python, request, on_python_done, c, &c->run, err))
        return false;
    c->engine = e;
    e->runs++;
    return true;
}

static void run_again(void *user)
{
    struct snippet_call *c = user;
    struct python_request request;
    struct error err;
    auto_buf unused = BUF((size_t)1 << 16);
    bool fine UNUSED = read_request(c->args, &request, &unused);
    request.timeout_ms = c->timeout_ms;
    uv_timer_stop(&c->timer);
    if (!run(c, &request, &err))
        refuse(c, str_of(err.message));
}

/* What is missing is installed while the client goes on. */
static void start_packages(struct run_python *r)
{
    if (r->config.packages && !r->installs)
        packages_start(r->config.packages);
    r->installs = true;
}

bool run_python_start(struct run_python *r, const json_t *args, snippet_done_fn *done,
        void *user, struct snippet_call **out, struct error *err)
{
    if (r->count >= RUN_PYTHON_MAX)
        return error_set(err, ERR_LIMIT,
                "%zu snippets run or wait, and more at once are not allowed; wait for "
                "one "
                "to end",
                r->count);
    struct snippet_call *c = create_call(r, done, user);
    struct python_request request;
    auto_buf why = BUF((size_t)1 << 16);
    bool fine = read_request(args, &request, &why) &&
                time_limit_read(r->config.policy, args, &c->timeout_ms, &why);
    if (fine && !r->config.python.program)
        buf_add(&why, str_of(r->config.missing));
    request.timeout_ms = c->timeout_ms;
    c->args = json_deep_copy(args);
    start_packages(r);
    if (why.len) {
        refuse(c, buf_str(&why));
    } else if (!run(c, &request, err)) {
        forget(c);
        return false;
    }
    *out = c;
    return true;
}

struct str run_python_doing(const struct snippet_call *c)
{
    return snippet_modules_doing(&c->modules);
}

void run_python_cancel(struct snippet_call *c)
{
    if (c->run)
        python_cancel(c->engine->python, c->run);
    leave_engine(c);
    forget(c);
}

struct run_python *run_python_create(const struct run_python_config *config)
{
    struct run_python *r = xcalloc(1, sizeof(*r));
    r->config = *config;
    if (config->packages)
        r->config.python.can_import = can_import;
    uv_timer_init(config->python.loop, &r->sweeper);
    r->sweeper.data = r;
    return r;
}

void run_python_warm(struct run_python *r)
{
    if (!r->engines && r->config.python.program)
        add_engine(r);
    if (r->engines)
        python_warm(r->engines->python);
    start_packages(r);
}

void run_python_look(const struct run_python *r, struct census *out)
{
    *out = (struct census){ .working = 0 };
    for (const struct engine *e = r->engines; e; e = e->next) {
        struct census one;
        python_look(e->python, &one);
        out->working += one.working;
        out->idle += one.idle;
        out->waiting += one.waiting;
    }
}

void run_python_renew(struct run_python *r)
{
    if (!r->engines)
        return;
    add_engine(r);
    python_warm(r->engines->python);
    uv_timer_start(&r->sweeper, on_sweep, 0, 0);
}

static void on_sweeper_closed(uv_handle_t *handle)
{
    free(handle->data);
}

void run_python_destroy(struct run_python *r)
{
    if (!r)
        return;
    while (r->engines) {
        struct engine *e = r->engines;
        r->engines = e->next;
        python_destroy(e->python);
        free(e);
    }
    while (r->calls)
        forget(r->calls);
    uv_close((uv_handle_t *)&r->sweeper, on_sweeper_closed);
}
