/*
 * git-commands.h - what the subcommands of git are and take, as far as it matters here.
 *
 * One row a subcommand.  A subcommand without a row is refused: it is an alias, a program
 * git-NAME, or new.  To add one: its row, with each option that takes a value in an
 * argument of its own, runs a program, or names a file (options.h).
 */
#ifndef POLICY_GIT_COMMANDS_H
#define POLICY_GIT_COMMANDS_H

#include "policy/deputy/options.h"

enum git_flags {
    GIT_WRITES = 1 << 0,      /* changes the repository */
    GIT_NETWORK = 1 << 1,     /* talks to other repositories */
    GIT_TEXT = 1 << 2,        /* operands are refs, keys, patterns: no files */
    GIT_PATTERN = 1 << 3,     /* the first operand is a pattern */
    GIT_REMOTE = 1 << 4,      /* the first operand is a repository, the others refs */
    GIT_READS_FILES = 1 << 5, /* operands are files that are read, tracked or not */
    GIT_WRITES_FILE = 1 << 6, /* the first operand is a file that is written */
    GIT_DIFFS = 1 << 7,       /* takes --no-ext-diff */
    GIT_TEXTCONV = 1 << 8,    /* takes --no-textconv */
    GIT_CHECKS_OUT = 1 << 9,  /* changes or removes files of the work tree */
    GIT_STORES = 1 << 10,     /* takes the content of files into the repository */
};

struct git_command {
    const char *name;
    unsigned flags;
    struct options options;
    const char *refused; /* why it never runs; or NULL */
};

const struct git_command *git_command_find(struct str name);

/* All of them, sorted by name. */
const struct git_command *git_command_table(size_t *count);

/* The options before the subcommand; one that is not here is refused. */
extern const struct options git_global_options;

/* Is this merge strategy one of git's own? */
bool git_strategy_is_builtin(struct str name);

#endif
