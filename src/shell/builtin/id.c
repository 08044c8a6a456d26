#include "shell/builtin/quote.h"
#include "shell/builtin/users.h"

#include <unistd.h>

static const struct cmd_opt options[] = {
    { 'u', "user", ARG_NONE, NULL, "only the user" },
    { 'g', "group", ARG_NONE, NULL, "only the group" },
    { 'G', "groups", ARG_NONE, NULL, "all groups: there is one" },
    { 'n', "name", ARG_NONE, NULL, "a name instead of a number" },
    { 'r', "real", ARG_NONE, NULL, "(the same here)" },
    { 0 },
};

static bool show_named(struct cmd *c, const char *what, uint32_t id, const char *name)
{
    return name ? cmd_printf(c, "%s=%u(%s)", what, id, name)
                : cmd_printf(c, "%s=%u", what, id);
}

static bool show_all(struct cmd *c)
{
    uint32_t uid = geteuid(), gid = getegid();
    return show_named(c, "uid", uid, user_name(c, uid)) &&
           show_named(c, " gid", gid, group_name(c, gid)) &&
           show_named(c, " groups", gid, group_name(c, gid)) && cmd_putc(c, '\n');
}

static bool show_one(struct cmd *c, bool group, bool by_name)
{
    uint32_t id = group ? getegid() : geteuid();
    const char *name = group ? group_name(c, id) : user_name(c, id);
    return by_name && name ? cmd_printf(c, "%s\n", name) : cmd_printf(c, "%u\n", id);
}

static int cmd_id(struct cmd *c)
{
    int which = 0;
    bool by_name = false;
    struct cmd_options o = cmd_options(c);
    for (int k; (k = cmd_next(&o)) != CMD_END;) {
        if (k == CMD_BAD)
            return 1;
        which = k == 'n' || k == 'r' ? which : k;
        by_name |= k == 'n';
    }
    if (c->argc) {
        cmd_err(c, "%s: no such user", quote(c, c->argv[0]));
        return 1;
    }
    if (!which && by_name) {
        cmd_err(c, "cannot print only names or real IDs in default format");
        return 1;
    }
    return (which ? show_one(c, which != 'u', by_name) : show_all(c)) ? 0 : 1;
}

const struct command command_id = {
    "id",
    cmd_id,
    options,
    "[OPTION]...",
    "Print who runs the commands.",
    0,
};
