/*
 * git-repo.h - the repository that git would find, and all the configuration that it and
 * the repositories in its work tree bring along.
 */
#ifndef POLICY_GIT_REPO_H
#define POLICY_GIT_REPO_H

#include "policy/deputy/git-config.h"
#include "policy/deputy/parts.h"

struct git_repo {
    bool found;
    struct str tree;   /* the folder that has `.git`; real */
    struct str dir;    /* its own folder: tree/.git, or what a file `.git` names */
    struct str common; /* that it shares with other work trees; often the same */
    /* Of this repository, and of every other whose configuration git may read on the
     * way: submodules, and what only looks like a repository. */
    struct git_settings settings;
};

/* From the folder that git starts in.  False: refused. */
MUST_CHECK bool git_repo_find(const struct deputy_call *call, struct git_repo *out);

/* Add the settings of a file and of what it includes; a missing file is fine. */
MUST_CHECK bool git_repo_load_file(
        const struct deputy_call *call, struct git_repo *repo, const char *path);

/* Add the settings of the repositories in the work tree that the index knows. */
MUST_CHECK bool git_repo_load_nested(
        const struct deputy_call *call, struct git_repo *repo);

/* The last value of a setting, or NULL. */
const struct git_setting *git_repo_setting(
        const struct git_repo *repo, const char *section, const char *key);

#endif
