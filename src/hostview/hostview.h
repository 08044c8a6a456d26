/*
 * hostview.h - the whole machine as a policy lets it be seen: what paths.h says, told to
 * the kernel as mounts and Landlock rules, for a helper that works on host paths.
 *
 * What the kernel is to hold is found out first, while everything can still be seen; then
 * the mounts are entered, and the descriptors that Landlock is told about are opened in
 * them.
 */
#ifndef HOSTVIEW_HOSTVIEW_H
#define HOSTVIEW_HOSTVIEW_H

#include "confine/view.h"
#include "policy/paths.h"

struct hostview_options {
    const struct path_policy *paths;
    bool read_only; /* nothing is writable at all */
    /* Null, zero, random and terminals can be opened; otherwise no device can. */
    bool devices;
    bool no_programs; /* what may be written cannot be mapped as code */
    /* Trusted code in the helper reads what only an agent may not ("deny-agent"): the
     * helper decides who is who, and the kernel does not hide it. */
    bool trusted_reads;
    /* Read even if the policy lets only some paths be read: NULL-terminated, or NULL. */
    const char *const *also_readable;
};

struct hostview {
    struct hostview_options options;
    struct kernel_rules rules;
    struct view_request mounts;
    int machine;                /* "/"; the caller's */
    struct confine_root *roots; /* for confine_self(); in the arena */
    size_t root_count;
};

/* Before anything is given up.  `machine`: a descriptor of "/", O_PATH is enough. */
void hostview_find(const struct hostview_options *options, int machine,
        struct arena *arena, struct hostview *out);

/*
 * Enter the mounts, or note in `status` why not, and open the roots; `machine` is the
 * root of the new tree afterwards.  `server`: our parent, or 0.  False: what was begun
 * could not be finished, and nothing must be done here.
 */
MUST_CHECK bool hostview_enter(struct hostview *view, int server, struct arena *arena,
        struct confine_status *status, struct error *err);

/* Once this process (and what it forked) is confined: only Landlock needed them. */
void hostview_close_roots(struct hostview *view);

#endif
