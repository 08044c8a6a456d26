#include "shell/builtin/users.h"

#include <unistd.h>

const char *user_name(struct cmd *c, uint32_t uid)
{
    if (!uid)
        return "root";
    const char *name = uid == geteuid() ? cmd_env(c, "USER") : NULL;
    return name && *name ? name : NULL;
}

const char *group_name(struct cmd *c, uint32_t gid)
{
    if (!gid)
        return "root";
    const char *name = gid == getegid() ? cmd_env(c, "USER") : NULL;
    return name && *name ? name : NULL;
}
