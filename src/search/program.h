/*
 * program.h - PCRE2, as this layer uses it: compiled code, its JIT, its limits.
 *
 * The code is shared by copies, the rest belongs to one thread.  JIT code is made when a
 * program has been used enough to pay for it; where the kernel allows none, the
 * interpreter goes on.
 */
#ifndef SEARCH_PROGRAM_H
#define SEARCH_PROGRAM_H

#include "search/regex.h"

struct program;

enum program_flags {
    PROGRAM_UTF = 1 << 0, /* characters, and bytes that are none match nothing */
    PROGRAM_UCP = 1 << 1, /* classes and \b know all characters */
    PROGRAM_FOLD = 1 << 2,
    PROGRAM_LINES = 1 << 3, /* ^ and $ at every line, "." is no newline */
    PROGRAM_PERL = 1 << 4,  /* Perl's own idea of $ and "." */
    PROGRAM_EXACT = 1 << 5, /* for program_match_exactly() */
};

MUST_CHECK bool program_create(struct str pattern, enum program_flags flags,
        struct program **out, struct error *err);
void program_destroy(struct program *p); /* NULL is fine */

/* For another thread; compiles the JIT code, which must not happen later. */
struct program *program_copy(struct program *p);

enum program_match_flags {
    PROGRAM_NOT_BOL = 1 << 0,  /* the subject's start is no line start */
    PROGRAM_ANCHORED = 1 << 1, /* only at `from` */
};

/* The first match at or after `from`; start and end of groups are in *ovector (valid
 * until the next match), PCRE2_UNSET (~0) where there is none. */
enum regex_result program_match(struct program *p, struct str subject, size_t from,
        enum program_match_flags flags, const size_t **ovector, size_t *groups);

/* A match of exactly [from, end); for PROGRAM_EXACT. */
enum regex_result program_match_exactly(struct program *p, struct str subject,
        size_t from, size_t end, enum program_match_flags flags, const size_t **ovector,
        size_t *groups);

size_t program_groups(const struct program *p);

#endif
