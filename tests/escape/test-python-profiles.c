/*
 * The interpreter under other policies, in the build without rules: with network, as a
 * client of the internet protocols and nothing else; where only some paths are read;
 * with an environment of packages in the workspace.
 */
#include "hosts.h"
#include "python-world.h"
#include "scratch.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static enum host current_host;
static struct python_world_options options;

static int listen_on(int type, int *port)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    if (type == SOCK_STREAM)
        assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

/* Runs the lines after "TCP = port" and "UDP = port"; it must say `expected`. */
static void expect_says(const char *code, const char *expected, int tcp, int udp)
{
    struct python_world w;
    struct python_child c;
    auto_buf text = BUF((size_t)1 << 16);
    buf_addf(&text, "TCP = %d\nUDP = %d\n%s", tcp, udp, code);
    python_world_begin(&w, &options);
    python_child_run(&w, text.data, &c);
    assert_true(python_child_holds(&c, "network"));
    assert_string_equal(c.output, expected);
    python_child_finish(&c);
    python_world_end(&w);
}

static bool has_mounts(void)
{
    return current_host == HOST_WHOLE || current_host == HOST_NO_LANDLOCK;
}

static void test_client(void **state UNUSED)
{
    static const char code[] =
            "import socket, ssl, asyncio\n"
            "s = socket.create_connection(('127.0.0.1', TCP), 10)\n"
            "s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)\n"
            "s.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)\n"
            "s.sendall(b'tcp')\nprint(s.getpeername()[1] == TCP)\n"
            "u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            "u.sendto(b'udp', ('127.0.0.1', UDP))\n"
            "print(socket.getaddrinfo('127.0.0.1', 80)[0][4])\n"
            "ssl.create_default_context()\n"
            "async def f():\n"
            "    r, w = await asyncio.open_connection('127.0.0.1', TCP)\n"
            "    w.write(b'x')\n    await w.drain()\n    w.close()\n"
            "asyncio.run(f())\nprint('done')\n";
    char got[8];
    int tcp, udp;
    options.network = true;
    auto_fd int stream = listen_on(SOCK_STREAM, &tcp);
    auto_fd int packets = listen_on(SOCK_DGRAM, &udp);
    expect_says(code, "True\n('127.0.0.1', 80)\ndone\n", tcp, udp);
    auto_fd int one = accept(stream, NULL, NULL);
    assert_int_equal(read(one, got, sizeof(got)), 3);
    assert_memory_equal(got, "tcp", 3);
    assert_int_equal(recv(packets, got, sizeof(got), MSG_DONTWAIT), 3);
}

static void test_nothing_else(void **state UNUSED)
{
    static const char code[] =
            "import socket, errno\n"
            "def t(what, f):\n"
            "    try:\n        f()\n        print(what, 'GOT THROUGH')\n"
            "    except OSError as e:\n        print(what, errno.errorcode[e.errno])\n"
            "s = socket.socket\n"
            "t('unix', lambda: s(socket.AF_UNIX))\n"
            "t('unix datagrams', lambda: s(socket.AF_UNIX, socket.SOCK_DGRAM))\n"
            "t('netlink', lambda: s(16, socket.SOCK_RAW, 0))\n"
            "t('packets', lambda: s(17, socket.SOCK_RAW, 0))\n"
            "t('vsock', lambda: s(40, socket.SOCK_STREAM, 0))\n"
            "t('alg', lambda: s(38, socket.SOCK_SEQPACKET, 0))\n"
            "t('raw', lambda: s(socket.AF_INET, socket.SOCK_RAW, 1))\n"
            "t('ping', lambda: s(socket.AF_INET, socket.SOCK_DGRAM, 1))\n"
            "t('sctp', lambda: s(socket.AF_INET, socket.SOCK_STREAM, 132))\n"
            "t('mptcp', lambda: s(socket.AF_INET, socket.SOCK_STREAM, 262))\n"
            "t('bind', lambda: s().bind(('127.0.0.1', 0)))\n"
            "t('bind udp', lambda: s(2, socket.SOCK_DGRAM).bind(('127.0.0.1', 0)))\n"
            "t('listen', lambda: s().listen(1))\n"
            "t('accept', lambda: s().accept())\n"
            "t('a filter', lambda: s().setsockopt(1, 26, b'\\0' * 16))\n"
            "t('a program', lambda: s().setsockopt(1, 50, b'\\0' * 4))\n"
            "t('a protocol on top', lambda: s().setsockopt(6, 31, b'tls'))\n"
            "t('a pair of datagrams', lambda: socket.socketpair(1, socket.SOCK_DGRAM))\n"
            "import os\nt('exec', lambda: os.execv('/bin/true', ['x']))\n"
            "t('fork', os.fork)\n";
    static const char expected[] =
            "unix EAFNOSUPPORT\nunix datagrams EAFNOSUPPORT\nnetlink EAFNOSUPPORT\n"
            "packets EAFNOSUPPORT\nvsock EAFNOSUPPORT\nalg EAFNOSUPPORT\n"
            "raw EAFNOSUPPORT\nping EAFNOSUPPORT\nsctp EAFNOSUPPORT\n"
            "mptcp EAFNOSUPPORT\nbind EPERM\nbind udp EPERM\nlisten EPERM\n"
            "accept EPERM\na filter ENOPROTOOPT\na program ENOPROTOOPT\n"
            "a protocol on top ENOPROTOOPT\na pair of datagrams EPERM\nexec EPERM\n"
            "fork EPERM\n";
    options.network = true;
    expect_says(code, expected, 0, 0);
}

/* A library of a service reads its credentials; nobody reads what nobody may. */
static void test_credentials(void **state UNUSED)
{
    static const char code[] =
            "import os\nhome = os.path.dirname(os.getcwd()) + '/home/'\n"
            "for name in '.aws/credentials', '.npmrc':\n    try:\n"
            "        print(len(open(home + name).read()))\n"
            "    except OSError as e:\n        print('no')\n";
    options.network = true;
    if (has_mounts())
        expect_says(code, "7\nno\n", 0, 0);
}

/* Landlock knows the list, with mounts or without. */
static void test_only_some_paths(void **state UNUSED)
{
    static const char code[] =
            "import os, sys, json, zoneinfo, _lsprof, tempfile\n"
            "top = os.path.dirname(os.getcwd())\n"
            "def t(f):\n    try:\n        f()\n        return True\n"
            "    except PermissionError:\n        return False\n"
            "print([p for p in (top + '/out/f.txt', top + '/home/public.txt', "
            "'/etc/passwd',"
            " '/etc/hostname', '/root', '/', top, '/proc/1/cmdline', '/var/log')\n"
            "       if t(lambda: os.open(p, os.O_RDONLY))])\n"
            "print(t(lambda: open('a.txt').read()), t(lambda: open('sub/x', 'w')),\n"
            "      t(lambda: open('/proc/self/status').read()),\n"
            "      t(lambda: open('/dev/null', 'w')), t(lambda: os.urandom(3)),\n"
            "      t(lambda: zoneinfo.ZoneInfo('Asia/Tokyo')), t(lambda: "
            "os.listdir('.')))\n";
    options.network = false;
    options.policy = "[filesystem]\nreadable_paths = [\".\"]\n";
    if (current_host != HOST_NO_LANDLOCK)
        expect_says(code, "[]\nTrue True True True True True True\n", 0, 0);
    options.policy = NULL;
}

/* What cannot be written can be code, also in the workspace. */
static void test_environment(void **state UNUSED)
{
    static const char code[] =
            "import ctypes\nctypes.CDLL('./.pyddock/venv/lib.so')\nprint('loaded')\n"
            "import shutil\nshutil.copyfile('.pyddock/venv/lib.so', 'sub/lib.so')\n"
            "try:\n    ctypes.CDLL('./sub/lib.so')\nexcept OSError as e:\n"
            "    print('failed to map' in str(e))\n";
    options.network = false;
    options.library = ".pyddock/venv";
    if (has_mounts())
        expect_says(code, "loaded\nTrue\n", 0, 0);
    options.library = NULL;
}

/* Without mounts modes stay as they are, and it is said why. */
static void test_modes(void **state UNUSED)
{
    static const char code[] =
            "import os, pathlib, shutil\n"
            "def t(f):\n    try:\n        f()\n        return 'done'\n"
            "    except PermissionError as e:\n"
            "        return 'cannot be changed on this machine' in str(e), e.filename\n"
            "open('sub/f', 'w').close()\n"
            "print(t(lambda: os.chmod('sub/f', 0o600)), t(lambda: os.utime('sub/f')))\n"
            "print(t(lambda: shutil.copy2('sub/f', 'sub/g')), os.path.exists('sub/g'))\n";
    options.network = false;
    expect_says(code,
            has_mounts() ? "done done\ndone True\n"
                         : "(True, 'sub/f') (True, 'sub/f')\ndone True\n",
            0, 0);
}

static int test_all(enum host host)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_client),
        cmocka_unit_test(test_nothing_else),
        cmocka_unit_test(test_credentials),
        cmocka_unit_test(test_only_some_paths),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_modes),
    };
    fprintf(stderr, "# as uid %u, %s\n", geteuid(), host_names[host]);
    current_host = host;
    options.variable = host == HOST_OLD_LANDLOCK ? "PADDOCK_TEST_LANDLOCK=2" : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    char folder[] = "/tmp/paddock-network-XXXXXX", command[1024], copy[64];
    int failed = 0;
    scratch_make(folder);
    snprintf(copy, sizeof(copy), "%s/python", folder);
    snprintf(command, sizeof(command), "cp '%s' '%s' && chmod 755 '%s'",
            getenv("PADDOCK_PYTHON_BARE"), copy, folder);
    if (system(command))
        return 1;
    options.program = copy;
    for (enum host host = 0; host < HOSTS; host++) {
        failed += host_run(host, false, test_all);
        if (!geteuid())
            failed += host_run(host, true, test_all);
    }
    scratch_remove(folder);
    return failed != 0;
}
