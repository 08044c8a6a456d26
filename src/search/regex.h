/*
 * regex.h - one regular expression engine for grep, sed, find, [[ =~ ]] and the fs tools.
 *
 * POSIX BRE and ERE (with GNU's \w \W \s \S \b \B \< \> \` \' and back-references) and
 * Perl syntax, over bytes that are usually UTF-8.  POSIX syntaxes match leftmost-longest,
 * Perl leftmost-first.  Underneath is PCRE2 with its JIT, match and heap limits; a
 * literal that every match must contain is searched first.
 */
#ifndef SEARCH_REGEX_H
#define SEARCH_REGEX_H

#include "base/str.h"

struct regex;

enum regex_syntax {
    REGEX_BASIC,
    REGEX_EXTENDED,
    REGEX_PERL,
    REGEX_FIXED,
    REGEX_PYTHON, /* of `re` (policy/pyre/pyre.h): errors and meaning are Python's */
};

enum regex_flags {
    REGEX_FOLD = 1 << 0,    /* ignore letter case */
    REGEX_WORD = 1 << 1,    /* grep -w */
    REGEX_LINE = 1 << 2,    /* grep -x */
    REGEX_NEWLINE = 1 << 3, /* ^ and $ match at lines inside the subject; . and [^a] do
                               not match a newline */
    REGEX_MULTI = 1 << 4,   /* newlines in the pattern separate alternatives (grep -e) */
    REGEX_NO_GROUPS = 1 << 5, /* nobody asks for the groups: faster */
};

#define REGEX_MAX_GROUPS 32

struct regex_match {
    ptrdiff_t start[REGEX_MAX_GROUPS], end[REGEX_MAX_GROUPS]; /* -1: group not set */
    size_t groups; /* entries that are valid, 1 for the whole match */
};

/* GNU's messages: "Unmatched ( or \\(", "Invalid range end", ...  Yours to destroy. */
MUST_CHECK bool regex_compile(struct str pattern, enum regex_syntax syntax,
        enum regex_flags flags, struct regex **out, struct error *err);
void regex_destroy(struct regex *re); /* NULL is fine */

enum regex_result {
    REGEX_NO,
    REGEX_YES,
    REGEX_LIMIT, /* gave up: the match limit of PCRE2 was hit */
};

/*
 * The first match in `subject` that starts at or after `from`.  `not_bol`: the subject's
 * start is no line start.  `m` may be NULL when only yes or no is wanted.
 */
enum regex_result regex_search(struct regex *re, struct str subject, size_t from,
        bool not_bol, struct regex_match *m);

/* Capture groups in the pattern. */
size_t regex_groups(const struct regex *re);

/*
 * For line-oriented searching in a big buffer: the first line at or after offset `from`
 * (a line start) that matches; its bounds without the newline.  On REGEX_LIMIT they are
 * those of the line that was given up, and the caller may go on after it.  Lines end at
 * `eol`; for '\n' the pattern must have been compiled with REGEX_NEWLINE.  Much faster
 * than cutting lines and asking each.
 */
enum regex_result regex_find_line(struct regex *re, struct str buffer, size_t from,
        char eol, size_t *line_start, size_t *line_end);

/* A matcher may be used by one thread at a time; a copy shares the compiled program. */
struct regex *regex_copy(struct regex *re);

#endif
