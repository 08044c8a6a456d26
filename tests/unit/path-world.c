#include "path-world.h"

#include "policy/pyre/pyre.h"

#include "unit.h"

static const struct origin origin = { "policy.toml", 7 };

static void destroy_pattern(void *pattern)
{
    pyre_destroy(pattern);
}

struct policy_guard path_guard(
        struct arena *arena, const char *text, enum guard_disposition disposition)
{
    struct error err;
    struct pyre *pattern = NULL;
    if (!pyre_create(str_of(text), 0, &pattern, &err))
        fail_msg("%s: %s", text, err.message);
    arena_defer(arena, destroy_pattern, pattern);
    return (struct policy_guard){
        .regex = { str_of(text), pattern, origin },
        .disposition = disposition,
    };
}

void path_world_init(struct path_world *w, const char *readable)
{
    static const struct {
        const char *text;
        enum guard_disposition disposition;
    } guards[] = {
        { "/open\\.key$", GUARD_ALLOW },
        { "/\\.ssh/", GUARD_DENY_AGENT },
        { "/\\.npmrc$", GUARD_DENY_ALL },
        { "/\\.env(\\.[^/]*)?$", GUARD_WORKSPACE },
        { "/\\.git/", GUARD_READ_ONLY },
        { "/\\.kiro/settings", GUARD_READ_ONLY },
        { "\\.key$", GUARD_DENY_ALL },
        { "^/opt/data/", GUARD_ALLOW },
    };
    *w = (struct path_world){ .arena = arena_create() };
    struct policy *p = &w->policy;
    p->guards = arena_zalloc(w->arena, sizeof(*p->guards) * ARRAY_LEN(guards));
    p->guard_count = ARRAY_LEN(guards);
    for (size_t i = 0; i < ARRAY_LEN(guards); i++)
        p->guards[i] = path_guard(w->arena, guards[i].text, guards[i].disposition);
    p->protected = arena_zalloc(w->arena, 2 * sizeof(*p->protected));
    p->protected[0] = (struct policy_protected){ .kind = PROTECTED_POLICY,
        .path = STR("/w/.pyddock"),
        .except = STR("/w/.pyddock/tmp") };
    p->protected[1] = (struct policy_protected){
        .kind = PROTECTED_SCRIPTS, .path = STR("/w/tools/jobs"), .origin = origin
    };
    p->protected_count = 2;
    p->workspace = p->workspace_real = STR("/w");
    p->home = STR("/h");
    p->writable = arena_zalloc(w->arena, sizeof(*p->writable));
    p->writable[0] = (struct policy_path){ STR("."), STR("/w"), origin };
    p->readable = arena_zalloc(w->arena, sizeof(*p->readable));
    p->readable[0] = (struct policy_path){ str_of(readable), str_of(readable), origin };
    p->writable_count = p->readable_count = 1;
    if (!strcmp(readable, "*")) {
        p->readable_all = true;
        p->readable[0].path = STR("");
    }
    w->paths = path_policy_create(p, w->arena);
}

void path_world_finish(struct path_world *w)
{
    arena_destroy(w->arena);
}
