/*
 * clean-text.h - what a program wrote, as text for a reader who has no terminal.
 *
 * Always: bytes that are not UTF-8 become U+FFFD, and CRLF becomes LF.  Unless it is
 * wanted raw, also: escape sequences (colours, cursor, titles, links) go, and of a line
 * that was rewritten by carriage returns, like a progress bar, what was written last
 * stays.
 */
#ifndef BASE_CLEAN_TEXT_H
#define BASE_CLEAN_TEXT_H

#include "base/str.h"

/* Append `bytes` as text. */
void clean_text(struct str bytes, bool raw, struct buf *out);

#endif
