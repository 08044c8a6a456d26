#include "shell/exec.h"

static const struct cmd_opt options[] = {
    { 'a', NULL, ARG_NONE, NULL, "(ignored: there is one of each)" },
    { 0 },
};

/* Most commands are part of the shell, so that the name is what runs them. */
static struct str find(struct cmd *c, const char *name)
{
    if (command_find(str_of(name)))
        return str_of(name);
    struct str program = exec_program_file(c->shell, name);
    const char *script = program.len ? NULL : exec_script_file(c->shell, name);
    return script ? str_of(script) : program;
}

static int cmd_which(struct cmd *c)
{
    int status = c->argc > 1 ? 0 : 1;
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;)
        if (k == CMD_BAD)
            return 2;
    for (int i = 0; i < c->argc; i++) {
        struct str found = find(c, c->argv[i]);
        if (!found.len)
            status = 1;
        else if (!cmd_printf(c, "%.*s\n", STR_ARG(found)))
            return 1;
    }
    return status;
}

const struct command command_which = {
    "which",
    cmd_which,
    options,
    "[-a] NAME...",
    "Print the names that are commands here.",
    0,
};
