/*
 * ls.h - the parts of ls: options and which directories (ls.c), the order of names
 * (ls-sort.c), how they are printed (ls-format.c, ls-long.c).
 */
#ifndef SHELL_BUILTIN_LS_H
#define SHELL_BUILTIN_LS_H

#include "base/datetime.h"
#include "shell/cmd.h"

enum ls_layout { LS_LINES, LS_LONG, LS_DOWN, LS_ACROSS, LS_COMMAS };
enum ls_sort {
    LS_BY_NAME,
    LS_BY_TIME,
    LS_BY_SIZE,
    LS_BY_EXTENSION,
    LS_BY_VERSION,
    LS_UNSORTED
};
enum ls_time { LS_MODIFIED, LS_ACCESSED, LS_CHANGED };
enum ls_marks { LS_NO_MARKS, LS_MARK_DIRS, LS_MARK_TYPES, LS_MARK_ALL };
enum ls_quotes { LS_LITERAL, LS_QUESTION, LS_ESCAPE, LS_C_QUOTES, LS_SHELL_QUOTES };
enum ls_hidden { LS_NO_HIDDEN, LS_ALMOST_ALL, LS_ALL };
enum ls_follow { LS_FOLLOW_DIRS, LS_NO_FOLLOW, LS_FOLLOW_OPERANDS, LS_FOLLOW_ALL };

struct ls {
    struct cmd *c;
    enum ls_layout layout;
    enum ls_sort sort;
    enum ls_time time;
    enum ls_marks marks;
    enum ls_quotes quotes;
    enum ls_hidden hidden;
    enum ls_follow follow;
    bool reverse, dirs_themselves, recursive, dirs_first;
    bool inode, blocks, human, si, numeric, no_owner, no_group;
    const char **ignore; /* patterns */
    size_t ignore_count, ignore_cap;
    const char *time_recent, *time_old; /* formats */
    size_t width;
    char end; /* of a line */
    struct datetime now;
    size_t measured_too; /* files after those to be printed: they count for widths */
    int status;
    bool printed; /* something: an empty line comes before the next directory */
};

struct ls_file {
    struct str name;           /* as listed, or the operand */
    struct str target;         /* of a link, for -l */
    struct vfs_stat st;        /* st.type is always set, the rest if ls_needs_stat() */
    enum vfs_type target_type; /* of a link that leads somewhere, else VFS_UNKNOWN */
    uint32_t target_mode;
    bool has_stat;
};

void ls_sort_files(const struct ls *ls, struct ls_file *files, size_t count);
int64_t ls_time_of(const struct ls *ls, const struct ls_file *file);

/* False: stdout can take no more. */
bool ls_print(struct ls *ls, struct ls_file *files, size_t count);
bool ls_print_total(struct ls *ls, const struct ls_file *files, size_t count);
bool ls_print_long(struct ls *ls, struct ls_file *files, size_t count);

/* A name with quotes and its mark ("/", "@"); inode and blocks in these widths. */
void ls_add_name(const struct ls *ls, const struct ls_file *file, struct buf *out);
void ls_add_quoted(const struct ls *ls, struct str name, struct buf *out);
char ls_mark_of(const struct ls *ls, enum vfs_type type, uint32_t mode);

/* -i and -s before a name; widths of the widest, 0: none is aligned. */
struct ls_widths {
    int inode, blocks;
};
struct ls_widths ls_measure(
        const struct ls *ls, const struct ls_file *files, size_t count);
void ls_add_numbers(const struct ls *ls, const struct ls_file *file,
        struct ls_widths widths, struct buf *out);

/* A size in bytes or (for blocks) KiB, human-readable if that was asked for. */
const char *ls_size_text(const struct ls *ls, uint64_t bytes, bool blocks, char out[24]);

#endif
