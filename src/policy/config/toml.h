/*
 * toml.h - a TOML document as an ordered tree that knows where everything stands.
 *
 * The tree is made once, in an arena, and does not change.  Tables keep the order of the
 * source, since the first match decides in many of ours.  The parser behind this is
 * toml++, the only C++ in the product (toml.cc); nothing of it shows here.
 */
#ifndef POLICY_TOML_H
#define POLICY_TOML_H

#include "base/arena.h"
#include "policy/origin.h"

#define TOML_MAX_DEPTH                                               \
    32 /* tables and arrays within each other; parts of a dotted key \
        */
#define TOML_MAX_ITEMS 10000 /* of one table or array: they are searched one by one */

enum toml_type {
    TOML_STRING,
    TOML_INTEGER,
    TOML_REAL,
    TOML_BOOL,
    TOML_ARRAY,
    TOML_TABLE,
    TOML_DATE, /* or a time: only that there is one is known */
};

struct toml_value {
    enum toml_type type;
    struct origin origin;
    unsigned column;         /* from 1, in characters */
    struct str text;         /* TOML_STRING; may contain NUL */
    int64_t integer;         /* TOML_INTEGER */
    double real;             /* TOML_REAL, and TOML_INTEGER too */
    bool truth;              /* TOML_BOOL */
    struct toml_item *items; /* TOML_ARRAY and TOML_TABLE */
    size_t count;
};

struct toml_item {
    struct str key;       /* of a table; {NULL, 0} in an array */
    struct origin origin; /* of the key, or of the value in an array */
    unsigned column;
    struct toml_value value;
};

/*
 * The table that `text` is; `file` is its name for people, and must live as long.
 * ERR_INVALID, ERR_LIMIT: the message begins with "FILE:LINE: ".
 */
MUST_CHECK bool toml_parse(struct str text, const char *file, struct arena *arena,
        struct toml_value *out, struct error *err);

/* The item of a table with this key, or NULL. */
const struct toml_item *toml_find(const struct toml_value *table, struct str key);

/* "a string", "a table", ... */
const char *toml_type_name(enum toml_type type);

#endif
