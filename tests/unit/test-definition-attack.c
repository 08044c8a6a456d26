/*
 * Whatever tree of folders and links there is, and whatever a policy lets agents write:
 * what they may write does not become a definition.  Each name that they may replace is
 * replaced, one at a time, and the definitions are read again.
 */
#include "definition-world.h"
#include "policy/paths.h"
#include "policy/place.h"

#include "sanitized.h"
#include "scratch.h"
#include "unit.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define TREES     (SANITIZED ? 16 : 40)
#define MAX_NAMES 200

#define DEFINITION \
    "{\"mcpServers\": {\"box\": {\"command\": \"tool\", \"args\": [\"%s\"]}}}"

static unsigned seed = 11;

static unsigned choose(unsigned count)
{
    seed = seed * 1103515245 + 12345;
    return (seed >> 16) % count;
}

static void put_definition(const struct world *w, const char *name, const char *who)
{
    auto_buf text = BUF(4096);
    buf_addf(&text, DEFINITION, who);
    put(w, name, text.data);
}

/* --- a tree --- */

static const char *const folders[] = { "ws/.kiro", "ws/.kiro/settings", "ws/.vscode",
    "ws/.cursor", "ws/scratch", "ws/conf", "home/.kiro", "home/.kiro/settings",
    "home/.cursor", "safe", "safe/settings" };

/* Where a definition is, or a link may stand. */
static const char *const files[] = { "ws/.kiro/settings/mcp.json", "ws/.vscode/mcp.json",
    "ws/.cursor/mcp.json", "ws/.mcp.json", "ws/.pyddock/mcp.json",
    "home/.kiro/settings/mcp.json", "home/.cursor/mcp.json", "safe/mcp.json",
    "safe/settings/mcp.json", "ws/scratch/mcp.json", "ws/conf/mcp.json", "ws/hop" };

static bool try_link(const struct world *w, const char *name, const char *target)
{
    return !symlink(in_world(w, target).data, in_world(w, name).data);
}

static void make_tree(const struct world *w)
{
    for (size_t i = 0; i < ARRAY_LEN(folders); i++)
        if (choose(5) || !try_link(w, folders[i], folders[choose(ARRAY_LEN(folders))]))
            if (mkdir(in_world(w, folders[i]).data, 0777))
                continue; /* above it there is no folder in this tree */
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        const char *path = in_world(w, files[i]).data;
        struct stat st;
        unsigned kind = choose(4);
        char *above = arena_cstr(w->arena, str_of(path));
        *strrchr(above, '/') = 0;
        if (stat(above, &st) || !S_ISDIR(st.st_mode))
            continue;
        if (kind == 0)
            try_link(w, files[i], files[choose(ARRAY_LEN(files))]);
        else if (kind < 3 && lstat(path, &st))
            put_definition(w, files[i], "good");
    }
}

static void write_policy(struct buf *out)
{
    static const char *const writable[] = { "\".\"", "\"scratch\"", "\"conf\"", "\"~\"",
        "\"~/.cursor\"", "\"../safe\"", "\".vscode\"" };
    static const char *const guards[] = { "'/\\.cursor/mcp\\.json$' = \"read-only\"",
        "'/\\.vscode/' = \"read-only\"", "'/\\.mcp\\.json$' = \"read-only\"",
        "'mcp\\.json' = \"read-only\"", "'/hop' = \"deny-all\"",
        "'/safe/' = \"read-only\"", "'/conf/.*' = \"allow\"",
        "'/\\.(cursor|vscode)/mcp' = \"read-only\"" };
    buf_add(out, STR(BOX "[filesystem]\nwritable_paths = ["));
    for (size_t i = 0; i < ARRAY_LEN(writable); i++)
        if (!choose(3))
            buf_addf(out, "%s, ", writable[i]);
    buf_add(out, STR("]\n[filesystem.guards]\n"));
    for (size_t i = 0; i < ARRAY_LEN(guards); i++)
        if (!choose(4))
            buf_addf(out, "%s\n", guards[i]);
}

/* --- what agents may replace --- */

static char *names[MAX_NAMES];
static size_t name_count;

static int collect(const char *path, const struct stat *st UNUSED, int type UNUSED,
        struct FTW *at UNUSED)
{
    assert_true(name_count < MAX_NAMES);
    names[name_count++] = xstrdup(path);
    return 0;
}

/* Names that are not there, in folders that are. */
static void collect_absent(const struct world *w)
{
    for (size_t i = 0; i < ARRAY_LEN(files) + ARRAY_LEN(folders); i++) {
        const char *name =
                i < ARRAY_LEN(files) ? files[i] : folders[i - ARRAY_LEN(files)];
        char *above = arena_cstr(w->arena, in_world(w, name)),
             *last = strrchr(above, '/');
        struct stat st;
        *last = 0;
        auto_free char *real = realpath(above, NULL);
        if (!real)
            continue;
        const char *path = arena_printf(w->arena, "%s/%s", real, last + 1);
        if (lstat(path, &st))
            collect(path, NULL, 0, NULL);
    }
}

static bool may_replace(
        const struct definitions *d, const struct path_policy *paths, const char *path)
{
    struct stat st;
    struct str whole = str_of(path),
               parent = { path, (size_t)(strrchr(path, '/') - path) };
    if (lstat(path, &st) || !S_ISDIR(st.st_mode))
        return path_allowed(paths, whole, PATH_WRITE, NULL);
    return place_is_writable(d->policy, parent) && path_tree_allowed(paths, whole, NULL);
}

/* --- the attack --- */

static void make_evil(const struct world *w)
{
    static const char *const places[] = { "evil", "evil/settings", "evil/.kiro",
        "evil/.kiro/settings", "evil/.cursor", "evil/.vscode" };
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        make_folder(w, places[i]);
        put_definition(w, arena_printf(w->arena, "%s/mcp.json", places[i]), "evil");
        put_definition(w, arena_printf(w->arena, "%s/.mcp.json", places[i]), "evil");
        put_definition(w, arena_printf(w->arena, "%s/hop", places[i]), "evil");
    }
}

static bool is_evil(struct definitions *d, const char *policy)
{
    return try_definitions(d, policy) && d->all.count &&
           !strcmp(d->all.items[0].argv[1], "evil");
}

static void attack(struct definitions *d, const char *policy, const char *path)
{
    static const char *const targets[] = { "evil", "evil/mcp.json" };
    const char *saved = arena_printf(d->world.arena, "%s.saved", path);
    bool there = !rename(path, saved);
    for (size_t i = 0; i < ARRAY_LEN(targets); i++) {
        const char *target = in_world(&d->world, targets[i]).data;
        assert_int_equal(symlink(target, path), 0);
        if (is_evil(d, policy))
            fail_msg("%s -> %s, with\n%s", path, targets[i], policy);
        assert_int_equal(unlink(path), 0);
    }
    /* And without links. */
    auto_buf text = BUF(4096);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    buf_addf(&text, DEFINITION, "evil");
    fputs(text.data, file);
    fclose(file);
    if (is_evil(d, policy))
        fail_msg("%s as a file, with\n%s", path, policy);
    assert_int_equal(unlink(path), 0);
    if (there)
        assert_int_equal(rename(saved, path), 0);
}

static void test_random_trees(void **state UNUSED)
{
    size_t attacks = 0, good = 0;
    for (unsigned tree = 0; tree < TREES; tree++) {
        auto_buf policy = BUF(8192);
        struct definitions d;
        open_definitions(&d);
        make_tree(&d.world);
        make_evil(&d.world);
        write_policy(&policy);
        if (!try_definitions(&d, policy.data)) {
            close_definitions(&d);
            continue;
        }
        good += d.all.count;
        const struct path_policy *paths = path_policy_create(d.policy, d.world.arena);
        const struct policy *first = d.policy;
        name_count = 0;
        nftw(in_world(&d.world, "ws").data, collect, 10, FTW_PHYS);
        nftw(in_world(&d.world, "home").data, collect, 10, FTW_PHYS);
        nftw(in_world(&d.world, "safe").data, collect, 10, FTW_PHYS);
        collect_absent(&d.world);
        for (size_t i = 0; i < name_count; i++) {
            d.policy = (struct policy *)(uintptr_t)first;
            if (may_replace(&d, paths, names[i])) {
                attack(&d, policy.data, names[i]);
                attacks++;
            }
            free(names[i]);
        }
        close_definitions(&d);
    }
    assert_in_range(attacks, 5 * TREES / 2, SIZE_MAX);
    assert_in_range(good, TREES / 4, TREES); /* else nothing was to be had */
    print_message("%zu attacks, %zu of %u trees with a definition\n", attacks, good,
            (unsigned)TREES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
