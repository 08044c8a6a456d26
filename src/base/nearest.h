/*
 * nearest.h - "did you mean ...?" for commands, options, arguments.
 */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include "base/str.h"

/*
 * The name that `word` most likely meant: fewest letters changed, added, left out or
 * swapped, at most a third of the longer of the two.  {NULL, 0} if none is that near.
 * `name_at(list, i)` gives the names.
 */
typedef struct str nearest_name_at(const void *list, size_t i);
struct str nearest_name(
        struct str word, const void *list, size_t count, nearest_name_at *name_at);

/* For an array of C strings. */
struct str nearest_cstr(struct str word, const char *const *names, size_t count);

#endif
