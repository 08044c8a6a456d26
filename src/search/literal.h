/*
 * literal.h - text that every match of a pattern must contain, and the search for it.
 *
 * A pattern gives a few needles of which each match holds at least one.  They are looked
 * for by their two rarest bytes, sixteen positions at a time; only the line around a hit
 * goes to the regular expression.
 */
#ifndef SEARCH_LITERAL_H
#define SEARCH_LITERAL_H

#include "search/tree.h"

#define LITERALS_MAX 8

struct needle {
    struct str text;
    struct str other;     /* the same in the other letter case, or `text` again */
    size_t first, second; /* where its rarest bytes are; equal if it has only one */
};

struct literals {
    struct needle needles[LITERALS_MAX];
    size_t count; /* 0: nothing is required that would be worth looking for */
    bool exact;   /* a needle found is a match */
};

/* In the tree's arena. */
void literals_of_tree(const struct re_tree *tree, struct literals *out);
void literals_of_perl(struct str pattern, enum regex_flags flags, struct arena *arena,
        struct literals *out);

/* The first place of any needle in [from, end), or NULL. */
const char *literals_find(const struct literals *l, const char *from, const char *end);

#endif
