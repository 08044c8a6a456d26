#include "base/rights.h"

#include <errno.h>
#include <sys/socket.h>

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
