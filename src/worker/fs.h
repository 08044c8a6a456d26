/*
 * fs.h - what the fs_* tools share: one call, its paths, and how it says no.
 *
 * Paths are absolute, or relative to the workspace, or begin with "~"; they are shown
 * relative to the workspace where they lie in it.  A tool is a function here, and a line
 * in fs.c's worker_fs_NAME() list.
 */
#ifndef WORKER_FS_H
#define WORKER_FS_H

#include "base/budget.h"
#include "worker/worker.h"

struct fs {
    struct worker *w;
    struct vfs *vfs;
    const json_t *args;
    struct arena *arena; /* of the call */
    struct buf *text;    /* what the client is shown */
    struct budget budget;
    struct vpath workspace;
};

struct fs_path {
    struct str given; /* as the client wrote it */
    struct vpath at;
    struct str shown; /* without "..", relative to the workspace if it is in it */
};

/* An argument that may be left out or null. */
struct str fs_text_arg(const struct fs *fs, const char *name);
int64_t fs_int_arg(const struct fs *fs, const char *name, int64_t fallback);
bool fs_bool_arg(const struct fs *fs, const char *name, bool fallback);

/* The path at `name`, "." if it is absent; false: it is none, and that was said. */
MUST_CHECK bool fs_path_arg(struct fs *fs, const char *name, struct fs_path *out);

/* A name in a list of lines: control characters, which would break or forge lines, as
 * "\x0a". */
struct str fs_printable(const struct fs *fs, struct str name);

/* "Error: ..." instead of whatever was said; returns true, which is isError. */
bool fs_fail(struct fs *fs, const char *fmt, ...) PRINTF(2, 3);

/* "Cannot DO 'PATH': why", with the rule that forbids it, or the name that was meant. */
bool fs_fail_errno(
        struct fs *fs, const char *what, const struct fs_path *path, int errnum);

/* "File not found: 'PATH'", and what there is that looks like it. */
bool fs_fail_missing(struct fs *fs, const char *what, const struct fs_path *path);

/* What is not a file: "'PATH' is a directory", "... is a FIFO, not a regular file". */
bool fs_fail_type(struct fs *fs, const struct fs_path *path, enum vfs_type type);

/* "file", "directory", "FIFO", ... */
const char *fs_type_name(enum vfs_type type);

/* Lines of an open file, as base/textline.h counts them; false: it is not UTF-8, or
 * cannot be read.  Nobody counts those of a file that is larger than the limit. */
#define FS_MAX_COUNTED ((uint64_t)1 << 30)
MUST_CHECK bool fs_count_lines(struct fs *fs, struct vfile *file, uint64_t *out);

typedef bool fs_fn(struct fs *fs);

fs_fn fs_append, fs_delete, fs_find, fs_grep, fs_readfile, fs_stat, fs_str_replace;

#endif
