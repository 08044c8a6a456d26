/*
 * excerpt.h - the part of a long line that is worth showing.
 */
#ifndef SEARCH_EXCERPT_H
#define SEARCH_EXCERPT_H

#include "search/regex.h"

/*
 * Append a line; of one with more than `max` characters those around its first match
 * (`re` NULL, or none: the first ones), marked as a part of it.
 */
void excerpt_add(struct str line, size_t max, struct regex *re, struct buf *out);

#endif
