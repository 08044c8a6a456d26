#include "base/rights.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

ssize_t rights_send(int socket, struct str bytes, const int *fds, size_t count, int flags)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(RIGHTS_MAX * sizeof(int))] = { 0 };
    union {
        const char *in;
        char *out;
    } data = { bytes.data };
    struct iovec part = { data.out, bytes.len };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
    assert(count <= RIGHTS_MAX);
    if (count) {
        message.msg_control = control;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *c = CMSG_FIRSTHDR(&message);
        *c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(count * sizeof(int)),
            .cmsg_level = SOL_SOCKET,
            .cmsg_type = SCM_RIGHTS };
        memcpy(CMSG_DATA(c), fds, count * sizeof(int));
    }
    ssize_t n;
    do
        n = sendmsg(socket, &message, flags | MSG_NOSIGNAL);
    while (n < 0 && errno == EINTR);
    return n;
}

/* One more; false: there is no room for it. */
static bool keep(int fd, int *fds, size_t most, size_t *count)
{
    bool fits = *count < most;
    if (fits)
        fds[(*count)++] = fd;
    else
        close(fd);
    return fits;
}

bool rights_take(const struct msghdr *message, int *fds, size_t most, size_t *count)
{
    bool fit = true;
    struct msghdr m = *message; /* the macros want one that may be changed */
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < n; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
            fit = keep(fd, fds, most, count) && fit;
        }
    }
    return fit;
}
