/*
 * flags.h - reading a command line: flags anywhere, as `--name value` or `--name=value`,
 * and operands; `--` ends the flags.
 *
 * Who has a line to read makes a table of its flags, each with the function that takes
 * the value, and reads it in one call.
 */
#ifndef CLI_FLAGS_H
#define CLI_FLAGS_H

#include "base/str.h"

/* `value` is NULL for a flag that takes none. */
typedef bool flag_fn(void *user, const char *value, struct error *err);

struct flag {
    const char *name; /* "--deny" */
    bool takes_value;
    flag_fn *set; /* NULL: known, and looked for with flags_has() */
};

struct flags {
    const struct flag *table;
    size_t count;
    flag_fn *operand;
    void *user;               /* what the functions fill */
    const struct flags *more; /* a table that several lines share, or NULL; its `operand`
                                 is not used */
};

/* `argv[0]` is not looked at.  ERR_INVALID: the line makes no sense. */
MUST_CHECK bool flags_read(
        const struct flags *flags, int argc, char **argv, struct error *err);

/* Whether the flag stands there, before `--`. */
bool flags_has(int argc, char **argv, const char *name);

#endif
