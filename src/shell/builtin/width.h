/*
 * width.h - what characters are, for counting and lining up: columns, spaces.
 */
#ifndef SHELL_BUILTIN_WIDTH_H
#define SHELL_BUILTIN_WIDTH_H

#include "base/str.h"

/* Columns on a terminal: 0 combining, 2 East Asian wide and emoji, -1 not printable. */
int char_width(uint32_t code);

bool char_is_space(uint32_t code);

/* Columns of `s`; a byte that is no text counts as one. */
size_t text_width(struct str s);

#endif
