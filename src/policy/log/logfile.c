#include "policy/log/logfile.h"
#include "base/path.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_KEEP 1000

struct logfile {
    struct logfile_options options;
    int dir, fd;
    char name[NAME_MAX + 1];
    dev_t device; /* of the file behind `fd` */
    ino_t inode;
    uint64_t size;   /* as it was last seen, or as we left it */
    bool torn;       /* the last write stopped in the middle of a line */
    bool complained; /* once is enough */
    bool cut_off;    /* so is this */
};

static bool complain(struct logfile *l, const char *reason)
{
    if (!l->complained)
        log_line(LOG_WARN, "%s '%.*s': %s; calls go on without it", l->options.what,
                STR_ARG(l->options.path), reason);
    l->complained = true;
    return false;
}

/* Where a folder that is open really is. */
static bool real_path(int dir, char out[PATH_MAX], struct error *err)
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
    ssize_t n = readlink(link, out, PATH_MAX - 1);
    if (n <= 0 || n >= PATH_MAX - 1)
        return error_errno(err, n < 0 ? errno : ENAMETOOLONG, "cannot find the folder");
    out[n] = 0;
    return true;
}

/* `rest` below the folder `dir`, as the judge is asked about it. */
static bool judge(
        const struct logfile_options *o, int dir, struct str rest, struct error *err)
{
    char real[PATH_MAX];
    auto_buf path = BUF(2 * PATH_MAX);
    if (!real_path(dir, real, err))
        return false;
    buf_addf(&path, "%s/%.*s", real[1] ? real : "", STR_ARG(rest));
    return !o->judge || o->judge(o->user, buf_str(&path), err);
}

/* A folder that is missing is made, if it may be and what it is for is in order. */
static int make_folder(const struct logfile_options *o, int dir, const char *name,
        struct str from_here, struct error *err)
{
    char real[PATH_MAX];
    if (!real_path(dir, real, err))
        return -1;
    if (!path_is_in(str_of(real), o->create_below)) {
        error_set(err, ERR_NOT_FOUND, "there is no folder '%s' in '%.200s'", name, real);
        error_hint(err, "Create it, for you alone.");
        return -1;
    }
    if (!judge(o, dir, from_here, err))
        return -1;
    if (mkdirat(dir, name, 0700) && errno != EEXIST) {
        error_errno(err, errno, "cannot create the folder '%s'", name);
        return -1;
    }
    int fd = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        error_errno(err, errno, "cannot open the folder '%s'", name);
    return fd;
}

static int enter_folder(const struct logfile_options *o, int dir, struct str name,
        struct str from_here, struct error *err)
{
    char text[NAME_MAX + 1];
    if (!name.len || str_is(name, ".")) /* a slash too many */
        return fcntl(dir, F_DUPFD_CLOEXEC, 0);
    if (name.len > NAME_MAX || str_is(name, "..")) {
        error_set(err, ERR_INVALID, "a part of the path is too long, or '..'");
        return -1;
    }
    memcpy(text, name.data, name.len);
    text[name.len] = 0;
    int fd = openat(dir, text, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0)
        return fd;
    if (errno == ENOENT)
        return make_folder(o, dir, text, from_here, err);
    error_errno(err, errno, "cannot open the folder '%s'", text);
    return -1;
}

/* The folder of the log, and the log's name in it. */
static bool open_folder(
        const struct logfile_options *o, int *out, struct str *name, struct error *err)
{
    struct str rest = o->path;
    auto_fd int dir = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (!rest.len || rest.data[0] != '/')
        return error_set(err, ERR_INVALID, "the path is not absolute");
    str_cut(&rest, '/');
    while (memchr(rest.data, '/', rest.len)) {
        struct str from_here = rest, part = str_cut(&rest, '/');
        int next = enter_folder(o, dir, part, from_here, err);
        if (next < 0)
            return false;
        close_fd(&dir);
        dir = next;
    }
    if (!rest.len || rest.len > NAME_MAX || str_is(rest, ".") || str_is(rest, ".."))
        return error_set(err, ERR_INVALID, "the path does not name a file");
    *name = rest;
    *out = dir;
    dir = -1;
    return true;
}

/* Opening a pipe would wait, a link lead elsewhere, a second name be in another folder.
 */
static int open_file(int dir, const char *name, struct stat *st, struct error *err)
{
    static const int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK |
                             O_NOCTTY | O_CLOEXEC;
    auto_fd int fd = openat(dir, name, flags, 0600);
    if (fd < 0 && errno == ELOOP) {
        error_set(err, ERR_DENIED, "a symbolic link stands in its place");
        return -1;
    }
    if (fd < 0 || fstat(fd, st)) {
        error_errno(err, errno, "cannot be opened");
        return -1;
    }
    if (!S_ISREG(st->st_mode) || st->st_nlink != 1) {
        error_set(err, ERR_DENIED,
                S_ISREG(st->st_mode) ? "the file has a second name (a hard link)"
                                     : "what is there is no plain file");
        return -1;
    }
    int opened = fd;
    fd = -1;
    return opened;
}

/* Take over a new descriptor. */
static void use_file(struct logfile *l, int fd, const struct stat *st)
{
    close_fd(&l->fd);
    l->fd = fd;
    l->device = st->st_dev;
    l->inode = st->st_ino;
    l->size = (uint64_t)st->st_size;
}

/* Go the whole way from the root; what is open stays so if that fails. */
static bool open_log(struct logfile *l, struct error *err)
{
    auto_fd int dir = -1;
    struct str name;
    struct stat st;
    if (l->options.judge && !l->options.judge(l->options.user, l->options.path, err))
        return false;
    if (!open_folder(&l->options, &dir, &name, err) ||
            !judge(&l->options, dir, name, err))
        return false;
    memcpy(l->name, name.data, name.len);
    l->name[name.len] = 0;
    int fd = open_file(dir, l->name, &st, err);
    if (fd < 0)
        return false;
    use_file(l, fd, &st);
    close_fd(&l->dir);
    l->dir = dir;
    dir = -1;
    return true;
}

bool logfile_open(
        const struct logfile_options *options, struct logfile **out, struct error *err)
{
    struct logfile *l = xcalloc(1, sizeof(*l));
    *l = (struct logfile){ .options = *options, .dir = -1, .fd = -1 };
    if (!open_log(l, err)) {
        logfile_close(l);
        return error_context(err, "%s '%.*s'", options->what, STR_ARG(options->path));
    }
    *out = l;
    return true;
}

void logfile_close(struct logfile *l)
{
    if (!l)
        return;
    close_fd(&l->dir);
    close_fd(&l->fd);
    free(l);
}

/* It only ever grows, unless somebody cuts it off: its owner, one hopes. */
static void watch_size(struct logfile *l, uint64_t size)
{
    if (size < l->size && !l->cut_off) {
        log_line(LOG_WARN, "%s '%.*s' was cut off", l->options.what,
                STR_ARG(l->options.path));
        l->cut_off = true;
    }
    l->size = size;
}

/* The file that the name stands for is the one we have open. */
static bool is_current(struct logfile *l)
{
    struct stat st;
    if (fstatat(l->dir, l->name, &st, AT_SYMLINK_NOFOLLOW) || st.st_dev != l->device ||
            st.st_ino != l->inode)
        return false;
    watch_size(l, (uint64_t)st.st_size);
    return true;
}

static void reopen(struct logfile *l)
{
    struct error err = { 0 };
    if (!open_log(l, &err))
        complain(l, err.message);
}

/* NAME.1 becomes NAME.2, and so on; the last one goes. */
static bool shift_names(struct logfile *l)
{
    char from[NAME_MAX + 16], to[NAME_MAX + 16];
    unsigned keep = l->options.keep < MAX_KEEP ? l->options.keep : MAX_KEEP;
    if (!keep)
        return !unlinkat(l->dir, l->name, 0);
    for (unsigned i = keep; i > 1; i--) {
        snprintf(from, sizeof(from), "%s.%u", l->name, i - 1);
        snprintf(to, sizeof(to), "%s.%u", l->name, i);
        if (renameat(l->dir, from, l->dir, to) && errno != ENOENT)
            return false;
    }
    snprintf(to, sizeof(to), "%s.1", l->name);
    return !renameat(l->dir, l->name, l->dir, to);
}

/*
 * Begin a new file.  Of servers that share the log only one does so at a time: the lock
 * is on the file that is renamed, and who comes second sees that it is not current any
 * more.  Whatever fails, the open file is still there to write to.
 */
static void rotate(struct logfile *l)
{
    struct error err = { 0 };
    struct stat st;
    if (flock(l->fd, LOCK_EX | LOCK_NB))
        return;
    if (!is_current(l)) {
        flock(l->fd, LOCK_UN);
        reopen(l);
        return;
    }
    int fd = -1;
    if (!shift_names(l))
        complain(l, "cannot be renamed");
    else if ((fd = open_file(l->dir, l->name, &st, &err)) < 0)
        complain(l, err.message);
    if (fd >= 0)
        use_file(l, fd, &st);
    else
        flock(l->fd, LOCK_UN);
}

/* A line that was torn keeps its own end, so that the next one is whole. */
static bool write_line(struct logfile *l, struct str line)
{
    static char newline[] = "\n";
    struct iovec parts[] = {
        { newline, l->torn ? 1 : 0 },
        { (void *)(uintptr_t)line.data, line.len },
        { newline, 1 },
    };
    size_t all = parts[0].iov_len + line.len + 1;
    ssize_t n = writev(l->fd, parts, ARRAY_LEN(parts));
    if (n < 0)
        return complain(l, strerror(errno));
    l->torn = (size_t)n != all && (l->torn || n > 0);
    l->size += (uint64_t)n;
    return (size_t)n == all || complain(l, "no room for a whole line");
}

bool logfile_append(struct logfile *l, struct str line)
{
    if (!is_current(l))
        reopen(l);
    uint64_t max = l->options.max_bytes;
    if (max && l->size && l->size + line.len + 1 > max)
        rotate(l);
    return write_line(l, line);
}
