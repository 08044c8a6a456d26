/*
 * nfa.h - a regular expression without back-references as a state machine: finds the
 * leftmost-longest match in time proportional to subject times pattern, whatever the
 * pattern.  Used where PCRE2's answer may be too short, or would take too long.
 */
#ifndef SEARCH_NFA_H
#define SEARCH_NFA_H

#include "search/tree.h"

struct nfa;

/* NULL: it has back-references, or would be too big.  The tree must outlive it. */
struct nfa *nfa_create(const struct re_tree *tree);
struct nfa *nfa_copy(const struct nfa *nfa);
void nfa_destroy(struct nfa *nfa); /* NULL is fine */

/* `anchored`: the match must start at `from`.  REGEX_LIMIT: too many steps. */
enum regex_result nfa_match(struct nfa *nfa, struct str subject, size_t from,
        bool not_bol, bool anchored, size_t *start, size_t *end);

#endif
