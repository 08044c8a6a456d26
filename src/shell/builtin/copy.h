/*
 * copy.h - copying files and trees: cp, and mv from one mount to another.
 */
#ifndef SHELL_BUILTIN_COPY_H
#define SHELL_BUILTIN_COPY_H

#include "shell/cmd.h"

enum copy_follow { COPY_LINKS, COPY_FOLLOW_ROOT, COPY_FOLLOW_ALL };
enum copy_existing { COPY_REPLACE, COPY_SKIP, COPY_ASK };

struct copy {
    struct cmd *c;
    bool recursive, force, verbose, update;
    bool keep_mode, keep_times, keep_links; /* of hard links within the tree */
    bool hard_link, symlink;                /* instead of copying */
    bool remove_first;
    enum copy_follow follow;
    enum copy_existing existing;
    struct copied *copied; /* files with several links that were copied */
    size_t copied_count, copied_cap;
    struct vfs_stat made; /* the directory that a tree is copied to */
    char *block;          /* for moving content */
};

void copy_finish(struct copy *cp);

/* Copy one operand, with what is in it.  False: something failed, and was said. */
bool copy_operand(struct copy *cp, const char *from, const char *to);

#endif
