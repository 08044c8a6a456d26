/* Pipelines: every stage but the last is a task; the last runs where we are. */
#include "shell/exec.h"

#include <sys/resource.h>
#include <time.h>

#define CANNOT_RUN 126

struct stage {
    struct shell *sub;
    const struct node *node;
    struct task *task; /* NULL: could not be started */
    int status;
};

static int run_stage(struct shell *sub, const struct node *n)
{
    if (n->type == NODE_SIMPLE)
        sub->stage_depth = sub->depth;
    exec_node(sub, n);
    int status = exec_end_subshell(sub);
    shell_free(sub); /* its ends of the pipes are closed with it */
    return status;
}

static int stage_main(void *arg)
{
    struct stage *stage = arg;
    return run_stage(stage->sub, stage->node);
}

/* Start stage `i`, reading `in` (taken over, NULL: the shell's); returns the reader for
 * the next one. */
static struct stream *start_stage(struct shell *sh, const struct node *n, size_t i,
        struct stream *in, struct stage *stage)
{
    struct stream *reader, *writer;
    stream_pipe(sh->sched, &reader, &writer);
    struct shell *sub = shell_fork(sh);
    if (in)
        shell_set_fd(sub, 0, in);
    if (n->pipeline.stderr_too && n->pipeline.stderr_too[i])
        shell_set_fd(sub, 2, stream_ref(writer));
    shell_set_fd(sub, 1, writer);
    *stage = (struct stage){ .sub = sub, .node = n->pipeline.stages[i], .status = 1 };
    stage->task = sched_spawn(sh->sched, stage_main, stage);
    if (!stage->task)
        shell_free(sub);
    return reader;
}

static int run_last(struct shell *sh, const struct node *n, struct stream *in)
{
    if (!(sh->shopt & SHOPT_LASTPIPE)) {
        struct shell *sub = shell_fork(sh);
        shell_set_fd(sub, 0, in);
        return run_stage(sub, n);
    }
    struct arena_mark mark = arena_mark(sh->arena);
    struct saved_fd *saved = NULL;
    redirect_put(sh, 0, in, &saved);
    stream_unref(in);
    int status = exec_node(sh, n);
    redirect_undo(sh, saved);
    arena_rewind(sh->arena, mark);
    return status;
}

/* PIPESTATUS, and the status of the whole: the last, or with pipefail the last bad one.
 */
static int collect(struct shell *sh, const struct stage *stages, size_t count)
{
    sh->pipe_status_count = 0;
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        GROW(sh->pipe_status, sh->pipe_status_count, sh->pipe_status_cap);
        sh->pipe_status[sh->pipe_status_count++] = stages[i].status;
        if (stages[i].status)
            failed = stages[i].status;
    }
    return sh->set & SET_PIPEFAIL ? failed : stages[count - 1].status;
}

/* None of it was run: PIPESTATUS says so of each stage. */
static int refuse(struct shell *sh, size_t count)
{
    sh->pipe_status_count = 0;
    for (size_t i = 0; i < count; i++) {
        GROW(sh->pipe_status, sh->pipe_status_count, sh->pipe_status_cap);
        sh->pipe_status[sh->pipe_status_count++] = CANNOT_RUN;
    }
    return CANNOT_RUN;
}

static int run_stages(struct shell *sh, const struct node *n)
{
    size_t count = n->pipeline.count;
    if (exec_pipeline_is_refused(sh, n))
        return refuse(sh, count);
    struct arena_mark mark = arena_mark(sh->arena);
    struct stage *stages = arena_zalloc(sh->arena, count * sizeof(*stages));
    struct stream *in = NULL;
    for (size_t i = 0; i + 1 < count; i++)
        in = start_stage(sh, n, i, in, &stages[i]);
    stages[count - 1].status = run_last(sh, n->pipeline.stages[count - 1], in);
    for (size_t i = count - 1; i-- > 0;)
        if (stages[i].task)
            stages[i].status = sched_join(sh->sched, stages[i].task);
    int status = collect(sh, stages, count);
    arena_rewind(sh->arena, mark);
    return status;
}

struct times {
    int64_t real, user, sys; /* microseconds */
};

static int64_t microseconds(const struct timeval *t)
{
    return (int64_t)t->tv_sec * 1000000 + t->tv_usec;
}

static struct times now(void)
{
    struct timespec t;
    struct rusage usage;
    clock_gettime(CLOCK_MONOTONIC, &t);
    getrusage(RUSAGE_SELF, &usage);
    return (struct times){ (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000,
        microseconds(&usage.ru_utime), microseconds(&usage.ru_stime) };
}

/* 0m1.234s with `long_form`, else 1.234. */
static void add_seconds(struct buf *out, int64_t us, int digits, bool long_form)
{
    static const int64_t units[] = { 1000000, 100000, 10000, 1000 };
    long long whole = us / 1000000;
    if (long_form) {
        buf_addf(out, "%lldm", whole / 60);
        whole %= 60;
    }
    buf_addf(out, "%lld", whole);
    if (digits)
        buf_addf(out, ".%0*lld", digits, (long long)(us % 1000000 / units[digits]));
    if (long_form)
        buf_addc(out, 's');
}

/* One %: its length in `format`, 0 if it is none. */
static size_t add_time(struct buf *out, struct str format, const struct times *t)
{
    size_t at = 1;
    int digits = 3;
    if (at < format.len && format.data[at] >= '0' && format.data[at] <= '9')
        digits = format.data[at++] - '0';
    if (digits > 3)
        digits = 3;
    bool long_form = at < format.len && format.data[at] == 'l';
    at += long_form;
    char c = at < format.len ? format.data[at] : 0;
    int64_t busy = t->user + t->sys;
    if (c == 'P' && at == 1)
        buf_addf(out, "%.2f", t->real > 0 ? 100.0 * (double)busy / (double)t->real : 0.0);
    else if (c == '%' && at == 1)
        buf_addc(out, '%');
    else if (c == 'R' || c == 'U' || c == 'S')
        add_seconds(out,
                c == 'R'   ? t->real
                : c == 'U' ? t->user
                           : t->sys,
                digits, long_form);
    else
        return 0;
    return at + 1;
}

/* TIMEFORMAT, or what bash has without one; POSIX's for -p. */
static struct str time_format(struct shell *sh, bool posix)
{
    struct str format;
    if (posix)
        return STR("real %2R\nuser %2U\nsys %2S");
    if (vars_get(sh->vars, STR("TIMEFORMAT"), &format))
        return format;
    return STR("\nreal\t%3lR\nuser\t%3lU\nsys\t%3lS");
}

static void report_times(struct shell *sh, const struct times *start, bool posix)
{
    struct times end = now();
    struct times spent = { end.real - start->real, end.user - start->user,
        end.sys - start->sys };
    struct str format = time_format(sh, posix);
    auto_buf text = BUF(1 << 20);
    if (!format.len)
        return;
    while (format.len) {
        size_t used = 1;
        if (format.data[0] != '%')
            buf_addc(&text, format.data[0]);
        else if (!(used = add_time(&text, format, &spent))) {
            shell_err(sh, "TIMEFORMAT: `%.*s': invalid format character",
                    (int)(format.len > 1), format.data + 1);
            return;
        }
        format = str_from(format, used);
    }
    buf_addc(&text, '\n');
    if (stream_write(shell_fd(sh, 2), buf_str(&text)))
        stream_flush(shell_fd(sh, 2));
}

int exec_pipeline(struct shell *sh, const struct node *n)
{
    if (!exec_enter(sh))
        return sh->status;
    struct times start = { 0 };
    if (n->pipeline.timed)
        start = now();
    sh->errexit_off += n->pipeline.negated;
    int status;
    if (n->pipeline.count > 1)
        status = exec_finish(sh, run_stages(sh, n));
    else
        status = n->pipeline.count ? exec_node(sh, n->pipeline.stages[0]) : 0;
    sh->errexit_off -= n->pipeline.negated;
    if (n->pipeline.negated && sh->flow == FLOW_NONE)
        status = !status;
    if (n->pipeline.timed)
        report_times(sh, &start, n->pipeline.timed_posix);
    exec_leave(sh);
    return sh->status = status;
}
