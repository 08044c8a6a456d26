/*
 * grep.h - the parts of grep: options (grep.c), searching one file (grep-file.c), which
 * files of a tree (grep-tree.c), and helper threads that search while the command walks
 * (grep-pool.c).
 *
 * `struct grep` does not change once the options are read, so that threads may share it;
 * each has a `struct grep_searcher` of its own.
 */
#ifndef SHELL_BUILTIN_GREP_H
#define SHELL_BUILTIN_GREP_H

#include "search/regex.h"
#include "shell/cmd.h"

enum grep_binary { BINARY_MESSAGE, BINARY_TEXT, BINARY_SKIP };
enum grep_report {
    REPORT_LINES,
    REPORT_COUNT,
    REPORT_WITH,
    REPORT_WITHOUT,
    REPORT_NOTHING
};
enum grep_dirs { DIRS_READ, DIRS_SKIP, DIRS_RECURSE, DIRS_FOLLOW };

struct grep_glob {
    struct str pattern;
    bool include;
};

struct grep {
    struct regex *re;
    bool invert, only_matching, line_numbers, byte_offsets, align_tab;
    bool null_names, no_messages, line_buffered;
    int with_names; /* 1 always, 0 never, -1: when there is more than one file */
    enum grep_report report;
    enum grep_binary binary;
    enum grep_dirs dirs;
    int64_t max_count;           /* INT64_MAX: no limit */
    uint64_t before, after;      /* lines of context */
    const char *group_separator; /* NULL: none */
    bool sets_apart;             /* a context was asked for, be it of no lines */
    const char *label;           /* of stdin */
    char eol;
    struct grep_glob *globs, *dir_globs;
    size_t glob_count, dir_glob_count, glob_cap, dir_glob_cap;
    size_t max_line; /* bytes */
};

/* Where output goes: to the command's stdout, or into a buffer for the command to print.
 */
struct grep_sink {
    struct buf out, messages;
    bool any_printed; /* a line: the next group of lines is set apart */
    /* Take what is in `out` and `messages`; false: stop.  Called when `out` is full
     * enough and, with `force`, at the end. */
    bool (*flush)(struct grep_sink *s, bool force);
    bool (*alive)(struct grep_sink *s, uint64_t steps); /* spends budget; false: stop */
    void *owner;
};

struct grep_file {
    const char *name; /* shown */
    bool with_name;
    int fd; /* a regular file, or -1: read `stream` */
    struct stream *stream;
    bool by_line; /* read no further than the line being looked at */
};

struct grep_searcher;
struct grep_searcher *grep_searcher_create(const struct grep *g, struct regex *re);
void grep_searcher_destroy(struct grep_searcher *s);

/* *selected: a line was; false: it failed somehow, and said so. */
bool grep_file(struct grep_searcher *s, const struct grep_file *file,
        struct grep_sink *sink, bool *selected);

struct grep_pool;

struct grep_run {
    struct cmd *c;
    const struct grep *g;
    struct grep_searcher *searcher;
    struct grep_sink sink;  /* to stdout and stderr */
    struct grep_pool *pool; /* NULL: not started */
    size_t walked;          /* files found in trees so far */
    bool selected, failed, stop;
};

void grep_operand(struct grep_run *run, const char *operand, bool several);
/* What -r without operands means. */
void grep_here(struct grep_run *run);
bool grep_glob_takes(
        const struct grep_glob *globs, size_t count, const char *name, bool is_operand);
void grep_note(struct grep_run *run, bool selected, bool failed);

/* NULL: threads cannot be had, or would not help. */
struct grep_pool *grep_pool_create(struct grep_run *run);

/* Search `file` (taken over) some time; results are printed in the order of submission.
 */
void grep_pool_submit(
        struct grep_pool *p, struct vfile *file, const char *name, bool with_name);
void grep_pool_message(struct grep_pool *p, const char *message);

/* Print everything that was submitted, or drop it when the run stops; ends the threads.
 */
void grep_pool_finish(struct grep_pool *p);

#endif
