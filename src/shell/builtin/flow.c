/* : true false break continue return exit eval */
#include "shell/builtin/letters.h"
#include "shell/exec.h"

static int cmd_true(struct cmd *c UNUSED)
{
    return 0;
}

static int cmd_false(struct cmd *c UNUSED)
{
    return 1;
}

/* break N and continue N. */
static int leave_loop(struct cmd *c, enum shell_flow flow)
{
    struct shell *sh = c->shell;
    int64_t n = 1;
    if (c->argc > 1 && !letters_number(c, c->argv[1], &n)) {
        shell_discard(sh, 1);
        return 1;
    }
    if (c->argc > 2) {
        cmd_err(c, "too many arguments");
        shell_discard(sh, 1);
        return 1;
    }
    if (!sh->loop_depth) {
        cmd_err(c, "only meaningful in a `for', `while', or `until' loop");
        return 0;
    }
    bool in_range = n >= 1;
    if (!in_range) {
        cmd_err(c, "%s: loop count out of range", c->argv[1]);
        n = sh->loop_depth;
    }
    sh->flow = in_range ? flow : FLOW_BREAK;
    sh->flow_count = n < sh->loop_depth ? (int)n : sh->loop_depth;
    return !in_range;
}

static int cmd_break(struct cmd *c)
{
    return leave_loop(c, FLOW_BREAK);
}

static int cmd_continue(struct cmd *c)
{
    return leave_loop(c, FLOW_CONTINUE);
}

/* The status that `exit` and `return` name, or the last one. */
static int wanted_status(struct cmd *c, int i)
{
    int64_t n = c->shell->status;
    if (i < c->argc && !letters_number(c, c->argv[i], &n))
        return 2;
    return (int)(n & 255);
}

/* Is there more than one operand?  Reported. */
static bool too_many(struct cmd *c, int i)
{
    if (c->argc <= i + 1)
        return false;
    int64_t n;
    if (!str_int(str_of(c->argv[i]), &n))
        return false;
    cmd_err(c, "too many arguments");
    return true;
}

static int first_operand(const struct cmd *c)
{
    return c->argc > 1 && !strcmp(c->argv[1], "--") ? 2 : 1;
}

static int cmd_return(struct cmd *c)
{
    struct shell *sh = c->shell;
    int i = first_operand(c);
    if (!sh->frame || !sh->frame->parent) {
        cmd_err(c, "can only `return' from a function or sourced script");
        return 2;
    }
    if (too_many(c, i)) {
        shell_discard(sh, 1);
        return 1;
    }
    int status = wanted_status(c, i);
    sh->flow = FLOW_RETURN;
    return status;
}

static int cmd_exit(struct cmd *c)
{
    struct shell *sh = c->shell;
    int i = first_operand(c);
    if (too_many(c, i)) {
        shell_discard(sh, 1);
        return 1;
    }
    int status = wanted_status(c, i);
    shell_exit(sh, status);
    sh->called_exit = true;
    return status;
}

static int cmd_eval(struct cmd *c)
{
    int i = first_operand(c);
    if (i >= c->argc)
        return 0;
    auto_buf text = BUF(c->budget->max_memory);
    for (int first = i; i < c->argc; i++) {
        if (i > first)
            buf_addc(&text, ' ');
        buf_add(&text, str_of(c->argv[i]));
    }
    return exec_text(c->shell, buf_str(&text), STR("eval"), c->shell->line);
}

const struct command command_colon = { .name = ":",
    .run = cmd_true,
    .usage = "[ARG]...",
    .summary = "Do nothing, successfully.",
    .flags = CMD_BUILTIN | CMD_SPECIAL };

const struct command command_true = { .name = "true",
    .run = cmd_true,
    .usage = "[ARG]...",
    .summary = "Do nothing, successfully.",
    .flags = CMD_BUILTIN };

const struct command command_false = { .name = "false",
    .run = cmd_false,
    .usage = "[ARG]...",
    .summary = "Do nothing, unsuccessfully.",
    .flags = CMD_BUILTIN };

const struct command command_break = { .name = "break",
    .run = cmd_break,
    .usage = "[N]",
    .summary = "Leave the innermost N loops.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };

const struct command command_continue = { .name = "continue",
    .run = cmd_continue,
    .usage = "[N]",
    .summary = "Go on with the next turn of the Nth loop around.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };

const struct command command_return = { .name = "return",
    .run = cmd_return,
    .usage = "[N]",
    .summary = "Leave a function or a sourced file with status N.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };

const struct command command_exit = { .name = "exit",
    .run = cmd_exit,
    .usage = "[N]",
    .summary = "End the script or subshell with status N.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };

const struct command command_eval = { .name = "eval",
    .run = cmd_eval,
    .usage = "[ARG]...",
    .summary = "Run the arguments, joined by spaces, as a command.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };
