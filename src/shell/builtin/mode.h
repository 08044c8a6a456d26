/*
 * mode.h - modes as chmod takes them: 755, u+rwX,go=r.
 */
#ifndef SHELL_BUILTIN_MODE_H
#define SHELL_BUILTIN_MODE_H

#include "base/str.h"

struct arena;
struct mode_change;

#define MODE_UMASK 022 /* what the views create files with */

/* NULL: it is no mode. */
struct mode_change *mode_parse(const char *text, struct arena *arena);

uint32_t mode_apply(
        const struct mode_change *change, uint32_t mode, bool is_dir, uint32_t umask);

#endif
