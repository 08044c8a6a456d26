/*
 * git-parts.h - the steps of the deputy for git, one file each.
 */
#ifndef POLICY_GIT_PARTS_H
#define POLICY_GIT_PARTS_H

#include "policy/deputy/git-commands.h"
#include "policy/deputy/git-repo.h"

struct git_call {
    struct deputy_call base;
    const struct git_command *command; /* NULL: git without a subcommand */
    size_t first;                      /* the argument behind it */
    unsigned flags;  /* of the command, changed by what its arguments do */
    struct str verb; /* its first operand: "push" of `git stash push`; or "" */
    size_t operands;
    bool lists, offline, without_index, all_remotes; /* -l, -n, --no-index, --all */
    bool only_ignored, untracked;                    /* clean -X, stash -u */
    bool configures;                                 /* branch -u, switch -t, ... */
    struct git_repo repo;
    bool allow_file; /* the transport between folders of this machine */
};

/* A reader of what follows the subcommand. */
struct option_reader git_reader(const struct git_call *call);

/* Are the patterns of `grep` options, so that no operand is one? */
bool git_has_pattern(struct option_reader r);

/* git-judge.c: options and operands; what the command will do. */
MUST_CHECK bool git_arguments_allowed(struct git_call *call);

/* git-files.c: operands that git reads as files whatever the repository says, and files
 * of the repository that say what to run next.  After the repository is known. */
MUST_CHECK bool git_files_allowed(struct git_call *call);

/* git-remote.c: which other repositories it may talk to. */
MUST_CHECK bool git_remotes_allowed(struct git_call *call);

/* git-neutral.c: nothing that a repository names is started. */
MUST_CHECK bool git_neutralise(struct git_call *call);

/* git-environ.c: the variables of the plan, with `count` pairs of lines GIT_CONFIG_KEY_n
 * and GIT_CONFIG_VALUE_n, which override configuration. */
void git_environment(const struct git_call *call, const char **overrides, size_t count);

/* git-profile.c: what the kernel is to hold; arguments that keep protected folders out of
 * the way; what to say if it fails. */
void git_profile(struct git_call *call);

/* git-ask.c: what is to be asked of git before it is let at the work tree. */
void git_ask_first(const struct git_call *call);

#endif
