/* The view of the whole machine. */
#include "worker/view.h"

/* Hard links are compared with what cannot be seen any more later. */
static void guard_twins(struct view *view, struct arena *arena)
{
    const struct kernel_rules *rules = &view->host.rules;
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
    const struct hostview_options options = {
        .paths = view->setup->paths,
        .read_only = view->setup->read_only,
    };
    hostview_find(&options, view->roots[0].fd, arena, &view->host);
    guard_twins(view, arena);
}

bool host_enter(struct view *view, int server, struct arena *arena,
        struct confine_status *status, struct error *err)
{
    if (!hostview_enter(&view->host, server, arena, status, err))
        return false;
    view->roots = view->host.roots;
    view->root_count = view->host.root_count;
    return true;
}
