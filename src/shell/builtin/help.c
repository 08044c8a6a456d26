#include "shell/pattern.h"
#include "shell/state.h"

static bool list_all(struct cmd *c)
{
    if (!cmd_put(c, STR("Commands here (NAME --help says more):\n")))
        return false;
    size_t column = 0;
    const struct command *command;
    for (size_t i = 0; (command = command_at(i)); i++) {
        size_t width = strlen(command->name) + 1;
        bool wraps = column + width > 78;
        if (!cmd_printf(c, "%s%s", wraps ? "\n" : i ? " " : "", command->name))
            return false;
        column = wraps ? width : column + width;
    }
    return cmd_putc(c, '\n');
}

static int cmd_help_(struct cmd *c)
{
    if (c->argc == 1)
        return list_all(c) ? 0 : 1;
    int status = 0;
    for (int i = 1; i < c->argc; i++) {
        const struct command *command;
        bool found = false;
        for (size_t k = 0; (command = command_at(k)) && cmd_tick(c); k++)
            if (pattern_match(str_of(c->argv[i]), str_of(command->name), 0)) {
                found = true;
                status |= cmd_help(c, command);
            }
        if (!found) {
            cmd_err(c, "no help topics match `%s'.  Try `help' for all names.",
                    c->argv[i]);
            status = 1;
        }
    }
    return status;
}

const struct command command_help = { .name = "help",
    .run = cmd_help_,
    .usage = "[NAME]...",
    .summary = "List the commands, or explain some.",
    .flags = CMD_BUILTIN };
