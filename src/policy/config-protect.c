/* What is write-protected because of what it is, and whether the audit log is out of
 * reach. */
#include "policy/audit.h"
#include "policy/config_internal.h"
#include "policy/place.h"

#include <limits.h>
#include <unistd.h>

void conf_protect_path(struct conf *c, enum protected_kind kind, struct str path,
        struct str except, struct origin origin)
{
    struct policy *p = c->policy;
    for (size_t i = 0; i < p->protected_count; i++)
        if (p->protected[i].kind == kind && str_eq(p->protected[i].path, path))
            return;
    if (p->protected_count == c->protected_cap) {
        c->protected_cap = c->protected_cap ? 2 * c->protected_cap : 16;
        struct policy_protected *more =
                arena_alloc(c->arena, c->protected_cap * sizeof(*more));
        if (p->protected_count)
            memcpy(more, p->protected, p->protected_count * sizeof(*more));
        p->protected = more;
    }
    p->protected[p->protected_count++] = (struct policy_protected){
        .kind = kind, .path = path, .except = except, .origin = origin
    };
}

/* A place of the workspace by its name, and where links lead from there: whoever could
 * change the link could change the other. */
static void protect(
        struct conf *c, enum protected_kind kind, struct str path, struct origin origin)
{
    struct str root = c->policy->workspace_real;
    const char *named = conf_absolute(c, path).data;
    if (path.len && path.data[0] != '/' && path.data[0] != '~')
        named = arena_printf(c->arena, "%.*s/%.*s", STR_ARG(root), STR_ARG(path));
    const char *lexical = conf_normal(named, c->arena);
    const char *real = conf_resolve(named, c->arena);
    conf_protect_path(c, kind, str_of(lexical), STR(""), origin);
    if (real)
        conf_protect_path(c, kind, str_of(real), STR(""), origin);
}

static void protect_folder_of_policy(struct conf *c)
{
    const struct origin origin = { NULL, 0 };
    const char *named =
            arena_printf(c->arena, "%.*s/.pyddock", STR_ARG(c->policy->workspace_real));
    const char *real = conf_resolve(named, c->arena);
    for (unsigned i = 0; i < 2; i++) {
        const char *path = i ? real : named;
        if (!path)
            continue;
        conf_protect_path(c, PROTECTED_POLICY, str_of(path),
                str_of(arena_printf(c->arena, "%s/tmp", path)), origin);
        conf_protect_path(c, PROTECTED_LOG,
                str_of(arena_printf(c->arena, "%s" AUDIT_DEBUG_LOG, path)), STR(""),
                origin);
    }
}

/* The files that were read, where they really are. */
static void protect_files_of_policy(struct conf *c)
{
    for (size_t i = 0; i < c->file_count; i++) {
        const char *real = conf_resolve(c->files[i], c->arena);
        if (real)
            conf_protect_path(c, PROTECTED_POLICY, str_of(real), STR(""),
                    (struct origin){ NULL, 0 });
    }
}

static void protect_scripts(struct conf *c, const struct policy_shell *shell)
{
    struct conf_scripts places = conf_script_places(shell->command.text, c->arena);
    for (size_t i = 0; i < places.count; i++) {
        if (!places.items[i].len)
            conf_warn(c, shell->command.origin,
                    "[shell.%.*s] command: may find programs anywhere in the workspace, "
                    "so that nothing there can be written; begin the pattern with a "
                    "folder, "
                    "or end it with '$' if it names one file",
                    STR_ARG(shell->name));
        struct str place = places.items[i].len ? places.items[i] : STR(".");
        protect(c, PROTECTED_SCRIPTS, place, shell->command.origin);
    }
}

/* Our own programs, in case they lie where agents may write. */
static void protect_programs(struct conf *c)
{
    static const char *const names[] = { "paddock", "paddock-launch", "paddock-worker" };
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    while (n > 0 && self[n - 1] != '/')
        n--;
    for (size_t i = 0; n > 0 && i < ARRAY_LEN(names); i++)
        conf_protect_path(c, PROTECTED_PROGRAM,
                str_of(arena_printf(c->arena, "%.*s%s", (int)n, self, names[i])), STR(""),
                (struct origin){ NULL, 0 });
}

void conf_protect(struct conf *c)
{
    const struct policy *p = c->policy;
    protect_folder_of_policy(c);
    protect_files_of_policy(c);
    for (size_t i = 0; i < p->import_count; i++)
        if (p->imports[i].kind == IMPORT_PATH)
            protect(c, PROTECTED_PACKAGE, p->imports[i].value, p->imports[i].origin);
    for (size_t i = 0; i < p->shell_count; i++)
        protect_scripts(c, &p->shells[i]);
    protect_programs(c);
}

static bool is_in_any(struct str path, const struct policy_path *paths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (place_is_in(path, paths[i].path))
            return true;
    return false;
}

bool conf_audit_log_check(struct conf *c)
{
    const struct policy *p = c->policy;
    struct str path = p->audit_log.path;
    if (!path.len)
        return true;
    bool writable = is_in_any(path, p->writable, p->writable_count);
    for (size_t i = 0; i < p->shell_count; i++)
        writable |= is_in_any(path, p->shells[i].writable, p->shells[i].writable_count);
    return !writable ||
           conf_fail(c, p->audit_log.origin, "audit_log", STR("path"),
                   "'%.*s' can be written by agents; choose a place outside of "
                   "all writable_paths",
                   STR_ARG(path));
}
