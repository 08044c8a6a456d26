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

static void report_times(struct shell *sh, const struct times *start, bool posix)
{
    struct times end = now();
    const int64_t spent[] = { end.real - start->real, end.user - start->user,
        end.sys - start->sys };
    static const char *const names[] = { "real", "user", "sys" };
    auto_buf text = BUF(256);
    for (size_t i = 0; i < 3; i++) {
        long long us = spent[i];
        if (posix)
            buf_addf(&text, "%s %lld.%02lld\n", names[i], us / 1000000,
                    us % 1000000 / 10000);
        else
            buf_addf(&text, "%s%s\t%lldm%lld.%03llds\n", i ? "" : "\n", names[i],
                    us / 60000000, us / 1000000 % 60, us % 1000000 / 1000);
    }
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
