#include "hostile.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Undo what worked, so that the next attempt finds everything as it was. */
static bool undo_file(const char *path, bool made)
{
    if (made)
        unlink(path);
    return made;
}

static bool outside_write(const struct prey *p)
{
    return can_open(outside(p, "file"), O_WRONLY);
}

static bool outside_truncate_open(const struct prey *p)
{
    return can_open(outside(p, "victim"), O_RDONLY | O_TRUNC);
}

static bool outside_truncate(const struct prey *p)
{
    return !truncate(outside(p, "victim"), 0);
}

static bool outside_create(const struct prey *p)
{
    return undo_file(outside(p, "new"), can_open(outside(p, "new"), O_WRONLY | O_CREAT));
}

static bool outside_tmpfile(const struct prey *p)
{
    return can_open(p->outside, O_TMPFILE | O_RDWR);
}

static bool outside_folder(const struct prey *p)
{
    return !mkdir(outside(p, "new"), 0755) && !rmdir(outside(p, "new"));
}

static bool outside_fifo(const struct prey *p)
{
    return undo_file(outside(p, "new"), !mkfifo(outside(p, "new"), 0600));
}

static bool outside_symlink(const struct prey *p)
{
    return undo_file(outside(p, "new"), !symlink("x", outside(p, "new")));
}

static bool outside_unlink(const struct prey *p)
{
    return !unlink(outside(p, "victim"));
}

static bool outside_rename_out(const struct prey *p)
{
    can_open("mine", O_WRONLY | O_CREAT);
    bool moved = undo_file(outside(p, "mine"), !rename("mine", outside(p, "mine")));
    unlink("mine");
    return moved;
}

static bool outside_rename_in(const struct prey *p)
{
    return !rename(outside(p, "file"), "taken") && !rename("taken", outside(p, "file"));
}

static bool outside_exchange(const struct prey *p)
{
    can_open("mine", O_WRONLY | O_CREAT);
    bool moved =
            !renameat2(AT_FDCWD, "mine", AT_FDCWD, outside(p, "file"), RENAME_EXCHANGE);
    unlink("mine");
    return moved;
}

static bool outside_link_in(const struct prey *p)
{
    return undo_file("linked", !link(outside(p, "file"), "linked"));
}

static bool outside_link_out(const struct prey *p)
{
    can_open("mine", O_WRONLY | O_CREAT);
    bool linked = undo_file(outside(p, "new"), !link("mine", outside(p, "new")));
    unlink("mine");
    return linked;
}

static bool outside_by_symlink(const struct prey *p)
{
    if (symlink(outside(p, "file"), "way"))
        return false;
    return undo_file("way", can_open("way", O_WRONLY)) || unlink("way");
}

static bool outside_by_folder_descriptor(const struct prey *p UNUSED)
{
    auto_fd int ws = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd int fd = openat(ws, "../outside/file", O_WRONLY | O_CLOEXEC);
    return fd >= 0;
}

static bool outside_reopen(const struct prey *p)
{
    char path[64];
    auto_fd int fd = open(outside(p, "file"), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return can_open(path, O_WRONLY);
}

static bool outside_by_proc_root(const struct prey *p)
{
    char path[600];
    snprintf(path, sizeof(path), "/proc/self/root%s", outside(p, "file"));
    return can_open(path, O_WRONLY);
}

static bool outside_socket(const struct prey *p)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", outside(p, "new"));
    return undo_file(
            outside(p, "new"), !bind(fd, (struct sockaddr *)&address, sizeof(address)));
}

static bool move_workspace(const struct prey *p)
{
    return !rename("../ws", outside(p, "ws"));
}

static bool write_sysctl(const struct prey *p UNUSED)
{
    return can_open("/proc/sys/kernel/core_pattern", O_WRONLY) ||
           can_open("/proc/sysrq-trigger", O_WRONLY) ||
           can_open("/sys/kernel/uevent_helper", O_WRONLY) ||
           can_open("/sys/fs/cgroup/cgroup.procs", O_WRONLY);
}

static bool outside_chmod(const struct prey *p)
{
    return !chmod(outside(p, "file"), 0600);
}

static bool outside_chown(const struct prey *p)
{
    return !chown(outside(p, "file"), getuid(), getgid());
}

static bool outside_times(const struct prey *p)
{
    return !utimensat(AT_FDCWD, outside(p, "file"), NULL, 0);
}

static bool outside_attribute(const struct prey *p)
{
    return !setxattr(outside(p, "file"), "user.x", "y", 1, 0);
}

static bool protected_write(const struct prey *p UNUSED)
{
    return can_open(".git/config", O_WRONLY);
}

static bool protected_truncate(const struct prey *p UNUSED)
{
    return can_open(".git/config", O_RDONLY | O_TRUNC) || !truncate(".git/config", 0);
}

static bool protected_create(const struct prey *p UNUSED)
{
    return undo_file(".git/new", can_open(".git/new", O_WRONLY | O_CREAT));
}

static bool protected_rename(const struct prey *p UNUSED)
{
    return !rename(".git", "moved") && !rename("moved", ".git");
}

static bool protected_exchange(const struct prey *p UNUSED)
{
    mkdir("mine", 0755);
    bool done = !renameat2(AT_FDCWD, "mine", AT_FDCWD, ".git", RENAME_EXCHANGE) &&
                !renameat2(AT_FDCWD, "mine", AT_FDCWD, ".git", RENAME_EXCHANGE);
    rmdir("mine");
    return done;
}

static bool protected_move_into(const struct prey *p UNUSED)
{
    can_open("mine", O_WRONLY | O_CREAT);
    bool moved = undo_file(".git/mine", !rename("mine", ".git/mine"));
    unlink("mine");
    return moved;
}

static bool protected_link(const struct prey *p UNUSED)
{
    return undo_file("linked", !link(".git/config", "linked"));
}

static bool protected_unlink(const struct prey *p UNUSED)
{
    return !unlink(".git/victim");
}

static bool protected_by_symlink(const struct prey *p UNUSED)
{
    if (symlink(".git/config", "way"))
        return false;
    return undo_file("way", can_open("way", O_WRONLY)) || unlink("way");
}

static bool protected_by_cwd(const struct prey *p UNUSED)
{
    return can_open("/proc/self/cwd/.git/config", O_WRONLY);
}

static bool protected_metadata(const struct prey *p UNUSED)
{
    return !chmod(".git/config", 0644) || !chown(".git/config", getuid(), getgid()) ||
           !utimensat(AT_FDCWD, ".git/config", NULL, 0) ||
           !setxattr(".git/config", "user.x", "y", 1, 0);
}

static bool protected_by_descriptor(const struct prey *p UNUSED)
{
    auto_fd int fd = open(".git/config", O_RDONLY | O_CLOEXEC);
    return !fchmod(fd, 0644) || !futimens(fd, NULL) ||
           !fsetxattr(fd, "user.x", "y", 1, 0);
}

static bool ancestor_rename(const struct prey *p UNUSED)
{
    return !rename("deep", "moved") && !rename("moved", "deep");
}

static bool ancestor_exchange(const struct prey *p UNUSED)
{
    mkdir("mine", 0755);
    bool done = !renameat2(AT_FDCWD, "mine", AT_FDCWD, "deep", RENAME_EXCHANGE) &&
                !renameat2(AT_FDCWD, "mine", AT_FDCWD, "deep", RENAME_EXCHANGE);
    rmdir("mine");
    return done;
}

static bool protected_deep(const struct prey *p UNUSED)
{
    return can_open("deep/scripts/run", O_WRONLY) ||
           (!rename("deep/scripts", "moved") && !rename("moved", "deep/scripts"));
}

static bool hidden_read(const struct prey *p UNUSED)
{
    struct stat st;
    return can_open("secret/key", O_RDONLY) || !stat("secret/key", &st);
}

static bool hidden_file_read(const struct prey *p UNUSED)
{
    return can_open(".env", O_RDONLY);
}

static bool hidden_by_symlink(const struct prey *p UNUSED)
{
    if (symlink("secret/key", "way"))
        return false;
    return undo_file("way", can_open("way", O_RDONLY)) || unlink("way");
}

static bool hidden_by_proc(const struct prey *p)
{
    char path[600];
    snprintf(path, sizeof(path), "/proc/self/root%s/../ws/.env", p->outside);
    if (can_open(path, O_RDONLY) || can_open("/proc/self/cwd/.env", O_RDONLY))
        return true;
    snprintf(path, sizeof(path), "/proc/1/root%s/../ws/.env", p->outside);
    if (can_open(path, O_RDONLY))
        return true;
    snprintf(path, sizeof(path), "/proc/%d/root%s/../ws/.env", p->server, p->outside);
    return can_open(path, O_RDONLY);
}

static bool hidden_link(const struct prey *p UNUSED)
{
    return undo_file("linked", !link(".env", "linked"));
}

static bool hidden_rename(const struct prey *p UNUSED)
{
    return (!rename(".env", "moved") && !rename("moved", ".env")) ||
           (!rename("secret", "moved") && !rename("moved", "secret"));
}

static bool hidden_write(const struct prey *p UNUSED)
{
    return can_open(".env", O_WRONLY) || can_open("secret/new", O_WRONLY | O_CREAT);
}

static bool set_id_chmod(const struct prey *p UNUSED)
{
    can_open("mine", O_WRONLY | O_CREAT);
    auto_fd int fd = open("mine", O_RDONLY | O_CLOEXEC);
    bool done = !chmod("mine", 04755) || !fchmod(fd, 02755) ||
                !fchmodat(AT_FDCWD, "mine", 06755, 0) ||
                !syscall(452, AT_FDCWD, "mine", 04755, 0);
    unlink("mine");
    return done;
}

static bool set_id_create(const struct prey *p UNUSED)
{
    auto_fd int fd = open("mine", O_WRONLY | O_CREAT | O_CLOEXEC, 04755);
    auto_fd int other = openat(AT_FDCWD, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 04755);
    bool done = fd >= 0 || other >= 0 || creat("mine", 04755) >= 0 ||
                !mknod("mine", S_IFREG | 04755, 0);
    unlink("mine");
    return done;
}

const struct attempt file_attempts[] = {
    { "writes", "write a file outside", outside_write },
    { "writes", "open it for reading, and empty it", outside_truncate_open },
    { "writes", "empty it by name", outside_truncate },
    { "writes", "make a file outside", outside_create },
    { "writes", "make one without a name", outside_tmpfile },
    { "writes", "make a folder outside", outside_folder },
    { "writes", "make a FIFO outside", outside_fifo },
    { "writes", "make a link outside", outside_symlink },
    { "writes", "remove a file outside", outside_unlink },
    { "writes", "move a file out", outside_rename_out },
    { "writes", "move a file in", outside_rename_in },
    { "writes", "exchange a file with one outside", outside_exchange },
    { "writes", "link a file outside into the workspace", outside_link_in },
    { "writes", "link a file of the workspace outside", outside_link_out },
    { "writes", "write outside through a link", outside_by_symlink },
    { "writes", "write outside through '..' of a descriptor",
            outside_by_folder_descriptor },
    { "writes", "open a descriptor again, for writing", outside_reopen },
    { "writes", "write outside through /proc/self/root", outside_by_proc_root },
    { "writes", "listen on a socket outside", outside_socket },
    { "writes", "move the workspace", move_workspace },
    { "writes", "write to the kernel's files", write_sysctl },
    { "metadata", "chmod outside", outside_chmod },
    { "metadata", "chown outside", outside_chown },
    { "metadata", "set times outside", outside_times },
    { "metadata", "set an attribute outside", outside_attribute },
    { "protected", "write a protected file", protected_write },
    { "protected", "empty a protected file", protected_truncate },
    { "protected", "make a file in a protected folder", protected_create },
    { "protected", "rename a protected folder", protected_rename },
    { "protected", "exchange a protected folder", protected_exchange },
    { "protected", "move a file into a protected folder", protected_move_into },
    { "protected", "link a protected file", protected_link },
    { "protected", "remove a protected file", protected_unlink },
    { "protected", "write a protected file through a link", protected_by_symlink },
    { "protected", "write a protected file through /proc/self/cwd", protected_by_cwd },
    { "protected", "change a protected file's metadata", protected_metadata },
    { "protected", "change them through a descriptor", protected_by_descriptor },
    { "protected", "rename what a protected folder is in", ancestor_rename },
    { "protected", "exchange what a protected folder is in", ancestor_exchange },
    { "protected", "write or move a protected folder deep down", protected_deep },
    { "hidden", "read in a hidden folder", hidden_read },
    { "hidden", "read a hidden file", hidden_file_read },
    { "hidden", "read a hidden file through a link", hidden_by_symlink },
    { "hidden", "read a hidden file through /proc", hidden_by_proc },
    { "hidden", "link a hidden file", hidden_link },
    { "hidden", "rename what is hidden", hidden_rename },
    { "hidden", "write what is hidden", hidden_write },
    { "always", "make a file set-id", set_id_chmod },
    { "always", "create a file set-id", set_id_create },
    { NULL, NULL, NULL },
};
