/*
 * protect.h - adding to what is write-protected whatever the rules say.
 *
 * While the policy is made: path_policy_create() takes what is there then.
 */
#ifndef POLICY_PROTECT_H
#define POLICY_PROTECT_H

#include "policy/policy.h"

#define PROTECT_MAX_LINKS 40 /* of one path, as in the kernel */

/* Just this path, which is normal; once for each kind. */
void protect_path(
        struct policy *p, const struct policy_protected *what, struct arena *arena);

/*
 * A place by its name, and all that links make of it: whoever could change a link on the
 * way could change what is at its end.  what->except is the name of a folder in it.
 */
void protect_place(
        struct policy *p, const struct policy_protected *what, struct arena *arena);

/* The path that the first link in `path` makes of it, or NULL: there is no link. */
const char *protect_follow(const char *path, struct arena *arena);

/* An absolute path without ".", ".." and repeated slashes, by its text alone; or NULL. */
const char *protect_normal(const char *absolute, struct arena *arena);

/*
 * Where a path leads: links followed and ".." taken for as long as it exists, the rest as
 * it is written.  NULL: a ring of links, or too long.
 */
const char *protect_resolve(const char *absolute, struct arena *arena);

#endif
