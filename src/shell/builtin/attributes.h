/*
 * attributes.h - variables with their attributes as `declare -p` shows them.
 */
#ifndef SHELL_BUILTIN_ATTRIBUTES_H
#define SHELL_BUILTIN_ATTRIBUTES_H

#include "shell/state.h"

/* "declare -x name="value""; false: stdout can take no more. */
MUST_CHECK bool attributes_print(struct cmd *c, struct str name);

/* All variables that have `flags` (0: all), by attributes_print(). */
MUST_CHECK bool attributes_print_all(struct cmd *c, unsigned flags, bool plain);

/* "f () { ... }" */
MUST_CHECK bool attributes_print_function(struct cmd *c, const struct function *fn);

#endif
