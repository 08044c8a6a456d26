/* internal.h - between the parts that translate a Python pattern. */
#ifndef POLICY_PYRE_INTERNAL_H
#define POLICY_PYRE_INTERNAL_H

#include "base/arena.h"
#include "policy/pyre/pyre.h"

enum py_flags {
    PY_I = 1 << 0,
    PY_M = 1 << 1,
    PY_S = 1 << 2,
    PY_X = 1 << 3,
    PY_A = 1 << 4,
    PY_U = 1 << 5,
    PY_L = 1 << 6, /* only to be refused */
};

/* How many characters a part of the pattern can match. */
struct py_width {
    uint64_t min, max;
};
#define PY_WIDTH_MAX ((uint64_t)1 << 32)

struct py_group {
    struct str name; /* or {NULL, 0} */
    struct py_width width;
    bool open; /* its end has not been read */
};

/* A condition on a group that must exist when all has been read. */
struct py_condition {
    unsigned group;
    size_t at;
};

/* One pattern being translated.  A token is a character, or a backslash and one. */
struct py_reader {
    struct str text;
    size_t at; /* of the next token, in bytes */
    unsigned flags;
    bool folded; /* PCRE2 ignores case where `out` ends */
    struct buf *out;
    struct arena *arena;
    struct py_group *groups; /* groups[0] is unused */
    size_t group_count;      /* with it */
    struct py_condition *conditions;
    size_t condition_count;
    size_t lookbehind_groups; /* group_count where the lookbehind began; 0: in none */
    bool bad_lookbehind;
    unsigned depth;
    struct error *err;
};

struct str py_peek(const struct py_reader *r); /* empty at the end */
struct str py_get(struct py_reader *r);
bool py_take(struct py_reader *r, char c); /* true: it was next */
bool py_next_is(const struct py_reader *r, char c);

/* Fill the error and return false; `at` is an offset in bytes. */
bool py_fail(struct py_reader *r, size_t at, const char *fmt, ...) PRINTF(3, 4);

/* The part of a sequence that a repeat would apply to. */
enum py_item_kind {
    PY_ITEM_NONE,
    PY_ITEM_PLACE,  /* cannot be repeated */
    PY_ITEM_REPEAT, /* nor can this */
    PY_ITEM_OTHER,
};

struct py_sequence {
    enum py_item_kind kind;
    struct py_width item;   /* the last one */
    struct py_width before; /* all others */
    bool first;             /* of the whole pattern: here flags may be set */
};

/* The next item begins: what a repeat behind it would apply to. */
void py_start_item(
        struct py_sequence *s, enum py_item_kind kind, uint64_t min, uint64_t max);

/* What was read refers to a group. */
MUST_CHECK bool py_read_reference(
        struct py_reader *r, struct py_sequence *s, size_t group, size_t at);

struct py_width py_width_either(struct py_width a, struct py_width b);

/* Up to "|" or ")"; up to ")".  `first`: this begins the whole pattern. */
MUST_CHECK bool py_read_sequence(struct py_reader *r, bool first, struct py_width *out);
MUST_CHECK bool py_read_alternatives(
        struct py_reader *r, bool first, struct py_width *out);

/* A group whose "(" stands at `start`: one that captures (`name` may be {NULL, 0}), and
 * what begins with "(?". */
MUST_CHECK bool py_read_capture(
        struct py_reader *r, struct py_sequence *s, struct str name, size_t start);
MUST_CHECK bool py_read_extension(
        struct py_reader *r, struct py_sequence *s, size_t start);

/* What a backslash and the characters behind it mean. */
enum py_escape_kind {
    PY_CODE,
    PY_CATEGORY, /* \d \D \s \S \w \W: `code` is the letter */
    PY_PLACE,    /* \A \Z \b \B: the same */
    PY_REFERENCE,
};

struct py_escape {
    enum py_escape_kind kind;
    uint32_t code;
};

/* `token` has been taken, and starts at `at`. */
MUST_CHECK bool py_read_escape(struct py_reader *r, struct str token, size_t at,
        bool in_set, struct py_escape *out);

MUST_CHECK bool py_check_reference(struct py_reader *r, size_t group, size_t at);

/* Append a character, a category, or the set whose "[" has been taken. */
void py_emit_code(struct py_reader *r, uint32_t code);
void py_emit_category(struct py_reader *r, char letter);
MUST_CHECK bool py_read_set(struct py_reader *r);

/* `\b` and `\B`. */
void py_emit_boundary(struct py_reader *r, bool inverted);

/* Does PCRE2 ignore case under these flags?  (For ASCII alone it cannot.) */
static inline bool py_folds(unsigned flags)
{
    return (flags & PY_I) && !(flags & PY_A);
}

#endif
