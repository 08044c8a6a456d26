#include "session/packages-parts.h"

#include <sys/stat.h>

#ifndef PYTHON_PROGRAM
#define PYTHON_PROGRAM "/usr/bin/python3"
#endif

bool package_is_workspace(const struct package *one)
{
    return one->folder != NULL;
}

static struct package *find_package(const struct packages *p, struct str module)
{
    struct str rest = module, top = str_cut(&rest, '.');
    for (size_t i = 0; i < p->count; i++)
        if (str_eq(p->items[i].import->name, top))
            return &p->items[i];
    return NULL;
}

static bool is_overridden(const struct policy *policy, struct str name)
{
    for (size_t i = 0; i < policy->import_overrides.count; i++)
        if (str_eq(policy->import_overrides.items[i].text, name))
            return true;
    return false;
}

/* Where the path of an import leads: as conf_protect() takes it. */
static const char *package_folder(struct packages *p, struct str value)
{
    const struct policy *policy = p->config.policy;
    if (value.data[0] == '/')
        return arena_cstr(p->arena, value);
    if (str_is(value, "~") || str_starts(value, STR("~/")))
        return arena_printf(
                p->arena, "%.*s%.*s", STR_ARG(policy->home), STR_ARG(str_from(value, 1)));
    return arena_printf(
            p->arena, "%.*s/%.*s", STR_ARG(policy->workspace_real), STR_ARG(value));
}

/* A module that is replaced is nothing that pip has. */
static void add_packages(struct packages *p, bool workspace)
{
    const struct policy *policy = p->config.policy;
    for (size_t i = 0; i < policy->import_count; i++) {
        const struct policy_import *import = &policy->imports[i];
        if (import->kind == IMPORT_DENIED || (import->kind == IMPORT_PATH) != workspace ||
                is_overridden(policy, import->name))
            continue;
        struct package *one = &p->items[p->count++];
        *one = (struct package){
            .import = import, .state = PACKAGE_INSTALLING, .why = BUF(PACKAGES_TEXT)
        };
        if (workspace)
            one->folder = package_folder(p, import->value);
    }
}

static void find_places(struct packages *p)
{
    struct stat st;
    const struct policy *policy = p->config.policy;
    char *folder =
            arena_printf(p->arena, "%.*s/.pyddock", STR_ARG(policy->workspace_real));
    if (!lstat(folder, &st) && S_ISDIR(st.st_mode))
        p->places.folder = folder;
    p->places.venv = arena_printf(p->arena, "%s/venv", folder);
    p->places.tmp = arena_printf(p->arena, "%s/.tmp", p->places.venv);
    p->places.site = "";
}

/* Known with the version only. */
static void find_site(struct packages *p)
{
    if (p->python.version.len)
        p->places.site = arena_printf(p->arena, "%s/lib/python%.*s/site-packages",
                p->places.venv, STR_ARG(p->python.version));
}

void packages_set_python(struct packages *p, const json_t *from)
{
    p->python.version = arena_str(p->arena, json_get_str(from, "version", STR("")));
    json_decref(p->python.stdlib);
    p->python.stdlib = json_incref(json_object_get(from, "stdlib"));
    find_site(p);
}

bool packages_in_stdlib(const struct packages *p, struct str name)
{
    for (size_t i = 0; i < json_array_size(p->python.stdlib); i++)
        if (str_eq(json_str(json_array_get(p->python.stdlib, i)), name))
            return true;
    return false;
}

static bool stamp_says(const struct packages *p, const char *key, struct str value)
{
    return value.len && str_eq(json_get_str(p->stamp, key, STR("")), value);
}

bool stamp_has_venv(const struct packages *p)
{
    struct str venv = venv_identity(p->places.venv, p->arena);
    return str_eq(json_get_str(p->stamp, "venv_created", STR("?")), venv);
}

bool stamp_has_package(const struct packages *p, const struct package *one)
{
    struct str hash = json_get_str(json_object_get(p->stamp, "workspace"),
            arena_cstr(p->arena, one->import->name), STR(""));
    return one->hash[0] && str_is(hash, one->hash);
}

void packages_load_stamp(struct packages *p)
{
    json_decref(p->stamp);
    p->stamp = p->places.folder ? stamp_read(p->places.folder) : NULL;
    p->is_valid = false;
    if (!stamp_says(p, "interpreter", p->python.identity) ||
            !json_array_size(json_object_get(p->stamp, "stdlib")) ||
            !json_get_str(p->stamp, "version", STR("")).len)
        return;
    if (!p->answer)
        packages_set_python(p, p->stamp);
    p->is_valid = stamp_says(p, "allowlist_hash", str_of(p->allowlist)) &&
                  stamp_has_venv(p) && !venv_is_marked(p);
    for (size_t i = 0; i < p->count && package_is_workspace(&p->items[i]); i++)
        p->is_valid = p->is_valid && stamp_has_package(p, &p->items[i]);
}

bool packages_is_folder(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISDIR(st.st_mode);
}

bool packages_source(const struct packages *p, const struct package *one,
        struct arena *arena, struct str *out)
{
    return find_source(
            str_of(one->folder), one->import->name, str_of(p->places.site), arena, out);
}

bool packages_update_paths(struct packages *p)
{
    struct arena *arena = arena_create();
    struct str *items = arena_zalloc(arena, (p->count + 1) * sizeof(*items));
    size_t count = 0;
    if (venv_identity(p->places.venv, arena).len && packages_is_folder(p->places.site))
        items[count++] = arena_str(arena, str_of(p->places.site));
    for (size_t i = 0; i < p->count && package_is_workspace(&p->items[i]); i++)
        if (p->items[i].state == PACKAGE_READY &&
                packages_source(p, &p->items[i], arena, &items[count]))
            count++;
    bool same = count == p->paths.count;
    for (size_t i = 0; same && i < count; i++)
        same = str_eq(items[i], p->paths.items[i]);
    if (same) {
        arena_destroy(arena);
        return false;
    }
    arena_destroy(p->paths_arena);
    p->paths_arena = arena;
    p->paths = (struct packages_paths){ items, count };
    return true;
}

void packages_start(struct packages *p)
{
    if (p->is_valid || !p->count)
        return;
    p->is_busy = true;
    packages_begin(p);
}

static bool is_among(const json_t *modules, struct str name)
{
    for (size_t i = 0; i < json_array_size(modules); i++)
        if (str_eq(json_str(json_array_get(modules, i)), name))
            return true;
    return false;
}

void packages_start_for(struct packages *p, const json_t *modules)
{
    size_t kept = 0;
    if (p->is_valid)
        return;
    for (size_t i = 0; i < p->count; i++)
        if (p->items[i].state != PACKAGE_INSTALLING ||
                is_among(modules, p->items[i].import->name))
            p->items[kept++] = p->items[i];
    p->is_partial = kept < p->count;
    p->count = kept;
    packages_start(p);
}

struct packages *packages_create(const struct packages_config *config)
{
    struct packages *p = xcalloc(1, sizeof(*p));
    p->config = *config;
    p->arena = arena_create();
    p->lock = -1;
    p->doing = p->trouble = BUF(PACKAGES_TEXT);
    p->python.program = config->interpreter ? config->interpreter : PYTHON_PROGRAM;
    p->python.identity = interpreter_identity(p->python.program, p->arena);
    p->items = xcalloc(config->policy->import_count + 1, sizeof(*p->items));
    add_packages(p, true);
    for (size_t i = 0; i < p->count; i++) {
        struct error err;
        if (!project_hash(str_of(p->items[i].folder), p->items[i].hash, &err))
            p->items[i].hash[0] = '\0';
    }
    add_packages(p, false);
    allowlist_hash(config->policy, p->allowlist);
    find_places(p);
    p->env = pip_env(config->env, p->places.tmp, p->arena);
    packages_load_stamp(p);
    for (size_t i = 0; p->is_valid && i < p->count; i++)
        p->items[i].state = packages_in_stdlib(p, p->items[i].import->name)
                                    ? PACKAGE_NOT_NEEDED
                                    : PACKAGE_READY;
    if (!p->is_valid && p->python.stdlib)
        packages_plan(p);
    packages_update_paths(p);
    uv_timer_init(config->loop, &p->timer);
    p->timer.data = p;
    return p;
}

bool packages_is_busy(const struct packages *p)
{
    return p->is_busy;
}

struct str packages_doing(const struct packages *p)
{
    return buf_str(&p->doing);
}

struct str packages_pending(const struct packages *p, const json_t *modules)
{
    for (size_t i = 0; i < json_array_size(modules); i++) {
        struct str name = json_str(json_array_get(modules, i));
        if (packages_state(p, name, NULL) == PACKAGE_INSTALLING)
            return name;
    }
    return STR("");
}

enum package_state packages_state(
        const struct packages *p, struct str module, struct str *why)
{
    const struct package *one = find_package(p, module);
    if (why)
        *why = one ? buf_str(&one->why) : STR("");
    return one ? one->state : PACKAGE_NOT_NEEDED;
}

struct packages_wait *packages_wait(
        struct packages *p, struct str module, packages_done_fn *done, void *user)
{
    const struct package *one = find_package(p, module);
    if (!p->is_busy || !one || one->state != PACKAGE_INSTALLING)
        return NULL;
    struct packages_wait *wait = xcalloc(1, sizeof(*wait));
    *wait = (struct packages_wait){ p->waits, p, one, done, user };
    p->waits = wait;
    return wait;
}

void packages_wait_cancel(struct packages_wait *wait)
{
    if (!wait)
        return;
    struct packages_wait **at = &wait->owner->waits;
    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
    free(wait);
}

struct packages_paths packages_paths(const struct packages *p)
{
    return p->paths;
}

unsigned packages_started(const struct packages *p)
{
    return p->started;
}

static void on_closed(uv_handle_t *handle)
{
    struct packages *p = handle->data;
    while (p->waits)
        packages_wait_cancel(p->waits);
    for (size_t i = 0; i < p->count; i++)
        buf_finish(&p->items[i].why);
    free(p->items);
    json_decref(p->stamp);
    json_decref(p->answer);
    json_decref(p->python.stdlib);
    buf_finish(&p->doing);
    buf_finish(&p->trouble);
    arena_destroy(p->paths_arena);
    arena_destroy(p->arena);
    free(p);
}

void packages_destroy(struct packages *p)
{
    if (!p)
        return;
    command_destroy(TAKE(p->command));
    close_fd(&p->lock);
    uv_close((uv_handle_t *)&p->timer, on_closed);
}
