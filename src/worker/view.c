#include "worker/view.h"

#include "policy/deny.h"

#include <sys/stat.h>
#include <unistd.h>

/*
 * Private memory of a worker: one value of 256 MiB may exist twice while it is copied,
 * each coroutine reserves a stack of 1 MiB, and memory roots count too.
 */
#define MAX_MEMORY ((uint64_t)4 << 30)
#define MAX_FILES  1024

/* A loop that writes for ever ends before the disk is full, in most cases. */
#define MAX_FILE_SIZE ((uint64_t)4 << 30)

/* From now on the vfs takes it off, and off that alone: a script may set another. */
static uint32_t take_umask(void)
{
    return umask(0);
}

static bool build_deny_rules(const struct setup *setup, struct arena *arena,
        struct deny_rules *out, struct error *err)
{
    const char **extra = arena_zalloc(arena, (setup->deny_count + 1) * sizeof(*extra));
    for (size_t i = 0; i < setup->deny_count; i++)
        extra[i] = arena_cstr(arena, setup->deny[i]);
    return deny_rules_build(extra, arena, out, err);
}

static bool mount_root(struct view *view, const struct setup_root *root, bool writable,
        struct arena *arena, struct error *err)
{
    struct vpath at;
    int error = vpath_parse(root->at, VPATH_ROOT, arena, &at);
    if (error)
        return error_errno(err, error, "cannot mount at '%.*s'", STR_ARG(root->at));
    if (root->kind == SETUP_MEMORY) {
        error = vfs_mount_memory(view->vfs, at, VIEW_MEMORY_ROOT);
    } else {
        view->roots[view->root_count++] = (struct confine_root){ root->fd, writable };
        error = vfs_mount_local(
                view->vfs, at, root->fd, arena_cstr(arena, root->host_path));
    }
    if (error)
        return error_errno(err, error, "cannot mount at '%.*s'", STR_ARG(root->at));
    return true;
}

bool view_create(const struct setup *setup, struct arena *arena, struct view *out,
        struct error *err)
{
    struct deny_rules *rules = arena_zalloc(arena, sizeof(*rules));
    if (!setup->paths && !build_deny_rules(setup, arena, rules, err))
        return false;
    const struct vfs_options options = {
        .deny = setup->paths ? NULL : rules,
        .read_only = setup->read_only,
        .umask = take_umask(),
        .paths = setup->paths,
    };
    struct view view = {
        .vfs = vfs_create(&options),
        .setup = setup,
        .roots = arena_zalloc(arena, setup->root_count * sizeof(*view.roots)),
    };
    bool writable = !setup->read_only && !setup->paths;
    for (size_t i = 0; i < setup->root_count; i++) {
        if (!mount_root(&view, &setup->roots[i], writable, arena, err)) {
            view_finish(&view);
            return false;
        }
    }
    if (setup->paths)
        host_prepare(&view, arena);
    *out = view;
    return true;
}

void view_finish(struct view *view)
{
    vfs_destroy(view->vfs);
    view->vfs = NULL;
}

static int compare_fds(const void *a, const void *b)
{
    const int *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static void close_others(const struct view *view, const struct view_also *also)
{
    int keep[SETUP_MAX_ROOTS + VIEW_MAX_ALSO];
    size_t count = 0;
    for (size_t i = 0; also && i < also->count; i++)
        keep[count++] = also->fds[i];
    for (size_t i = 0; i < view->root_count; i++)
        keep[count++] = view->roots[i].fd;
    qsort(keep, count, sizeof(*keep), compare_fds);
    confine_close_others(keep, count);
}

bool view_confine(struct view *view, const struct view_also *also, int server,
        struct arena *arena, struct confine_status *status, struct error *err)
{
    close_others(view, also);
    bool is_host = view->setup->paths;
    if (is_host && !host_enter(view, server, arena, status, err))
        return false;
    const struct confine_request request = {
        .roots = view->roots,
        .root_count = view->root_count,
        .view = is_host ? &view->host.mounts : NULL,
        .no_capabilities = is_host && geteuid(),
        .passes_descriptors = also && also->passes_descriptors,
        .max_memory = MAX_MEMORY,
        .max_file_size = MAX_FILE_SIZE,
        .max_files = MAX_FILES,
    };
    confine_self(&request, status);
    if (is_host)
        hostview_close_roots(&view->host);
    return true;
}

struct vpath view_cwd(const struct view *view, struct arena *arena)
{
    struct vpath cwd = VPATH_ROOT;
    if (view->setup->paths) {
        struct str workspace = path_policy_workspace(view->setup->paths);
        if (vpath_parse(workspace, VPATH_ROOT, arena, &cwd))
            cwd = VPATH_ROOT;
    }
    return cwd;
}

const char *const *view_env(const struct view *view, struct arena *arena)
{
    const struct path_policy *paths = view->setup->paths;
    if (!paths)
        return NULL;
    struct str workspace = path_policy_workspace(paths), home = path_policy_home(paths);
    const char **env = arena_zalloc(arena, 3 * sizeof(*env));
    env[0] = arena_printf(arena, "TMPDIR=%.*s/.pyddock/tmp", STR_ARG(workspace));
    if (home.len)
        env[1] = arena_printf(arena, "HOME=%.*s", STR_ARG(home));
    return env;
}
