/*
 * Every attempt of python-attempts.h, each in a child of a real zygote, on every host of
 * hosts.h, in two builds: "rules", the program that is installed, in Python; and
 * "kernel", a build without any rule, with raw system calls.  Output is TAP, and at the
 * end a table.  Through is allowed only what the status of the child does not claim.
 */
#include "hosts.h"
#include "python-attempts.h"
#include "python-world.h"
#include "scratch.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define TOKEN         "SECRET-OF-THE-SERVER"
#define ABSTRACT_NAME "paddock-test-python"
#define MAX_COLUMNS   16
#define MAX_ROWS      256

enum build { BUILD_RULES, BUILD_KERNEL };
static const char *const build_names[] = { "rules", "kernel" };

static const struct attempt *const tables[] = { write_attempts, read_attempts,
    exec_attempts, network_attempts, process_attempts, python_attempts };

/* Shared with the children that play a host. */
static struct {
    unsigned count, failed;
    unsigned columns;
    char titles[MAX_COLUMNS][48];
    char table[MAX_ROWS][MAX_COLUMNS]; /* see legend[] */
} * shared;

static const char legend[] =
        "# refused: '.'; killed: 'k'; got through, and the status does not claim that it "
        "is held: 'o'; got through: '!'; failed for another reason: '?'";

/* A run on one host, by one user, of one build. */
struct run {
    enum build build;
    enum host host;
    struct python_world_options options;
    struct python_world world;
    struct python_child sibling;
    int port;
    unsigned column;
};

static void report(const struct run *run, bool good, const char *row, const char *what,
        struct str why)
{
    shared->count++;
    shared->failed += !good;
    printf("%sok %u - %s %s (%s, uid %u, %s): %.*s\n", good ? "" : "not ", shared->count,
            row, what, build_names[run->build], geteuid(), host_names[run->host],
            STR_ARG(why));
    fflush(stdout);
}

/* --- what must not change ----------------------------------------------------------- */

static uint64_t inventory_hash;
static size_t inventory_base;

static void add_bytes(const void *data, size_t len)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < len; i++)
        inventory_hash = (inventory_hash ^ bytes[i]) * 0x100000001b3u;
}

static void add_content(const char *path)
{
    char block[4096];
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && (n = read(fd, block, sizeof(block))) > 0;)
        add_bytes(block, (size_t)n);
}

static int add_file(
        const char *path, const struct stat *st, int type UNUSED, struct FTW *ftw UNUSED)
{
    const char *name = path + inventory_base;
    if (!strcmp(name, "/ws/sub") || !strcmp(name, "/ws/.pyddock/tmp") ||
            !strcmp(name, "/ws/.claude"))
        return FTW_SKIP_SUBTREE;
    add_bytes(path, strlen(path) + 1);
    add_bytes(&st->st_mode, sizeof(st->st_mode));
    add_bytes(&st->st_uid, sizeof(st->st_uid));
    add_bytes(&st->st_ino, sizeof(st->st_ino));
    if (S_ISREG(st->st_mode)) {
        add_bytes(&st->st_mtim, sizeof(st->st_mtim));
        add_content(path);
    }
    return FTW_CONTINUE;
}

static uint64_t take_inventory(const struct machine *m)
{
    inventory_hash = 0xcbf29ce484222325u;
    inventory_base = strlen(m->top);
    nftw(m->top, add_file, 8, FTW_PHYS | FTW_ACTIONRETVAL);
    return inventory_hash;
}

static void make_room(const struct run *run)
{
    const struct machine *m = &run->world.machine;
    scratch_remove(machine_path(m, "ws/sub"));
    scratch_remove(machine_path(m, "ws/.claude"));
    if (mkdir(machine_path(m, "ws/sub"), 0755))
        abort();
    unlink(machine_path(m, "ws/.pyddock/tmp/evil.so"));
}

/* --- the text of a snippet ---------------------------------------------------------- */

#define NR(name)          \
    {                     \
#name, SYS_##name \
    }
static const struct {
    const char *name;
    long nr;
} numbers[] = {
    NR(openat),
    NR(truncate),
    NR(renameat2),
    NR(linkat),
    NR(unlinkat),
    NR(fchdir),
    NR(fchmodat),
    NR(fchmod),
    NR(utimensat),
    NR(fchownat),
    NR(setxattr),
    NR(fsetxattr),
    NR(mknodat),
    NR(copy_file_range),
    NR(ioctl),
    NR(splice),
    NR(io_uring_setup),
    NR(open_by_handle_at),
    NR(openat2),
    NR(process_vm_readv),
    NR(ptrace),
    NR(pidfd_getfd),
    NR(pidfd_open),
    NR(keyctl),
    NR(execve),
    NR(execveat),
    NR(memfd_create),
    NR(clone),
    NR(clone3),
    NR(mmap),
    NR(mprotect),
    NR(pkey_mprotect),
    NR(shmget),
    NR(personality),
    NR(socket),
    NR(socketpair),
    NR(sendto),
    NR(listen),
    NR(tkill),
    NR(tgkill),
    NR(rt_sigqueueinfo),
    NR(pidfd_send_signal),
    NR(fcntl),
    NR(prlimit64),
    NR(unshare),
    NR(mount),
    NR(umount2),
    NR(chroot),
    NR(pivot_root),
    NR(setns),
    NR(prctl),
    NR(seccomp),
    NR(setresuid),
    NR(capset),
    NR(bpf),
    NR(perf_event_open),
    NR(userfaultfd),
    NR(add_key),
    NR(request_key),
    NR(fanotify_init),
    NR(init_module),
    NR(kexec_load),
    NR(syslog),
    NR(swapon),
    NR(acct),
    NR(quotactl),
    NR(vmsplice),
    NR(mq_open),
    NR(semget),
    NR(msgget),
#ifdef SYS_vfork
    NR(vfork),
#endif
};

static const char raw_prelude[] =
        "import ctypes, errno, fcntl, importlib.machinery, logging.handlers, mmap, os\n"
        "import shutil, socket, sqlite3, struct, subprocess, tarfile, threading, "
        "_lsprof\n"
        "import multiprocessing.context, multiprocessing.popen_fork, resource\n"
        "libc = ctypes.CDLL(None, use_errno=True)\n"
        "libc.syscall.restype = ctypes.c_long\n"
        "def S(nr, *args):\n"
        "    args = [ctypes.c_long(a) if isinstance(a, int) else\n"
        "            a.encode() if isinstance(a, str) else a for a in args]\n"
        "    r = libc.syscall(ctypes.c_long(nr), *args)\n"
        "    if r == -1:\n"
        "        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))\n"
        "    return r\n"
        "def is_rule(e):\n"
        "    if isinstance(e, OSError) and e.errno is not None:\n"
        "        return e.errno in (1, 12, 13, 16, 18, 30, 38, 95, 97)\n"
        "    return isinstance(e, (PermissionError, MemoryError)) or any(\n"
        "        t in str(e) for t in ('failed to map', 'unable to open database',\n"
        "                              'Read-only file system', 'Permission denied'))\n";

static void add_names(const struct run *run, struct buf *code)
{
    const char *top = run->world.machine.top;
    buf_addf(code,
            "TOP = '%s'\nWS = '%s/ws'\nHOME = '%s/home'\nOUT = '%s/out'\nSERVER = %d\n"
            "ZYGOTE = %d\nSIBLING = %d\nPORT = %d\nABSTRACT = '%s'\nLIB = '%s'\n",
            top, top, top, top, (int)getpid(), (int)run->world.zygote.pid,
            (int)run->sibling.pid, run->port, ABSTRACT_NAME, python_world_library());
    if (run->build != BUILD_KERNEL)
        return;
    buf_add(code, str_of(raw_prelude));
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        buf_addf(code, "SYS_%s = %ld\n", numbers[i].name, numbers[i].nr);
}

static void add_indented(struct buf *code, const char *text)
{
    struct str rest = str_of(text);
    while (rest.len) {
        struct str line = str_cut(&rest, '\n');
        buf_addf(code, "    %.*s\n", STR_ARG(line));
    }
}

static void write_snippet(const struct run *run, const char *text, struct buf *code)
{
    add_names(run, code);
    buf_add(code, STR("try:\n"));
    add_indented(code, text);
    buf_addf(code,
            "except BaseException as e:\n"
            "    print('%s', type(e).__name__, str(e)[:160])\n"
            "else:\n"
            "    print('THROUGH')\n",
            run->build == BUILD_KERNEL ? "REFUSED' if is_rule(e) else 'FAILED"
                                       : "REFUSED");
}

/* --- a run -------------------------------------------------------------------------- */

static void begin_world(struct run *run)
{
    run->options = (struct python_world_options){
        .program = getenv(
                run->build == BUILD_RULES ? "PADDOCK_TEST_RULES" : "PADDOCK_TEST_KERNEL"),
        .variable = run->host == HOST_OLD_LANDLOCK ? "PADDOCK_TEST_LANDLOCK=2" : NULL,
    };
    python_world_begin(&run->world, &run->options);
    python_child_begin(&run->world, &run->sibling);
}

static void end_world(struct run *run)
{
    python_child_kill(&run->sibling);
    python_child_wait(&run->world, &run->sibling);
    python_child_finish(&run->sibling);
    python_world_end(&run->world);
}

static bool is_claimed(const struct run *run, const char *property)
{
    if (*property == '+')
        return python_child_holds(&run->sibling, property + 1);
    if (run->build == BUILD_RULES || !strcmp(property, "always"))
        return true;
    return strcmp(property, "rules") && python_child_holds(&run->sibling, property);
}

/*
 * Other ways to be refused: what is hidden is an empty folder, /dev/shm is not there, and
 * a descriptor for reading cannot be written to.
 */
static bool is_also_refused(const struct attempt *a, const char *output)
{
    bool is_gone = strstr(output, "[Errno 2]");
    return ((!strcmp(a->row, "R18") || !strcmp(a->row, "R19")) && is_gone) ||
           (strstr(a->what, "/dev/shm") && is_gone) ||
           (!strcmp(a->row, "W14") && strstr(output, "[Errno 9]"));
}

/* One letter of the legend. */
static char judge(const struct run *run, const struct attempt *a,
        const struct python_child *c, bool is_harmed)
{
    if (is_harmed || strstr(c->output, "THROUGH") || strstr(c->output, "SECRET"))
        return is_claimed(run, a->property) ? '!' : 'o';
    if (strstr(c->output, "FAILED"))
        return is_also_refused(a, c->output) ? '.' : '?';
    if (WIFSIGNALED(c->wait_status))
        return 'k';
    return c->notes ? '.' : '?';
}

static void describe(
        char verdict, bool is_harmed, const struct python_child *c, struct buf *why)
{
    struct str output = str_of(c->output);
    if (verdict == '!' || verdict == 'o')
        buf_addf(why, "GOT THROUGH%s%s", is_harmed ? ", and something has changed" : "",
                verdict == 'o' ? ", which is not claimed" : "");
    else if (verdict == 'k')
        buf_addf(why, "killed by SIG%s", sigabbrev_np(WTERMSIG(c->wait_status)));
    for (int lines = 0; output.len && lines < 2; lines++) {
        struct str line = str_cut(&output, '\n');
        buf_addf(why, "%s%.*s", why->len ? " | " : "", STR_ARG(line));
    }
}

static void try_attempt(struct run *run, const struct attempt *a, unsigned row)
{
    const char *text = run->build == BUILD_KERNEL && a->raw ? a->raw : a->python;
    if (!text) {
        shared->table[row][run->column] = ' ';
        return;
    }
    auto_buf code = BUF((size_t)1 << 16), why = BUF(1024);
    struct python_child child;
    write_snippet(run, text, &code);
    make_room(run);
    uint64_t before = take_inventory(&run->world.machine);
    python_child_run(&run->world, code.data, &child);
    bool is_harmed = take_inventory(&run->world.machine) != before;
    char verdict = judge(run, a, &child, is_harmed);
    describe(verdict, is_harmed, &child, &why);
    report(run, verdict != '!' && verdict != '?', a->row, a->what, buf_str(&why));
    shared->table[row][run->column] = verdict;
    python_child_finish(&child);
    if (is_harmed) {
        end_world(run);
        begin_world(run);
    }
}

static void try_work(struct run *run, const struct work *w)
{
    auto_buf code = BUF((size_t)1 << 16);
    struct python_child child;
    buf_addf(&code, "%s\nprint('DONE')\n", w->python);
    make_room(run);
    python_child_run(&run->world, code.data, &child);
    report(run, strstr(child.output, "DONE"), "works:", w->what, str_of(child.output));
    python_child_finish(&child);
}

static bool can_work(const struct run *run, const struct work *w)
{
    return (run->host == HOST_WHOLE || !(w->where & WORKS_WITH_MOUNTS)) &&
           (run->build == BUILD_KERNEL || !(w->where & WORKS_FOR_LIBRARIES));
}

static int listen_somewhere(void)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
        .sin_addr = { htonl(INADDR_LOOPBACK) } };
    struct sockaddr_un abstract = { .sun_family = AF_UNIX };
    socklen_t len = sizeof(address);
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    strcpy(abstract.sun_path + 1, ABSTRACT_NAME);
    if (bind(tcp, (struct sockaddr *)&address, sizeof(address)) || listen(tcp, 5) ||
            getsockname(tcp, (struct sockaddr *)&address, &len) ||
            bind(local, (struct sockaddr *)&abstract,
                    offsetof(struct sockaddr_un, sun_path) + sizeof(ABSTRACT_NAME)) ||
            listen(local, 5))
        perror("# listen");
    return ntohs(address.sin_port);
}

static void run_build(enum build build, enum host host, int port)
{
    assert(shared->columns < MAX_COLUMNS);
    struct run run = {
        .build = build, .host = host, .port = port, .column = shared->columns++
    };
    snprintf(shared->titles[run.column], sizeof(shared->titles[0]), "%s, uid %u, %s",
            build_names[build], geteuid(), host_names[host]);
    unsigned row = 0;
    begin_world(&run);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        for (const struct attempt *a = tables[i]; a->row; a++)
            try_attempt(&run, a, row++);
    for (const struct work *w = python_works; w->what; w++)
        if (can_work(&run, w))
            try_work(&run, w);
    end_world(&run);
}

static int run_host(enum host host)
{
    int port = listen_somewhere();
    if (host == HOST_WHOLE || host == HOST_NO_MOUNTS)
        run_build(BUILD_RULES, host, port);
    run_build(BUILD_KERNEL, host, port);
    return 0;
}

static void print_table(void)
{
    puts(legend);
    for (unsigned i = 0; i < shared->columns; i++)
        printf("# column %u: %s\n", i + 1, shared->titles[i]);
    unsigned row = 0;
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        for (const struct attempt *a = tables[i]; a->row; a++, row++) {
            printf("# %-5s", a->row);
            for (unsigned k = 0; k < shared->columns; k++)
                printf(" %c", shared->table[row][k] ? shared->table[row][k] : ' ');
            printf("  %s (%s)\n", a->what, a->property);
        }
}

/* Where an ordinary user can start them, too. */
static void copy_programs(char *folder)
{
    static const char *const names[][2] = { { "PADDOCK_PYTHON", "PADDOCK_TEST_RULES" },
        { "PADDOCK_PYTHON_BARE", "PADDOCK_TEST_KERNEL" } };
    scratch_make(folder);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char command[1024], to[128];
        snprintf(to, sizeof(to), "%s/%zu", folder, i);
        snprintf(command, sizeof(command), "cp '%s' '%s'", getenv(names[i][0]), to);
        if (system(command) || chmod(folder, 0755))
            abort();
        setenv(names[i][1], to, 1);
    }
}

int main(void)
{
    char folder[] = "/tmp/paddock-python-XXXXXX";
    int broken = 0;
    copy_programs(folder);
    setenv("PADDOCK_TEST_TOKEN", TOKEN, 1);
    shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    const char *only = getenv("PADDOCK_TEST_HOST");
    for (enum host host = 0; host < HOSTS; host++) {
        if (only && strcmp(only, host_names[host]))
            continue;
        if (host != HOST_OLD_LANDLOCK && host != HOST_NO_LANDLOCK)
            broken += host_run(host, false, run_host);
        else if (geteuid())
            broken += host_run(host, false, run_host);
        if (!geteuid())
            broken += host_run(host, true, run_host);
    }
    print_table();
    printf("1..%u\n# %u passed, %u failed\n", shared->count,
            shared->count - shared->failed, shared->failed);
    scratch_remove(folder);
    return broken || shared->failed;
}
