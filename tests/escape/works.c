#define PCRE2_CODE_UNIT_WIDTH 8

#include "escape.h"

#include "vfs/vfs.h"

#include <dirent.h>
#include <fcntl.h>
#include <pcre2.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static void *square(void *number)
{
    *(int *)number *= *(int *)number;
    return NULL;
}

static int threads(const struct cage *cage UNUSED)
{
    pthread_t ids[2];
    int numbers[2] = { 3, 4 };
    for (int i = 0; i < 2; i++) {
        int error = pthread_create(&ids[i], NULL, square, &numbers[i]);
        if (error)
            return error;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(ids[i], NULL);
    return numbers[0] == 9 && numbers[1] == 16 ? 0 : EPROTO;
}

static int make_and_move(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "a", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);
    if (fd < 0 || write(fd, "text", 4) != 4 || ftruncate(fd, 2) || fsync(fd) ||
            mkdirat(cage->root, "d", 0755) ||
            renameat(cage->root, "a", cage->root, "d/b"))
        return errno;
    if (linkat(cage->root, "d/b", cage->root, "c", 0) ||
            symlinkat("d/b", cage->root, "s") || unlinkat(cage->root, "s", 0) ||
            unlinkat(cage->root, "c", 0) || unlinkat(cage->root, "d/b", 0) ||
            unlinkat(cage->root, "d", AT_REMOVEDIR))
        return errno;
    return 0;
}

static int read_and_list(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "file", O_RDONLY | O_CLOEXEC);
    char byte;
    struct stat st;
    if (fd < 0 || read(fd, &byte, 1) != 1 || fstatat(cage->root, "dir", &st, 0))
        return errno;
    int again = openat(cage->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = again < 0 ? NULL : fdopendir(again);
    if (!dir)
        return errno;
    int names = 0;
    while (readdir(dir))
        names++;
    closedir(dir);
    return names > 2 ? 0 : EPROTO;
}

/* Also of somebody else's file, when we are root: "file" belongs to nobody. */
static int change_metadata(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "file", O_RDWR | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) || fchmod(fd, 0666) || futimens(fd, NULL) ||
            fchown(fd, st.st_uid, st.st_gid))
        return errno;
    const struct timespec times[2] = { { 1, 2 }, { 3, 4 } };
    if (futimens(fd, times))
        return errno;
    /* tmpfs may not have user attributes. */
    return fsetxattr(fd, "user.x", "y", 1, 0) && errno != EOPNOTSUPP ? errno : 0;
}

static int map_a_file(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "file", O_RDONLY | O_CLOEXEC);
    void *p = mmap(NULL, 4, PROT_READ, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED)
        return errno;
    munmap(p, 4);
    return 0;
}

static int lock_a_file(const struct cage *cage)
{
    auto_fd int fd = openat(cage->root, "file", O_RDWR | O_CLOEXEC);
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return flock(fd, LOCK_EX) || fcntl(fd, F_SETLK, &lock) ? errno : 0;
}

static int memory(const struct cage *cage UNUSED)
{
    size_t size = (size_t)200 << 20;
    char *p = malloc(size);
    if (!p)
        return errno;
    p[0] = p[size - 1] = 1;
    p = realloc(p, size * 2);
    free(p);
    return p ? 0 : ENOMEM;
}

static int regex_jit(const struct cage *cage UNUSED)
{
    int error;
    PCRE2_SIZE where;
    pcre2_code *code = pcre2_compile((PCRE2_SPTR) "(a+)b", 5, 0, &error, &where, NULL);
    int jit = pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);
    pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
    int found =
            jit ? jit : pcre2_jit_match(code, (PCRE2_SPTR) "xxaab", 5, 0, 0, data, NULL);
    pcre2_match_data_free(data);
    pcre2_code_free(code);
    return found == 2 ? 0 : EPROTO;
}

static struct vpath path(struct arena *arena, const char *text)
{
    struct vpath out = VPATH_ROOT;
    return vpath_parse(str_of(text), VPATH_ROOT, arena, &out) ? VPATH_ROOT : out;
}

/* What the shell's commands come down to; all of it must find a way that is allowed. */
static int files_of_the_vfs(const struct cage *cage)
{
    auto_arena *arena = arena_create();
    const struct vpath file = path(arena, "/file"), new = path(arena, "/new"),
                       moved = path(arena, "/dir/new");
    struct vfs *vfs = vfs_create(&(struct vfs_options){ .umask = 022 });
    int error = vfs_mount_local(vfs, VPATH_ROOT, dup(cage->root), cage->inside);
    struct vfs_stat st;
    struct vfs_entry *entries;
    size_t count;
    if (error || (error = vfs_replace(vfs, file, STR("text"), VFS_WRITE, NULL)) ||
            (error = vfs_replace(vfs, new, STR("more"),
                     VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE, NULL)) ||
            (error = vfs_chmod(vfs, new, 0600)) ||
            (error = vfs_set_times(vfs, new, VFS_FOLLOW, VFS_TIME_NOW, 1)) ||
            (error = vfs_set_times(vfs, path(arena, "/dir"), VFS_FOLLOW, 1, 1)) ||
            (error = vfs_stat(vfs, new, VFS_FOLLOW, &st)) ||
            (error = st.mtime_ns == 1 && st.mode == 0600 ? 0 : EPROTO) ||
            (error = vfs_rename(vfs, new, moved)) ||
            (error = vfs_list(vfs, VPATH_ROOT, arena, &entries, &count)) ||
            (error = vfs_check_tree(vfs, path(arena, "/dir"), VFS_TREE_CHANGE)))
        return error;
    error = vfs_unlink(vfs, moved);
    vfs_destroy(vfs);
    return error;
}

static volatile sig_atomic_t alarmed;

static void on_alarm(int number UNUSED)
{
    alarmed = 1;
}

static int timers(const struct cage *cage UNUSED)
{
    struct sigaction action = { .sa_handler = on_alarm };
    sigaction(SIGALRM, &action, NULL);
    const struct itimerval soon = { .it_value = { .tv_usec = 1000 } };
    if (setitimer(ITIMER_REAL, &soon, NULL))
        return errno;
    for (int i = 0; i < 1000 && !alarmed; i++)
        nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
    return alarmed ? 0 : ETIME;
}

static int signal_itself(const struct cage *cage UNUSED)
{
    struct sigaction action = { .sa_handler = on_alarm };
    sigaction(SIGUSR1, &action, NULL);
    return raise(SIGUSR1) || kill(getpid(), SIGUSR1) ? errno : 0;
}

static int talk(const struct cage *cage)
{
    if (send(cage->socket, "x", 1, MSG_NOSIGNAL) != 1 || write(cage->socket, "y", 1) != 1)
        return errno;
    return 0;
}

static int questions(const struct cage *cage UNUSED)
{
    char bytes[16];
    struct timespec now;
    struct rlimit limit;
    time_t clock = time(NULL);
    if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes) ||
            clock_gettime(CLOCK_MONOTONIC, &now) || getrlimit(RLIMIT_STACK, &limit) ||
            !localtime(&clock))
        return errno ? errno : EPROTO;
    return sysconf(_SC_NPROCESSORS_ONLN) > 0 ? 0 : EPROTO;
}

const struct work works[] = {
    { "threads", threads },
    { "make, move, link and remove files", make_and_move },
    { "read and list files", read_and_list },
    { "change mode, owner, times and attributes", change_metadata },
    { "files through the vfs", files_of_the_vfs },
    { "map a file", map_a_file },
    { "lock a file", lock_a_file },
    { "allocate memory", memory },
    { "compiled regular expressions", regex_jit },
    { "timers", timers },
    { "signals to itself", signal_itself },
    { "the socket", talk },
    { "clock, random bytes, limits", questions },
    { 0 },
};
