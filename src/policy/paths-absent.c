/* Names that a guard's pattern begins with are looked for in the workspace. */
#include "policy/paths-internal.h"
#include "policy/place.h"

#include <errno.h>
#include <sys/stat.h>

#define LOOKUPS 1000 /* in the file system, for one path */

struct absent {
    const struct path_policy *policy;
    struct arena *arena;
    const char **items;
    size_t count, cap;
};

static bool is_there(const char *path)
{
    struct stat st;
    return !lstat(path, &st) || (errno != ENOENT && errno != ENOTDIR);
}

/* Told without links, so that one that is met there later has come since. */
static void consider(struct absent *a, const char *path)
{
    struct str name = str_of(path);
    struct place place;
    unsigned budget = LOOKUPS;
    if (is_there(path) || path_allowed(a->policy, name, PATH_WRITE, NULL) ||
            !place_find(STR("/"), name, PLACE_FOLLOW, a->arena, &budget, &place) ||
            !place_is_writable(a->policy->policy, place.path))
        return;
    path = place.path.data;
    for (size_t i = 0; i < a->count; i++)
        if (!strcmp(a->items[i], path))
            return;
    if (a->count < a->cap)
        a->items[a->count++] = path;
}

static void consider_guard(
        struct absent *a, struct str workspace, const struct path_guard *g)
{
    const char *names[GUARD_NAMES];
    size_t count = guard_names(g, workspace, a->arena, names);
    for (size_t i = 0; i < count; i++)
        consider(a, names[i]);
}

const char *const *path_policy_absent(const struct path_policy *p, struct arena *arena)
{
    size_t cap = p->folder_count + p->guard_count * GUARD_NAMES;
    struct absent a = { .policy = p,
        .arena = arena,
        .items = arena_zalloc(arena, (cap + 1) * sizeof(*a.items)),
        .cap = cap };
    for (size_t i = 0; i < p->folder_count; i++)
        consider(&a, arena_cstr(arena, p->folders[i].path));
    for (size_t i = 0; i < p->guard_count; i++)
        consider_guard(&a, p->policy->workspace_real, &p->guards[i]);
    return a.items;
}
