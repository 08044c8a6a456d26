/*
 * pyre.h - a regular expression with the syntax and meaning of Python's `re`.
 *
 * The pattern is read strictly (what Python refuses is refused, and nothing that only
 * PCRE2 knows gets through), written as a PCRE2 pattern and run with limits on steps and
 * memory.  As in Python `$` also matches before a last newline, and \w, \d, \s and the
 * rest know all of Unicode.  What cannot be said in PCRE2 with the same meaning is
 * refused by name: \N{...}, surrogates, names of groups beyond ASCII, repeat counts over
 * 65535.  Subjects are bytes; those that are not UTF-8 match as U+FFFD.
 */
#ifndef POLICY_PYRE_H
#define POLICY_PYRE_H

#include "base/str.h"

struct pyre;

enum pyre_flags { PYRE_FOLD = 1 << 0 /* re.IGNORECASE */ };

#define PYRE_MAX_BYTES 10000 /* of a pattern */

/* ERR_INVALID: the message says what and at which position, as Python would. */
MUST_CHECK bool pyre_create(
        struct str text, enum pyre_flags flags, struct pyre **out, struct error *err);
void pyre_destroy(struct pyre *p); /* NULL is fine */

/*
 * Append the PCRE2 text of a Python pattern, for another engine.  It is meant for
 * PCRE2_UTF and PCRE2_UCP with LF as the newline, and for PCRE2_CASELESS if `flags` has
 * PYRE_FOLD.  Over many lines at once, PCRE2_MULTILINE makes `^` and `$` those of a line.
 */
MUST_CHECK bool pyre_translate(
        struct str text, enum pyre_flags flags, struct buf *out, struct error *err);

/* How it may match: re.search, re.match, re.fullmatch. */
enum pyre_how { PYRE_SEARCH, PYRE_MATCH, PYRE_FULLMATCH };

enum pyre_result {
    PYRE_NO,
    PYRE_YES,
    PYRE_LIMIT, /* gave up; who asks for a permission takes it as a no, who asks for a
                   prohibition as a yes */
};

/* Safe to use from one thread at a time. */
enum pyre_result pyre_match(struct pyre *p, enum pyre_how how, struct str subject);

#endif
