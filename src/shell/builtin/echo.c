#include "shell/builtin/backslash.h"
#include "shell/state.h"

struct echo {
    bool newline, escapes;
};

/* Is it -n, -e, -E or a bundle of them?  Anything else is text. */
static bool take_option(struct echo *e, const char *arg)
{
    if (arg[0] != '-' || !arg[1] || strspn(arg + 1, "neE") != strlen(arg + 1))
        return false;
    for (arg++; *arg; arg++) {
        if (*arg == 'n')
            e->newline = false;
        else
            e->escapes = *arg == 'e';
    }
    return true;
}

static int echo_escaped(struct cmd *c, int i, bool newline)
{
    auto_buf text = BUF(c->budget->max_memory);
    bool go_on = true;
    for (int first = i; go_on && i < c->argc; i++) {
        if (i > first)
            buf_addc(&text, ' ');
        go_on = escape_all(str_of(c->argv[i]), ESCAPE_ECHO, &text);
    }
    if (go_on && newline)
        buf_addc(&text, '\n');
    return cmd_put(c, buf_str(&text)) ? 0 : 1;
}

static int cmd_echo(struct cmd *c)
{
    struct echo e = { .newline = true, .escapes = c->shell->shopt & SHOPT_XPG_ECHO };
    int i = 1;
    while (i < c->argc && take_option(&e, c->argv[i]))
        i++;
    if (e.escapes)
        return echo_escaped(c, i, e.newline);
    for (int first = i; i < c->argc; i++) {
        if (i > first && !cmd_putc(c, ' '))
            return 1;
        if (!cmd_put(c, str_of(c->argv[i])))
            return 1;
    }
    return !e.newline || cmd_putc(c, '\n') ? 0 : 1;
}

const struct command command_echo = {
    .name = "echo",
    .run = cmd_echo,
    .usage = "[-neE] [ARG]...",
    .summary = "Print the arguments, separated by spaces, and a newline (-n: without it; "
               "-e: "
               "understand backslash escapes; -E: do not).",
    .flags = CMD_BUILTIN,
};
