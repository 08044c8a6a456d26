#include "machine.h"
#include "scratch.h"

#include "policy/pyre/pyre.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static const struct origin origin = { "built-in", 40 };

static const struct {
    const char *pattern;
    enum guard_disposition disposition;
} guards[] = {
    { "/\\.ssh/", GUARD_DENY_AGENT },
    { "/\\.aws/credentials$", GUARD_DENY_AGENT },
    { "/\\.npmrc$", GUARD_DENY_ALL },
    { "/\\.env(\\.[^/]*)?$", GUARD_WORKSPACE },
    { "/\\.git/", GUARD_READ_ONLY },
    { "/\\.kiro/settings", GUARD_READ_ONLY },
};

const char *machine_path(const struct machine *m, const char *name)
{
    return arena_printf(m->arena, "%s/%s", m->top, name);
}

static struct str path_of(const struct machine *m, const char *name)
{
    return str_of(machine_path(m, name));
}

void machine_write(const struct machine *m, const char *name, const char *text)
{
    auto_fd int fd =
            open(machine_path(m, name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

bool machine_has(const struct machine *m, const char *name)
{
    struct stat st;
    return !lstat(machine_path(m, name), &st);
}

bool machine_holds(const struct machine *m, const char *name, const char *text)
{
    char have[256];
    auto_fd int fd = open(machine_path(m, name), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, have, sizeof(have));
    return n >= 0 && str_eq((struct str){ have, (size_t)n }, str_of(text));
}

static void make_folders(const struct machine *m)
{
    static const char *const folders[] = { "ws", "ws/.git", "ws/.kiro",
        "ws/.kiro/settings", "ws/.pyddock", "ws/.pyddock/tmp", "ws/tools",
        "ws/tools/jobs", "ws/sub", "ws/nested", "ws/nested/.git", "home", "home/.ssh",
        "home/.aws", "out" };
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        if (mkdir(machine_path(m, folders[i]), 0755))
            assert(!"folders can be made");
}

static void make_files(const struct machine *m)
{
    static const char *const files[] = { "ws/a.txt", "ws/.git/config", "ws/.git/HEAD",
        "ws/.kiro/settings/mcp.json", "ws/.pyddock/pyddock.toml", "ws/tools/jobs/run.sh",
        "ws/.env", "ws/nested/.git/config", "ws/nested/.npmrc", "home/public.txt",
        "home/.npmrc", "home/.ssh/key", "home/.aws/credentials", "out/f.txt" };
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        machine_write(m, files[i], "SECRET\n");
    if (link(machine_path(m, "home/.ssh/key"), machine_path(m, "out/key2")) ||
            link(machine_path(m, "ws/.git/config"), machine_path(m, "ws/twin")) ||
            symlink(machine_path(m, "out"), machine_path(m, "ws/link")))
        assert(!"links can be made");
    if (mkfifo(machine_path(m, "out/fifo"), 0666) ||
            (!geteuid() &&
                    mknod(machine_path(m, "out/zero"), S_IFCHR | 0666, makedev(1, 5))))
        assert(!"special files can be made");
}

static struct policy_path *make_root(struct machine *m, const char *text, struct str path)
{
    struct policy_path *root = arena_zalloc(m->arena, sizeof(*root));
    *root = (struct policy_path){ str_of(text), path, origin };
    return root;
}

static void destroy_pattern(void *pattern)
{
    pyre_destroy(pattern);
}

static void make_guards(struct machine *m)
{
    struct policy_guard *list = arena_zalloc(m->arena, sizeof(*list) * ARRAY_LEN(guards));
    for (size_t i = 0; i < ARRAY_LEN(guards); i++) {
        struct error err;
        struct pyre *pattern;
        if (!pyre_create(str_of(guards[i].pattern), 0, &pattern, &err))
            assert(!"the guards are patterns");
        arena_defer(m->arena, destroy_pattern, pattern);
        list[i] = (struct policy_guard){
            .regex = { str_of(guards[i].pattern), pattern, origin },
            .disposition = guards[i].disposition,
        };
    }
    m->policy.guards = list;
    m->policy.guard_count = ARRAY_LEN(guards);
}

static void make_policy(struct machine *m)
{
    struct policy *p = &m->policy;
    struct policy_protected *protected = arena_zalloc(m->arena, 2 * sizeof(*protected));
    protected[0] = (struct policy_protected){ .kind = PROTECTED_POLICY,
        .path = path_of(m, "ws/.pyddock"),
        .except = path_of(m, "ws/.pyddock/tmp") };
    protected[1] = (struct policy_protected){
        .kind = PROTECTED_SCRIPTS, .path = path_of(m, "ws/tools/jobs"), .origin = origin
    };
    p->workspace = p->workspace_real = path_of(m, "ws");
    p->home = path_of(m, "home");
    p->protected = protected;
    p->protected_count = 2;
    p->writable = make_root(m, ".", p->workspace_real);
    p->writable_count = 1;
    p->readable = make_root(m, "*", STR(""));
    p->readable_count = 1;
    p->readable_all = true;
    make_guards(m);
}

static uid_t new_owner;

static int give_away(const char *path, const struct stat *st UNUSED, int type UNUSED,
        struct FTW *ftw UNUSED)
{
    return lchown(path, new_owner, new_owner);
}

void machine_create(struct machine *m, uid_t owner)
{
    *m = (struct machine){ .arena = arena_create() };
    char top[] = "/tmp/paddock-machine-XXXXXX", real[PATH_MAX];
    scratch_make(top);
    if (!realpath(top, real) || chmod(real, 0755))
        assert(!"a folder can be made");
    snprintf(m->top, sizeof(m->top), "%.60s", real);
    make_folders(m);
    make_files(m);
    make_policy(m);
    new_owner = owner;
    if (owner != geteuid() && nftw(m->top, give_away, 8, FTW_PHYS))
        assert(!"root can give files away");
    m->paths = path_policy_create(&m->policy, m->arena);
}

void machine_destroy(struct machine *m)
{
    scratch_remove(m->top);
    arena_destroy(m->arena);
}
