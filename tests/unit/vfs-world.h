/*
 * vfs-world.h - a vfs over each kind of backend, for tests that must hold for all.
 *
 * Paths in tests are relative to `base`, where the backend is mounted.
 */
#ifndef VFS_WORLD_H
#define VFS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/arena.h"
#include "vfs/vfs.h"

enum world_kind {
    WORLD_LOCAL,
    WORLD_LOCAL_STEPS, /* without openat2 */
    WORLD_LOCAL_MOUNTED,
    WORLD_MEMORY,
    WORLD_MEMORY_MOUNTED,
    WORLD_KINDS,
};

extern const char *const world_names[WORLD_KINDS];

struct world {
    enum world_kind kind;
    struct vfs *vfs;
    const struct vfs_ops *ops; /* of the backend at `base` */
    void *self;
    const struct deny_rules *deny;
    struct vpath base;
    struct arena *arena;
    char dir[64];  /* the host folder, or "" */
    bool keep_dir; /* somebody else removes it */
};

struct world *world_create(enum world_kind kind);
void world_destroy(struct world *w);

/* Another view of the same tree: without deny rules, or read-only.  Destroy it first. */
struct vfs *world_view(struct world *w, bool deny, bool read_only);

/* Write through a view without rules: what the view under test must not touch. */
void put_hidden(struct world *w, const char *path, const char *content);

struct vpath at(struct world *w, const char *path);
void put(struct world *w, const char *path, const char *content);
const char *content_of(struct world *w, const char *path);
int stat_error(struct world *w, const char *path);
struct vfs_stat stat_of(struct world *w, const char *path);  /* follows */
struct vfs_stat lstat_of(struct world *w, const char *path); /* does not */
char *raw_content(struct world *w, const char *path); /* through a view without rules */
void make_dir(struct world *w, const char *path);
void make_link(struct world *w, const char *target, const char *path);
int open_error(struct world *w, const char *path, enum vfs_open_flags flags);

/* Names separated by blanks, or "errno N". */
const char *names_in(struct world *w, const char *path);

#define assert_content(w, path, text) assert_string_equal(content_of(w, path), text)

#endif
