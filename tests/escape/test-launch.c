/*
 * What a command can do to the rest of the machine, tried by a hostile one (hostile.h):
 * where all mechanisms are there nothing gets through; where some are missing, what gets
 * through must be something that the report of the confinement does not claim.
 */
#include "launching.h"

#include "base/json.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the server listens on. */
struct ears {
    int tcp, udp, abstract, path;
    char port[16], abstract_name[64], path_name[108];
};

static int listen_on(int family, int type, const void *address, size_t size)
{
    int fd = socket(family, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, address, (socklen_t)size), 0);
    if (type == SOCK_STREAM)
        assert_int_equal(listen(fd, 64), 0);
    return fd;
}

static void open_ears(struct ears *e, const struct scene *s)
{
    struct sockaddr_in in = { .sin_family = AF_INET,
        .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t size = sizeof(in);
    e->tcp = listen_on(AF_INET, SOCK_STREAM, &in, sizeof(in));
    assert_int_equal(getsockname(e->tcp, (struct sockaddr *)&in, &size), 0);
    e->udp = listen_on(AF_INET, SOCK_DGRAM, &in, sizeof(in));
    snprintf(e->port, sizeof(e->port), "%d", ntohs(in.sin_port));
    struct sockaddr_un un = { .sun_family = AF_UNIX };
    snprintf(e->abstract_name, sizeof(e->abstract_name), "paddock-%d", getpid());
    memcpy(un.sun_path + 1, e->abstract_name, strlen(e->abstract_name));
    e->abstract = listen_on(AF_UNIX, SOCK_STREAM, &un,
            offsetof(struct sockaddr_un, sun_path) + 1 + strlen(e->abstract_name));
    assert_true(snprintf(e->path_name, sizeof(e->path_name), "%s/socket", s->outside) <
                (int)sizeof(e->path_name));
    snprintf(un.sun_path, sizeof(un.sun_path), "%s", e->path_name);
    e->path = listen_on(AF_UNIX, SOCK_STREAM, &un, sizeof(un));
}

static void close_ears(struct ears *e)
{
    close(e->tcp);
    close(e->udp);
    close(e->abstract);
    close(e->path);
}

static void make_folder(const struct scene *s, const char *name)
{
    assert_int_equal(mkdir(scene_path(s, name), 0755), 0);
}

static void furnish(struct scene *s)
{
    scene_begin(s);
    scene_write(s, "outside/file", "outside");
    scene_write(s, "outside/victim", "victim");
    make_folder(s, "ws/.git");
    scene_write(s, "ws/.git/config", "config");
    scene_write(s, "ws/.git/victim", "victim");
    make_folder(s, "ws/deep");
    make_folder(s, "ws/deep/scripts");
    scene_write(s, "ws/deep/scripts/run", "run");
    make_folder(s, "ws/secret");
    scene_write(s, "ws/secret/key", "key");
    scene_write(s, "ws/.env", "env");
    scene_rule(s, VIEW_READ_ONLY, "ws/.git");
    scene_rule(s, VIEW_READ_ONLY, "ws/deep/scripts");
    scene_rule(s, VIEW_HIDDEN, "ws/secret");
    scene_rule(s, VIEW_HIDDEN, "ws/.env");
    scene_rule(s, VIEW_VISIBLE, "outside");
}

static bool is_held(const struct outcome *o, const char *property)
{
    struct error err;
    json_auto_t *report = NULL;
    if (!strcmp(property, "always"))
        return true;
    if (!json_parse(str_of(o->confinement), &report, &err))
        fail_msg("%s: %s", o->confinement, err.message);
    const json_t *one = json_object_get(json_object_get(report, "properties"), property);
    if (!one)
        fail_msg("no '%s' in %s", property, o->confinement);
    return json_is_true(json_object_get(one, "held"));
}

/* Returns how many attempts there were. */
static unsigned check_attempts(const struct outcome *o)
{
    unsigned count = 0, bad = 0;
    struct str text = { o->out, o->out_len };
    while (text.len) {
        struct str line = str_cut(&text, '\n');
        auto_free char *what = strndup(line.data, line.len);
        char verdict[16] = "", property[16] = "";
        int at = 0;
        sscanf(what, "%15s %15s %n", verdict, property, &at);
        count++;
        if (!strcmp(verdict, "refused"))
            continue;
        if (is_held(o, property)) {
            fprintf(stderr, "# got through: %s\n", what);
            bad++;
        }
    }
    assert_int_equal(bad, 0);
    return count;
}

static void run_hostile_program(struct scene *s, const struct ears *e, struct outcome *o)
{
    char server[16], program[160];
    snprintf(server, sizeof(server), "%d", getpid());
    snprintf(program, sizeof(program), "%s/hostile", getenv("PADDOCK_TEST_FOLDER"));
    const char *const argv[] = { program, s->outside, server, e->port, e->abstract_name,
        e->path_name, NULL };
    scene_run(s, argv, o);
    expect_exit(o, 0, NULL, NULL);
}

static void run_hostile(struct scene *s, const struct ears *e, struct outcome *o)
{
    run_hostile_program(s, e, o);
    assert_true(check_attempts(o) > 70);
}

/* An attempt that fails anyway proves nothing.  What stays refused to an ordinary user
 * without any confinement needs capabilities. */
static void test_attempts_are_real(void **state UNUSED)
{
    static const char *const need_capabilities[] = { "write to the kernel's files",
        "mount", "unmount", "change the root", "the same with clone3", "join a namespace",
        "open another terminal", "open devices", "open a raw socket" };
    struct scene s;
    struct ears e;
    struct outcome o;
    if (!geteuid() || !has_namespaces())
        skip(); /* as root they would do what they try */
    furnish(&s);
    open_ears(&e, &s);
    s.spec.sandboxed = false;
    run_hostile_program(&s, &e, &o);
    struct str text = { o.out, o.out_len };
    while (text.len) {
        auto_free char *line = NULL;
        struct str rest = str_cut(&text, '\n');
        line = strndup(rest.data, rest.len);
        size_t i = 0;
        while (i < ARRAY_LEN(need_capabilities) && !strstr(line, need_capabilities[i]))
            i++;
        if (i == ARRAY_LEN(need_capabilities) && strncmp(line, "through", 7))
            fail_msg("not even without confinement: %s", line);
    }
    outcome_finish(&o);
    close_ears(&e);
    scene_end(&s);
}

static const char *const all_properties[] = { "writes", "metadata", "protected", "hidden",
    "tmp", "network", "sockets", "signals", "kill" };

static void test_nothing_gets_through(void **state UNUSED)
{
    struct scene s;
    struct ears e;
    struct outcome o;
    furnish(&s);
    open_ears(&e, &s);
    char *before = scene_inventory(&s);
    run_hostile(&s, &e, &o);
    if (has_namespaces()) {
        for (size_t i = 0; i < ARRAY_LEN(all_properties); i++)
            if (!is_held(&o, all_properties[i]))
                fail_msg("'%s' is not held: %s", all_properties[i], o.confinement);
        assert_non_null(strstr(o.confinement, "\"problems\":[]"));
        char *after = scene_inventory(&s);
        assert_string_equal(after, before);
        free(after);
    }
    outcome_finish(&o);
    free(before);
    close_ears(&e);
    scene_end(&s);
}

/* Whatever Landlock can do, the report does not claim more than that. */
static void test_old_landlock(void **state UNUSED)
{
    for (int abi = 1; abi <= 6; abi++) {
        struct scene s;
        struct ears e;
        struct outcome o;
        furnish(&s);
        open_ears(&e, &s);
        s.spec.max_landlock = abi;
        run_hostile(&s, &e, &o);
        if (!has_namespaces()) {
            assert_int_equal(is_held(&o, "writes"), abi >= 3);
            assert_int_equal(is_held(&o, "signals"), abi >= 6);
            assert_int_equal(is_held(&o, "kill"), abi >= 6);
            assert_false(is_held(&o, "protected"));
            assert_false(is_held(&o, "hidden"));
            assert_false(is_held(&o, "metadata"));
        }
        outcome_finish(&o);
        close_ears(&e);
        scene_end(&s);
    }
}

static void run_on_old_kernel(unsigned missing)
{
    struct scene s;
    struct ears e;
    struct outcome o;
    take_call_away(missing);
    furnish(&s);
    open_ears(&e, &s);
    run_hostile(&s, &e, &o);
    assert_false(is_held(&o, "protected"));
    assert_false(is_held(&o, "hidden"));
    assert_true(is_held(&o, "writes") && is_held(&o, "network") && is_held(&o, "kill"));
    assert_non_null(strstr(o.confinement, "Function not implemented"));
    if (has_namespaces())
        assert_non_null(strstr(o.confinement, "\"by\":\"pid namespace\""));
    outcome_finish(&o);
    close_ears(&e);
    scene_end(&s);
}

/* In a child, because a call does not come back. */
static void check_without(unsigned call, void (*check)(unsigned call))
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        check(call); /* does not return here if it fails */
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* Without one of the newer calls for mounts there is no view, but all the rest. */
static void test_old_kernel(void **state UNUSED)
{
    if (!has_namespaces())
        skip();
    check_without(428, run_on_old_kernel); /* open_tree */
    check_without(430, run_on_old_kernel); /* fsopen */
    check_without(442, run_on_old_kernel); /* mount_setattr */
}

static void run_without_power(unsigned missing)
{
    struct scene s;
    struct ears e;
    struct outcome o;
    take_call_away(missing);
    furnish(&s);
    open_ears(&e, &s);
    run_hostile(&s, &e, &o);
    assert_false(is_held(&o, "protected"));
    assert_true(is_held(&o, "writes") && is_held(&o, "network") && is_held(&o, "kill"));
    assert_non_null(strstr(o.confinement, "mount namespace"));
    outcome_finish(&o);
    close_ears(&e);
    /* We are still who we are. */
    char expected[32];
    snprintf(expected, sizeof(expected), "%d %d\n", getuid(), getgid());
    scene_shell(&s, "echo $(id -u) $(id -g); sleep 87655 &", &o);
    expect_exit(&o, 0, expected, "");
    assert_int_equal(o.left_running, 1);
    outcome_finish(&o);
    scene_end(&s);
}

/* Some systems let everybody make a user namespace, and do nothing in it. */
static void test_powerless_namespace(void **state UNUSED)
{
    if (!has_namespaces())
        skip();
    check_without(SYS_mount, run_without_power);
}

static void test_network_allowed(void **state UNUSED)
{
    struct scene s;
    struct ears e;
    struct outcome o;
    furnish(&s);
    open_ears(&e, &s);
    s.spec.network = true;
    run_hostile(&s, &e, &o);
    assert_non_null(strstr(o.out, "through network connect by TCP\n"));
    assert_non_null(strstr(o.out, "through network send by UDP\n"));
    /* That is of another's making. */
    assert_non_null(strstr(o.out, "refused network connect to an abstract socket\n"));
    assert_false(is_held(&o, "network"));
    assert_int_equal(is_held(&o, "sockets"), has_namespaces());
    outcome_finish(&o);
    /* What has a name here has it there too. */
    int unknown = system("getent hosts localhost >/dev/null");
    expect_shell(&s, "getent hosts localhost >/dev/null", WEXITSTATUS(unknown), "", "");
    close_ears(&e);
    scene_end(&s);
}

/* Work that must go on. */
static void test_ordinary_work(void **state UNUSED)
{
    static const char *const scripts[] = {
        "echo a > f && mv f g && cp -p g h && chmod 755 h && touch -d yesterday h && rm "
        "g h",
        "mkdir -p a/b && ln -s b a/c && cp -a a d && rm -r a d",
        "mkfifo p && (echo x > p &) && read v < p && [ $v = x ] && rm p",
        "f=$(mktemp) && echo x > $f && mv $f moved && rm moved",
        "echo x > /dev/null && head -c 3 /dev/urandom >/dev/null",
        "dd if=/dev/zero of=big bs=1M count=3 2>/dev/null && rm big",
        "printf x > /dev/shm/y && rm /dev/shm/y",
        "(exit 3) & wait $!; [ $? = 3 ]",
        "tar cf t.tar deep && mkdir x && tar xf t.tar -C x && rm -r t.tar x",
        "perl -e 'use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or exit "
        "1'",
        "sort -T . /etc/passwd > sorted && rm sorted",
        "ps -e | grep -q ps",
        "[ $(cat .git/config) = config ]",
        "for i in 1 2 3 4 5 6 7 8 9; do /bin/true | /bin/true & done; wait",
    };
    struct scene s;
    furnish(&s);
    for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
        struct outcome o;
        scene_shell(&s, scripts[i], &o);
        if (o.end != COMMAND_EXITED || o.status)
            fprintf(stderr, "# %s: %s", scripts[i], o.err);
        expect_exit(&o, 0, NULL, "");
        outcome_finish(&o);
    }
    scene_end(&s);
}

static void test_own_temporary_folder(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    if (!has_namespaces())
        skip();
    scene_begin(&s);
    s.spec.tmp_bytes = 1 << 20;
    expect_shell(&s, "ls -A /tmp | grep -v paddock-launch; ls -A /var/tmp /dev/shm", 0,
            "/dev/shm:\n\n/var/tmp:\n", "");
    scene_shell(&s, "head -c 2000000 /dev/zero > /tmp/big", &o);
    assert_int_equal(o.end, COMMAND_EXITED);
    assert_int_not_equal(o.status, 0);
    assert_non_null(strstr(o.err, "No space left on device"));
    outcome_finish(&o);
    s.env[2] = "TMPDIR=/tmp/user/1000";
    expect_shell(&s, "f=$(mktemp) && echo $f | cut -c 1-14", 0, "/tmp/user/1000\n", "");
    scene_end(&s);
}

/* No disks, no memory, nobody else's terminal; but what programs expect. */
static void test_own_devices(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    if (!has_namespaces())
        skip();
    scene_begin(&s);
    expect_shell(&s, "ls /dev | tr '\\n' ' '; ls /dev/pts", 0,
            "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero "
            "ptmx\n",
            "");
    expect_shell(&s,
            "echo x > /dev/null; echo y > /dev/stdout; cat < /dev/stdin; "
            "head -c 3 /dev/zero | wc -c; echo z 2>/dev/null > /dev/full || echo full",
            0, "y\n3\nfull\n", NULL);
    expect_shell(
            &s, "script -q -c 'test -t 0 && tty' /dev/null", 0, "/dev/pts/0\r\n", "");
    const char *const argv[] = { "/bin/bash", "-c", "cat <(echo substituted)", NULL };
    scene_run(&s, argv, &o);
    expect_exit(&o, 0, "substituted\n", "");
    outcome_finish(&o);
    scene_end(&s);
}

static void test_environment_is_only_its_own(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    setenv("PADDOCK_TEST_SECRET", "do-not-tell", 1);
    scene_shell(&s,
            "cat /proc/[0-9]*/environ /proc/self/environ 2>/dev/null | tr '\\0' '\\n'",
            &o);
    assert_null(strstr(o.out, "do-not-tell"));
    assert_non_null(strstr(o.out, "LC_ALL=C.UTF-8"));
    outcome_finish(&o);
    scene_end(&s);
}

/* What was a folder when the policy looked may be a link by now. */
static void test_links_in_the_way(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    furnish(&s);
    assert_int_equal(symlink(s.outside, scene_path(&s, "ws/way")), 0);
    scene_rule(&s, VIEW_WRITABLE, "ws/way");
    scene_rule(&s, VIEW_HIDDEN, "ws/way/file");
    scene_shell(&s, "echo x > way/new || cat .git/config", &o);
    assert_string_equal(o.out, "config");
    assert_false(scene_has(&s, "outside/new"));
    assert_int_equal(is_held(&o, "protected"), has_namespaces());
    outcome_finish(&o);
    s.spec.cwd = scene_path(&s, "ws/way");
    scene_shell(&s, "touch ran", &o);
    assert_int_equal(o.end, COMMAND_NOT_STARTED);
    assert_non_null(strstr(o.error.message, "working directory"));
    assert_false(scene_has(&s, "outside/ran"));
    outcome_finish(&o);
    scene_end(&s);
}

/* One path that cannot be protected must not rid all others of their protection. */
static void test_a_path_that_fails(void **state UNUSED)
{
    struct scene s;
    struct outcome o;
    char name[1024];
    if (!has_namespaces())
        skip();
    furnish(&s);
    memset(name, 'x', sizeof(name));
    memcpy(name, "/", 1);
    name[sizeof(name) - 1] = '\0';
    s.rules[s.spec.path_count++] = (struct view_path){ VIEW_HIDDEN, name };
    scene_shell(&s, "touch ran", &o);
    assert_int_equal(o.end, COMMAND_NOT_STARTED);
    assert_non_null(strstr(o.error.message, "view: File name too long"));
    assert_false(scene_has(&s, "ws/ran"));
    outcome_finish(&o);
    scene_end(&s);
}

static void test_many_paths(void **state UNUSED)
{
    enum { COUNT = 2000 };
    static struct view_path paths[COUNT + 1];
    static char names[COUNT][192];
    struct scene s;
    struct outcome o;
    scene_begin(&s);
    paths[0] = (struct view_path){ VIEW_WRITABLE, s.ws };
    for (unsigned i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof(name), "ws/%u", i);
        scene_write(&s, name, "x");
        snprintf(names[i], sizeof(names[i]), "%s/%u", s.ws, i);
        paths[i + 1] =
                (struct view_path){ i % 2 ? VIEW_HIDDEN : VIEW_READ_ONLY, names[i] };
    }
    s.spec.paths = paths;
    s.spec.path_count = COUNT + 1;
    scene_shell(&s, "cat 1998 && ! cat 1999 2>/dev/null && ! echo y 2>/dev/null > 0", &o);
    if (has_namespaces())
        expect_exit(&o, 0, "x", NULL);
    outcome_finish(&o);
    scene_end(&s);
}

static int run_all(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attempts_are_real),
        cmocka_unit_test(test_nothing_gets_through),
        cmocka_unit_test(test_old_landlock),
        cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_powerless_namespace),
        cmocka_unit_test(test_network_allowed),
        cmocka_unit_test(test_ordinary_work),
        cmocka_unit_test(test_own_temporary_folder),
        cmocka_unit_test(test_own_devices),
        cmocka_unit_test(test_environment_is_only_its_own),
        cmocka_unit_test(test_links_in_the_way),
        cmocka_unit_test(test_a_path_that_fails),
        cmocka_unit_test(test_many_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    return launching_main("/var/lib", run_all);
}
