/*
 * escape.h - backslash escapes in format strings of stat --printf, find -printf, tr, ...
 */
#ifndef SHELL_BUILTIN_ESCAPE_H
#define SHELL_BUILTIN_ESCAPE_H

#include "base/str.h"

/* What follows a backslash: \a \b \e \f \n \r \t \v \\ \" \NNN \xHH.  Returns how many
 * bytes of `s` it took, 0 if it is no escape. */
size_t escape_read(struct str s, char *out);

#endif
