/* pyre_internal.h - between the parts that translate a Python pattern. */
#ifndef POLICY_PYRE_INTERNAL_H
#define POLICY_PYRE_INTERNAL_H

#include "base/arena.h"
#include "policy/pyre.h"

enum re_flags {
    RE_I = 1 << 0,
    RE_M = 1 << 1,
    RE_S = 1 << 2,
    RE_X = 1 << 3,
    RE_A = 1 << 4,
    RE_U = 1 << 5,
    RE_L = 1 << 6, /* only to be refused */
};

/* How many characters a part of the pattern can match. */
struct re_width {
    uint64_t min, max;
};
#define RE_WIDTH_MAX ((uint64_t)1 << 32)

struct re_group {
    struct str name; /* or {NULL, 0} */
    struct re_width width;
    bool open; /* its end has not been read */
};

/* A condition on a group that must exist when all has been read. */
struct re_condition {
    unsigned group;
    size_t at;
};

/* One pattern being translated.  A token is a character, or a backslash and one. */
struct re_reader {
    struct str text;
    size_t at; /* of the next token, in bytes */
    unsigned flags;
    bool folded; /* PCRE2 ignores case where `out` ends */
    struct buf *out;
    struct arena *arena;
    struct re_group *groups; /* groups[0] is unused */
    size_t group_count;      /* with it */
    struct re_condition *conditions;
    size_t condition_count;
    size_t lookbehind_groups; /* group_count where the lookbehind began; 0: in none */
    bool bad_lookbehind;
    unsigned depth;
    struct error *err;
};

struct str re_peek(const struct re_reader *r); /* empty at the end */
struct str re_get(struct re_reader *r);
bool re_take(struct re_reader *r, char c); /* true: it was next */

/* Fill the error and return false; `at` is an offset in bytes. */
bool re_fail(struct re_reader *r, size_t at, const char *fmt, ...) PRINTF(3, 4);

/* What a backslash and the characters behind it mean. */
enum re_escape_kind {
    RE_CODE,
    RE_CATEGORY, /* \d \D \s \S \w \W: `code` is the letter */
    RE_PLACE,    /* \A \Z \b \B: the same */
    RE_REFERENCE,
};

struct re_escape {
    enum re_escape_kind kind;
    uint32_t code;
};

/* `token` has been taken, and starts at `at`. */
MUST_CHECK bool re_read_escape(struct re_reader *r, struct str token, size_t at,
        bool in_set, struct re_escape *out);

MUST_CHECK bool re_check_reference(struct re_reader *r, size_t group, size_t at);

/* Append a character, a category, or the set whose "[" has been taken. */
void re_emit_code(struct re_reader *r, uint32_t code);
void re_emit_category(struct re_reader *r, char letter);
MUST_CHECK bool re_read_set(struct re_reader *r);

/* `\b` and `\B`. */
void re_emit_boundary(struct re_reader *r, bool not );

/* Does PCRE2 ignore case under these flags?  (For ASCII alone it cannot.) */
static inline bool re_folds(unsigned flags)
{
    return (flags & RE_I) && !(flags & RE_A);
}

#endif
