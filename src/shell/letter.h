/*
 * letter.h - letter case and character classes of UTF-8 text.
 *
 * They are those of the process's LC_CTYPE; the main programs set it to C.UTF-8, without
 * which only ASCII letters have a case.
 */
#ifndef SHELL_LETTER_H
#define SHELL_LETTER_H

#include "base/str.h"

enum letter_case { LETTER_KEEP, LETTER_UPPER, LETTER_LOWER, LETTER_TOGGLE };

/* The first character of `s` (not empty); a byte that is no UTF-8 counts as one
 * character, with a code of its own above U+10FFFF. */
size_t letter_decode(struct str s, uint32_t *code);

uint32_t letter_change(uint32_t code, enum letter_case to);

/* Is it in the class "alpha", "digit", ... or bash's "word"? */
bool letter_in_class(uint32_t code, struct str class);

/* Append the one character `s` with its case changed. */
void letter_add(struct buf *out, struct str s, enum letter_case to);

/* Append all of `s` with the case of every character changed. */
void letter_add_all(struct buf *out, struct str s, enum letter_case to);

#endif
