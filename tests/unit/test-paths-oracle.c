/*
 * The decision about a path equals that of an oracle which shares no code with it: on
 * random trees with links, under random policies, for random ways to write a path.  The
 * oracle resolves with realpath(3) and knows the guards as functions, not as patterns.
 */
#include "policy/paths.h"
#include "policy/pyre/pyre.h"
#include "scratch.h"
#include "vfs/vfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

enum { WORLDS = 60, QUESTIONS = 150, MAX_PARTS = 64 };

static const char *const names[] = { ".git", ".GIT", ".env", ".env.x", ".environ",
    ".kiro", "settings", "settings2", ".pyddock", "tmp", "tmpx", "src", "jobs",
    "secret" };

/* A path in pieces. */
struct parts {
    const char *name[MAX_PARTS];
    size_t count;
    char text[PATH_MAX];
};

static void split(const char *path, struct parts *out)
{
    snprintf(out->text, sizeof(out->text), "%s", path);
    out->count = 0;
    for (char *at = strtok(out->text, "/"); at; at = strtok(NULL, "/"))
        out->name[out->count++] = at;
}

/* Does the guard match?  `exact`: only what is below the folder that it names counts. */
typedef bool guard_fn(const struct parts *p, bool exact);

static bool same(const char *a, const char *b, bool exact)
{
    return exact ? !strcmp(a, b) : !strcasecmp(a, b);
}

static bool is_git(const struct parts *p, bool exact)
{
    for (size_t i = 0; i + exact < p->count; i++)
        if (same(p->name[i], ".git", exact))
            return true;
    return false;
}

static bool is_env(const struct parts *p, bool exact)
{
    const char *last = p->count ? p->name[p->count - 1] : "";
    (void)exact; /* no name here folds to one of these */
    return !strcmp(last, ".env") || !strncmp(last, ".env.", 5);
}

static bool is_settings(const struct parts *p, bool exact)
{
    (void)exact;
    for (size_t i = 0; i + 1 < p->count; i++)
        if (!strcmp(p->name[i], ".kiro") && !strncmp(p->name[i + 1], "settings", 8))
            return true;
    return false;
}

static bool is_secret(const struct parts *p, bool exact)
{
    (void)exact;
    return p->count && !strcmp(p->name[p->count - 1], "secret");
}

static bool is_source(const struct parts *p, bool exact)
{
    for (size_t i = 0; i + exact < p->count; i++)
        if (!strcmp(p->name[i], "src"))
            return true;
    return false;
}

static const struct {
    const char *pattern;
    guard_fn *matches;
} guard_kinds[] = {
    { "/\\.git/", is_git },
    { "/\\.env(\\.[^/]*)?$", is_env },
    { "/\\.kiro/settings", is_settings },
    { "/secret$", is_secret },
    { "/(src)/", is_source },
};

struct world {
    struct arena *arena;
    struct policy policy;
    struct path_policy *paths;
    struct vfs *vfs;
    char top[PATH_MAX];
    guard_fn *matches[8];
    unsigned seed;
};

static unsigned pick(struct world *w, unsigned n)
{
    w->seed = w->seed * 1103515245u + 12345u;
    return (w->seed >> 16) % n;
}

static const char *pick_name(struct world *w)
{
    return names[pick(w, ARRAY_LEN(names))];
}

/* A random path of up to four names below the top; sometimes with "..". */
static const char *pick_path(struct world *w)
{
    auto_buf path = BUF(PATH_MAX);
    buf_add(&path, str_of(w->top));
    for (unsigned n = pick(w, 5); n; n--)
        buf_addf(&path, "/%s", pick(w, 8) ? pick_name(w) : "..");
    return arena_cstr(w->arena, buf_str(&path));
}

static void fill(struct world *w, const char *folder, int depth)
{
    for (unsigned n = 2 + pick(w, 4); n; n--) {
        const char *path = arena_printf(w->arena, "%s/%s", folder, pick_name(w));
        unsigned kind = pick(w, 6);
        if (kind < 3 && depth < 3 && !mkdir(path, 0755)) {
            fill(w, path, depth + 1);
        } else if (kind == 3) {
            const char *target = pick(w, 2) ? pick_path(w) : pick_name(w);
            if (symlink(target, path) && errno != EEXIST)
                fail_msg("symlink: %s", strerror(errno));
        } else {
            int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
            if (fd >= 0)
                close(fd);
        }
    }
}

static void destroy_pattern(void *pattern)
{
    pyre_destroy(pattern);
}

static void make_guards(struct world *w)
{
    struct policy *p = &w->policy;
    p->guard_count = pick(w, ARRAY_LEN(w->matches));
    p->guards = arena_zalloc(w->arena, (p->guard_count + 1) * sizeof(*p->guards));
    for (size_t i = 0; i < p->guard_count; i++) {
        size_t kind = pick(w, ARRAY_LEN(guard_kinds));
        struct str text = str_of(guard_kinds[kind].pattern);
        struct pyre *pattern;
        struct error err;
        assert_true(pyre_create(text, 0, &pattern, &err));
        arena_defer(w->arena, destroy_pattern, pattern);
        w->matches[i] = guard_kinds[kind].matches;
        p->guards[i] = (struct policy_guard){
            .regex = { .text = text, .pattern = pattern },
            .disposition = (enum guard_disposition)pick(w, 5),
        };
    }
}

static struct str real_folder(struct world *w, const char *path)
{
    char real[PATH_MAX];
    return arena_str(w->arena, str_of(realpath(path, real) ? real : w->top));
}

static struct policy_path *make_roots(struct world *w, size_t *count)
{
    *count = 1 + pick(w, 2);
    struct policy_path *roots = arena_zalloc(w->arena, *count * sizeof(*roots));
    for (size_t i = 0; i < *count; i++)
        roots[i].path = real_folder(w, pick(w, 3) ? w->top : pick_path(w));
    return roots;
}

static void make_policy(struct world *w)
{
    struct policy *p = &w->policy;
    p->workspace = p->workspace_real = real_folder(w, w->top);
    p->readable_all = pick(w, 2);
    p->writable = make_roots(w, &p->writable_count);
    p->readable = make_roots(w, &p->readable_count);
    p->protected_count = pick(w, 3);
    p->protected = arena_zalloc(w->arena, 2 * sizeof(*p->protected));
    for (size_t i = 0; i < p->protected_count; i++) {
        const char *name = i ? "jobs" : ".pyddock";
        p->protected[i].kind = i ? PROTECTED_SCRIPTS : PROTECTED_POLICY;
        p->protected[i].path = str_of(arena_printf(w->arena, "%s/%s", w->top, name));
        if (!i)
            p->protected[i].except =
                    str_of(arena_printf(w->arena, "%s/.pyddock/tmp", w->top));
    }
    make_guards(w);
    w->paths = path_policy_create(p, w->arena);
}

static void open_world(struct world *w, unsigned seed)
{
    char top[] = "/tmp/paddock-oracle-XXXXXX", real[PATH_MAX];
    *w = (struct world){ .arena = arena_create(), .seed = seed };
    scratch_make(top);
    assert_non_null(realpath(top, real));
    snprintf(w->top, sizeof(w->top), "%s", real);
    fill(w, w->top, 0);
    make_policy(w);
    const struct vfs_options options = { .paths = w->paths, .umask = 022 };
    w->vfs = vfs_create(&options);
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(vfs_mount_local(w->vfs, VPATH_ROOT, root, "/"), 0);
}

static void close_world(struct world *w)
{
    vfs_destroy(w->vfs);
    scratch_remove(w->top);
    arena_destroy(w->arena);
}

/* The oracle. */

static bool is_in(const char *path, struct str folder)
{
    struct parts a, b;
    split(path, &a);
    split(folder.data, &b);
    if (b.count > a.count)
        return false;
    for (size_t i = 0; i < b.count; i++)
        if (strcmp(a.name[i], b.name[i]))
            return false;
    return true;
}

static bool is_in_any(const char *path, const struct policy_path *roots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_in(path, roots[i].path))
            return true;
    return false;
}

static bool leads_to_any(const char *path, const struct policy_path *roots, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_in(roots[i].path.data, str_of(path)))
            return true;
    return false;
}

static bool is_protected(const struct world *w, const char *path)
{
    for (size_t i = 0; i < w->policy.protected_count; i++) {
        const struct policy_protected *p = &w->policy.protected[i];
        bool is_free = p->except.len && is_in(path, p->except) &&
                       strcmp(path, p->except.data) != 0;
        if (is_in(path, p->path) && !is_free)
            return true;
    }
    return false;
}

/* -1: no guard has a say. */
static int ask_guards(const struct world *w, const char *path, enum path_use use)
{
    struct parts parts;
    split(path, &parts);
    for (size_t i = 0; i < w->policy.guard_count; i++) {
        enum guard_disposition d = w->policy.guards[i].disposition;
        if (!w->matches[i](&parts, d == GUARD_ALLOW && use == PATH_WRITE))
            continue;
        if (d == GUARD_READ_ONLY)
            return use == PATH_WRITE ? 0 : -1;
        if (d == GUARD_WORKSPACE)
            return is_in(path, w->policy.workspace_real);
        return d == GUARD_ALLOW;
    }
    return -1;
}

static bool oracle(const struct world *w, const char *path, enum path_use use)
{
    const struct policy *p = &w->policy;
    if (use == PATH_WRITE && is_protected(w, path))
        return false;
    int said = ask_guards(w, path, use);
    if (said >= 0)
        return said;
    if (use == PATH_WRITE)
        return is_in_any(path, p->writable, p->writable_count);
    if (p->readable_all || is_in_any(path, p->readable, p->readable_count))
        return true;
    return use == PATH_LOOK &&
           (is_in_any(path, p->writable, p->writable_count) ||
                   leads_to_any(path, p->writable, p->writable_count) ||
                   leads_to_any(path, p->readable, p->readable_count));
}

static void check_decisions(const struct world *w, const char *real)
{
    for (int use = PATH_LOOK; use <= PATH_WRITE; use++) {
        bool want = oracle(w, real, (enum path_use)use);
        if (path_allowed(w->paths, str_of(real), (enum path_use)use, NULL) != want)
            fail_msg("seed %u: '%s' for use %d should%s be allowed", w->seed, real, use,
                    want ? "" : " not");
    }
}

/* A file that is there: opening it says EACCES exactly if the oracle says no. */
static void check_vfs(struct world *w, const char *path, const char *real)
{
    struct vpath at;
    struct vfs_stat st;
    struct vfile *f = NULL;
    assert_int_equal(vpath_parse(str_of(path), VPATH_ROOT, w->arena, &at), 0);
    int error = vfs_stat(w->vfs, at, VFS_FOLLOW, &st);
    if (error != EACCES && !oracle(w, real, PATH_LOOK))
        fail_msg("seed %u: '%s' was looked at", w->seed, path);
    error = vfs_open(w->vfs, at, VFS_READ, 0, &f);
    if (!error && !oracle(w, real, PATH_READ))
        fail_msg("seed %u: '%s' was opened", w->seed, path);
    vfile_close(f);
    f = NULL;
    error = vfs_open(w->vfs, at, VFS_WRITE, 0, &f);
    if (!error && !oracle(w, real, PATH_WRITE))
        fail_msg("seed %u: '%s' was opened for writing", w->seed, path);
    vfile_close(f);
    /* What came through a hidden folder is refused as well, so only this way round: */
    if (error == EACCES && strcmp(path, real) == 0 && oracle(w, real, PATH_WRITE))
        fail_msg("seed %u: '%s' was refused", w->seed, path);
}

static void ask(struct world *w, const char *path)
{
    char real[PATH_MAX];
    if (realpath(path, real)) {
        check_decisions(w, real);
        check_vfs(w, path, real);
    }
}

static void test_against_the_oracle(void **state UNUSED)
{
    for (unsigned seed = 1; seed <= WORLDS; seed++) {
        struct world w;
        open_world(&w, seed * 7919);
        ask(&w, "/");
        ask(&w, "/tmp");
        for (int i = 0; i < QUESTIONS; i++)
            ask(&w, pick_path(&w));
        close_world(&w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_against_the_oracle) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
