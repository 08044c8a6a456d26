/*
 * pattern.h - a regular expression with the syntax and meaning of Python's `re`.
 *
 * The pattern is read strictly (what Python refuses is refused, and nothing that only
 * PCRE2 knows gets through), written as a PCRE2 pattern and run with limits on steps and
 * memory.  As in Python `$` also matches before a last newline, and \w, \d, \s and the
 * rest know all of Unicode.  What cannot be said in PCRE2 with the same meaning is
 * refused by name.  Subjects are bytes; those that are not UTF-8 match as U+FFFD.
 */
#ifndef POLICY_PATTERN_H
#define POLICY_PATTERN_H

#include "base/str.h"

struct pattern;

enum pattern_flags { PATTERN_FOLD = 1 << 0 /* re.IGNORECASE */ };

#define PATTERN_MAX_BYTES 10000

/* ERR_INVALID: the message says what and at which position, as Python would. */
MUST_CHECK bool pattern_create(struct str text, enum pattern_flags flags,
        struct pattern **out, struct error *err);
void pattern_destroy(struct pattern *p); /* NULL is fine */

/* The PCRE2 text of a Python pattern, for the search engine (options: UTF and UCP). */
MUST_CHECK bool pattern_translate(struct str text, struct buf *out, struct error *err);

/* How it may match: re.search, re.match, re.fullmatch. */
enum pattern_how { PATTERN_SEARCH, PATTERN_MATCH, PATTERN_FULLMATCH };

enum pattern_result {
    PATTERN_NO,
    PATTERN_YES,
    PATTERN_LIMIT, /* gave up; who asks for a permission takes it as a no, who asks for a
                      prohibition as a yes */
};

/* Safe to use from one thread at a time. */
enum pattern_result pattern_match(
        const struct pattern *p, enum pattern_how how, struct str subject);

#endif
