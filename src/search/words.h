/*
 * words.h - many plain texts searched for at once: grep -F -f LIST.
 *
 * An Aho-Corasick automaton: a tree of the texts in which every node knows where to go on
 * when the next byte does not fit.  One step a byte, however many texts there are.
 */
#ifndef SEARCH_WORDS_H
#define SEARCH_WORDS_H

#include "search/regex.h"

struct words;

/* The lines of `text`.  NULL: too few for this to pay, too many to hold, or letter case
 * outside ASCII would have to be ignored. */
struct words *words_create(struct str text, enum regex_flags flags);
void words_destroy(struct words *w); /* NULL is fine */

/* The leftmost, then longest of them at or after `from`; `start` may be NULL: is there
 * any?  Heeds REGEX_WORD and, for lines inside the subject, REGEX_LINE. */
bool words_search(const struct words *w, struct str subject, size_t from, size_t *start,
        size_t *end);

#endif
