/*
 * scan.h - the lines of files that a regular expression selects: the engine of grep and
 * of fs_grep.
 *
 * `struct scan` says what is wanted and does not change, so that threads may share it;
 * each has a `struct scanner` of its own.  A window of whole lines moves over the file
 * (scan.c); helper threads search many files while the caller walks (scan-pool.c).
 */
#ifndef SEARCH_SCAN_H
#define SEARCH_SCAN_H

#include "base/budget.h"
#include "search/regex.h"
#include "vfs/vfs.h"

enum scan_binary { BINARY_MESSAGE, BINARY_TEXT, BINARY_SKIP };
enum scan_report {
    REPORT_LINES,
    REPORT_COUNT,
    REPORT_WITH,
    REPORT_WITHOUT,
    REPORT_NOTHING
};

/* A line that is selected, or stands near one; or what sets groups apart (no mark). */
struct scan_line {
    char mark; /* ':', '-' or 0 */
    uint64_t number;
    struct str text;
};

struct scan {
    struct regex *re;
    bool invert, only_matching, line_numbers, byte_offsets, align_tab;
    bool null_names, no_messages, line_buffered;
    enum scan_report report;
    enum scan_binary binary;
    int64_t max_count;           /* INT64_MAX: no limit */
    uint64_t before, after;      /* lines of context */
    const char *group_separator; /* NULL: none */
    bool sets_apart;             /* a context was asked for, be it of no lines */
    bool stop_at_limit;          /* the first line that is given up ends the file */
    char eol;
    size_t max_line;  /* bytes */
    size_t max_shown; /* characters of a line; 0: all */
    /* Writes each line that is printed; NULL: as grep does.  `re` is the thread's own. */
    void (*show)(const struct scan_line *line, struct regex *re, struct buf *out);
};

/* Where output goes: to its reader, or into a buffer for the caller to print. */
struct scan_sink {
    struct buf out, messages;
    bool any_printed; /* a line: the next group of lines is set apart */
    bool gave_up;     /* a line of this file took too many steps to match */
    /* Take what is in `out` and `messages`; false: stop.  Called when `out` is full
     * enough and, with `force`, at the end. */
    bool (*flush)(struct scan_sink *s, bool force);
    bool (*alive)(struct scan_sink *s, uint64_t steps); /* spends budget; false: stop */
    void *owner;
};

struct scan_file {
    const char *name; /* shown */
    bool with_name;
    struct vfile *file; /* in a thread of the pool: what was submitted */
    int fd;             /* a regular file, or -1: ask `read` */
    /* Up to `size` bytes to `to`; 0: the end, or a failure, which is *errnum then. */
    size_t (*read)(void *source, char *to, size_t size, int *errnum);
    void *source;
};

struct scanner;
struct scanner *scanner_create(const struct scan *scan, struct regex *re);
void scanner_destroy(struct scanner *s);

/* *selected: a line was; false: it failed somehow, and said so. */
bool scan_file(struct scanner *s, const struct scan_file *file, struct scan_sink *sink,
        bool *selected);

/* What a job of the pool has printed so far; the buffers are the printer's to empty. */
struct scan_text {
    const char *name;
    struct str out, messages;
    bool *separated; /* of this job, false at first; the printer's */
};

struct scan_pool_ops {
    /* What each thread has; made and destroyed by the caller's thread. */
    void *(*create)(void *owner);
    void (*destroy)(void *searcher);

    /* In a thread: search one file. */
    bool (*search)(void *searcher, const struct scan_file *file, struct scan_sink *sink,
            bool *selected);

    /* In the caller's thread, in the order of submission; false: stop. */
    bool (*print)(void *owner, const struct scan_text *text);
    bool (*ended)(void *owner, const char *name, bool selected, bool failed);
};

struct scan_pool;

/* NULL: threads cannot be had, or would not help. */
struct scan_pool *scan_pool_create(
        const struct scan_pool_ops *ops, void *owner, struct budget *budget);

/* Search `file` (taken over) some time.  False: the pool has stopped. */
bool scan_pool_submit(
        struct scan_pool *p, struct vfile *file, const char *name, bool with_name);
bool scan_pool_message(struct scan_pool *p, const char *message);

/* Print everything that was submitted, or drop it when `ops` or the budget stopped it;
 * ends the threads.  NULL is fine. */
void scan_pool_finish(struct scan_pool *p);

#endif
