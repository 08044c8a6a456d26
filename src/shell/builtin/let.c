#include "shell/expand.h"
#include "shell/state.h"

static int cmd_let(struct cmd *c)
{
    int i = c->argc > 1 && !strcmp(c->argv[1], "--") ? 2 : 1;
    if (i >= c->argc) {
        cmd_err(c, "expression expected");
        return 1;
    }
    int64_t value = 0;
    for (; i < c->argc; i++)
        if (!expand_arith_text(c->shell, str_of(c->argv[i]), &value))
            return 1;
    return value ? 0 : 1;
}

const struct command command_let = { .name = "let",
    .run = cmd_let,
    .usage = "EXPRESSION...",
    .summary = "Evaluate arithmetic; status 1 if the last one is 0.",
    .flags = CMD_BUILTIN | CMD_SHELL };
