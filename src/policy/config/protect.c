/* What is write-protected because of what it is, and whether the audit log is out of
 * reach. */
#include "policy/config/internal.h"
#include "policy/log/audit.h"
#include "policy/own-programs.h"
#include "policy/place.h"

#include <limits.h>
#include <unistd.h>

#define MAX_LINKS 40 /* of one path, as in the kernel */

static void add(struct conf *c, enum protected_kind kind, struct str path,
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

/* One of the names of a place.  `except` is a folder in it, which is free but for the
 * log.
 */
static void protect_one(
        struct conf *c, const struct policy_protected *what, struct str path)
{
    struct str except = what->except;
    if (except.len)
        except = str_of(arena_printf(
                c->arena, "%.*s/%.*s", STR_ARG(path), STR_ARG(what->except)));
    add(c, what->kind, path, except, what->origin);
    if (except.len)
        add(c, PROTECTED_LOG,
                str_of(arena_printf(c->arena, "%.*s" AUDIT_DEBUG_LOG, STR_ARG(path))),
                STR(""), what->origin);
}

/* The path that the first link in `path` makes of it, or NULL: there is no link. */
static const char *follow_first_link(const char *path, struct arena *arena)
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
            return conf_normal(next, arena);
        }
        if (!end)
            return NULL;
    }
}

/*
 * A place by its name, and all that links make of it: whoever could change a link on the
 * way could change what is at its end.
 */
static void protect_place(struct conf *c, const struct policy_protected *what)
{
    const char *path = conf_normal(what->path.data, c->arena);
    const char *real = conf_resolve(what->path.data, c->arena);
    for (unsigned links = 0; path && links <= MAX_LINKS; links++) {
        protect_one(c, what, str_of(path));
        path = follow_first_link(path, c->arena);
    }
    if (real)
        protect_one(c, what, str_of(real));
}

/* A folder or file of the workspace. */
static void protect(
        struct conf *c, enum protected_kind kind, struct str path, struct origin origin)
{
    bool absolute = path.len && (path.data[0] == '/' || path.data[0] == '~');
    struct str named =
            absolute ? conf_absolute(c, path)
                     : str_of(arena_printf(c->arena, "%.*s/%.*s",
                               STR_ARG(c->policy->workspace_real), STR_ARG(path)));
    const struct policy_protected what = {
        .kind = kind, .path = named, .origin = origin
    };
    protect_place(c, &what);
}

/* Also by the name that the workspace was given: who changed a link in that would have
 * the next server read another policy. */
static void protect_folder_of_policy(struct conf *c)
{
    const struct str names[] = { c->policy->workspace_real, c->policy->workspace };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        const struct policy_protected folder = { .kind = PROTECTED_POLICY,
            .path = str_of(arena_printf(c->arena, "%.*s/.pyddock", STR_ARG(names[i]))),
            .except = STR("tmp") };
        protect_place(c, &folder);
    }
}

/* The files that were read, wherever links lead to them. */
static void protect_files_of_policy(struct conf *c)
{
    for (size_t i = 0; i < c->file_count; i++) {
        const struct policy_protected file = { .kind = PROTECTED_POLICY,
            .path = str_of(c->files[i]) };
        protect_place(c, &file);
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

/* "/a/" of "/a/b/". */
static struct str above(struct str folder)
{
    size_t len = folder.len - (folder.len > 1);
    while (len && folder.data[len - 1] != '/')
        len--;
    return (struct str){ folder.data, len };
}

/* Our own programs, in case they lie where agents may write, or could be put there. */
static void protect_programs(struct conf *c)
{
    auto_buf own = BUF(PATH_MAX);
    if (own_folder(&own))
        return;
    for (size_t i = 0; i < own_place_count; i++) {
        struct str place = str_of(own_places[i]), folder = buf_str(&own);
        if (str_starts(place, STR("../"))) {
            folder = above(folder);
            place = str_from(place, 3);
        }
        for (size_t j = 0; j < own_name_count; j++)
            add(c, PROTECTED_PROGRAM,
                    str_of(arena_printf(c->arena, "%.*s%.*s%s", STR_ARG(folder),
                            STR_ARG(place), own_names[j])),
                    STR(""), (struct origin){ NULL, 0 });
    }
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

bool conf_audit_log_check(struct conf *c)
{
    const struct policy *p = c->policy;
    struct str path = p->audit_log.path;
    if (!path.len)
        return true;
    return !place_written_by_any(p, path) ||
           conf_fail(c, p->audit_log.origin, "audit_log", STR("path"),
                   "'%.*s' can be written by agents; choose a place outside of "
                   "all writable_paths",
                   STR_ARG(path));
}
