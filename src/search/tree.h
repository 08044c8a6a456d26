/*
 * tree.h - a POSIX regular expression as a tree, between the parser (posix.c) and what is
 * made of it: a PCRE2 pattern (emit.c), a state machine (nfa.c), literals (literal.c).
 *
 * Everything lives in one arena.  Sets and assertions already know the flags they were
 * parsed under, so that whoever reads the tree needs no flags.
 */
#ifndef SEARCH_TREE_H
#define SEARCH_TREE_H

#include "base/arena.h"
#include "search/regex.h"

/* A byte of the pattern that is no UTF-8 is the code RE_RAW + byte. */
#define RE_RAW       0x110000u
#define RE_REPEAT    (-1) /* `max` of a repetition without one */
#define RE_MAX_COUNT 32767
#define RE_MAX_DEPTH 50 /* groups inside groups; bounds our stack and PCRE2's */

enum re_class {
    CLASS_ALNUM,
    CLASS_ALPHA,
    CLASS_BLANK,
    CLASS_CNTRL,
    CLASS_DIGIT,
    CLASS_GRAPH,
    CLASS_LOWER,
    CLASS_PRINT,
    CLASS_PUNCT,
    CLASS_SPACE,
    CLASS_UPPER,
    CLASS_XDIGIT,
    CLASSES,
};

struct re_range {
    uint32_t low, high; /* both above 127 */
};

/*
 * A set of characters.  ASCII is decided when it is made (classes, letter case, negation
 * and newline included); above it, `ranges` and `classes` apply, turned round if
 * `negated`.
 */
struct re_set {
    uint64_t bits[4]; /* from 128 on: bytes of a pattern that is no UTF-8 */
    struct re_range *ranges;
    size_t count, cap;
    unsigned classes; /* 1 << enum re_class */
    bool negated;
    bool no_newline;
    bool fold;
};

enum re_assert {
    ASSERT_LINE_START,
    ASSERT_LINE_END,
    ASSERT_BUFFER_START,
    ASSERT_BUFFER_END,
    ASSERT_WORD_EDGE,       /* \b */
    ASSERT_NOT_WORD_EDGE,   /* \B */
    ASSERT_WORD_START,      /* \< */
    ASSERT_WORD_END,        /* \> */
    ASSERT_NOT_AFTER_WORD,  /* grep -w, before the match */
    ASSERT_NOT_BEFORE_WORD, /* and after it */
};

enum re_type {
    RE_EMPTY,
    RE_CHAR,
    RE_ANY,
    RE_SET,
    RE_CAT,
    RE_ALT,
    RE_LOOP,
    RE_GROUP,
    RE_BACKREF,
    RE_ASSERT,
};

struct re_node {
    enum re_type type;
    union {
        uint32_t code;            /* CHAR */
        const struct re_set *set; /* SET */
        enum re_assert assert;    /* ASSERT */
        unsigned group;           /* GROUP, BACKREF: from 1 */
    };
    int min, max;           /* LOOP */
    struct re_node **items; /* CAT, ALT: all; LOOP, GROUP: one */
    size_t count, cap;
};

struct re_tree {
    struct arena *arena;
    struct re_node *root;
    enum regex_flags flags;
    unsigned groups;
    bool bytes; /* the pattern is no UTF-8: a character is a byte */
    bool has_backrefs;
    bool has_buffer_ends; /* \` or \' */
    bool neutral; /* the same over bytes as over characters, whatever the subject */
};

/* Parse a BRE, ERE or fixed pattern into `arena`; the errors are GNU's. */
MUST_CHECK bool re_parse(struct str pattern, enum regex_syntax syntax,
        enum regex_flags flags, struct arena *arena, struct re_tree *out,
        struct error *err);

struct re_node *re_node(struct arena *arena, enum re_type type);

void re_set_add(struct re_set *set, struct arena *arena, uint32_t low, uint32_t high);

/* Apply letter case, negation and newline; to be called once, after the last addition. */
void re_set_finish(struct re_set *set, struct arena *arena, bool bytes);

/* \w, \W, \s and \S. */
struct re_set *re_set_word(struct arena *arena, bool negated, const struct re_tree *tree);
struct re_set *re_set_space(
        struct arena *arena, bool negated, const struct re_tree *tree);

static inline bool re_set_has_byte(const struct re_set *set, unsigned char byte)
{
    return set->bits[byte >> 6] >> (byte & 63) & 1;
}

/* Does it say the same of every byte string, read as bytes or as characters? */
static inline bool re_set_is_ascii(const struct re_set *set)
{
    return !set->negated && !set->count && !set->classes && !set->fold;
}

/* Read a bracket expression; `*pos` is after the '['. */
MUST_CHECK bool re_parse_bracket(struct str pattern, size_t *pos,
        const struct re_tree *tree, struct re_set **out, struct error *err);

/* One character of the pattern, which is not at its end. */
uint32_t re_next_code(struct str pattern, size_t *pos, bool bytes);

/* `utf`: for PCRE2's UTF mode; otherwise for bytes. */
void re_emit(const struct re_tree *tree, bool utf, struct buf *out);
void re_emit_set(const struct re_set *set, bool utf, struct buf *out);

/* Can PCRE2's first match be shorter than POSIX's longest? */
bool re_needs_longest(const struct re_tree *tree);

#endif
