/*
 * assign.h - assignments whose target is text that only exists at run time: what `read`,
 * `printf -v`, `declare`, `getopts`, `mapfile` and `for` set.
 */
#ifndef SHELL_ASSIGN_H
#define SHELL_ASSIGN_H

#include "shell/state.h"

/*
 * `target` is "name" or "name[subscript]"; integer attributes evaluate the value.  A
 * failure (read-only, bad name) is reported as the shell's, or as `who`'s if not NULL.
 */
MUST_CHECK bool assign_text(
        struct shell *sh, const char *who, struct str target, struct str value);
MUST_CHECK bool assign_append(
        struct shell *sh, const char *who, struct str target, struct str value);

/* Cut "name[sub]" in two; `*subscript` is empty without one.  False: no valid target. */
bool assign_split(
        struct str target, struct str *name, struct str *subscript, bool *indexed);

#endif
