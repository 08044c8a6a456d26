/*
 * environ.h - exported variables, for env and printenv.
 */
#ifndef SHELL_BUILTIN_ENVIRON_H
#define SHELL_BUILTIN_ENVIRON_H

#include "shell/cmd.h"

struct environ_list {
    struct str *names; /* sorted */
    size_t count;
};

struct environ_list environ_list(struct shell *sh, struct arena *arena);

/* NAME=VALUE for each; false: stdout can take no more. */
bool environ_print(struct cmd *c, struct shell *sh, char end);

#endif
