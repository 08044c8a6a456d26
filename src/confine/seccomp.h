/*
 * seccomp.h - between seccomp.c, which has the filter of a worker, and seccomp-python.c,
 * which changes it for an interpreter.
 */
#ifndef CONFINE_SECCOMP_H
#define CONFINE_SECCOMP_H

#include "confine/filter.h"
#include "confine/parts.h"

#define SECCOMP_PYTHON_RULES 80 /* room for what it adds */

/* Change `rules`, which has the room; the new count. */
size_t seccomp_say_python(
        struct filter_rule *rules, size_t count, const struct seccomp_profile *profile);

#endif
