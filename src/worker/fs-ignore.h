/*
 * fs-ignore.h - the .gitignore files that hold in a folder during a walk.
 */
#ifndef WORKER_FS_IGNORE_H
#define WORKER_FS_IGNORE_H

#include "worker/fs.h"

struct fs_ignore;

/* With those above `start` too, up to the root of its repository. */
struct fs_ignore *fs_ignore_create(struct fs *fs, struct vpath start);
void fs_ignore_destroy(struct fs_ignore *g); /* NULL is fine */

/* A folder is entered or left; `rel` is its path from the start, "" for that itself. */
void fs_ignore_enter(struct fs_ignore *g, struct str rel);
void fs_ignore_leave(struct fs_ignore *g);

/* Is the entry at `rel` of the folder entered last left out? */
bool fs_ignore_has(const struct fs_ignore *g, struct str rel, bool is_dir);

#endif
