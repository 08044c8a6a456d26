/*
 * shquote.h - text as bash shows it: for printf %q, declare -p, alias, trap.
 */
#ifndef SHELL_BUILTIN_SHQUOTE_H
#define SHELL_BUILTIN_SHQUOTE_H

#include "base/arena.h"

/* a\ b, '' or $'a\nb': printf %q. */
struct str quote_backslash(struct str text, struct arena *arena);

/* "a\"b" or $'a\nb': declare -p. */
struct str quote_double(struct str text, struct arena *arena);

/* 'a'\''b', always quoted: alias and trap. */
struct str quote_single(struct str text, struct arena *arena);

/* As `set` shows values: plain where it can be, else 'a b' or $'a\nb'. */
struct str quote_value(struct str text, struct arena *arena);

#endif
