/* Descriptors that travel with a message. */
#include "base/rights.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct received {
    char text[64];
    ssize_t len;
    int fds[RIGHTS_MAX];
    size_t count;
};

static void receive(int socket, struct received *out)
{
    _Alignas(struct cmsghdr) char control[CMSG_SPACE(RIGHTS_MAX * sizeof(int))];
    struct iovec part = { out->text, sizeof(out->text) };
    struct msghdr message = { .msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control) };
    out->len = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    out->count = 0;
    assert_int_equal(message.msg_flags & MSG_CTRUNC, 0);
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (!c)
        return;
    assert_int_equal(c->cmsg_type, SCM_RIGHTS);
    out->count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    memcpy(out->fds, CMSG_DATA(c), out->count * sizeof(int));
    assert_null(CMSG_NXTHDR(&message, c));
}

static void assert_same_file(int a, int b)
{
    struct stat first, second;
    assert_int_equal(fstat(a, &first) | fstat(b, &second), 0);
    assert_true(first.st_dev == second.st_dev && first.st_ino == second.st_ino);
}

static void test_counts(void **state UNUSED)
{
    int pair[2], fds[RIGHTS_MAX];
    struct received got;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    for (size_t i = 0; i < RIGHTS_MAX; i++)
        fds[i] = memfd_create("rights", MFD_CLOEXEC);
    for (size_t count = 0; count <= RIGHTS_MAX; count++) {
        assert_int_equal(rights_send(pair[0], STR("text"), fds, count, MSG_DONTWAIT), 4);
        receive(pair[1], &got);
        assert_int_equal(got.len, 4);
        assert_memory_equal(got.text, "text", 4);
        assert_int_equal(got.count, count);
        for (size_t i = 0; i < count; i++) {
            assert_same_file(got.fds[i], fds[i]);
            close(got.fds[i]);
        }
    }
    for (size_t i = 0; i < RIGHTS_MAX; i++)
        close_fd(&fds[i]);
    close(pair[0]);
    close(pair[1]);
}

/* No signal ends the process, and a full socket is told. */
static void test_failures(void **state UNUSED)
{
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    while (rights_send(pair[0], STR("text"), NULL, 0, MSG_DONTWAIT) > 0)
        ;
    assert_int_equal(errno, EAGAIN);
    close(pair[0]);
    close(pair[1]);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    close(pair[1]);
    assert_int_equal(rights_send(pair[0], STR("text"), pair, 1, MSG_DONTWAIT), -1);
    assert_int_equal(errno, EPIPE);
    close(pair[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
