/*
 * own-programs.h - where our own programs lie, seen from the folder of the one that runs:
 * the helpers of an installed paddock, and those of a build tree.  Who looks for one
 * looks here, and no agent may write there, whether something is there or not.
 */
#ifndef POLICY_OWN_PROGRAMS_H
#define POLICY_OWN_PROGRAMS_H

#include "base/str.h"

/* Relative, with a slash at the end, or "": in the order in which they are looked for. */
extern const char *const own_places[];
extern const size_t own_place_count;

/* The program itself, its other names, and its helpers. */
extern const char *const own_names[];
extern const size_t own_name_count;

/* The folder of the program that runs, with a slash at the end; 0, or an errno. */
MUST_CHECK int own_folder(struct buf *out);

#endif
