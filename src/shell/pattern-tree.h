/*
 * pattern-tree.h - a compiled pattern, between pattern.c (makes it) and match.c (runs
 * it).
 */
#ifndef SHELL_PATTERN_TREE_H
#define SHELL_PATTERN_TREE_H

#include "shell/pattern.h"

enum atom_type {
    ATOM_LITERAL, /* text */
    ATOM_CHAR,    /* code, in either case (PATTERN_FOLD) */
    ATOM_ANY,     /* ? */
    ATOM_STAR,
    ATOM_CLASS, /* text: what is between the brackets */
    ATOM_GROUP, /* kind: one of ?*+@! */
};

struct sequence {
    struct atom *atoms;
    size_t count, cap;
};

struct atom {
    enum atom_type type;
    char kind;
    uint32_t code;
    struct str text;
    struct sequence *choices;
    size_t choice_count;
};

struct pattern {
    struct sequence all;
    enum pattern_flags flags;
    bool impossible; /* nested too deeply or too costly to read: matches nothing */
};

enum match_keep { MATCH_FIRST, MATCH_LAST }; /* the shortest or the longest */

/* Where a match that begins at the start of the text ends; -1: there is none.  `backward`
 * begins at the end, reads to the left and counts from there. */
ptrdiff_t match_run(
        const struct pattern *p, struct str text, bool backward, enum match_keep keep);

#endif
