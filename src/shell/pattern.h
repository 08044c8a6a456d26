/*
 * pattern.h - glob patterns as bash matches them (`case`, [[ == ]], ${x#}, pathnames).
 *
 * `*` `?` `[...]` with ranges, classes and `!`/`^`, backslash quotes the next character;
 * with PATTERN_EXTGLOB also ?(a|b) *(..) +(..) @(..) !(..).  Characters are UTF-8; a byte
 * that is not counts as one character.
 *
 * Matching never backtracks: each part of the pattern maps the set of places where it may
 * begin to the set of places where it may end (match.c).  That is linear in the text for
 * patterns without extglob and polynomial with it; a step count bounds the rest, and past
 * it the answer is "no match".
 */
#ifndef SHELL_PATTERN_H
#define SHELL_PATTERN_H

#include "base/arena.h"
#include "base/str.h"

enum pattern_flags {
    PATTERN_FOLD = 1 << 0, /* ignore letter case */
    PATTERN_EXTGLOB = 1 << 1,
    PATTERN_PERIOD = 1 << 2,   /* a leading '.' must be matched by a literal '.' */
    PATTERN_PATHNAME = 1 << 3, /* '/' is matched by a literal '/' only */
};

bool pattern_match(struct str pattern, struct str text, enum pattern_flags flags);

/* Is there anything in it that is not literal? */
bool pattern_is_magic(struct str pattern, enum pattern_flags flags);

/* The literal text of a pattern without magic: backslashes removed; in `out`. */
void pattern_unquote(struct str pattern, struct buf *out);

/* The other direction: `text` with a backslash before everything that could be magic. */
void pattern_quote(struct str text, struct buf *out);

/* Length of the shortest or longest match at the start / the end of `text`; -1: none. */
ptrdiff_t pattern_match_prefix(
        struct str pattern, struct str text, bool longest, enum pattern_flags flags);
ptrdiff_t pattern_match_suffix(
        struct str pattern, struct str text, bool longest, enum pattern_flags flags);

struct pattern;

/* Borrows `text`; lives in `arena`. */
struct pattern *pattern_compile(
        struct str text, enum pattern_flags flags, struct arena *arena);

bool pattern_test(const struct pattern *p, struct str text);

/* The leftmost match at or after `from`, and the longest of those. */
bool pattern_find(const struct pattern *p, struct str text, size_t from, size_t *start,
        size_t *end);

#endif
