#include "transport/http-peer.h"

#include "unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static void assert_v6(const char *address, const char *peer)
{
    char text[HTTP_PEER_MAX];
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(4711) };
    assert_int_equal(inet_pton(AF_INET6, address, &v6.sin6_addr), 1);
    http_peer_write((const struct sockaddr *)&v6, text);
    assert_string_equal(text, peer);
}

static void test_v6(void **state UNUSED)
{
    assert_v6("::1", "::1");
    assert_v6("::2", "::");
    assert_v6("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
    assert_v6("2001:db8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2::");
    assert_v6("2001:db8:1:3::6", "2001:db8:1:3::");
    assert_v6("1111:2222:3333:4444::", "1111:2222:3333:4444::");
    assert_v6("::ffff:192.0.2.7", "192.0.2.7");
}

static void test_others(void **state UNUSED)
{
    char text[HTTP_PEER_MAX] = "x";
    struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(80) };
    assert_int_equal(inet_pton(AF_INET, "255.254.253.252", &v4.sin_addr), 1);
    http_peer_write((const struct sockaddr *)&v4, text);
    assert_string_equal(text, "255.254.253.252");
    const struct sockaddr local = { .sa_family = AF_UNIX };
    http_peer_write(&local, text);
    assert_string_equal(text, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_v6),
        cmocka_unit_test(test_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
