/*
 * patch.h - patch in two steps: parse.c reads the hunks of one file, apply.c puts them
 * into its lines.  patch.c finds the files, and replaces each in one step.
 */
#ifndef SHELL_BUILTIN_PATCH_PATCH_H
#define SHELL_BUILTIN_PATCH_PATCH_H

#include "shell/cmd.h"

#define PATCH_MAX_FUZZ 2

struct patch_line {
    char mark;       /* ' ' in both, '-' old, '+' new */
    struct str text; /* with its newline, if it has one */
};

struct patch_hunk {
    size_t start[2], count[2]; /* lines of the old and the new file, from 1 */
    struct patch_line *lines;
    size_t line_count, line_cap;
    struct str source; /* as it was read, for rejects */
};

struct patch_file {      /* what the patch says about one file */
    struct str names[2]; /* "" if it does not say */
    bool is_null[2];     /* /dev/null, or a time of 0: created, removed */
    struct patch_hunk *hunks;
    size_t count, cap;
    struct str header;
};

/* The next file of the patch in `*rest`; false: there is none, or (`*bad` is a line
 * number) the patch is malformed. */
bool patch_parse(struct cmd *c, struct str *rest, size_t *line, struct patch_file *out,
        size_t *bad);
void patch_file_finish(struct patch_file *f);

/* Swap old and new. */
void patch_reverse(struct patch_file *f);

struct patch_text { /* the file: lines with their newlines */
    struct str *lines;
    size_t count;
};

/* Where the hunk fits, near line index `guess`; false: nowhere.  `*fuzz`: context lines
 * that were not looked at. */
MUST_CHECK bool patch_find(struct cmd *c, const struct patch_text *text, size_t from,
        size_t guess, const struct patch_hunk *h, size_t *at, int *fuzz);

#endif
