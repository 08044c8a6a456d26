/*
 * git-parts.h - the steps of the deputy for git, one file each.
 */
#ifndef POLICY_GIT_PARTS_H
#define POLICY_GIT_PARTS_H

#include "policy/deputy-parts.h"
#include "policy/git-commands.h"

struct git_call {
    struct deputy_call base;
    const struct git_command *command; /* NULL: git without a subcommand */
    size_t command_at, first;          /* the subcommand; what follows it */
    unsigned flags;  /* of the command, less what its arguments do not do */
    struct str verb; /* its first operand: "push" of `git stash push`; or "" */
    size_t operand_count;
};

/* A reader of what follows the subcommand. */
struct option_reader git_reader(const struct git_call *call);

/* git-judge.c: options and operands. */
MUST_CHECK bool git_arguments_allowed(struct git_call *call);

#endif
