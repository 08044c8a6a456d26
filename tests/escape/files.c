#include "escape.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>
#include <utime.h>

int outcome_fd(long fd)
{
    if (fd < 0)
        return errno;
    close((int)fd);
    return 0;
}

const char *outside(const struct cage *cage, const char *name)
{
    static char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", cage->outside, name);
    return path;
}

const char *inside(const struct cage *cage, const char *name)
{
    static char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", cage->inside, name);
    return path;
}

static int read_at(int dirfd, const char *path)
{
    return outcome_fd(openat(dirfd, path, O_RDONLY | O_CLOEXEC));
}

static int write_at(int dirfd, const char *path, int flags)
{
    return outcome_fd(openat(dirfd, path, flags | O_CLOEXEC, 0600));
}

static int read_behind(const struct cage *cage, const char *prefix)
{
    char path[2 * PATH_MAX];
    snprintf(path, sizeof(path), "%s%s", prefix, cage->secret);
    return read_at(AT_FDCWD, path);
}

static int read_parent(const struct cage *cage, const char *name)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", cage->parent, name);
    return read_at(AT_FDCWD, path);
}

/* --- reading ------------------------------------------------------------------------ */

static int absolute(const struct cage *cage)
{
    return read_at(AT_FDCWD, cage->secret);
}

static int dot_dot(const struct cage *cage)
{
    return read_at(cage->root, "../outside/secret");
}

static int legacy_open(const struct cage *cage)
{
#ifdef SYS_open
    return outcome_fd(syscall(SYS_open, cage->secret, O_RDONLY | O_CLOEXEC));
#else
    return absolute(cage);
#endif
}

static int link_up(const struct cage *cage)
{
    return read_at(cage->root, "link-up");
}

static int link_abs(const struct cage *cage)
{
    return read_at(cage->root, "link-abs");
}

static int link_made(const struct cage *cage)
{
    if (symlinkat(cage->secret, cage->root, "link-made"))
        return 0; /* not refused for the reason that is meant */
    return read_at(cage->root, "link-made");
}

static int link_to_directory(const struct cage *cage)
{
    if (symlinkat("/", cage->root, "link-root"))
        return 0;
    return read_at(cage->root, "link-root/etc/passwd");
}

static int openat2_beneath_nothing(const struct cage *cage)
{
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC };
    return outcome_fd(syscall(SYS_openat2, AT_FDCWD, cage->secret, &how, sizeof(how)));
}

static int openat2_in_root(const struct cage *cage)
{
    struct open_how how = { .flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT };
    return outcome_fd(
            syscall(SYS_openat2, cage->outside_dir, "secret", &how, sizeof(how)));
}

static int inherited_directory(const struct cage *cage)
{
    return read_at(cage->outside_dir, "secret");
}

static int fchdir_outside(const struct cage *cage)
{
    if (fchdir(cage->outside_dir))
        return 0;
    return read_at(AT_FDCWD, "secret");
}

static int proc_self_root(const struct cage *cage)
{
    return read_behind(cage, "/proc/self/root");
}

static int proc_thread_root(const struct cage *cage)
{
    return read_behind(cage, "/proc/thread-self/root");
}

static int proc_self_cwd(const struct cage *cage)
{
    return read_behind(cage, "/proc/self/cwd/");
}

static int proc_parent_root(const struct cage *cage)
{
    char prefix[64];
    snprintf(prefix, sizeof(prefix), "/proc/%d/root", cage->parent);
    return read_behind(cage, prefix);
}

static int proc_self_fd(const struct cage *cage)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d/secret", cage->outside_dir);
    return read_at(AT_FDCWD, path);
}

static int parent_environ(const struct cage *cage)
{
    return read_parent(cage, "environ");
}

static int parent_memory(const struct cage *cage)
{
    return read_parent(cage, "mem");
}

static int parent_maps(const struct cage *cage)
{
    return read_parent(cage, "maps");
}

static int parent_cmdline(const struct cage *cage)
{
    return read_parent(cage, "cmdline");
}

static int init_environ(const struct cage *cage UNUSED)
{
    return read_at(AT_FDCWD, "/proc/1/environ");
}

static int own_environ(const struct cage *cage UNUSED)
{
    return read_at(AT_FDCWD, "/proc/self/environ");
}

static int list_root(const struct cage *cage UNUSED)
{
    return read_at(AT_FDCWD, "/");
}

static int list_outside(const struct cage *cage)
{
    return read_at(cage->outside_dir, ".");
}

static int list_parent(const struct cage *cage)
{
    return read_at(cage->root, "..");
}

static int passwd(const struct cage *cage UNUSED)
{
    return read_at(AT_FDCWD, "/etc/passwd");
}

static int device_memory(const struct cage *cage UNUSED)
{
    return read_at(AT_FDCWD, "/dev/null");
}

static int link_in(const struct cage *cage)
{
    return outcome(linkat(AT_FDCWD, cage->secret, cage->root, "stolen", 0));
}

static int link_in_by_fd(const struct cage *cage)
{
    auto_fd int fd = openat(cage->outside_dir, "secret", O_PATH | O_CLOEXEC);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return outcome(linkat(AT_FDCWD, path, cage->root, "stolen", AT_SYMLINK_FOLLOW));
}

static int rename_in(const struct cage *cage)
{
    return outcome(renameat(cage->outside_dir, "secret", cage->root, "stolen"));
}

static int reopen_path_fd(const struct cage *cage)
{
    auto_fd int fd = openat(cage->outside_dir, "secret", O_PATH | O_CLOEXEC);
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return read_at(AT_FDCWD, path);
}

static int read_path_fd(const struct cage *cage)
{
    auto_fd int fd = openat(cage->outside_dir, "secret", O_PATH | O_CLOEXEC);
    char byte;
    return outcome(read(fd, &byte, 1));
}

static int handle_of(const struct cage *cage)
{
    union {
        struct file_handle head;
        char space[sizeof(struct file_handle) + MAX_HANDLE_SZ];
    } handle = { .head.handle_bytes = MAX_HANDLE_SZ };
    int mount;
    return outcome(name_to_handle_at(AT_FDCWD, cage->secret, &handle.head, &mount, 0));
}

static int open_handle(const struct cage *cage)
{
    struct file_handle handle = { 0 };
    return outcome_fd(open_by_handle_at(cage->outside_dir, &handle, O_RDONLY));
}

static int read_xattr(const struct cage *cage)
{
    char value[64];
    return outcome(getxattr(cage->secret, "user.x", value, sizeof(value)));
}

const struct attempt read_attempts[] = {
    { "read by absolute path", RULE_READS, absolute, false },
    { "read by ..", RULE_READS, dot_dot, false },
    { "read by the old open call", RULE_READS, legacy_open, false },
    { "read through a relative link", RULE_READS, link_up, false },
    { "read through an absolute link", RULE_READS, link_abs, false },
    { "read through a link made now", RULE_READS, link_made, false },
    { "read through a link to /", RULE_READS, link_to_directory, false },
    { "read by openat2", RULE_READS, openat2_beneath_nothing, false },
    { "read by openat2, another root", RULE_READS, openat2_in_root, false },
    { "read by an inherited directory", RULE_READS, inherited_directory, false },
    { "read after fchdir", RULE_READS, fchdir_outside, false },
    { "read by /proc/self/root", RULE_READS, proc_self_root, false },
    { "read by /proc/thread-self/root", RULE_READS, proc_thread_root, false },
    { "read by /proc/self/cwd", RULE_READS, proc_self_cwd, false },
    { "read by /proc/PARENT/root", RULE_READS, proc_parent_root, false },
    { "read by /proc/self/fd", RULE_READS, proc_self_fd, false },
    { "reopen an O_PATH descriptor", RULE_READS, reopen_path_fd, false },
    { "read an O_PATH descriptor", RULE_OPATH, read_path_fd, false },
    { "read the parent's environment", RULE_READS, parent_environ, false },
    { "read the parent's memory", RULE_READS, parent_memory, false },
    { "read the parent's maps", RULE_READS, parent_maps, false },
    { "read the parent's command line", RULE_READS, parent_cmdline, false },
    { "read the environment of process 1", RULE_READS, init_environ, false },
    { "read the own environment", RULE_READS, own_environ, false },
    { "read /etc/passwd", RULE_READS, passwd, false },
    { "open a device", RULE_READS, device_memory, false },
    { "list /", RULE_READS, list_root, false },
    { "list a folder outside", RULE_READS, list_outside, false },
    { "list the root's parent", RULE_READS, list_parent, false },
    { "link a secret in", RULE_BOUNDARY, link_in, false },
    { "link an O_PATH descriptor in", RULE_BOUNDARY, link_in_by_fd, false },
    { "rename a secret in", RULE_BOUNDARY, rename_in, false },
    { "ask for a file handle", RULE_CALL, handle_of, false },
    { "open a file handle", RULE_CALL, open_handle, false },
    { "read an attribute by path", RULE_CALL, read_xattr, false },
    { 0 },
};

/* --- writing ------------------------------------------------------------------------ */

static int write_secret(const struct cage *cage)
{
    return write_at(AT_FDCWD, cage->secret, O_WRONLY);
}

static int append_secret(const struct cage *cage)
{
    return write_at(cage->outside_dir, "secret", O_WRONLY | O_APPEND);
}

static int empty_secret(const struct cage *cage)
{
    return write_at(AT_FDCWD, cage->secret, O_RDONLY | O_TRUNC);
}

static int empty_secret_openat2(const struct cage *cage)
{
    struct open_how how = { .flags = O_RDONLY | O_TRUNC | O_CLOEXEC };
    return outcome_fd(syscall(SYS_openat2, AT_FDCWD, cage->secret, &how, sizeof(how)));
}

static int truncate_secret(const struct cage *cage)
{
    return outcome(truncate(cage->secret, 0));
}

static int create_outside(const struct cage *cage)
{
    return write_at(AT_FDCWD, outside(cage, "new"), O_WRONLY | O_CREAT | O_EXCL);
}

static int create_by_dot_dot(const struct cage *cage)
{
    return write_at(cage->root, "../outside/new", O_WRONLY | O_CREAT | O_EXCL);
}

static int create_nameless(const struct cage *cage)
{
    return write_at(AT_FDCWD, cage->outside, O_RDWR | O_TMPFILE);
}

static int create_in_shm(const struct cage *cage UNUSED)
{
    return write_at(AT_FDCWD, "/dev/shm", O_RDWR | O_TMPFILE);
}

static int write_through_link(const struct cage *cage)
{
    return write_at(cage->root, "link-up", O_WRONLY);
}

static int mkdir_outside(const struct cage *cage)
{
    return outcome(mkdirat(cage->outside_dir, "new", 0700));
}

static int unlink_outside(const struct cage *cage)
{
    return outcome(unlinkat(cage->outside_dir, "secret", 0));
}

static int rmdir_outside(const struct cage *cage)
{
    return outcome(unlinkat(cage->outside_dir, "empty", AT_REMOVEDIR));
}

static int symlink_outside(const struct cage *cage)
{
    return outcome(symlinkat("x", cage->outside_dir, "new"));
}

static int rename_out(const struct cage *cage)
{
    return outcome(renameat(cage->root, "file", cage->outside_dir, "new"));
}

static int rename_over(const struct cage *cage)
{
    return outcome(renameat(cage->root, "file", cage->outside_dir, "secret"));
}

static int rename_exchange(const struct cage *cage)
{
    return outcome(syscall(SYS_renameat2, cage->root, "file", cage->outside_dir, "secret",
            RENAME_EXCHANGE));
}

static int rename_outside(const struct cage *cage)
{
    return outcome(renameat(cage->outside_dir, "secret", cage->outside_dir, "new"));
}

static int rename_root(const struct cage *cage)
{
    return outcome(renameat(AT_FDCWD, cage->inside, AT_FDCWD, outside(cage, "new")));
}

static int link_out(const struct cage *cage)
{
    return outcome(linkat(cage->root, "file", cage->outside_dir, "new", 0));
}

static int proc_self_memory(const struct cage *cage UNUSED)
{
    return write_at(AT_FDCWD, "/proc/self/mem", O_RDWR);
}

static int proc_sys(const struct cage *cage UNUSED)
{
    return write_at(AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY);
}

static int chmod_outside(const struct cage *cage)
{
#ifdef SYS_chmod
    return outcome(syscall(SYS_chmod, cage->secret, 0600));
#else
    return outcome(fchmodat(AT_FDCWD, cage->secret, 0600, 0));
#endif
}

static int fchmodat_outside(const struct cage *cage)
{
    return outcome(fchmodat(cage->outside_dir, "secret", 0600, 0));
}

static int fchmodat2_outside(const struct cage *cage)
{
    return outcome(syscall(452, cage->outside_dir, "secret", 0600, 0));
}

static int fchmod_path_fd(const struct cage *cage)
{
    auto_fd int fd = openat(cage->outside_dir, "secret", O_PATH | O_CLOEXEC);
    return outcome(fchmod(fd, 0600));
}

static int futimens_path_fd(const struct cage *cage)
{
    auto_fd int fd = openat(cage->outside_dir, "secret", O_PATH | O_CLOEXEC);
    return outcome(syscall(SYS_utimensat, fd, NULL, NULL, 0));
}

static int utime_outside(const struct cage *cage)
{
    return outcome(utimensat(cage->outside_dir, "secret", NULL, 0));
}

static int utime_empty_path(const struct cage *cage)
{
    auto_fd int fd = openat(cage->outside_dir, "secret", O_PATH | O_CLOEXEC);
    return outcome(syscall(SYS_utimensat, fd, "", NULL, AT_EMPTY_PATH));
}

static int chown_outside(const struct cage *cage)
{
    return outcome(fchownat(cage->outside_dir, "secret", geteuid(), getegid(), 0));
}

static int set_xattr(const struct cage *cage)
{
    return outcome(setxattr(cage->secret, "user.x", "y", 1, 0));
}

static int set_uid_bit(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "file", O_RDONLY | O_CLOEXEC);
    return outcome(fchmod(fd, 04755));
}

static int set_gid_bit(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "file", O_RDONLY | O_CLOEXEC);
    return outcome(fchmod(fd, 02755));
}

/* openat2 takes the mode from memory, where no filter sees it. */
static int create_with_uid_bit(const struct cage *cage)
{
    struct open_how how = {
        .flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
        .mode = 04755,
    };
    auto_fd int fd = (int)syscall(SYS_openat2, cage->root, "set-uid", &how, sizeof(how));
    struct stat st;
    if (fd < 0 || write(fd, "#!/bin/sh\n", 10) != 10 || fstat(fd, &st))
        return 0;
    return st.st_mode & 06000 ? 0 : EPERM;
}

static int mknod_inside(const struct cage *cage)
{
    return outcome(mknodat(cage->root, "null", S_IFCHR | 0600, 0x103));
}

static int mkfifo_inside(const struct cage *cage)
{
    return outcome(mknodat(cage->root, "fifo", S_IFIFO | 0600, 0));
}

static int create_read_only(const struct cage *cage)
{
    return write_at(cage->root, "new", O_WRONLY | O_CREAT);
}

static int write_read_only(const struct cage *cage)
{
    return write_at(cage->root, "file", O_WRONLY);
}

static int empty_read_only(const struct cage *cage)
{
    return write_at(cage->root, "file", O_RDONLY | O_TRUNC);
}

static int unlink_read_only(const struct cage *cage)
{
    return outcome(unlinkat(cage->root, "file", 0));
}

static int rename_read_only(const struct cage *cage)
{
    return outcome(renameat(cage->root, "file", cage->root, "dir/file"));
}

/* Landlock does not look at these, and they need no descriptor for writing. */
static int chmod_read_only(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "file", O_RDONLY | O_CLOEXEC);
    return outcome(fchmod(fd, 0640));
}

static int chown_read_only(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "file", O_RDONLY | O_CLOEXEC);
    return outcome(fchown(fd, getuid(), getgid()));
}

static int set_times_read_only(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "file", O_RDONLY | O_CLOEXEC);
    return outcome(futimens(fd, NULL));
}

static int set_xattr_read_only(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "file", O_RDONLY | O_CLOEXEC);
    return outcome(fsetxattr(fd, "user.x", "y", 1, 0));
}

const struct attempt write_attempts[] = {
    { "write by absolute path", RULE_WRITES, write_secret, false },
    { "append by an inherited directory", RULE_WRITES, append_secret, false },
    { "empty a file that is only read", RULE_WRITES, empty_secret, false },
    { "the same by openat2", RULE_WRITES, empty_secret_openat2, false },
    { "truncate by path", RULE_CALL, truncate_secret, false },
    { "create outside", RULE_WRITES, create_outside, false },
    { "create by ..", RULE_WRITES, create_by_dot_dot, false },
    { "create without a name", RULE_WRITES, create_nameless, false },
    { "create in /dev/shm", RULE_WRITES, create_in_shm, false },
    { "write through a link", RULE_WRITES, write_through_link, false },
    { "make a folder outside", RULE_WRITES, mkdir_outside, false },
    { "remove a file outside", RULE_WRITES, unlink_outside, false },
    { "remove a folder outside", RULE_WRITES, rmdir_outside, false },
    { "make a link outside", RULE_WRITES, symlink_outside, false },
    { "rename out", RULE_BOUNDARY, rename_out, false },
    { "rename over a file outside", RULE_BOUNDARY, rename_over, false },
    { "exchange with a file outside", RULE_BOUNDARY, rename_exchange, false },
    { "rename outside", RULE_WRITES, rename_outside, false },
    { "rename the root itself", RULE_BOUNDARY, rename_root, false },
    { "link out", RULE_BOUNDARY, link_out, false },
    { "write the own memory as a file", RULE_WRITES, proc_self_memory, false },
    { "write a setting of the kernel", RULE_WRITES, proc_sys, false },
    { "chmod by path", RULE_CALL, chmod_outside, false },
    { "fchmodat", RULE_CALL, fchmodat_outside, false },
    { "fchmodat2", RULE_ABSENT, fchmodat2_outside, false },
    { "fchmod of an O_PATH descriptor", RULE_OPATH, fchmod_path_fd, false },
    { "futimens of an O_PATH descriptor", RULE_OPATH, futimens_path_fd, false },
    { "set times by path", RULE_ARGUMENT, utime_outside, false },
    { "set times by an empty path", RULE_ARGUMENT, utime_empty_path, false },
    { "chown by path", RULE_CALL, chown_outside, false },
    { "set an attribute by path", RULE_CALL, set_xattr, false },
    { "set the set-user-id bit", RULE_ARGUMENT, set_uid_bit, false },
    { "set the set-group-id bit", RULE_ARGUMENT, set_gid_bit, false },
    { "fill a file made set-user-id", RULE_SET_ID, create_with_uid_bit, false },
    { "make a device", RULE_CALL, mknod_inside, false },
    { "make a FIFO", RULE_CALL, mkfifo_inside, false },
    { "create in a read-only root", RULE_WRITES, create_read_only, true },
    { "write in a read-only root", RULE_WRITES, write_read_only, true },
    { "empty a file in a read-only root", RULE_WRITES, empty_read_only, true },
    { "remove in a read-only root", RULE_WRITES, unlink_read_only, true },
    { "rename in a read-only root", RULE_WRITES, rename_read_only, true },
    { "chmod in a read-only root", RULE_CALL, chmod_read_only, true },
    { "chown in a read-only root", RULE_CALL, chown_read_only, true },
    { "set times in a read-only root", RULE_CALL, set_times_read_only, true },
    { "set an attribute in a read-only root", RULE_CALL, set_xattr_read_only, true },
    { 0 },
};
