#include "shell/builtin/interval.h"
#include "shell/builtin/quote.h"
#include "shell/builtin/signals.h"
#include "shell/exec.h"

#include <signal.h>

enum { OPT_FOREGROUND = 256, OPT_PRESERVE };
enum { TIMED_OUT = 124, FAILED = 125 };

static const struct cmd_opt options[] = {
    { OPT_PRESERVE, "preserve-status", ARG_NONE, NULL,
            "the status is the command's, as if the signal had ended it" },
    { OPT_FOREGROUND, "foreground", ARG_NONE, NULL, "(nothing differs here)" },
    { 'k', "kill-after", ARG_REQUIRED, "DURATION",
            "(understood: the command always ends at once)" },
    { 's', "signal", ARG_REQUIRED, "SIGNAL", "the signal that would be sent" },
    { 'v', "verbose", ARG_NONE, NULL, "say so when the time is up" },
    { 0 },
};

struct timeout {
    struct cmd *c;
    int signal;
    bool preserve, verbose;
};

static bool parse_duration(struct cmd *c, const char *text, double *seconds)
{
    if (interval_parse(text, seconds))
        return true;
    cmd_err(c, "invalid time interval %s", quote(c, text));
    try_help(c, FAILED);
    return false;
}

static bool take_option(struct timeout *t, int key, const char *value)
{
    double unused;
    switch (key) {
    case 'k':
        return parse_duration(t->c, value, &unused);
    case 's':
        t->signal = signal_number(value);
        if (t->signal >= 0)
            return true;
        cmd_err(t->c, "%s: invalid signal", quote(t->c, value));
        try_help(t->c, FAILED);
        return false;
    case 'v':
        return t->verbose = true;
    case OPT_PRESERVE:
        return t->preserve = true;
    default:
        return key != CMD_BAD;
    }
}

/* The command runs in a copy of the shell, under a budget with a deadline of its own. */
static int run(struct timeout *t, double seconds, int argc, char **argv)
{
    struct cmd *c = t->c;
    struct budget budget = budget_nest(c->budget, (int64_t)(seconds * 1e9));
    struct shell *sub = shell_fork(c->shell);
    struct budget *before = sched_swap_budget(sub->sched, &budget);
    sub->budget = &budget;
    int status = exec_argv(sub, argc, argv, c->in, c->out, c->err);
    jobs_close(sub);
    shell_free(sub);
    sched_swap_budget(c->shell->sched, before);
    if (!budget_unnest(&budget))
        return status;
    if (t->verbose)
        cmd_err(c, "sending signal %s to command %s", signal_name(t->signal),
                quote(c, argv[0]));
    return t->signal == SIGKILL || t->preserve ? 128 + t->signal : TIMED_OUT;
}

static int cmd_timeout(struct cmd *c)
{
    struct timeout t = { .c = c, .signal = SIGTERM };
    double seconds;
    struct cmd_options o = cmd_options(c);
    o.stop_early = true;
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (!take_option(&t, k, o.value))
            return FAILED;
    if (c->argc < 2) {
        missing_operand(c);
        return FAILED;
    }
    if (!parse_duration(c, c->argv[0], &seconds))
        return FAILED;
    return run(&t, seconds, c->argc - 1, c->argv + 1);
}

const struct command command_timeout = {
    "timeout",
    cmd_timeout,
    options,
    "[OPTION]... DURATION COMMAND [ARG]...",
    "Run a command, and end it if it takes longer than DURATION.",
    CMD_PREFIX,
};
