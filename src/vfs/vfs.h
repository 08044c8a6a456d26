/*
 * vfs.h - one tree of files, whatever stores them, and the one door to them.
 *
 * A `struct vfs` is a table of mounts.  Each puts a backend (a host folder, memory, later
 * archives and remote stores) at a path.  Every function here takes a `struct vpath`,
 * follows links itself, asks the gate (deny rules, path policy, read-only) about the path
 * where it *ended*, and only then calls the backend with a canonical path: a backend
 * never follows a link and never sees the gate.  vfs_gate() in gate.c is the one door
 * (invariant 1).
 *
 * A link stays in its mount: one that leads out of it is EACCES, also by the name of a
 * folder of the host.  Absolute links inside a host folder are paths of the host, in
 * memory they are paths of the vfs.  The directories above a mount exist even if nothing
 * below them does; they cannot be changed.
 *
 * What no rule by name can see is a hard link that gives a file another name: see
 * vfs_guard_twins().
 *
 * Functions return 0 or an errno value with its POSIX meaning, so that a command prints
 * strerror() and gets the text that its users know.  EACCES: denied by a rule, or a link
 * that leaves the mount; EROFS: the view is read-only.  On failure nothing has changed
 * and outputs are untouched.
 *
 * To add a backend: fill a `struct vfs_ops` (vfs/backend.h) in a file of its own and add
 * its line to tests/unit/test-vfs-contract.c, which runs the same checks on every
 * backend.
 */
#ifndef VFS_VFS_H
#define VFS_VFS_H

#include "base/arena.h"
#include "base/str.h"

struct budget;      /* base/budget.h */
struct deny_rules;  /* policy/deny.h */
struct path_policy; /* policy/paths.h */
struct refusal;     /* policy/refusal.h */
struct vfs;
struct vfs_ops; /* vfs/backend.h */
struct vfile;

/*
 * An absolute path with no NUL, no "." and no empty component, and without a slash at the
 * end.  ".." stays, since what it means depends on the links before it; leading ones are
 * dropped ("/.." is "/").  Only vpath_parse() makes one (invariant 2).
 */
struct vpath {
    struct str text;  /* NUL-terminated too */
    bool must_be_dir; /* written with a slash (or "/.") at the end */
};

#define VPATH_ROOT ((struct vpath){ .text = STR("/") })

/*
 * `text` relative to `cwd`; the result lives in `arena`.  ENOENT: empty; EINVAL: has a
 * NUL; ENAMETOOLONG: longer than 4096, or a component longer than 255 bytes.
 */
MUST_CHECK int vpath_parse(
        struct str text, struct vpath cwd, struct arena *arena, struct vpath *out);

enum vfs_type {
    VFS_FILE,
    VFS_DIR,
    VFS_LINK,
    VFS_FIFO,
    VFS_SOCKET,
    VFS_CHAR,
    VFS_BLOCK,
    VFS_UNKNOWN, /* only in listings: the backend would have to stat */
};

struct vfs_stat {
    enum vfs_type type;
    uint32_t mode; /* permission bits, set-id and sticky: 07777 */
    uint32_t uid, gid;
    uint64_t nlink, size, blocks; /* blocks of 512 bytes */
    uint64_t dev, ino;            /* equal pair: the same file */
    int64_t mtime_ns, atime_ns, ctime_ns;
};

enum vfs_follow { VFS_NOFOLLOW, VFS_FOLLOW };

enum vfs_open_flags {
    VFS_READ = 1 << 0,
    VFS_WRITE = 1 << 1,
    VFS_CREATE = 1 << 2,
    VFS_EXCLUSIVE = 1 << 3, /* with VFS_CREATE: EEXIST if it is there */
    VFS_TRUNCATE = 1 << 4,
    VFS_APPEND = 1 << 5, /* every write goes to the end, atomically where the OS can */
};

struct vfs_entry {
    struct str name; /* NUL-terminated */
    enum vfs_type type;
};

struct vfs_options {
    const struct deny_rules *deny; /* borrowed; NULL: nothing is denied */
    bool read_only;
    uint32_t umask; /* for what is created; usually 022 */
    /* Borrowed; NULL: none.  Its paths are those of the vfs: "/" is the host's. */
    const struct path_policy *paths;
};

struct vfs *vfs_create(const struct vfs_options *options);
void vfs_destroy(struct vfs *vfs);

/*
 * Why the path policy last said no (then the error was EACCES); NULL: it did not since
 * the last vfs_clear_refusal(), which belongs at the start of a call.
 */
const struct refusal *vfs_refusal(const struct vfs *vfs);
void vfs_clear_refusal(struct vfs *vfs);

/* What the gate was asked, and what came of it. */
struct vfs_event {
    const char *op;  /* "read", "write", "list", "stat", "unlink", "rename", ... */
    struct str path; /* canonical, or as it was written if it led nowhere */
    bool changes;    /* something, if error is 0 */
    bool allowed;
    int error;       /* of the operation, 0 if it was done */
    struct str data; /* "replace": what the file holds now; else data.data is NULL */
    bool is_before;  /* "replace" is told before it is done as well, once it is allowed */
};
typedef void vfs_observer_fn(void *user, const struct vfs_event *event);

/* Called once for every operation that is judged, after it (twice for those with two
 * paths).  NULL: nobody watches, which costs nothing. */
void vfs_set_observer(struct vfs *vfs, vfs_observer_fn *observer, void *user);

/*
 * Files that must not be reached by another name, a hard link: below a read-only path
 * they are not written, below a secret one not read either.  Secret ones are looked up
 * now, the others when a file with several names is first written after
 * vfs_clear_refusal().  If there are too many to look at, no file with several names is
 * touched.
 */
struct vfs_guarded {
    struct vpath path;
    bool secret;
};
void vfs_guard_twins(struct vfs *vfs, const struct vfs_guarded *items, size_t count);

/* Long loops (a tree being checked) spend from it and end with ECANCELED; NULL: none. */
void vfs_set_budget(struct vfs *vfs, struct budget *budget);

/* For what is created from now on.  The process's own umask applies too: set it to 0. */
void vfs_set_umask(struct vfs *vfs, uint32_t mask);
uint32_t vfs_umask(const struct vfs *vfs);

/*
 * Put a backend at `at` ("/" first, then e.g. "/mnt/data"); takes over `self`, also on
 * failure.  EEXIST: something is mounted there; EINVAL: nothing is mounted above it.
 */
MUST_CHECK int vfs_mount(
        struct vfs *vfs, struct vpath at, const struct vfs_ops *ops, void *self);

/* A host folder beneath `dirfd` (taken over).  `host_path` is its real absolute path, so
 * that absolute links inside it can be followed; it is shown to nobody. */
MUST_CHECK int vfs_mount_local(
        struct vfs *vfs, struct vpath at, int dirfd, const char *host_path);

/* An empty tree in memory of at most `max_bytes` (then ENOSPC). */
MUST_CHECK int vfs_mount_memory(struct vfs *vfs, struct vpath at, uint64_t max_bytes);

/* The canonical path: no "..", no links.  The last component need not exist. */
MUST_CHECK int vfs_resolve(struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        struct arena *arena, struct vpath *out);

MUST_CHECK int vfs_stat(
        struct vfs *vfs, struct vpath path, enum vfs_follow follow, struct vfs_stat *out);

/* Is it a directory whose files come from elsewhere (FUSE, a network), so that each step
 * in it may take long, while the one above lies on another file system?  False if that
 * cannot be told.  Walks that come by do not enter it: EREMOTE. */
bool vfs_enters_remote(struct vfs *vfs, struct vpath path);
MUST_CHECK int vfs_readlink(
        struct vfs *vfs, struct vpath path, struct arena *arena, struct str *out);

/* 0, EACCES or EROFS: may it be read, written, executed (R_OK, W_OK, X_OK of unistd.h)?
 */
MUST_CHECK int vfs_access(struct vfs *vfs, struct vpath path, int mode);

/* Entries without "." and "..", denied names left out, sorted by byte. */
MUST_CHECK int vfs_list(struct vfs *vfs, struct vpath path, struct arena *arena,
        struct vfs_entry **out, size_t *count);

/*
 * `mode` is for a file that is created, less the umask.  Directories: EISDIR for writing,
 * and on the first read for reading.  FIFOs, sockets and devices: EOPNOTSUPP (they
 * would block or reach outside).
 */
MUST_CHECK int vfs_open(struct vfs *vfs, struct vpath path, enum vfs_open_flags flags,
        uint32_t mode, struct vfile **out);

MUST_CHECK int vfs_mkdir(struct vfs *vfs, struct vpath path, uint32_t mode);

/* A file or link, never what it points to.  EISDIR: use vfs_rmdir. */
MUST_CHECK int vfs_unlink(struct vfs *vfs, struct vpath path);

/* An empty directory; one that holds only denied entries is not empty.  EBUSY: a mount.
 */
MUST_CHECK int vfs_rmdir(struct vfs *vfs, struct vpath path);

/*
 * Like rename(2): replaces a file by a file, an empty directory by a directory.  EXDEV:
 * different mounts; EBUSY: a mount point; EINVAL: into itself; EACCES: the tree holds
 * entries that may not be changed here or there (moving would carry or expose them).
 */
MUST_CHECK int vfs_rename(struct vfs *vfs, struct vpath from, struct vpath to);
MUST_CHECK int vfs_link(struct vfs *vfs, struct vpath from, struct vpath to);
MUST_CHECK int vfs_symlink(struct vfs *vfs, struct str target, struct vpath path);
MUST_CHECK int vfs_chmod(struct vfs *vfs, struct vpath path, uint32_t mode);

/* Nanoseconds since 1970; VFS_TIME_NOW and VFS_TIME_KEEP are understood. */
#define VFS_TIME_NOW  INT64_MIN
#define VFS_TIME_KEEP (INT64_MIN + 1)
MUST_CHECK int vfs_set_times(struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        int64_t atime_ns, int64_t mtime_ns);

/*
 * 0 if the whole tree at `path` may be removed or moved, or read: EACCES if an entry
 * anywhere in it is denied, EROFS if the view is read-only and it should be changed.  For
 * rm -r and mv, and for cp -r, before the first effect.
 */
enum vfs_tree_use { VFS_TREE_CHANGE, VFS_TREE_READ };
MUST_CHECK int vfs_check_tree(struct vfs *vfs, struct vpath path, enum vfs_tree_use use);

/*
 * Replace the whole content in one step (temporary file beside it, then rename), keeping
 * mode, owner and xattrs; a file with several links is rewritten in place so that they
 * stay links.  `expect` (or NULL): the stat that the caller's reading saw; ESTALE if the
 * file has changed since (size, mtime, inode).  With VFS_CREATE|VFS_EXCLUSIVE a new file
 * is made, EEXIST if there is one.
 */
MUST_CHECK int vfs_replace(struct vfs *vfs, struct vpath path, struct str data,
        enum vfs_open_flags flags, const struct vfs_stat *expect);

/* Open files.  `*got` 0: the end.  Offsets are shared by whoever shares the vfile. */
MUST_CHECK int vfile_read(struct vfile *f, void *data, size_t size, size_t *got);
MUST_CHECK int vfile_pread(
        struct vfile *f, void *data, size_t size, uint64_t offset, size_t *got);
MUST_CHECK int vfile_write(struct vfile *f, struct str data); /* all of it, or an errno */
MUST_CHECK int vfile_seek(struct vfile *f, uint64_t offset);
MUST_CHECK int vfile_truncate(struct vfile *f, uint64_t size); /* or extend by zeros */
MUST_CHECK int vfile_stat(struct vfile *f, struct vfs_stat *out);

/*
 * Let no vfs_replace() come between here and the closing of the file; it waits a little,
 * then it finds the file changed.  Best effort: whoever holds the lock for long is no
 * call of ours, and is not waited for.
 */
void vfile_lock(struct vfile *f);

int vfile_fd(const struct vfile *f); /* for mmap and splice; -1 if there is none */
void vfile_close(struct vfile *f);   /* NULL is fine */

#endif
