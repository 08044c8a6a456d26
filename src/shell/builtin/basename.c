#include "shell/builtin/files.h"
#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = {
    { 'a', "multiple", ARG_NONE, NULL, "every operand is a name" },
    { 's', "suffix", ARG_REQUIRED, "SUFFIX", "take SUFFIX away from each; implies -a" },
    { 'z', "zero", ARG_NONE, NULL, "names end with NUL" },
    { 0 },
};

static bool show(struct cmd *c, const char *name, const char *suffix, char end)
{
    struct str base = str_of(*name ? name_base(c, name) : "");
    struct str tail = str_of(suffix ? suffix : "");
    if (tail.len < base.len && str_ends(base, tail))
        base.len -= tail.len;
    return cmd_put(c, base) && cmd_putc(c, end);
}

static int cmd_basename(struct cmd *c)
{
    bool multiple = false;
    const char *suffix = NULL;
    char end = '\n';
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        multiple |= k != 'z';
        suffix = k == 's' ? o.value : suffix;
        end = k == 'z' ? 0 : end;
    }
    if (!c->argc)
        return missing_operand(c);
    if (!multiple && c->argc > 2)
        return extra_operand(c, c->argv[2]);
    if (!multiple)
        return show(c, c->argv[0], c->argv[1], end) ? 0 : 1;
    for (int i = 0; i < c->argc; i++)
        if (!show(c, c->argv[i], suffix, end))
            return 1;
    return 0;
}

const struct command command_basename = {
    "basename",
    cmd_basename,
    options,
    "NAME [SUFFIX] | OPTION... NAME...",
    "Print names without the directories before them.",
    0,
};
