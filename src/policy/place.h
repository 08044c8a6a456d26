/*
 * place.h - where a path ends on this machine, and in which folders of the policy that
 * is.
 *
 * Unlike realpath() it also says where a path would end that is not there: links are
 * followed as far as there is something, what comes after is taken by its text, `..`
 * included.  It looks; it holds nothing.  What must stay true while a command runs is the
 * kernel's to hold.
 */
#ifndef POLICY_PLACE_H
#define POLICY_PLACE_H

#include "base/arena.h"
#include "policy/policy.h"

struct place {
    struct str path;    /* absolute, without ".", "..", "//"; NUL-terminated */
    bool exists;        /* all of it */
    bool parent_exists; /* all of it but the last name, which is not too long for one */
};

enum place_links {
    PLACE_FOLLOW,  /* as the kernel does */
    PLACE_BY_NAME, /* as programs do that tidy up a path before they use it */
};

/*
 * `path` relative to `base`, which is absolute.  `*budget` is what may still be looked
 * up, in steps of about a microsecond.  False: it is used up, or links lead in a circle.
 */
MUST_CHECK bool place_find(struct str base, struct str path, enum place_links links,
        struct arena *arena, unsigned *budget, struct place *out);

/* The same from a folder that is known to be there and to be no link: for many paths. */
MUST_CHECK bool place_find_below(struct str known, struct str path,
        enum place_links links, struct arena *arena, unsigned *budget, struct place *out);

/* The first of the places that `path` is in, or NULL. */
const struct policy_path *place_among(
        const struct policy_path *places, size_t count, struct str path);

/* The write-protected folder that has `path`, or NULL. */
const struct policy_protected *place_protected(
        const struct policy *policy, struct str path);

/* Is it in the writable paths? */
bool place_is_writable(const struct policy *policy, struct str path);

/* The writable path that has it, those of single commands included, or NULL. */
const struct policy_path *place_written_by_any(
        const struct policy *policy, struct str path);

/*
 * May who calls us write there, or have some command write there, and then have it read
 * or started?  Folders of scripts and the other protected ones are safe though they lie
 * in a writable path.
 */
bool place_may_be_planted(const struct policy *policy, struct str path);

#endif
