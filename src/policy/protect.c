#include "policy/protect.h"

#include "policy/log/audit.h"
#include "policy/place.h"

#include <limits.h>
#include <unistd.h>

#define MAX_STEPS 100000 /* of looking up one path */

static const char *find_place(
        const char *absolute, enum place_links links, struct arena *arena)
{
    struct place place;
    unsigned budget = MAX_STEPS;
    bool found = place_find(STR("/"), str_of(absolute), links, arena, &budget, &place);
    return found ? place.path.data : NULL;
}

const char *protect_resolve(const char *absolute, struct arena *arena)
{
    return find_place(absolute, PLACE_FOLLOW, arena);
}

const char *protect_normal(const char *absolute, struct arena *arena)
{
    return find_place(absolute, PLACE_BY_NAME, arena);
}

static void grow(struct policy *p, struct arena *arena)
{
    if (p->protected_count < p->protected_cap)
        return;
    size_t cap = p->protected_count ? 2 * p->protected_count : 16;
    struct policy_protected *more = arena_alloc(arena, cap * sizeof(*more));
    if (p->protected_count)
        memcpy(more, p->protected, p->protected_count * sizeof(*more));
    p->protected = more;
    p->protected_cap = cap;
}

void protect_path(
        struct policy *p, const struct policy_protected *what, struct arena *arena)
{
    for (size_t i = 0; i < p->protected_count; i++)
        if (p->protected[i].kind == what->kind &&
                str_eq(p->protected[i].path, what->path))
            return;
    grow(p, arena);
    p->protected[p->protected_count++] = *what;
}

/* One of the names of a place.  `except` is a folder in it, which is free but for the
 * log. */
static void protect_one(struct policy *p, const struct policy_protected *what,
        struct str path, struct arena *arena)
{
    struct policy_protected one = *what;
    one.path = path;
    if (what->except.len)
        one.except = str_of(
                arena_printf(arena, "%.*s/%.*s", STR_ARG(path), STR_ARG(what->except)));
    protect_path(p, &one, arena);
    if (!what->except.len)
        return;
    const struct policy_protected log = { .kind = PROTECTED_LOG,
        .path = str_of(arena_printf(arena, "%.*s" AUDIT_DEBUG_LOG, STR_ARG(path))),
        .except = STR(""),
        .origin = what->origin };
    protect_path(p, &log, arena);
}

const char *protect_follow(const char *path, struct arena *arena)
{
    char target[PATH_MAX];
    for (const char *end = strchr(path + 1, '/');; end = strchr(end + 1, '/')) {
        size_t len = end ? (size_t)(end - path) : strlen(path);
        const char *name = arena_cstr(arena, (struct str){ path, len });
        ssize_t n = readlink(name, target, sizeof(target) - 1);
        if (n > 0) {
            const char *slash = strrchr(name, '/');
            int folder = target[0] == '/' ? 0 : (int)(slash - name + 1);
            const char *next = arena_printf(
                    arena, "%.*s%.*s%s", folder, name, (int)n, target, end ? end : "");
            return protect_normal(next, arena);
        }
        if (!end)
            return NULL;
    }
}

void protect_place(
        struct policy *p, const struct policy_protected *what, struct arena *arena)
{
    const char *path = protect_normal(what->path.data, arena);
    const char *real = protect_resolve(what->path.data, arena);
    for (unsigned links = 0; path && links <= PROTECT_MAX_LINKS; links++) {
        protect_one(p, what, str_of(path), arena);
        path = protect_follow(path, arena);
    }
    if (real)
        protect_one(p, what, str_of(real), arena);
}
