/*
 * ranges.h - lists of numbers: 1,3-5,7- as cut and numbered options take them.
 */
#ifndef SHELL_BUILTIN_RANGES_H
#define SHELL_BUILTIN_RANGES_H

#include "base/str.h"

struct range {
    uint64_t first, last; /* from 1; last UINT64_MAX: to the end */
};

struct ranges {
    struct range *items; /* in order, without overlap; free() them */
    size_t count, cap;
};

/* `what` is for messages: "field".  `complement`: all numbers but these.  `apart`:
 * ranges that only touch stay two. */
bool ranges_parse(struct str text, const char *what, bool complement, bool apart,
        struct ranges *out, struct error *err);

#endif
