/*
 * target.h - where cp, mv and ln put things: SOURCE DEST, SOURCE... DIRECTORY,
 * -t DIRECTORY SOURCE..., -T SOURCE DEST.
 */
#ifndef SHELL_BUILTIN_TARGET_H
#define SHELL_BUILTIN_TARGET_H

#include "shell/cmd.h"

struct target {
    const char *option; /* -t; set before target_find() */
    bool no_dir;        /* -T; the same */
    bool no_follow;     /* ln -n: a link to a directory is no directory */
    const char *name;   /* the directory, or the one destination */
    bool is_dir;
    int count; /* sources: the first operands */
};

/* False: reported. */
bool target_find(struct cmd *c, struct target *t);

/* The name a source gets. */
const char *target_of(struct cmd *c, const struct target *t, const char *source);

#endif
