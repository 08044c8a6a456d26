/* set shopt shift */
#include "shell/builtin/attributes.h"
#include "shell/builtin/letters.h"
#include "shell/exec.h"
#include "shell/setopt.h"

static const char usage[] =
        "set [-abefhkmnptuvxBCEHPT] [-o option-name] [--] [-] [arg ...]";

static bool print_option(struct cmd *c, const struct setopt *o, bool on, bool as_command)
{
    return as_command ? cmd_printf(c, "set %co %s\n", on ? '-' : '+', o->name)
                      : cmd_printf(c, "%-15s\t%s\n", o->name, on ? "on" : "off");
}

static bool print_options(struct cmd *c, bool as_commands)
{
    const struct setopt *o;
    for (size_t i = 0; (o = setopt_at(i)); i++)
        if (!print_option(c, o, setopt_value(c->shell->set, o), as_commands))
            return false;
    return true;
}

static int change_option(struct cmd *c, const struct setopt *o, bool on)
{
    if (setopt_change(c->shell, o, on))
        return 0;
    cmd_err(c, "%s: cannot be changed here: that would take %s", o->name, o->missing);
    return 1;
}

/* -o NAME, +o NAME, or without a name the list of them. */
static int set_by_name(struct cmd *c, int *i, bool on)
{
    if (*i + 1 >= c->argc)
        return print_options(c, !on) ? 0 : 1;
    const char *name = c->argv[++*i];
    const struct setopt *o = setopt_find(str_of(name));
    if (!o) {
        cmd_err(c, "%s: invalid option name", name);
        return 2;
    }
    return change_option(c, o, on);
}

/* One word of letters, as -eu or +x. */
static int set_letters(struct cmd *c, int *i)
{
    const char *word = c->argv[*i];
    bool on = word[0] == '-';
    for (const char *p = word + 1; *p; p++) {
        if (*p == 'o') {
            int status = set_by_name(c, i, on);
            if (status)
                return status;
            continue;
        }
        const struct setopt *o = setopt_by_letter(*p);
        if (!o) {
            cmd_err(c, "%c%c: invalid option", word[0], *p);
            return letters_usage(c, usage);
        }
        int status = change_option(c, o, on);
        if (status)
            return status;
    }
    return 0;
}

static int cmd_set(struct cmd *c)
{
    struct shell *sh = c->shell;
    if (c->argc == 1)
        return attributes_print_all(c, 0, true) ? 0 : 1;
    int i = 1;
    bool replaces = false;
    for (; i < c->argc; i++) {
        const char *word = c->argv[i];
        if (!strcmp(word, "--") || !strcmp(word, "-")) {
            if (!word[1])
                sh->set &= ~(uint64_t)(SET_XTRACE | SET_VERBOSE);
            replaces = word[1] || i + 1 < c->argc;
            i++;
            break;
        }
        if ((word[0] != '-' && word[0] != '+') || !word[1])
            break;
        int status = set_letters(c, &i);
        if (status)
            return status;
    }
    if (replaces || i < c->argc)
        shell_set_positional(sh, (size_t)(c->argc - i), c->argv + i);
    return 0;
}

struct shopt_table {
    const struct setopt *(*at)(size_t);
    const struct setopt *(*find)(struct str);
    bool (*change)(struct shell *, const struct setopt *, bool);
    uint64_t flags;
    const char *word; /* what -p prints before the name */
};

enum shopt_action { SHOPT_SHOW, SHOPT_SET, SHOPT_UNSET };

static bool show(struct cmd *c, const struct shopt_table *t, const struct setopt *o,
        bool as_command)
{
    bool on = setopt_value(t->flags, o);
    if (!as_command)
        return cmd_printf(c, "%-15s\t%s\n", o->name, on ? "on" : "off");
    bool by_set = t->at == setopt_at;
    const char *word = by_set ? on ? "set -o" : "set +o" : on ? "shopt -s" : "shopt -u";
    return cmd_printf(c, "%s %s\n", word, o->name);
}

static int show_all(struct cmd *c, const struct shopt_table *t, enum shopt_action action,
        bool as_commands)
{
    const struct setopt *o;
    for (size_t i = 0; (o = t->at(i)); i++) {
        bool on = setopt_value(t->flags, o);
        if (action != SHOPT_SHOW && on != (action == SHOPT_SET))
            continue;
        if (!show(c, t, o, as_commands))
            return 1;
    }
    return 0;
}

static int run_shopt(struct cmd *c, const struct shopt_table *t, enum shopt_action action,
        bool quiet, bool as_command, int first)
{
    int status = 0;
    for (int i = first; i < c->argc; i++) {
        const struct setopt *o = t->find(str_of(c->argv[i]));
        if (!o) {
            cmd_err(c, "%s: invalid %s name", c->argv[i],
                    t->at == setopt_at ? "option" : "shell option");
            status = 1;
        } else if (action != SHOPT_SHOW) {
            c->shell->alias_changes++; /* expand_aliases may be one of them */
            if (t->change(c->shell, o, action == SHOPT_SET))
                continue;
            cmd_err(c, "%s: cannot be changed here: that would take %s", o->name,
                    o->missing);
            status = 1;
        } else {
            if (!setopt_value(t->flags, o))
                status = 1;
            if (!quiet && !show(c, t, o, as_command))
                return 1;
        }
    }
    return status;
}

static int cmd_shopt(struct cmd *c)
{
    struct shell *sh = c->shell;
    struct shopt_table table = { shopt_at, shopt_find, shopt_change, sh->shopt, "" };
    enum shopt_action action = SHOPT_SHOW;
    bool quiet = false, as_command = false;
    struct letters l = letters_of(c, "pqsuo", "shopt [-pqsu] [-o] [optname ...]");
    for (int k; (k = letters_next(&l)) != CMD_END;) {
        if (k == CMD_BAD)
            return 2;
        if (k == 's' || k == 'u')
            action = k == 's' ? SHOPT_SET : SHOPT_UNSET;
        if (k == 'o')
            table = (struct shopt_table){ setopt_at, setopt_find, setopt_change, sh->set,
                "" };
        quiet |= k == 'q';
        as_command |= k == 'p';
    }
    if (l.index >= c->argc)
        return show_all(c, &table, action, as_command);
    return run_shopt(c, &table, action, quiet, as_command, l.index);
}

static int cmd_shift(struct cmd *c)
{
    struct shell *sh = c->shell;
    int64_t n = 1;
    int i = c->argc > 1 && !strcmp(c->argv[1], "--") ? 2 : 1;
    if (c->argc > i + 1) {
        cmd_err(c, "too many arguments");
        return 1;
    }
    if (i < c->argc && !letters_number(c, c->argv[i], &n))
        return 1;
    if (n < 0) {
        cmd_err(c, "%s: shift count out of range", c->argv[i]);
        return 1;
    }
    if (n > sh->arg_count) {
        if (sh->shopt & SHOPT_SHIFT_VERBOSE)
            cmd_err(c, "%s: shift count out of range", i < c->argc ? c->argv[i] : "1");
        return 1;
    }
    args_shift(sh, (int)n);
    return 0;
}

const struct command command_set = { .name = "set",
    .run = cmd_set,
    .usage = "[-abefhkmnptuvxBCEHPT] [-o NAME] [--] [ARG]...",
    .summary = "Switch options on (-) and off (+), and set the positional parameters.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };

const struct command command_shopt = { .name = "shopt",
    .run = cmd_shopt,
    .usage = "[-pqsu] [-o] [NAME]...",
    .summary = "Switch shell options on (-s) and off (-u), or show them.",
    .flags = CMD_BUILTIN | CMD_SHELL };

const struct command command_shift = { .name = "shift",
    .run = cmd_shift,
    .usage = "[N]",
    .summary = "Drop the first N positional parameters.",
    .flags = CMD_BUILTIN | CMD_SPECIAL | CMD_SHELL };
