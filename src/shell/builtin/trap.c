#include "shell/builtin/letters.h"
#include "shell/builtin/shquote.h"
#include "shell/builtin/signals.h"
#include "shell/exec.h"

#include <strings.h>

static const char *const own_names[] = { "EXIT", "ERR", "DEBUG", "RETURN" };

/* What a name or number stands for; -1: nothing. */
static int find(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(own_names); i++)
        if (!strcasecmp(text, own_names[i]))
            return (int)i;
    int number = signal_number(text);
    return number == 0 ? TRAP_EXIT : number < 0 ? -1 : TRAP_SIGNAL + number;
}

static bool print(struct cmd *c, int which)
{
    char **traps = c->shell->outer_traps ? c->shell->outer_traps : c->shell->traps;
    if (!traps || !traps[which])
        return true;
    struct str text = quote_single(str_of(traps[which]), c->arena);
    if (which < TRAP_SIGNAL)
        return cmd_printf(c, "trap -- %.*s %s\n", STR_ARG(text), own_names[which]);
    const char *name = signal_name(which - TRAP_SIGNAL);
    return !name || cmd_printf(c, "trap -- %.*s SIG%s\n", STR_ARG(text), name);
}

/* EXIT, then the signals by number, then DEBUG ERR RETURN, as bash lists them. */
static bool print_all(struct cmd *c)
{
    static const enum shell_trap last[] = { TRAP_DEBUG, TRAP_ERR, TRAP_RETURN };
    if (!print(c, TRAP_EXIT))
        return false;
    for (int i = TRAP_SIGNAL; i < TRAP_COUNT; i++)
        if (!print(c, i))
            return false;
    for (size_t i = 0; i < ARRAY_LEN(last); i++)
        if (!print(c, last[i]))
            return false;
    return true;
}

static int for_each(struct cmd *c, int first, bool prints, const char *action)
{
    int status = 0;
    for (int i = first; i < c->argc; i++) {
        int which = find(c->argv[i]);
        if (which < 0) {
            cmd_err(c, "%s: invalid signal specification", c->argv[i]);
            status = 1;
        } else if (!prints) {
            trap_set(c->shell, which, action);
        } else if (!print(c, which)) {
            return 1;
        }
    }
    return status;
}

static int cmd_trap(struct cmd *c)
{
    bool prints = false;
    struct letters l = letters_of(c, "lp", "trap [-lp] [[arg] signal_spec ...]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        if (k == 'l')
            return signal_list(c) ? 0 : 1;
        prints = true;
    }
    int count = c->argc - l.index;
    if (!count)
        return print_all(c) ? 0 : 1;
    if (prints)
        return for_each(c, l.index, true, NULL);
    const char *action = c->argv[l.index];
    int64_t number;
    bool resets = !strcmp(action, "-");
    if (count == 1 && find(action) < 0 && !resets)
        return letters_usage(c, l.usage);
    if (count == 1 || (str_int(str_of(action), &number) && find(action) >= 0))
        return for_each(c, l.index + resets, false, NULL); /* `trap INT`, `trap 2 3` */
    return for_each(c, l.index + 1, false, resets ? NULL : action);
}

const struct command command_trap = { .name = "trap",
    .run = cmd_trap,
    .usage = "[-lp] [[COMMAND] NAME...]",
    .summary = "Run COMMAND at EXIT, ERR, DEBUG or RETURN, or at a signal that `kill` of "
               "this script sends.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };
