#include "session/door-stream.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

#define MEMORY_DEVICES 1 /* their major number */

/* null, zero, full, random, urandom */
static bool is_harmless_device(const struct statx *st)
{
    static const unsigned minors[] = { 3, 5, 7, 8, 9 };
    for (size_t i = 0; i < ARRAY_LEN(minors); i++)
        if (st->stx_rdev_major == MEMORY_DEVICES && st->stx_rdev_minor == minors[i])
            return true;
    return false;
}

/* An end of a pair that the process made for itself, not of one of ours. */
static bool is_its_own(int fd)
{
    struct ucred maker;
    socklen_t len = sizeof(maker);
    return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &maker, &len) &&
           maker.pid != getpid();
}

/* An end of a socketpair(): neither it nor its peer has a name. */
bool door_stream_is_pair(int fd)
{
    struct sockaddr_un name;
    socklen_t own_len = sizeof(name), peer_len = sizeof(name), len = sizeof(int);
    int type = 0;
    return !getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) && type == SOCK_STREAM &&
           !getsockname(fd, (struct sockaddr *)&name, &own_len) &&
           own_len == sizeof(name.sun_family) && name.sun_family == AF_UNIX &&
           !getpeername(fd, (struct sockaddr *)&name, &peer_len) &&
           peer_len == sizeof(name.sun_family) && is_its_own(fd);
}

/* NULL: it may be passed on.  A file system that does not answer is not waited for. */
static const char *find_fault(int fd, bool files)
{
    struct statx st;
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 ||
            statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &st))
        return "what cannot be examined";
    if (flags & O_PATH)
        return "a descriptor that only names a file";
    switch (st.stx_mode & S_IFMT) {
    case S_IFREG:
        return files ? NULL : "a file of its own";
    case S_IFIFO:
        return NULL;
    case S_IFDIR:
        return "a directory";
    case S_IFSOCK:
        return door_stream_is_pair(fd) ? NULL
                                       : "a socket that is no end of a pair of its own";
    case S_IFCHR:
        return is_harmless_device(&st) ? NULL : "a device";
    default:
        return "a file of that kind";
    }
}

bool door_stream_check(int fd, const char *name, bool files, struct refusal *why)
{
    const char *fault = find_fault(fd, files);
    if (!fault)
        return true;
    refusal_begin(why, "streams", NULL);
    buf_addf(&why->what, "%s of a command cannot be %s", name, fault);
    buf_add(&why->rule, STR("a command's streams are pipes and plain files"));
    buf_add(&why->hint, STR("Pass PIPE, DEVNULL, STDOUT or a file that is open."));
    return false;
}
