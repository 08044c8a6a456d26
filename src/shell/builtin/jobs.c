/* jobs wait kill: commands that were started with & */
#include "shell/jobs.h"
#include "shell/assign.h"
#include "shell/builtin/letters.h"
#include "shell/builtin/signals.h"
#include "shell/exec.h"

#include <signal.h>
#include <stdio.h>

static bool print_job(struct cmd *c, const struct job *job, bool with_pid, bool only_pid)
{
    bool runs = job_is_running(job);
    char mark = !job->next ? '+' : job->next->next ? ' ' : '-';
    if (only_pid)
        return cmd_printf(c, "%d\n", job->pid);
    char pid[24] = "";
    if (with_pid)
        snprintf(pid, sizeof(pid), "%d ", job->pid);
    return cmd_printf(c, "[%d]%c  %s%-24s%.*s%s\n", job->id, mark, pid,
            runs ? "Running" : "Done", STR_ARG(job->node->source), runs ? " &" : "");
}

static int cmd_jobs(struct cmd *c)
{
    bool with_pid = false, only_pid = false;
    struct letters l = letters_of(c, "lnprs", "jobs [-lnprs] [jobspec ...]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        with_pid |= k == 'l';
        only_pid |= k == 'p';
    }
    /* `jobs | cat` and $(jobs) are about the shell that they were forked from */
    const struct shell *sh = c->shell;
    while (!sh->jobs && sh->parent && sh != sh->session)
        sh = sh->parent;
    for (const struct job *j = sh->jobs; j; j = j->next)
        if (j->task && !print_job(c, j, with_pid, only_pid))
            return 1;
    return 0;
}

static struct job *find(struct cmd *c, const char *text)
{
    struct job *job = job_find(c->shell, str_of(text));
    int64_t pid;
    if (job)
        return job;
    if (text[0] == '%')
        cmd_err(c, "%s: no such job", text);
    else if (str_int(str_of(text), &pid))
        cmd_err(c, "pid %s is not a child of this shell", text);
    else
        cmd_err(c, "`%s': not a pid or valid job spec", text);
    return NULL;
}

/* wait -n: the first one that is not yet waited for. */
static struct job *next_job(struct cmd *c)
{
    for (struct job *j = c->shell->jobs; j; j = j->next)
        if (j->task)
            return j;
    return NULL;
}

static int wait_all(struct cmd *c)
{
    for (struct job *j = c->shell->jobs; j; j = j->next)
        job_wait(c->shell, j);
    return 0;
}

/* wait -p NAME: which one it was. */
static bool tell(struct cmd *c, const char *variable, const struct job *job)
{
    if (!variable || !job)
        return true;
    char *pid = arena_printf(c->arena, "%d", job->pid);
    return assign_text(c->shell, c->name, str_of(variable), str_of(pid));
}

static int cmd_wait(struct cmd *c)
{
    bool next = false;
    const char *variable = NULL;
    struct error err;
    struct letters l = letters_of(c, "fnp:", "wait [-fn] [-p var] [id ...]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        next |= k == 'n';
        if (k == 'p')
            variable = l.value;
    }
    if (variable && !letters_name(c, variable))
        return 1;
    if (variable && !vars_unset(c->shell->vars, str_of(variable), &err)) {
        cmd_err(c, "%s", err.message);
        return 1;
    }
    if (l.index >= c->argc && !next)
        return wait_all(c);
    int status = 127;
    struct job *job = NULL;
    if (l.index >= c->argc) {
        job = next_job(c);
        status = job ? job_wait(c->shell, job) : 127;
    }
    for (int i = l.index; i < c->argc; i++) {
        job = find(c, c->argv[i]);
        status = job ? job_wait(c->shell, job) : 127;
    }
    return tell(c, variable, job) ? status : 1;
}

static const char kill_usage[] =
        "kill [-s sigspec | -n signum | -sigspec] pid | jobspec ... or kill -l [sigspec]";

static int list_signals(struct cmd *c, int first)
{
    if (first >= c->argc)
        return signal_list(c) ? 0 : 1;
    int status = 0;
    for (int i = first; i < c->argc; i++) {
        int64_t n;
        bool is_number = str_int(str_of(c->argv[i]), &n);
        const char *name = is_number ? signal_name((int)(n > 128 ? n - 128 : n)) : NULL;
        int number = is_number ? -1 : signal_number(c->argv[i]);
        if (name ? !cmd_printf(c, "%s\n", name)
                 : number >= 0 && !cmd_printf(c, "%d\n", number))
            return 1;
        if (!name && number < 0) {
            cmd_err(c, "%s: invalid signal specification", c->argv[i]);
            status = 1;
        }
    }
    return status;
}

/* This shell itself, at once, or one around it, when that goes on. */
static bool signal_shell(struct shell *self, int64_t pid, int number)
{
    struct shell *sh = self;
    while (sh && sh->pid != pid)
        sh = sh->parent;
    if (!sh || number < 0 || number > SIGNAL_MAX)
        return false;
    if (number && sh == self) {
        sh->status = 0;
        trap_signal(sh, number);
    } else if (number) {
        sh->pending |= UINT64_C(1) << (number - 1);
    }
    return true;
}

/* Only what this shell started, and shells around it, can be told. */
static bool kill_one(struct cmd *c, const char *text, int number)
{
    struct job *job = job_find(c->shell, str_of(text));
    int64_t pid;
    if (!job && text[0] == '%') {
        cmd_err(c, "%s: no such job", text);
        return false;
    }
    if (!job && !str_int(str_of(text), &pid)) {
        cmd_err(c, "%s: arguments must be process or job IDs", text);
        return false;
    }
    if (!job && signal_shell(c->shell, pid, number))
        return true;
    if (!job || !job_is_running(job)) {
        cmd_err(c, "(%s) - No such process", text);
        return false;
    }
    if (number)
        job_cancel(job, number);
    return true;
}

static int cmd_kill(struct cmd *c)
{
    int i = 1, number = SIGTERM;
    if (i < c->argc && (!strcmp(c->argv[i], "-l") || !strcmp(c->argv[i], "-L")))
        return list_signals(c, i + 1);
    if (i < c->argc && c->argv[i][0] == '-' && c->argv[i][1] &&
            strcmp(c->argv[i], "--")) {
        const char *name = c->argv[i] + 1;
        bool separate = !strcmp(name, "s") || !strcmp(name, "n");
        if (separate)
            name = i + 1 < c->argc ? c->argv[++i] : "";
        number = signal_number(name);
        if (number < 0) {
            cmd_err(c, "%s: invalid signal specification", name);
            return 1;
        }
        i++;
    }
    if (i < c->argc && !strcmp(c->argv[i], "--"))
        i++;
    if (i >= c->argc)
        return letters_usage(c, kill_usage);
    int status = 0;
    for (; i < c->argc; i++)
        status |= !kill_one(c, c->argv[i], number);
    return status;
}

const struct command command_jobs = { .name = "jobs",
    .run = cmd_jobs,
    .usage = "[-lnprs]",
    .summary = "List what was started with & and not yet waited for.",
    .flags = CMD_BUILTIN | CMD_SHELL };

const struct command command_wait = { .name = "wait",
    .run = cmd_wait,
    .usage = "[-n] [ID]...",
    .summary = "Wait for commands started with &; the status is that of the last.",
    .flags = CMD_BUILTIN | CMD_SHELL };

const struct command command_kill = { .name = "kill",
    .run = cmd_kill,
    .usage = "[-s SIGNAL | -SIGNAL] ID...  or  -l [SIGNAL]",
    .summary = "End commands of this shell that were started with &.",
    .flags = CMD_BUILTIN | CMD_SHELL };
