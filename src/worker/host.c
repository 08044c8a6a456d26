/*
 * The view of the whole machine.  What the kernel is to hold is found out first, while
 * everything can still be seen; then the mounts are entered, and the descriptors that
 * Landlock is told about are opened in them.
 */
#include "worker/view.h"

#include "confine/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Devices are no files, and as root a disk could be read through them. */
#define DEVICES "/dev"

static enum view_rule mount_rule(enum kernel_rule_kind kind)
{
    switch (kind) {
    case KERNEL_WRITABLE:
        return VIEW_WRITABLE;
    case KERNEL_READ_ONLY:
    case KERNEL_READABLE:
        return VIEW_READ_ONLY;
    case KERNEL_HIDDEN:
        break;
    }
    return VIEW_HIDDEN;
}

static void list_mounts(struct view *view, struct arena *arena)
{
    const struct kernel_rules *rules = &view->rules;
    struct view_path *paths = arena_zalloc(arena, (rules->count + 1) * sizeof(*paths));
    size_t count = 0;
    for (size_t i = 0; i < rules->count; i++) {
        enum view_rule rule = mount_rule(rules->items[i].kind);
        if (view->setup->read_only && rule == VIEW_WRITABLE)
            continue;
        /* All is read-only but what is writable: no word about what may be read. */
        if (rules->items[i].kind != KERNEL_READABLE)
            paths[count++] = (struct view_path){ rule, rules->items[i].path.data };
    }
    paths[count++] = (struct view_path){ VIEW_HIDDEN, DEVICES };
    view->mounts = (struct view_request){ .paths = paths, .path_count = count };
}

/* Hard links are compared with what cannot be seen any more later. */
static void guard_twins(struct view *view, struct arena *arena)
{
    const struct kernel_rules *rules = &view->rules;
    struct vfs_guarded *items = arena_zalloc(arena, (rules->count + 1) * sizeof(*items));
    size_t count = 0;
    for (size_t i = 0; i < rules->count; i++) {
        const struct kernel_rule *rule = &rules->items[i];
        struct vfs_guarded item = { .secret = rule->kind == KERNEL_HIDDEN };
        bool is_guarded = item.secret || rule->kind == KERNEL_READ_ONLY;
        if (is_guarded && !vpath_parse(rule->path, VPATH_ROOT, arena, &item.path))
            items[count++] = item;
    }
    vfs_guard_twins(view->vfs, items, count);
}

void host_prepare(struct view *view, struct arena *arena)
{
    view->machine = view->roots[0].fd;
    path_policy_kernel_rules(view->setup->paths, arena, &view->rules);
    list_mounts(view, arena);
    guard_twins(view, arena);
}

/* The root looks at the tree as it was before. */
static bool reopen_root(int fd, struct error *err)
{
    auto_fd int now = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (now < 0 || dup3(now, fd, O_CLOEXEC) < 0)
        return error_errno(err, errno, "cannot open '/' again");
    return true;
}

static bool is_landlock_root(const struct view *view, const struct kernel_rule *rule)
{
    return rule->kind == KERNEL_READABLE ||
           (rule->kind == KERNEL_WRITABLE && !view->setup->read_only);
}

/* The first root is that of the vfs: readable if all of the machine is. */
static void open_roots(struct view *view, struct arena *arena)
{
    const struct kernel_rules *rules = &view->rules;
    struct confine_root *roots = arena_zalloc(arena, (rules->count + 1) * sizeof(*roots));
    size_t count = 0;
    if (rules->readable_all)
        roots[count++] = (struct confine_root){ view->machine, false };
    for (size_t i = 0; i < rules->count; i++) {
        const struct kernel_rule *rule = &rules->items[i];
        int fd = is_landlock_root(view, rule) ? mount_open_path(rule->path.data) : -1;
        if (fd >= 0)
            roots[count++] = (struct confine_root){ fd, rule->kind == KERNEL_WRITABLE };
    }
    view->roots = roots;
    view->root_count = count;
}

bool host_enter(struct view *view, int server, struct arena *arena,
        struct confine_status *status, struct error *err)
{
    struct view_status mounts;
    view_enter(&view->mounts, &mounts);
    status->wants_view = true;
    status->view_error = mounts.error;
    status->view_failed = mounts.failed;
    if (mounts.is_partial)
        return error_errno(
                err, mounts.error, "cannot make the mounts: %s", mounts.failed);
    /* A new user namespace made the kernel forget it. */
    if (server && !confine_follow_parent(server, status))
        return error_set(err, ERR_NOT_FOUND, "the server is gone");
    if (!reopen_root(view->machine, err))
        return false;
    open_roots(view, arena);
    return true;
}

void host_close_roots(struct view *view)
{
    for (size_t i = 0; i < view->root_count; i++)
        if (view->roots[i].fd != view->machine)
            close_fd(&view->roots[i].fd);
    view->root_count = 0;
}
