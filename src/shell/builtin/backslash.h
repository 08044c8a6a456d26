/*
 * backslash.h - the backslash sequences that echo -e and printf understand.
 */
#ifndef SHELL_BUILTIN_BACKSLASH_H
#define SHELL_BUILTIN_BACKSLASH_H

#include "base/str.h"

enum escape_style {
    ESCAPE_ECHO,   /* echo -e: \0nnn, \c stops */
    ESCAPE_B,      /* printf %b: also \nnn */
    ESCAPE_FORMAT, /* printf's format: \nnn, \" \' \?, no \c */
};

/* `text` begins with a backslash: appends what the sequence stands for and returns its
 * length.  *stop is set by \c. */
size_t escape_one(struct str text, enum escape_style style, struct buf *out, bool *stop);

/* All of `text`; false: \c was met, nothing more is to be written. */
bool escape_all(struct str text, enum escape_style style, struct buf *out);

#endif
