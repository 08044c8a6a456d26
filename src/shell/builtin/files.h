/*
 * files.h - the vfs by names as they are typed: relative to the command's directory.
 *
 * Each returns 0 or an errno and gives back the memory its path took, so that they can be
 * called for every file of a large tree.
 */
#ifndef SHELL_BUILTIN_FILES_H
#define SHELL_BUILTIN_FILES_H

#include "search/dirwalk.h"
#include "shell/cmd.h"

int file_stat(
        struct cmd *c, const char *name, enum vfs_follow follow, struct vfs_stat *out);
int file_open(struct cmd *c, const char *name, enum vfs_open_flags flags, uint32_t mode,
        struct vfile **out);
int file_mkdir(struct cmd *c, const char *name, uint32_t mode);
int file_unlink(struct cmd *c, const char *name);
int file_rmdir(struct cmd *c, const char *name);
int file_rename(struct cmd *c, const char *from, const char *to);
int file_link(struct cmd *c, const char *from, const char *to);
int file_symlink(struct cmd *c, const char *target, const char *name);
int file_chmod(struct cmd *c, const char *name, uint32_t mode);
int file_set_times(struct cmd *c, const char *name, enum vfs_follow follow,
        int64_t atime_ns, int64_t mtime_ns);
int file_check_tree(struct cmd *c, const char *name, enum vfs_tree_use use);

/* These two put what they find into the command's arena. */
int file_readlink(struct cmd *c, const char *name, struct str *target);
int file_resolve(
        struct cmd *c, const char *name, enum vfs_follow follow, struct vpath *out);

/* dirwalk_create() with the command's files. */
struct dirwalk *file_walk(struct cmd *c, const char *root, bool follow_root, bool follow);

bool file_is_dir(struct cmd *c, const char *name); /* links followed */
bool file_is_same(const struct vfs_stat *a, const struct vfs_stat *b);

/* "dir/name", in the command's arena; one slash between them. */
char *name_join(struct cmd *c, const char *dir, const char *name);

/* The last component without slashes after it ("/" stays), in the command's arena. */
char *name_base(struct cmd *c, const char *name);

/* Where the last component begins, slashes after it not counted; and without them. */
struct str name_without_slashes(const char *name);

/* Prompt on stderr, one line from stdin: did it begin with y or Y? */
bool ask(struct cmd *c, const char *fmt, ...) PRINTF(2, 3);

/* "drwxr-xr-x", and a NUL. */
void mode_text(enum vfs_type type, uint32_t mode, char out[11]);

/* "regular empty file", "directory", ...: what stat and rm call it. */
const char *file_type_name(const struct vfs_stat *st);

#endif
