#include "worker/worker.h"

#include "base/json.h"
#include "edit/edit.h"
#include "worker/alarm.h"
#include "worker/door.h"
#include "worker/output.h"

#include <string.h>

/* Far beyond what is shown; whoever writes more than this writes for ever. */
#define MAX_WRITTEN ((uint64_t)256 << 20)

struct capture {
    struct output output;
    uint64_t written;
    bool in_line; /* what was written last was no newline */
    volatile sig_atomic_t *alarm;
};

static int collect(void *user, struct str data)
{
    struct capture *c = user;
    output_add(&c->output, data);
    c->written += data.len;
    if (data.len)
        c->in_line = data.data[data.len - 1] != '\n';
    if (c->written > MAX_WRITTEN && !*c->alarm)
        *c->alarm = BUDGET_OUTPUT;
    return 0;
}

static struct shell_limits limits_of(const struct setup *setup)
{
    struct shell_limits limits = SHELL_LIMITS;
    limits.timeout_ms = setup->timeout_ms;
    if (setup->max_steps)
        limits.max_steps = setup->max_steps;
    if (setup->max_depth)
        limits.max_depth = setup->max_depth;
    if (setup->max_memory_mib)
        limits.max_memory = (uint64_t)setup->max_memory_mib << 20;
    return limits;
}

/* stdout and stderr are one sink, so that the text has the order of a terminal. */
static int run_captured(struct worker *w, struct str command, struct capture *capture)
{
    struct shell_limits limits = limits_of(w->setup);
    struct stream *in = stream_null(), *out = stream_screen(collect, capture);
    bool exited;
    alarm_start(limits.timeout_ms);
    int status = shell_run(w->shell, command, &limits, w->alarm, in, out, out, &exited);
    alarm_stop();
    w->notes.timed_out = *w->alarm == BUDGET_TIME;
    notes_refused(&w->notes, door_rule(w->door));
    door_end_call(w->door);
    stream_unref(in);
    stream_unref(out);
    return status;
}

/*
 * A command says no more than "Permission denied".  Which rule that was is said at the
 * end if something went wrong, and always if a change was refused.
 */
static void tell_refusal(const struct worker *w, int status, struct capture *capture)
{
    const struct refusal *why = vfs_refusal(w->vfs);
    if (!why || (!status && !w->notes.change_refused))
        return;
    auto_buf line = BUF((size_t)1 << 16);
    buf_addf(&line, "%s[%.*s: refused: %.*s: %.*s ", capture->in_line ? "\n" : "",
            STR_ARG(w->setup->name), STR_ARG(buf_str(&why->what)),
            STR_ARG(buf_str(&why->rule)));
    origin_write(&why->origin, &line);
    buf_add(&line, STR("]\n"));
    output_add(&capture->output, buf_str(&line));
}

bool worker_run(struct worker *w, const json_t *args, struct arena *arena UNUSED,
        struct buf *text)
{
    struct capture capture = { .alarm = w->alarm };
    output_init(&capture.output, w->setup->max_output);
    int status = run_captured(w, json_str(json_object_get(args, "command")), &capture);
    tell_refusal(w, status, &capture);
    output_write(&capture.output, status, text);
    w->notes.cut_bytes = capture.output.dropped_bytes;
    output_finish(&capture.output);
    return false; /* a command that fails is an answer, not an error of the tool */
}

/* "~/x" in a view that has a home. */
static struct str expand_home(
        const struct worker *w, struct str path, struct arena *arena)
{
    struct str home = w->setup->paths ? path_policy_home(w->setup->paths) : STR("");
    if (!home.len || !(str_is(path, "~") || str_starts(path, STR("~/"))))
        return path;
    return str_of(
            arena_printf(arena, "%.*s%.*s", STR_ARG(home), STR_ARG(str_from(path, 1))));
}

static bool edit(struct worker *w, struct edit_request *request, struct arena *arena,
        struct edit_result *out, struct str *detail, struct error *err)
{
    struct str path = expand_home(w, request->shown_path, arena);
    int error = vpath_parse(path, shell_cwd(w->shell), arena, &request->path);
    if (error)
        return error_set(err, ERR_INVALID, "%s", strerror(error));
    return edit_apply(w->vfs, request, arena, out, detail, err);
}

static void describe_edit(const struct edit_result *result, struct buf *text)
{
    struct str path = result->path.text;
    if (result->created) {
        buf_addf(text, "Created %.*s.", STR_ARG(path));
        return;
    }
    buf_addf(text, "Edited %.*s: replaced %zu occurrence%s.\n", STR_ARG(path),
            result->count, result->count == 1 ? "" : "s");
    buf_add(text, result->snippet);
}

bool worker_edit(
        struct worker *w, const json_t *args, struct arena *arena, struct buf *text)
{
    struct edit_request request = {
        .shown_path = json_str(json_object_get(args, "path")),
        .old_text = json_str(json_object_get(args, "old_string")),
        .new_text = json_str(json_object_get(args, "new_string")),
        .replace_all = json_is_true(json_object_get(args, "replace_all")),
    };
    struct edit_result result;
    struct str detail = STR("");
    struct error err = { 0 };
    if (edit(w, &request, arena, &result, &detail, &err)) {
        describe_edit(&result, text);
        return false;
    }
    buf_addf(text, "edit: %.*s: %s", STR_ARG(request.shown_path), err.message);
    if (err.hint[0])
        buf_addf(text, "\n%s", err.hint);
    if (detail.len)
        buf_addc(text, '\n');
    buf_add(text, detail);
    if (vfs_refusal(w->vfs)) {
        buf_addc(text, '\n');
        refusal_write(vfs_refusal(w->vfs), text);
    }
    return true;
}
