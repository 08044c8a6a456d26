/*
 * fs-select.h - which files of a tree fs_find and fs_grep look at.
 *
 * What is left out is left out before it is entered: hidden folders, what exclude_regex
 * finds, what .gitignore names if it is to be respected, and folders in which nothing can
 * match a glob with a slash.  Everything that was left out is counted.
 */
#ifndef WORKER_FS_SELECT_H
#define WORKER_FS_SELECT_H

#include "search/dirwalk.h"
#include "worker/fs.h"

struct fs_select;

/* Reads path, file_glob, file_regex, exclude_regex and respect_gitignore.  NULL: one of
 * them makes no sense, and that was said. */
struct fs_select *fs_select_create(struct fs *fs, bool case_sensitive);
void fs_select_destroy(struct fs_select *s);

const struct fs_path *fs_select_start(const struct fs_select *s);
enum vfs_type fs_select_start_type(const struct fs_select *s); /* links followed */

/* Which of the two arguments chooses files, and what it says; "*" if neither does. */
const char *fs_select_filter(const struct fs_select *s);
struct str fs_select_pattern(const struct fs_select *s);

struct fs_found {
    struct str shown; /* path, valid until the next call */
    struct vpath at;
    enum vfs_type type; /* not of a folder; VFS_LINK: a link to something else */
};

/* The next file, in the order of names; false: the end, or the budget is spent, or a
 * regular expression gave up, or there is no looking into the start. */
bool fs_select_next(struct fs_select *s, struct fs_found *out);

/* Whether it ended early, so that the whole call is to be an error; says so. */
bool fs_select_failed(struct fs_select *s);

/* "3 hidden file(s)/dir(s) skipped. 1 excluded..."; blanks between, none before. */
void fs_select_notes(const struct fs_select *s, struct buf *out);

#endif
