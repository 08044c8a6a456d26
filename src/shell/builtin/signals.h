/*
 * signals.h - names of signals, for trap and kill.
 */
#ifndef SHELL_BUILTIN_SIGNALS_H
#define SHELL_BUILTIN_SIGNALS_H

#include "shell/cmd.h"

#define SIGNAL_MAX 64

/* "INT", without SIG; NULL: no such signal. */
const char *signal_name(int number);

/* From "15", "TERM", "SIGTERM" or "sigterm"; -1: none. */
int signal_number(const char *text);

/* The table of `trap -l` and `kill -l`. */
MUST_CHECK bool signal_list(struct cmd *c);

#endif
