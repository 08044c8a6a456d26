/*
 * memory.h - a tree of files in memory, for memory:// roots and for tests.
 *
 * The same semantics as a host folder of root's: permission bits are kept and shown but
 * forbid nothing (only executing needs an x bit).  For one thread.
 */
#ifndef VFS_MEMORY_H
#define VFS_MEMORY_H

#include "vfs/backend.h"

struct name {
    char *text;
    struct node *node;
};

struct node {
    struct vfs_stat st; /* size and blocks are computed when asked for */
    unsigned refs;      /* names and open files */
    struct memory *owner;
    /* VFS_FILE, VFS_LINK: the bytes */
    char *data;
    size_t len, cap;
    /* VFS_DIR: sorted by name */
    struct name *names;
    size_t count, names_cap;
};

struct memory {
    struct node *root;
    uint64_t used, max; /* bytes of content, names and nodes */
    uint64_t next_ino;
    unsigned refs; /* the mount and open files */
};

extern const struct vfs_ops memory_ops;
struct memory *memory_create(uint64_t max_bytes);

void node_unref(struct node *n);
int64_t memory_now(void);
void node_stat(const struct node *n, struct vfs_stat *out);

/* Make the content `size` bytes long, with zeros where it grows. */
int node_resize(struct node *n, size_t size);

/* memory-file.c */
struct vfile *memory_file_create(struct node *n, enum vfs_open_flags flags);

#endif
