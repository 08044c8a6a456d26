#include "confine/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

enum {
    NR_OPEN_TREE = 428,
    NR_MOVE_MOUNT = 429,
    NR_FSOPEN = 430,
    NR_FSCONFIG = 431,
    NR_FSMOUNT = 432,
    NR_OPENAT2 = 437,
    NR_MOUNT_SETATTR = 442,

    TREE_CLONE = 1,
    TREE_RECURSIVE = 0x8000,
    MOVE_FROM_EMPTY_PATH = 0x4,
    MOVE_TO_EMPTY_PATH = 0x40,
    CONFIG_SET_STRING = 1,
    CONFIG_CREATE = 6,
    FSOPEN_WITH_CLOEXEC = 1,
    FSMOUNT_WITH_CLOEXEC = 1,
    NO_MAGIC_LINKS = 0x2,
    NO_LINKS = 0x4,
};

struct mount_attributes {
    uint64_t set, clear, propagation, user_namespace;
};

struct how_to_open {
    uint64_t flags, mode, resolve;
};

int mount_open_path(const char *path)
{
    const struct how_to_open how = { .flags = O_PATH | O_CLOEXEC,
        .resolve = NO_LINKS | NO_MAGIC_LINKS };
    return (int)syscall(NR_OPENAT2, AT_FDCWD, path, &how, sizeof(how));
}

int mount_copy(int fd)
{
    return (int)syscall(NR_OPEN_TREE, fd, "",
            TREE_CLONE | TREE_RECURSIVE | AT_EMPTY_PATH | O_CLOEXEC);
}

static bool configure(int fs, const char *key, const char *value)
{
    return !syscall(NR_FSCONFIG, fs, CONFIG_SET_STRING, key, value, 0);
}

static int create(int fs, enum mount_flags flags)
{
    if (syscall(NR_FSCONFIG, fs, CONFIG_CREATE, NULL, NULL, 0))
        return -1;
    return (int)syscall(NR_FSMOUNT, fs, FSMOUNT_WITH_CLOEXEC, (unsigned)flags);
}

int mount_memory(unsigned mode, uint64_t bytes, enum mount_flags flags)
{
    char octal[16], size[32];
    snprintf(octal, sizeof(octal), "%o", mode);
    snprintf(size, sizeof(size), "%llu", (unsigned long long)bytes);
    auto_fd int fs = (int)syscall(NR_FSOPEN, "tmpfs", FSOPEN_WITH_CLOEXEC);
    if (fs < 0 || !configure(fs, "mode", octal) ||
            (bytes && !configure(fs, "size", size)))
        return -1;
    return create(fs, flags);
}

int mount_terminals(enum mount_flags flags)
{
    auto_fd int fs = (int)syscall(NR_FSOPEN, "devpts", FSOPEN_WITH_CLOEXEC);
    if (fs < 0 || !configure(fs, "mode", "0620") || !configure(fs, "ptmxmode", "0666"))
        return -1;
    return create(fs, flags);
}

static int set_flags(int fd, const char *path, enum mount_flags flags)
{
    const struct mount_attributes attributes = { .set = flags };
    if (syscall(NR_MOUNT_SETATTR, fd, path, AT_EMPTY_PATH | TREE_RECURSIVE, &attributes,
                sizeof(attributes)))
        return errno;
    return 0;
}

int mount_restrict(int fd, enum mount_flags flags)
{
    return set_flags(fd, "", flags);
}

int mount_restrict_all(enum mount_flags flags)
{
    return set_flags(AT_FDCWD, "/", flags);
}

int mount_attach(int tree, int target)
{
    if (syscall(NR_MOVE_MOUNT, tree, "", target, "",
                MOVE_FROM_EMPTY_PATH | MOVE_TO_EMPTY_PATH))
        return errno;
    return 0;
}
