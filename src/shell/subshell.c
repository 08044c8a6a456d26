/* Shells made out of shells: command substitution and process substitution. */
#include "shell/exec.h"

#include <errno.h>

#define FIRST_SUBSTITUTION 63 /* /dev/fd/63, as bash; then downwards */

const struct node *exec_unwrap(const struct node *n)
{
    while (n) {
        if (n->redirect_count)
            return n;
        if (n->type == NODE_SEQUENCE && n->sequence.count == 1)
            n = n->sequence.items[0];
        else if (n->type == NODE_PIPELINE && n->pipeline.count == 1 &&
                 !n->pipeline.negated && !n->pipeline.timed)
            n = n->pipeline.stages[0];
        else
            return n;
    }
    return n;
}

int exec_end_subshell(struct shell *sub)
{
    if (sub->traps && sub->traps[TRAP_EXIT]) {
        enum shell_flow flow = sub->flow;
        sub->flow = FLOW_NONE;
        trap_run(sub, TRAP_EXIT);
        trap_set(sub, TRAP_EXIT, NULL);
        if (sub->flow == FLOW_NONE)
            sub->flow = flow;
    }
    int status = sub->status;
    if (sub->session == sub)
        jobs_finish(sub);
    else
        jobs_close(sub);
    sub->status = status;
    return status;
}

void exec_own_frames(struct shell *sub)
{
    struct frame **at = &sub->frame;
    for (const struct frame *f = sub->frame; f; f = f->parent) {
        struct frame *copy = arena_alloc(sub->arena, sizeof(*copy));
        *copy = *f;
        copy->function = arena_str(sub->arena, f->function);
        copy->file = arena_str(sub->arena, f->file);
        *at = copy;
        at = &copy->parent;
    }
}

static bool read_whole_file(struct shell *sh, const struct redirect *r, struct buf *out)
{
    struct saved_fd *saved = NULL;
    struct arena_mark mark = arena_mark(sh->arena);
    bool ok = redirect_apply(sh, r, 1, &saved);
    int status = !ok;
    if (ok && !stream_read_all(sh->fds[0], out) && !out->full && !shell_is_ending(sh)) {
        struct str path;
        if (expand_redirect_target(sh, r->target, sh->arena, &path))
            shell_err(sh, "%.*s: %s", STR_ARG(path), strerror(stream_error(sh->fds[0])));
        status = 1;
    }
    redirect_undo(sh, saved);
    arena_rewind(sh->arena, mark);
    sh->status = status;
    return true;
}

/* Its value is another in each shell, or each time that it is looked at. */
static bool is_unsteady(struct str name)
{
    static const char *const names[] = { "RANDOM", "SRANDOM", "BASHPID",
        "BASH_SUBSHELL" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

bool exec_is_pure(const struct word *w)
{
    if (w->is_literal)
        return true;
    for (size_t i = 0; i < w->count; i++) {
        const struct part *p = &w->parts[i];
        if (p->type == PART_TEXT)
            continue;
        if (p->type != PART_PARAM || p->param->op != PARAM_VALUE || p->param->indirect ||
                p->param->subscript == SUB_INDEX || is_unsteady(p->param->name))
            return false;
    }
    return true;
}

/* The builtin of a command so simple that it needs no shell of its own, or NULL. */
static const struct command *plain_builtin(struct shell *sh, const struct node *n)
{
    if (n->type != NODE_SIMPLE || n->redirect_count || n->simple.assign_count ||
            !n->simple.arg_count || !n->simple.args[0].word->is_literal)
        return NULL;
    if ((sh->set & (SET_NOUNSET | SET_XTRACE | SET_NOEXEC)) || sh->traps ||
            (sh->shopt & SHOPT_FAILGLOB))
        return NULL;
    const struct command *command = n->simple.builtin;
    if (functions_find(sh->functions, n->simple.args[0].word->literal))
        return NULL;
    if (!command || (command->flags & (CMD_SHELL | CMD_PREFIX | CMD_ASSIGNS)))
        return NULL;
    for (size_t i = 0; i < n->simple.arg_count; i++)
        if (n->simple.args[i].assign || !exec_is_pure(n->simple.args[i].word))
            return NULL;
    return command;
}

static void capture_builtin(struct shell *sh, const struct command *command,
        const struct node *n, struct stream *out)
{
    struct saved_fd *saved = NULL;
    struct fields args = { 0 };
    struct arena_mark mark = arena_mark(sh->arena);
    redirect_put(sh, 1, out, &saved);
    bool ok = true;
    for (size_t i = 0; ok && i < n->simple.arg_count; i++)
        ok = expand_word(sh, n->simple.args[i].word, sh->arena, &args);
    if (ok) {
        exec_push(sh, &args, NULL);
        sh->status = exec_builtin(sh, command, (int)args.count - 1, args.items);
    }
    redirect_undo(sh, saved);
    arena_rewind(sh->arena, mark);
}

static void capture_subshell(
        struct shell *sh, const struct node *body, struct stream *out)
{
    if (!exec_enter(sh))
        return;
    struct shell *sub = shell_fork(sh);
    shell_set_fd(sub, 1, stream_ref(out));
    if (!(sh->shopt & SHOPT_INHERIT_ERREXIT) && !(sh->set & SET_POSIX))
        sub->set &= ~(uint64_t)SET_ERREXIT;
    sub->trace_level++;
    exec_node(sub, body);
    sh->status = exec_end_subshell(sub);
    shell_free(sub);
    exec_leave(sh);
}

struct capture {
    struct buf *out;
    struct budget *budget;
};

/* A capture that is full ends everything: its writer may never ask how it went. */
static int write_capture(void *user, struct str data)
{
    struct capture *capture = user;
    buf_add(capture->out, data);
    if (!capture->out->full)
        return 0;
    budget_stop(capture->budget, BUDGET_MEMORY);
    return EFBIG;
}

bool exec_capture(struct shell *sh, const struct node *body, struct buf *out)
{
    sh->captured = true;
    sh->status = 0;
    body = exec_unwrap(body);
    if (!body)
        return true;
    const struct redirect *file = redirect_lone_read(body);
    const struct command *command = file ? NULL : plain_builtin(sh, body);
    if (file) {
        read_whole_file(sh, file, out);
    } else {
        struct capture capture = { out, sh->budget };
        struct stream *to = stream_sink(write_capture, &capture);
        if (command)
            capture_builtin(sh, command, body, to);
        else
            capture_subshell(sh, body, to);
        stream_unref(to);
    }
    sh->captured = true;
    if (out->full)
        return budget_stop(sh->budget, BUDGET_MEMORY);
    return !budget_stopped(sh->budget);
}

struct substitution {
    struct substitution *next;
    int fd;
    struct stream *stream; /* what is at `fd`: our reference */
    struct task *task;
    struct shell *sub;
    const struct node *body;
};

static int substitution_main(void *arg)
{
    struct substitution *s = arg;
    exec_node(s->sub, s->body);
    int status = exec_end_subshell(s->sub);
    shell_free(s->sub);
    s->sub = NULL;
    return status;
}

static int free_fd(const struct shell *sh)
{
    int fd = FIRST_SUBSTITUTION;
    while (fd > 9 && sh->fds[fd])
        fd--;
    return fd > 9 ? fd : -1;
}

static struct shell *substitution_shell(
        struct shell *sh, bool writer, struct stream **ours)
{
    struct stream *ends[2];
    stream_pipe(sh->sched, &ends[0], &ends[1]);
    struct shell *sub = shell_fork(sh);
    exec_own_frames(sub);
    shell_set_fd(sub, writer ? 0 : 1, ends[!writer]);
    sub->set &= ~(uint64_t)SET_ERREXIT;
    *ours = ends[writer];
    return sub;
}

bool exec_process_substitution(struct shell *sh, const struct node *body, bool writer,
        struct arena *arena, struct str *path)
{
    int fd = free_fd(sh);
    if (fd < 0) {
        shell_err(sh, "too many process substitutions");
        sh->status = 1;
        return false;
    }
    if (!exec_enter(sh))
        return false;
    exec_leave(sh);
    struct substitution *s = xcalloc(1, sizeof(*s));
    s->fd = fd;
    s->body = body;
    s->sub = substitution_shell(sh, writer, &s->stream);
    s->task = sched_spawn(sh->sched, substitution_main, s);
    if (!s->task) {
        shell_free(s->sub);
        stream_unref(s->stream);
        free(s);
        return false;
    }
    shell_set_fd(sh, fd, stream_ref(s->stream));
    s->next = sh->substitutions;
    sh->substitutions = s;
    *path = str_of(arena_printf(arena, "/dev/fd/%d", fd));
    return true;
}

static void join_substitution(struct shell *sh, struct substitution *s)
{
    stream_unref(s->stream);
    sched_join(sh->sched, s->task);
    free(s);
}

void substitutions_end(struct shell *sh, struct substitution *before)
{
    while (sh->substitutions != before) {
        struct substitution *s = sh->substitutions;
        sh->substitutions = s->next;
        if (sh->fds[s->fd] == s->stream)
            shell_set_fd(sh, s->fd, NULL);
        if (stream_is_shared(s->stream)) { /* `exec 3< <(cmd)` goes on */
            stream_unref(s->stream);
            s->stream = NULL;
            s->next = sh->lingering;
            sh->lingering = s;
        } else {
            join_substitution(sh, s);
        }
    }
}

void substitutions_close(struct shell *sh)
{
    if (!sh->lingering)
        return;
    for (int i = 0; i < SHELL_FDS; i++)
        if (sh->fds[i] && stream_is_pipe(sh->fds[i]))
            shell_set_fd(sh, i, NULL);
    while (sh->lingering) {
        struct substitution *s = sh->lingering;
        sh->lingering = s->next;
        join_substitution(sh, s);
    }
}
