/*
 * find.h - the parts of find: the command and its walk (find.c), the expression as a tree
 * (find-parse.c for its grammar, find-primary.c for the arguments of each primary), tests
 * (find-test.c), -printf and -ls (find-print.c), actions that change or run something
 * (find-action.c).
 *
 * The whole expression is parsed before anything happens.  To add a primary: a line in
 * the table of find-primary.c, which names how its argument is read and how it is
 * evaluated.
 */
#ifndef SHELL_BUILTIN_FIND_H
#define SHELL_BUILTIN_FIND_H

#include "base/datetime.h"
#include "search/dirwalk.h"
#include "search/regex.h"

struct find;
struct find_expr;
struct find_exec;
struct find_format;

/* What is being looked at. */
struct find_file {
    const char *path; /* shown, and used to get at it */
    struct str name;  /* the last component, without slashes after it */
    size_t depth, root_len;
    enum vfs_type type;
    struct vfs_stat st; /* see find_stat() */
    bool has_stat;
    bool prune; /* set by -prune: do not enter it */
};

typedef bool find_eval_fn(
        struct find *f, const struct find_expr *e, struct find_file *file);

enum find_time { TIME_ACCESS, TIME_CHANGE, TIME_MODIFY };
enum find_compare { COMPARE_EQUAL, COMPARE_MORE, COMPARE_LESS }; /* N, +N, -N */
enum find_perm { PERM_EXACT, PERM_ALL, PERM_ANY };

struct find_expr {
    find_eval_fn *eval;
    int variant; /* from the table: which of several similar primaries */
    union {
        struct { /* and, or, comma: all; not: one */
            struct find_expr **items;
            size_t count, cap;
        };
        struct { /* patterns */
            struct str text;
            bool fold;
        };
        struct { /* numbers; sizes count in units of `unit` bytes */
            enum find_compare compare;
            uint64_t number, unit;
        };
        struct { /* ages */
            enum find_compare age_compare;
            enum find_time age_time;
            int64_t age_from, age_to; /* file times in [from, to): equal */
        };
        struct { /* newer than */
            enum find_time time;
            int64_t than_ns;
        };
        struct {
            enum find_perm perm;
            uint32_t mode, dir_mode;
        };
        struct {
            uint64_t dev, ino;
        };
        unsigned types; /* 1 << enum vfs_type */
        struct regex *regex;
        struct find_format *format;
        struct find_exec *exec;
    };
};

struct find {
    struct cmd *c;
    struct find_expr *root;
    bool follow, follow_operands; /* -L, -H */
    bool depth_first, one_device;
    bool has_action, has_prune, has_delete, has_depth;
    uint64_t min_depth, max_depth;
    struct datetime now;
    uint64_t root_dev;      /* of the operand being walked */
    struct regex **regexes; /* to be destroyed */
    size_t regex_count, regex_cap;
    struct find_exec **execs; /* with + : what is left is run at the end */
    size_t exec_count, exec_cap;
    bool quit;
    int status;
};

/* Parse argv[from..] into f->root; false: reported. */
bool find_parse(struct find *f, int argc, char **argv, int from);

/* For find-primary.c: the arguments still to be read. */
struct find_parser {
    struct find *f;
    char **argv;
    int argc, next;
    const char *previous; /* the last primary, for hints */
    int depth;            /* of parentheses and ! */
    bool day_start;       /* -daystart */
    enum regex_syntax syntax;
    bool emacs; /* -regextype: emacs, where + and ? are operators in a BRE */
};

/* Read the primary `name` with its arguments; false: reported. */
bool find_parse_primary(struct find_parser *p, const char *name, struct find_expr *out);

bool find_eval(struct find *f, const struct find_expr *e, struct find_file *file);

/* Make file->st valid; false: it cannot be had, which was reported. */
bool find_stat(struct find *f, struct find_file *file);
int64_t find_time_of(const struct vfs_stat *st, enum find_time time);

/* "find: 'NAME': TEXT" on stderr, and a failed status. */
void find_failed(struct find *f, const char *name, int errnum);
char find_type_letter(enum vfs_type type);

bool find_format_parse(struct find *f, const char *text, struct find_format **out);
bool find_exec_parse(struct find_parser *p, const char *name, struct find_exec **out);

/* Run what -exec ... + has collected. */
void find_exec_finish(struct find *f, struct find_exec *x);

find_eval_fn find_and, find_or, find_comma, find_not;
find_eval_fn find_name, find_path, find_link_name, find_regex;
find_eval_fn find_type, find_target_type, find_empty, find_size, find_number, find_owner;
find_eval_fn find_age, find_newer, find_perm_test, find_access, find_same_file;
find_eval_fn find_true, find_false;
find_eval_fn find_print, find_print0, find_printf, find_ls;
find_eval_fn find_prune, find_quit, find_delete, find_exec_one, find_exec_many;

#endif
