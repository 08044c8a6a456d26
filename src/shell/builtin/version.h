/*
 * version.h - order of names with numbers in them: sort -V, ls -v.
 */
#ifndef SHELL_BUILTIN_VERSION_H
#define SHELL_BUILTIN_VERSION_H

#include "base/str.h"

/* As the coreutils manual's "Version sort ordering" defines it: below, at or above 0. */
int version_cmp(struct str a, struct str b);

#endif
