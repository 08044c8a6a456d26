/*
 * path.h - what paths say by their text alone: absolute ones, without ".", ".." and "//".
 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include "base/str.h"

/* Absolute, without empty names, "." and "..", no slash at the end, no NUL. */
bool path_is_normal(struct str path);

/* Is `path` the folder, or in it, name by name?  Nothing is in "". */
bool path_is_in(struct str path, struct str folder);

/* In it, and not the folder itself. */
bool path_is_beneath(struct str path, struct str folder);

#endif
