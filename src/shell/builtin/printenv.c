#include "shell/builtin/environ.h"
#include "shell/state.h"

static const struct cmd_opt options[] = {
    { '0', "null", ARG_NONE, NULL, "lines end with NUL" },
    { 0 },
};

static int cmd_printenv(struct cmd *c)
{
    char end = '\n';
    int status = 0;
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        end = 0;
    }
    if (!c->argc)
        return environ_print(c, c->shell, end) ? 0 : 1;
    for (int i = 0; i < c->argc; i++) {
        struct str name = str_of(c->argv[i]), value;
        int flags = vars_flags(c->shell->vars, name);
        if (flags < 0 || !(flags & VAR_EXPORT) || (flags & (VAR_INDEXED | VAR_ASSOC)) ||
                !vars_get(c->shell->vars, name, &value))
            status = 1;
        else if (!cmd_put(c, value) || !cmd_putc(c, end))
            return 1;
    }
    return status;
}

const struct command command_printenv = {
    "printenv",
    cmd_printenv,
    options,
    "[OPTION] [NAME]...",
    "Print the values of exported variables.",
    0,
};
