/*
 * filetest.h - the tests that [[ ]] and `test` share: -f x, -n x, a -nt b.
 */
#ifndef SHELL_FILETEST_H
#define SHELL_FILETEST_H

#include "shell/state.h"

/* Is `letter` one of the unary tests? */
bool filetest_is_unary(char letter);

/* -e x, -z x, -v x, -o x, -t x ... */
bool filetest_unary(struct shell *sh, char letter, struct str operand);

/* COND_NEWER, COND_OLDER, COND_SAME. */
bool filetest_pair(struct shell *sh, enum cond_op op, struct str a, struct str b);

#endif
