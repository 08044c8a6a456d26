/*
 * users.h - names of users and groups.
 *
 * A view has no /etc/passwd of its own: 0 is "root", the user that the server runs as has
 * the name in $USER, everybody else is a number.
 */
#ifndef SHELL_BUILTIN_USERS_H
#define SHELL_BUILTIN_USERS_H

#include "shell/cmd.h"

/* NULL: it has no name here. */
const char *user_name(struct cmd *c, uint32_t uid);
const char *group_name(struct cmd *c, uint32_t gid);

#endif
