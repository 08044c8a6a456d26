/*
 * grep.h - the parts of grep: options (grep.c), and which files of a tree (grep-tree.c).
 * The searching itself is search/scan.h.
 */
#ifndef SHELL_BUILTIN_GREP_H
#define SHELL_BUILTIN_GREP_H

#include "search/scan.h"
#include "shell/cmd.h"

enum grep_dirs { DIRS_READ, DIRS_SKIP, DIRS_RECURSE, DIRS_FOLLOW };

struct grep_glob {
    struct str pattern;
    bool include;
};

struct grep {
    struct scan scan;
    int with_names; /* 1 always, 0 never, -1: when there is more than one file */
    enum grep_dirs dirs;
    const char *label; /* of stdin */
    struct grep_glob *globs, *dir_globs;
    size_t glob_count, dir_glob_count, glob_cap, dir_glob_cap;
};

struct grep_run {
    struct cmd *c;
    const struct grep *g;
    struct scanner *scanner;
    struct scan_sink sink;  /* to stdout and stderr */
    struct scan_pool *pool; /* NULL: not started */
    size_t walked;          /* files found in trees so far */
    bool selected, failed, stop;
};

void grep_operand(struct grep_run *run, const char *operand, bool several);
/* What -r without operands means. */
void grep_here(struct grep_run *run);

#endif
