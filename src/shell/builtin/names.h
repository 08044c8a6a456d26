/*
 * names.h - canonical paths as realpath and readlink show them.
 */
#ifndef SHELL_BUILTIN_NAMES_H
#define SHELL_BUILTIN_NAMES_H

#include "shell/cmd.h"

enum exists { MUST_EXIST, PARENT_MUST_EXIST, NEED_NOT_EXIST };

/* The canonical path of `name`, in the command's arena; 0 or an errno. */
int name_canonical(struct cmd *c, const char *name, enum exists exists, struct str *out);

/* The absolute path without ".", "..", "//": links are not looked at. */
int name_absolute(struct cmd *c, const char *name, struct str *out);

/* `to` as seen from the directory `from`; both absolute without ".." and links. */
const char *name_relative(struct cmd *c, struct str from, struct str to);

#endif
