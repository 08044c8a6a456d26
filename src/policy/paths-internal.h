/*
 * paths-internal.h - what the files of the path policy share: paths.c decides,
 * paths-guard.c matches, paths-git.c finds the folders of a repository, paths-kernel.c
 * says what the kernel is to hold and paths-absent.c what it cannot, paths-json.c carries
 * the policy to a helper.
 */
#ifndef POLICY_PATHS_INTERNAL_H
#define POLICY_PATHS_INTERNAL_H

#include "policy/paths.h"

/* A path that is being judged, with a slash behind it: rules that name what is in a
 * folder hold for the folder too. */
struct subject {
    char *storage;
    struct str path;   /* as it is */
    struct str slash;  /* with a slash at the end */
    struct str folded; /* the latter, as file systems compare it that ignore case */
};

void subject_init(struct subject *s, struct str path);
void subject_finish(struct subject *s);
#define auto_subject AUTO(subject_finish) struct subject

struct path_guard {
    const struct policy_guard *guard;
    struct str literal; /* what every match contains: how the pattern begins; or "" */
    struct str folded;  /* the same, folded */
};

enum guard_hit { GUARD_MISSED, GUARD_HIT, GUARD_GAVE_UP };

/* `exact`: neither the slash nor another spelling counts. */
enum guard_hit guard_match(
        const struct path_guard *g, const struct subject *s, bool exact);

/* The plain text with which every match of a pattern begins, or "". */
struct str guard_literal(struct str pattern, struct arena *arena);

/*
 * What a guard names in `base` without a look at what is there: "BASE/.git" for
 * `/\.git/`; where the pattern leaves open how a name ends, also with the endings of
 * settings files, and of the folder of many ("agent", "agents"). How many: 0 if the
 * pattern does not begin with a name.
 */
enum { GUARD_NAMES = 4 };
size_t guard_names(const struct path_guard *g, struct str base, struct arena *arena,
        const char *out[GUARD_NAMES]);

bool guard_disposition_parse(struct str name, enum guard_disposition *out);

/* A folder that must not be written, folded and with a slash at the end. */
struct path_folder {
    struct str path;   /* as it is */
    struct str folded; /* with a slash at the end */
    struct str except; /* with a slash at the end; or "" */
    const struct policy_protected *protected;
    const struct policy_guard *guard; /* instead: it belongs to what this guards */
};

struct path_policy {
    const struct policy *policy;
    struct path_guard *guards;
    size_t guard_count;
    struct path_folder *folders;
    size_t folder_count, folder_cap;
};

/* The first guard that has a say, or NULL.  *gave_up: it could not be told in time. */
const struct policy_guard *path_guard_find(const struct path_policy *p,
        const struct subject *s, enum path_use use, bool *gave_up);

void path_folder_add(
        struct path_policy *p, struct arena *arena, const struct path_folder *folder);

/*
 * Where the workspace's repository is when `.git` is a file or a link: the folders that
 * it names are guarded as `.git` is.
 */
void path_git_folders(struct path_policy *p, struct arena *arena);

#endif
