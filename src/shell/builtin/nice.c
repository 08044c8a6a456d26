/* nice nohup setsid stdbuf: commands that start another one in a way that makes no
 * difference here: there is no process to slow down, to hang up or to buffer. */
#include "shell/builtin/quote.h"

enum { FAILED = 125 };

static const struct cmd_opt nice_options[] = {
    { 'n', "adjustment", ARG_REQUIRED, "N", "(understood: nothing runs beside it)" },
    { 0 },
};

static const struct cmd_opt setsid_options[] = {
    { 'c', "ctty", ARG_NONE, NULL, "(nothing differs here)" },
    { 'f', "fork", ARG_NONE, NULL, "(nothing differs here)" },
    { 'w', "wait", ARG_NONE, NULL, "(nothing differs here)" },
    { 0 },
};

static const struct cmd_opt stdbuf_options[] = {
    { 'i', "input", ARG_REQUIRED, "MODE", "(nothing differs here)" },
    { 'o', "output", ARG_REQUIRED, "MODE", "(nothing differs here)" },
    { 'e', "error", ARG_REQUIRED, "MODE", "(nothing differs here)" },
    { 0 },
};

static const struct cmd_opt no_options[] = { { 0 } };

/* Take the options; false: one was bad, or there is no command. */
static bool find_command(struct cmd *c, bool needs_number)
{
    struct cmd_options o = cmd_options(c);
    o.stop_early = true;
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        int64_t n;
        if (k == CMD_BAD)
            return false;
        if (needs_number && !str_int(str_of(o.value), &n)) {
            cmd_err(c, "invalid adjustment %s", quote(c, o.value));
            return false;
        }
    }
    return true;
}

static int run(struct cmd *c)
{
    if (c->argc)
        return cmd_run(c, c->argc, c->argv, c->in, c->out, c->err);
    missing_operand(c);
    return FAILED;
}

/* `nice -5 command` is an old form of -n 5. */
static void drop_old_form(struct cmd *c)
{
    int64_t n;
    if (c->argc > 1 && c->argv[1][0] == '-' && str_int(str_of(c->argv[1] + 1), &n)) {
        c->argv[1] = c->argv[0];
        c->argv++;
        c->argc--;
    }
}

static int cmd_nice(struct cmd *c)
{
    drop_old_form(c);
    if (!find_command(c, true))
        return FAILED;
    if (!c->argc)
        return cmd_put(c, STR("0\n")) ? 0 : 1;
    return run(c);
}

static int cmd_pass(struct cmd *c)
{
    return find_command(c, false) ? run(c) : FAILED;
}

const struct command command_nice = {
    "nice",
    cmd_nice,
    nice_options,
    "[OPTION] [COMMAND [ARG]...]",
    "Run a command; its niceness stays as it is.",
    CMD_PREFIX,
};

const struct command command_nohup = {
    "nohup",
    cmd_pass,
    no_options,
    "COMMAND [ARG]...",
    "Run a command; it ends with the call all the same.",
    CMD_PREFIX,
};

const struct command command_setsid = {
    "setsid",
    cmd_pass,
    setsid_options,
    "[OPTION]... COMMAND [ARG]...",
    "Run a command; there are no sessions here.",
    CMD_PREFIX,
};

const struct command command_stdbuf = {
    "stdbuf",
    cmd_pass,
    stdbuf_options,
    "OPTION... COMMAND [ARG]...",
    "Run a command; what it writes is passed on as it comes in any case.",
    CMD_PREFIX,
};
