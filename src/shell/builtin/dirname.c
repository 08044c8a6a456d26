#include "shell/builtin/files.h"
#include "shell/builtin/quote.h"

static const struct cmd_opt options[] = {
    { 'z', "zero", ARG_NONE, NULL, "names end with NUL" },
    { 0 },
};

static struct str without_last(const char *name)
{
    struct str s = name_without_slashes(name);
    const char *slash = s.len > 1 ? memrchr(s.data, '/', s.len) : NULL;
    if (!slash)
        return s.len == 1 && s.data[0] == '/' ? s : STR(".");
    s.len = (size_t)(slash - s.data);
    while (s.len > 1 && s.data[s.len - 1] == '/')
        s.len--;
    return s.len ? s : STR("/");
}

static int cmd_dirname(struct cmd *c)
{
    char end = '\n';
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        end = 0;
    }
    if (!c->argc)
        return missing_operand(c);
    for (int i = 0; i < c->argc; i++)
        if (!cmd_put(c, without_last(c->argv[i])) || !cmd_putc(c, end))
            return 1;
    return 0;
}

const struct command command_dirname = {
    "dirname",
    cmd_dirname,
    options,
    "[OPTION] NAME...",
    "Print names without their last component.",
    0,
};
