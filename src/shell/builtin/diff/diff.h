/*
 * diff.h - diff in four steps: lines.c reads two files and gives equal lines equal
 * numbers, base/linediff.h marks the lines that changed, hunks.c makes a list of that,
 * print.c writes it in one of the formats.  tree.c decides which files are compared.
 */
#ifndef SHELL_BUILTIN_DIFF_DIFF_H
#define SHELL_BUILTIN_DIFF_DIFF_H

#include "base/linediff.h"
#include "shell/cmd.h"

enum diff_style { DIFF_NORMAL, DIFF_UNIFIED, DIFF_CONTEXT, DIFF_BRIEF };

enum diff_space { SPACE_KEEP, SPACE_TRAILING, SPACE_CHANGE, SPACE_ALL };

struct diff {
    struct cmd *c;
    enum diff_style style;
    size_t context; /* lines around a hunk */
    bool report_same, recursive, new_file;
    bool ignore_case, ignore_blank_lines, ignore_cr, as_text;
    enum diff_space space;
    const char *labels[2];
    const char **excludes;
    size_t exclude_count;
    char *switches; /* " -r -u": what is said before each file of a tree */
};

struct diff_file {
    const char *name;
    struct buf text;
    struct str *lines; /* without their newline */
    uint32_t *ids;     /* equal lines, equal numbers; below diff_pair.id_count */
    bool *changed;     /* filled by diff_compare() */
    size_t count;
    bool no_newline; /* at the end of the last line */
    bool is_missing; /* -N: taken as empty */
    int64_t mtime_ns;
};

struct diff_pair {
    struct diff_file files[2];
    uint32_t id_count;
};

/* False: it cannot be read (reported). */
MUST_CHECK bool diff_read(struct diff *d, struct diff_file *f);

/* False: the budget is spent, or there are too many lines (reported). */
MUST_CHECK bool diff_split(struct diff *d, struct diff_pair *pair);
MUST_CHECK bool diff_compare(struct diff *d, struct diff_pair *pair);
void diff_pair_finish(struct diff_pair *pair);

/* In the command's arena. */
struct linediff_hunk *diff_hunks(
        struct diff *d, const struct diff_pair *pair, size_t *count);

/* False: stdout failed. */
MUST_CHECK bool diff_print(struct diff *d, const struct diff_pair *pair,
        const struct linediff_hunk *hunks, size_t count);
/* Two operands; 0 the same, 1 different, 2 trouble. */
int diff_paths(struct diff *d, const char *a, const char *b);

#endif
