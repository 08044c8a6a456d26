/*
 * internal.h - what the files of vfs/ share and nobody else sees.
 *
 * Every operation is the same three steps, and vfs_perform() in gate.c is the place that
 * takes them: locate() turns a path into a target, vfs_gate() judges it, the operation
 * asks the backend.  The first attempt takes the path as it is written: one without ".."
 * in which the backend meets no link *is* canonical, and the backend says ELOOP when it
 * does meet one.  Only then is the path walked, component by component, and the backend
 * asked again with the canonical path.  There is no moment at which something that was
 * checked by name is used by following links.
 */
#ifndef VFS_INTERNAL_H
#define VFS_INTERNAL_H

#include "policy/refusal.h"
#include "vfs/backend.h"

enum { VFS_MAX_PATH = 4096, VFS_MAX_LINKS = 40 };

struct mount {
    char *path;    /* owned */
    struct str at; /* the same: "/" or "/mnt/data" */
    const struct vfs_ops *ops;
    void *self;
};

struct twins; /* twins.c */

struct vfs {
    struct vfs_options options;
    struct mount *mounts; /* longest `at` first */
    size_t count, cap;
    struct budget *budget; /* of the current call, or NULL */
    vfs_observer_fn *observer;
    void *observer_user;
    struct str replaced; /* the data of vfs_replace() while it runs, for the observer */
    struct twins *twins; /* NULL: no file is guarded by what it is */
    struct refusal *why; /* of the path policy; NULL without one */
    size_t refusals;     /* since the last vfs_clear_refusal() */
};

enum gate_use {
    GATE_LOOK = 1 << 0, /* that it is there, its metadata */
    GATE_READ = 1 << 1, /* what is in it */
    GATE_CHANGE = 1 << 2,
};

/* What is going to be done: for the gate and for who watches. */
struct gate_op {
    const char *name;
    enum gate_use uses;
    bool changes; /* something, when it is done */
};

/* May the canonical `path` be used so?  0, EACCES or EROFS. */
int vfs_gate(struct vfs *vfs, struct str path, enum gate_use uses);

/* The same of one component by itself: what the path policy says is left out. */
int vfs_gate_name(const struct vfs *vfs, struct str name, enum gate_use uses);

/* May a listing show it?  Asking is no refusal. */
bool vfs_gate_shows(const struct vfs *vfs, struct str path);

/* May a walk leave the canonical `path` for somewhere else?  0 or EACCES. */
int vfs_gate_passing(struct vfs *vfs, struct str path);

/* A canonical path and where it leads. */
struct target {
    struct str path; /* NUL-terminated */
    const struct mount *mount;
    const char *rel; /* in the mount */
    bool must_be_dir;
    bool is_walked; /* false: `path` is canonical only if the backend meets no link */
    void *storage;  /* of `path`, or NULL if it is the caller's */
};

/*
 * vfs_gate() for a target.  ELOOP: the path policy refuses a path that may still lead
 * elsewhere, locate it again.
 */
int vfs_gate_target(struct vfs *vfs, const struct target *t, enum gate_use uses);

/* And the tree below its name, for what is moved to or from there. */
int vfs_gate_tree(struct vfs *vfs, const struct target *t);

/*
 * Attempt 0 takes `path` as written (ELOOP if it has ".."), later ones walk it.  The last
 * component need not exist.  EACCES: what the walk came through is denied, or a link
 * leaves its mount; the target itself is judged by the caller.
 */
int vfs_locate(struct vfs *vfs, struct vpath path, enum vfs_follow follow, int attempt,
        struct target *out);
void target_finish(struct target *t);
#define auto_target AUTO(target_finish) struct target

/* How often a link may be swapped in between before we give up. */
enum { VFS_MAX_ATTEMPTS = 8 };

/* What to do with a target.  ELOOP: the backend met a link, locate again. */
typedef int target_fn(struct vfs *vfs, const struct target *t, void *args);

/* Locate, ask the gate, do it; again with links followed while the answer is ELOOP. */
int vfs_perform(struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        struct gate_op op, target_fn *fn, void *args);

/* The same with two paths in one mount, both changed and neither followed. */
typedef int pair_fn(struct vfs *vfs, const struct target *from, const struct target *to);
int vfs_perform_pair(struct vfs *vfs, struct vpath from, struct vpath to,
        const char *name, pair_fn *fn);

/* Tell the observer that a file is going to be replaced. */
void vfs_announce_replace(struct vfs *vfs, struct str path, struct str data);

/* Is this file another name of one that may not be used so?  0 or EACCES. */
int vfs_check_twin(
        struct vfs *vfs, struct str path, const struct vfs_stat *st, enum gate_use uses);
void vfs_forget_twins(struct vfs *vfs); /* what may have changed since */
void vfs_destroy_twins(struct vfs *vfs);

/* Every entry of a directory, the denied ones too, in no order. */
int vfs_list_target(const struct vfs *vfs, const struct target *t, struct arena *arena,
        struct vfs_entry **out, size_t *count);

/* What vfs_check_tree() says about the entries below a directory.  `as` (or ""): the path
 * that the directory will have; its entries are judged there too, for being changed. */
int vfs_check_below(
        struct vfs *vfs, const struct target *dir, struct str as, enum gate_use uses);

/* The mount that a canonical path belongs to, and the rest of the path below it. */
const struct mount *vfs_find_mount(
        const struct vfs *vfs, struct str path, const char **rel);

/*
 * Is `path` the directory `dir` or below it, component by component?  `*rest`: what comes
 * after `dir`, without a slash before it.  Neither may be relative; ".." is a name like
 * others.
 */
bool vfs_path_below(struct str path, struct str dir, struct str *rest);

/* Is something mounted below `path`?  Then it is a directory whatever the tree says. */
bool vfs_is_above_mount(const struct vfs *vfs, struct str path);

/* The stat of such a directory if the tree has none there. */
struct vfs_stat vfs_virtual_stat(struct str path);

/* An open directory: reading it is EISDIR. */
struct vfile *dir_file_create(const struct vfs_stat *st);

#endif
