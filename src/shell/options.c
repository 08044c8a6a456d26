/* The command line of a builtin: GNU getopt_long's rules over a declared table. */
#include "shell/cmd.h"

struct cmd_options cmd_options(struct cmd *c)
{
    return (struct cmd_options){ .cmd = c, .command = c->command, .index = 1 };
}

static const struct cmd_opt *find_letter(const struct cmd_opt *o, char letter)
{
    for (; o && o->key; o++)
        if (o->key == (unsigned char)letter)
            return o;
    return NULL;
}

/* " (supported: -a -n NUM --long)", for a model that guessed wrong. */
static void bad_option(struct cmd_options *o, const char *fmt, struct str what)
{
    auto_buf text = BUF(8192);
    buf_addf(&text, " (supported:");
    for (const struct cmd_opt *d = o->command->options; d && d->key; d++) {
        if (!d->help)
            continue;
        if (d->key < 256)
            buf_addf(&text, " -%c", d->key);
        else
            buf_addf(&text, " --%s", d->name);
        if (d->arg == ARG_REQUIRED)
            buf_addf(&text, "%s%s", d->key < 256 ? " " : "=",
                    d->arg_name ? d->arg_name : "ARG");
    }
    buf_addc(&text, ')');
    char *message = arena_printf(
            o->cmd->arena, "%s'%.*s'%s", fmt, STR_ARG(what), text.data ? text.data : "");
    cmd_err(o->cmd, "%s", message);
}

static int take_value(struct cmd_options *o, const struct cmd_opt *d, char *attached)
{
    struct cmd *c = o->cmd;
    o->value = attached;
    if (d->arg != ARG_REQUIRED || attached)
        return d->key;
    if (o->index < c->argc) {
        o->value = c->argv[o->index++];
        return d->key;
    }
    char letter = (char)d->key;
    if (d->key < 256)
        bad_option(o, "option requires an argument -- ", (struct str){ &letter, 1 });
    else
        cmd_err(c, "option '--%s' requires an argument", d->name);
    return CMD_BAD;
}

static int next_letter(struct cmd_options *o)
{
    const char *at = o->bundle;
    const struct cmd_opt *d = find_letter(o->command->options, *at);
    o->bundle = at[1] ? at + 1 : NULL;
    if (!d) {
        o->bundle = NULL;
        bad_option(o, "invalid option -- ", (struct str){ at, 1 });
        return CMD_BAD;
    }
    if (d->arg == ARG_NONE) {
        o->value = NULL;
        return d->key;
    }
    char *attached = at[1] ? arena_cstr(o->cmd->arena, str_of(at + 1)) : NULL;
    o->bundle = NULL;
    return take_value(o, d, attached);
}

/* The option that `name` means: exact, or the only one that it abbreviates. */
static const struct cmd_opt *find_long(
        struct cmd_options *o, struct str name, bool *ambiguous)
{
    const struct cmd_opt *found = NULL;
    *ambiguous = false;
    for (const struct cmd_opt *d = o->command->options; d && d->key; d++) {
        if (!d->name || !str_starts(str_of(d->name), name))
            continue;
        if (strlen(d->name) == name.len)
            return d;
        *ambiguous = found && found->key != d->key;
        if (*ambiguous)
            return NULL;
        found = d;
    }
    return found;
}

static int next_long(struct cmd_options *o, char *text)
{
    struct str rest = str_of(text + 2);
    struct str name = str_cut(&rest, '=');
    char *attached = text[2 + name.len] == '=' ? text + 2 + name.len + 1 : NULL;
    bool ambiguous;
    const struct cmd_opt *d = find_long(o, name, &ambiguous);
    struct str whole = { text, name.len + 2 };
    if (!d) {
        bad_option(o, ambiguous ? "ambiguous option " : "unrecognized option ", whole);
        return CMD_BAD;
    }
    if (d->arg == ARG_NONE && attached) {
        cmd_err(o->cmd, "option '--%s' doesn't allow an argument", d->name);
        return CMD_BAD;
    }
    if (d->arg == ARG_REQUIRED && !attached && o->index >= o->cmd->argc) {
        cmd_err(o->cmd, "option '--%s' requires an argument", d->name);
        return CMD_BAD;
    }
    return take_value(o, d, attached);
}

/* Move what is left behind the operands that were skipped, and drop the name. */
static int finish(struct cmd_options *o)
{
    struct cmd *c = o->cmd;
    while (o->index < c->argc)
        c->argv[o->out++] = c->argv[o->index++];
    c->argv[o->out] = NULL;
    c->argc = o->out;
    return CMD_END;
}

int cmd_next(struct cmd_options *o)
{
    struct cmd *c = o->cmd;
    if (o->bundle)
        return next_letter(o);
    while (o->index < c->argc) {
        char *arg = c->argv[o->index];
        if (arg[0] == '-' && arg[1] == '-' && !arg[2]) {
            o->index++;
            break;
        }
        if (arg[0] == '-' && arg[1]) {
            o->index++;
            if (arg[1] == '-')
                return next_long(o, arg);
            o->bundle = arg + 1;
            return next_letter(o);
        }
        if (o->stop_early)
            break;
        c->argv[o->out++] = c->argv[o->index++];
    }
    return finish(o);
}
