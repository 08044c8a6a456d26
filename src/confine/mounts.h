/*
 * mounts.h - mounts as descriptors: the kernel's newer calls; used inside confine/ and by
 * the launcher.
 *
 * A tree is copied, its attributes are set while nobody can see it, and then it is
 * attached.  The calls have their numbers here, because distributions ship headers that
 * are older than the kernels they run on; they are the same on every architecture.
 * All return 0 or an errno unless said otherwise.
 */
#ifndef CONFINE_MOUNTS_H
#define CONFINE_MOUNTS_H

#include "base/base.h"

enum mount_flags {
    MOUNT_READ_ONLY = 0x1,
    MOUNT_NO_SET_ID = 0x2,
    MOUNT_NO_DEVICES = 0x4,
    MOUNT_NO_EXEC = 0x8,
};

/* An O_PATH descriptor, or -1; no link is followed anywhere. */
int mount_open_path(const char *path);

/* A copy of everything mounted at and below what `fd` is, attached nowhere; or -1. */
int mount_copy(int fd);

/* An empty file system in memory, or -1.  `bytes`: what it holds, 0 for a default. */
int mount_memory(unsigned mode, uint64_t bytes, enum mount_flags flags);

/* A file system of pseudo-terminals that nobody else has, or -1. */
int mount_terminals(enum mount_flags flags);

/* Add flags to a mount and all below it. */
int mount_restrict(int fd, enum mount_flags flags);

/* The same for the process's root. */
int mount_restrict_all(enum mount_flags flags);

int mount_attach(int tree, int target);

#endif
