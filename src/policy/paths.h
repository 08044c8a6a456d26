/*
 * paths.h - may this path be read or written?
 *
 * The decision is made on where a path *ended*: canonical, absolute, links followed (the
 * vfs asks, with what it is about to open).  In this order: write-protected folders, then
 * guards (first match wins), then writable or readable paths.  A guard that matches the
 * path with a slash behind it counts too, so that `/\.git/` protects the folder `.git`
 * itself; so does one that matches another spelling that a file system which ignores case
 * takes for the same (deny.h).  A guard whose pattern gives up refuses.
 *
 * It is made from a `struct policy` in the server, and travels to helpers as JSON, where
 * it is made again from that.
 */
#ifndef POLICY_PATHS_H
#define POLICY_PATHS_H

#include "policy/refusal.h"

#include <jansson.h>

struct path_policy;

enum path_use {
    PATH_LOOK,  /* that it exists, its type, size and times */
    PATH_READ,  /* what is in it */
    PATH_WRITE, /* create, change, remove, rename it; its metadata */
};

/* In `arena`; the policy must live on. */
struct path_policy *path_policy_create(const struct policy *policy, struct arena *arena);

/* Paths are bytes: in the JSON each byte of one is a character. */
json_t *path_policy_json(const struct path_policy *p);
MUST_CHECK bool path_policy_parse(const json_t *json, struct arena *arena,
        struct path_policy **out, struct error *err);

struct str path_policy_workspace(const struct path_policy *p); /* real, absolute */
struct str path_policy_home(const struct path_policy *p);      /* the same, or "" */

/* True: it may.  `why` (may be NULL) is filled otherwise. */
bool path_allowed(const struct path_policy *p, struct str canonical, enum path_use use,
        struct refusal *why);

/* The same for a trusted library: what is closed to agents only (`deny-agent`) it may
 * read.  It writes nothing that an agent may not write. */
bool path_allowed_trusted(const struct path_policy *p, struct str canonical,
        enum path_use use, struct refusal *why);

/* May a path lead through here to somewhere else that is judged by itself?  Not through
 * what a guard hides. */
bool path_passable(const struct path_policy *p, struct str canonical);

/*
 * Moving or removing a folder moves what is in it: true if nothing that is protected or
 * guarded against writing lies, or would lie, at or below `canonical` by its name alone.
 * (What is found only by looking at the tree is the vfs's to check.)
 */
bool path_tree_allowed(
        const struct path_policy *p, struct str canonical, struct refusal *why);

/*
 * What the kernel is to hold, as far as it exists now: for a mount view and for Landlock.
 * Found out by looking at the file system, so call it in a process that is still free.
 */
enum kernel_rule_kind {
    KERNEL_WRITABLE,  /* a root that may be written */
    KERNEL_READABLE,  /* a root that may be read (only if not everything may) */
    KERNEL_READ_ONLY, /* below a writable root, not to be changed */
    KERNEL_HIDDEN,    /* not to be read */
};

struct kernel_rule {
    enum kernel_rule_kind kind;
    struct str path; /* real, absolute; NUL-terminated */
    bool is_dir;
    bool trusted_may; /* KERNEL_HIDDEN by deny-agent: a trusted program may read it */
    /* Deeper in a writable path: a command that runs already may have made it, and then
     * is not kept from it. */
    bool is_nested;
};

struct kernel_rules {
    struct kernel_rule *items;
    size_t count, cap;
    bool readable_all;
};

void path_policy_kernel_rules(
        const struct path_policy *p, struct arena *arena, struct kernel_rules *out);

/*
 * What nothing can be mounted over, since it is not there: paths in the writable places
 * that must not be written and do not exist now, such as `.git` of a folder without a
 * repository.  Links above them are followed.  NULL-terminated, in `arena`.
 */
const char *const *path_policy_absent(const struct path_policy *p, struct arena *arena);

#endif
