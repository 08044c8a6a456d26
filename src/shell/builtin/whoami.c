#include "shell/builtin/quote.h"
#include "shell/builtin/users.h"

#include <unistd.h>

static const struct cmd_opt options[] = { { 0 } };

static int cmd_whoami(struct cmd *c)
{
    struct cmd_options o = cmd_options(c);
    if (cmd_next(&o) != CMD_END)
        return 1;
    if (c->argc)
        return extra_operand(c, c->argv[0]);
    const char *name = user_name(c, geteuid());
    if (name)
        return cmd_printf(c, "%s\n", name) ? 0 : 1;
    cmd_err(c, "cannot find name for user ID %u", geteuid());
    return 1;
}

const struct command command_whoami = {
    "whoami",
    cmd_whoami,
    options,
    "",
    "Print the name of who runs the commands.",
    0,
};
