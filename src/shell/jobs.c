/* `&`: tasks that all end before the run does. */
#include "shell/jobs.h"

#include "shell/exec.h"

#include <signal.h>

#define MAX_RUNNING 64 /* more are waited for, oldest first */

static void take_from_waiting(struct shell *session, struct turn *turn)
{
    struct turn **at = &session->waiting_turns;
    while (*at && *at != turn)
        at = &(*at)->next;
    if (*at)
        *at = turn->next;
}

static void grant(struct shell *session)
{
    struct turn *turn;
    while ((turn = session->waiting_turns) &&
            session->turns_taken < JOBS_MAX_WITH_PROGRAMS) {
        session->waiting_turns = turn->next;
        turn->is_taken = true;
        session->turns_taken++;
    }
}

bool job_take_turn(struct shell *sh)
{
    struct shell *session = sh->session;
    struct turn *turn = sh->turn;
    if (!turn || turn->is_taken)
        return true;
    if (!turn->waiters) {
        struct turn **at = &session->waiting_turns;
        while (*at)
            at = &(*at)->next;
        *at = turn;
        turn->next = NULL;
        grant(session);
    }
    turn->waiters++;
    bool taken = turn->is_taken || sched_wait(sh->sched, &turn->is_taken);
    if (!--turn->waiters && !taken && !turn->is_taken)
        take_from_waiting(session, turn);
    return taken;
}

static void give_turn(struct shell *session, struct turn *turn)
{
    if (!turn->is_taken)
        return;
    session->turns_taken--;
    grant(session);
}

static int job_main(void *arg)
{
    struct job *job = arg;
    const struct node *body = exec_unwrap(job->node);
    /* ( ... ) & is one subshell, not two: what ends the job ends it */
    bool is_subshell = body && body->type == NODE_SUBSHELL && !body->redirect_count;
    exec_node(job->sub, is_subshell ? body->pair.a : job->node);
    int status = exec_end_subshell(job->sub);
    give_turn(job->sub->session, &job->turn);
    shell_free(job->sub);
    job->sub = NULL;
    return status;
}

int job_wait(struct shell *sh, struct job *job)
{
    if (job->task)
        job->status = sched_join(sh->sched, TAKE(job->task));
    return job->status;
}

struct job *job_find(struct shell *sh, struct str spec)
{
    int64_t number;
    bool is_id = spec.len && spec.data[0] == '%';
    struct job *newest = NULL;
    for (struct job *j = sh->jobs; j; j = j->next)
        if (j->task)
            newest = j;
    if (is_id && (spec.len == 1 || str_is(spec, "%%") || str_is(spec, "%+")))
        return newest;
    if (!str_int(str_from(spec, is_id), &number))
        return NULL;
    for (struct job *j = sh->jobs; j; j = j->next)
        if (is_id ? j->task && j->id == number : j->pid == number)
            return j;
    return NULL;
}

bool job_is_running(const struct job *job)
{
    return job->task && !sched_has_ended(job->task);
}

void job_cancel(struct job *job, int signal)
{
    if (!job_is_running(job))
        return;
    char **traps = job->sub->traps;
    if (signal != SIGKILL && traps && traps[TRAP_SIGNAL + signal]) {
        job->sub->pending |= UINT64_C(1) << (signal - 1);
        return;
    }
    shell_exit(job->sub, 128 + signal);
    sched_cancel(job->task);
}

/* Keep the number of stacks bounded: wait for the oldest ones. */
static void make_room(struct shell *sh)
{
    size_t running = 0;
    for (struct job *j = sh->jobs; j; j = j->next)
        running += job_is_running(j);
    for (struct job *j = sh->jobs; j && running >= MAX_RUNNING; j = j->next) {
        running -= job_is_running(j);
        job_wait(sh, j);
    }
}

static void append(struct shell *sh, struct job *job)
{
    struct job **at = &sh->jobs;
    int id = 0;
    for (; *at; at = &(*at)->next)
        if ((*at)->task && (*at)->id > id) /* what was waited for gives its number back */
            id = (*at)->id;
    job->id = id + 1;
    *at = job;
}

int exec_background(struct shell *sh, const struct node *n)
{
    make_room(sh);
    if (!exec_enter(sh))
        return sh->status;
    struct job *job = xcalloc(1, sizeof(*job));
    job->sub = shell_fork(sh);
    exec_leave(sh);
    if (!job->sub->turn)
        job->sub->turn = &job->turn;
    exec_own_frames(job->sub);
    shell_set_fd(job->sub, 0, stream_null());
    job->node = n->pair.a;
    job->pid = sh->last_background = job->sub->pid;
    job->script = script_ref(sh->script);
    job->task = sched_spawn_last(sh->sched, job_main, job);
    append(sh, job);
    if (!job->task) {
        shell_free(TAKE(job->sub));
        return sh->status = 1;
    }
    return sh->status = 0;
}

/* Wait for all, then forget them. */
static void jobs_forget(struct shell *sh)
{
    while (sh->jobs) {
        struct job *job = sh->jobs;
        job_wait(sh, job);
        sh->jobs = job->next;
        script_unref(job->script);
        free(job);
    }
}

void jobs_finish(struct shell *sh)
{
    for (struct job *j = sh->jobs; j; j = j->next)
        job_wait(sh, j);
}

void jobs_close(struct shell *sh)
{
    jobs_forget(sh);
    substitutions_close(sh);
}
