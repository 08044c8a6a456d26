#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = {
    { 'f', "fqdn", ARG_NONE, NULL, "(the same here)" },
    { 's', "short", ARG_NONE, NULL, "(the same here)" },
    { 0 },
};

/* The host's own name is nobody's business in here. */
static int cmd_hostname(struct cmd *c)
{
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (k == CMD_BAD)
            return 1;
    if (c->argc) {
        cmd_err(c, "you must be root to change the host name");
        return 1;
    }
    return cmd_put(c, STR("localhost\n")) ? 0 : 1;
}

const struct command command_hostname = {
    "hostname",
    cmd_hostname,
    options,
    "[OPTION]",
    "Print the name of the host: localhost.",
    0,
};
