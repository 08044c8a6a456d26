/* What is write-protected because of what it is, and whether the audit log is out of
 * reach. */
#include "policy/protect.h"
#include "policy/config/internal.h"
#include "policy/own-programs.h"
#include "policy/place.h"

#include <limits.h>
#include <unistd.h>

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
    protect_place(c->policy, &what, c->arena);
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
        protect_place(c->policy, &folder, c->arena);
    }
}

/* The files that were read, wherever links lead to them. */
static void protect_files_of_policy(struct conf *c)
{
    for (size_t i = 0; i < c->file_count; i++) {
        const struct policy_protected file = { .kind = PROTECTED_POLICY,
            .path = str_of(c->files[i]) };
        protect_place(c->policy, &file, c->arena);
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

static void protect_program(
        struct conf *c, struct str folder, struct str place, const char *name)
{
    const struct policy_protected program = { .kind = PROTECTED_PROGRAM,
        .path = str_of(arena_printf(
                c->arena, "%.*s%.*s%s", STR_ARG(folder), STR_ARG(place), name)),
        .except = STR("") };
    protect_path(c->policy, &program, c->arena);
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
            protect_program(c, folder, place, own_names[j]);
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
