/*
 * Each canary is a raw system call: it must meet the kernel as hostile code would, and
 * leave no trace where it works after all.
 */
#include "confine/parts.h"
#include "confine/view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_root(const struct confine_request *request, const char *path)
{
    struct stat want, have;
    if (stat(path, &want) < 0)
        return false;
    for (size_t i = 0; i < request->root_count; i++)
        if (!fstat(request->roots[i].fd, &have) && have.st_dev == want.st_dev &&
                have.st_ino == want.st_ino)
            return true;
    return false;
}

static void note(
        struct confine_status *status, enum confine_property property, bool escaped)
{
    status->canary_tried |= 1u << property;
    if (escaped)
        status->canary_escaped |= 1u << property;
}

static bool can_open(int dirfd, const char *path, int flags)
{
    auto_fd int fd = openat(dirfd, path, flags | O_CLOEXEC, 0600);
    return fd >= 0;
}

/* O_TMPFILE: where it works nevertheless, the file has no name and is gone again. */
static bool can_write_in(int dirfd, const char *folder)
{
    return can_open(dirfd, folder, O_TMPFILE | O_RDWR);
}

static bool is_same(int a, int b)
{
    struct stat x, y;
    return !fstat(a, &x) && !fstat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* By another root than this one, which only reads. */
static bool may_be_written(const struct confine_request *request, int fd)
{
    for (size_t i = 0; i < request->root_count; i++)
        if (request->roots[i].writable && is_same(request->roots[i].fd, fd))
            return true;
    return false;
}

static void try_files(
        const struct confine_request *request, struct confine_status *status)
{
    for (size_t i = 0; i < request->root_count; i++)
        if (!request->roots[i].writable && !may_be_written(request, request->roots[i].fd))
            note(status, CONFINE_WRITES, can_write_in(request->roots[i].fd, "."));
    if (is_root(request, "/"))
        return; /* nothing is outside */
    note(status, CONFINE_WRITES, can_write_in(AT_FDCWD, "/"));
    note(status, CONFINE_READS, can_open(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY));
    if (!is_root(request, "/tmp"))
        note(status, CONFINE_WRITES, can_write_in(AT_FDCWD, "/tmp"));
    if (!is_root(request, "/etc"))
        note(status, CONFINE_READS, can_open(AT_FDCWD, "/etc/passwd", O_RDONLY));
}

static bool has_entries(const char *folder)
{
    char entries[512]; /* room for "." and "..", and then some */
    auto_fd int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    long size = fd < 0 ? 0 : syscall(SYS_getdents64, fd, entries, sizeof(entries));
    return size > 2 * 24;
}

static bool can_read(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return false;
    if (S_ISDIR(st.st_mode))
        return has_entries(path);
    return S_ISREG(st.st_mode) && can_open(AT_FDCWD, path, O_RDONLY);
}

static bool can_change(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return false;
    return S_ISDIR(st.st_mode) ? can_write_in(AT_FDCWD, path)
                               : can_open(AT_FDCWD, path, O_WRONLY | O_NONBLOCK);
}

static void try_view(const struct view_request *view, struct confine_status *status)
{
    for (size_t i = 0; i < view->path_count; i++) {
        const struct view_path *path = &view->paths[i];
        if (path->rule == VIEW_READ_ONLY)
            note(status, CONFINE_PROTECTED, can_change(path->path));
        else if (path->rule == VIEW_HIDDEN)
            note(status, CONFINE_SECRETS, can_read(path->path));
    }
}

static bool can_fork(void)
{
    long pid = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid < 0)
        return false;
    if (!pid)
        syscall(SYS_exit_group, 0);
    waitpid((pid_t)pid, NULL, 0);
    return true;
}

static bool can_exec(void)
{
    char *none[] = { NULL };
    return execve("/dev/null/none", none, none) < 0 && errno != EPERM;
}

static bool can_open_socket(void)
{
    auto_fd int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return fd >= 0;
}

static bool can_allocate(uint64_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    munmap(p, size);
    return true;
}

static bool can_map(int fd, int protection, int flags)
{
    void *p = mmap(NULL, 1, protection, flags, fd, 0);
    if (p == MAP_FAILED)
        return false;
    munmap(p, 1);
    return true;
}

/* What is written in a root, as code; the file has no name. */
static bool can_map_written(const struct confine_request *request)
{
    for (size_t i = 0; i < request->root_count; i++) {
        if (!request->roots[i].writable)
            continue;
        auto_fd int fd =
                openat(request->roots[i].fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0 && write(fd, "\xc3", 1) == 1 &&
                can_map(fd, PROT_READ | PROT_EXEC, MAP_PRIVATE))
            return true;
    }
    return false;
}

static bool can_make_code(const struct confine_request *request, bool is_sealed_later)
{
    const int memory = MAP_PRIVATE | MAP_ANONYMOUS;
    return can_map(-1, PROT_READ | PROT_WRITE | PROT_EXEC, memory) ||
           (!is_sealed_later && can_map_written(request));
}

void canaries_run(const struct confine_request *request, struct confine_status *status)
{
    try_files(request, status);
    if (request->view)
        try_view(request->view, status);
    note(status, CONFINE_EXEC, can_exec() || can_fork());
    note(status, CONFINE_NETWORK, can_open_socket());
    note(status, CONFINE_SIGNALS, !kill(getppid(), 0));
    if (!status->no_memory_limit)
        note(status, CONFINE_MEMORY, can_allocate(request->max_memory));
    if (request->interpreter)
        note(status, CONFINE_CODE, can_make_code(request, status->needs_seal));
    int signal_number = 0;
    if (!status->is_independent && !prctl(PR_GET_PDEATHSIG, &signal_number, 0, 0, 0))
        note(status, CONFINE_KILL, signal_number != SIGKILL);
}
