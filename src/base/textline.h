/*
 * textline.h - where lines end, for whoever numbers the lines of a text.
 *
 * As Python's splitlines() sees it: LF, CR LF, CR, and also VT, FF, FS, GS, RS, NEL,
 * U+2028 and U+2029.  The fs tools count lines so, all of them.
 */
#ifndef BASE_TEXTLINE_H
#define BASE_TEXTLINE_H

#include "base/str.h"

/* Length of the line break that begins at `at`, or 0. */
size_t textline_break(struct str text, size_t at);

/* Where the line ends that `at` is in: before its break, or at the end of the text. */
size_t textline_end(struct str text, size_t at);

/* Where the next line begins; text.len if there is none. */
size_t textline_next(struct str text, size_t at);

/* The bytes at the start that are ASCII and no line break of any kind but LF. */
size_t textline_plain(struct str text);

#endif
