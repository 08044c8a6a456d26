/*
 * quote.h - names in messages, quoted as GNU quotes them: a name can be pasted into a
 * shell, and no control byte of it reaches the terminal.
 */
#ifndef SHELL_BUILTIN_QUOTE_H
#define SHELL_BUILTIN_QUOTE_H

#include "shell/cmd.h"

/* Always quoted: 'a b', "it's", 'a'$'\n''b'.  Lives in the command's arena. */
const char *quote(struct cmd *c, const char *text);

/* Quoted only where a shell (or a reader, for a colon) needs it. */
const char *quote_maybe(struct cmd *c, const char *text);

/* The rule behind both, for ls -Q and stat: appends to `out`. */
void quote_add(struct str text, struct buf *out);

/* strerror(), for messages with the name in the middle of them. */
const char *errno_text(int errnum);

/* "Try 'NAME --help' for more information." on stderr; returns `status`. */
int try_help(struct cmd *c, int status);

/* "missing operand", "extra operand 'x'" with the line above; return 1. */
int missing_operand(struct cmd *c);
int extra_operand(struct cmd *c, const char *operand);

#endif
