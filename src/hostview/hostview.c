#include "hostview/hostview.h"

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

static void list_mounts(struct hostview *view, struct arena *arena)
{
    const struct kernel_rules *rules = &view->rules;
    struct view_path *paths = arena_zalloc(arena, (rules->count + 1) * sizeof(*paths));
    size_t count = 0;
    for (size_t i = 0; i < rules->count; i++) {
        enum view_rule rule = mount_rule(rules->items[i].kind);
        if (view->options.read_only && rule == VIEW_WRITABLE)
            continue;
        if (view->options.trusted_reads && rules->items[i].trusted_may)
            continue;
        /* All is read-only but what is writable: no word about what may be read. */
        if (rules->items[i].kind != KERNEL_READABLE)
            paths[count++] = (struct view_path){ rule, rules->items[i].path.data };
    }
    if (!view->options.devices)
        paths[count++] = (struct view_path){ VIEW_HIDDEN, DEVICES };
    view->mounts = (struct view_request){ .paths = paths,
        .path_count = count,
        .private_dev = view->options.devices,
        .no_programs = view->options.no_programs };
}

void hostview_find(const struct hostview_options *options, int machine,
        struct arena *arena, struct hostview *out)
{
    *out = (struct hostview){ .options = *options, .machine = machine };
    path_policy_kernel_rules(options->paths, arena, &out->rules);
    list_mounts(out, arena);
}

/* The root looks at the tree as it was before. */
static bool reopen_root(int fd, struct error *err)
{
    auto_fd int now = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (now < 0 || dup3(now, fd, O_CLOEXEC) < 0)
        return error_errno(err, errno, "cannot open '/' again");
    return true;
}

static bool is_landlock_root(const struct hostview *view, const struct kernel_rule *rule)
{
    return rule->kind == KERNEL_READABLE ||
           (rule->kind == KERNEL_WRITABLE && !view->options.read_only);
}

static void add_root(struct hostview *view, const char *path, bool writable)
{
    int fd = mount_open_path(path);
    if (fd >= 0)
        view->roots[view->root_count++] = (struct confine_root){ fd, writable };
}

static void add_more_readable(struct hostview *view)
{
    const char *const *path = view->options.also_readable;
    for (; path && *path && !view->rules.readable_all; path++)
        add_root(view, *path, false);
}

static void add_devices(struct hostview *view)
{
    if (!view->options.devices)
        return;
    add_root(view, "/dev/null", true);
    if (!view->rules.readable_all)
        add_root(view, DEVICES, false);
}

static size_t count_more(const struct hostview *view)
{
    const char *const *path = view->options.also_readable;
    size_t count = 3; /* the root, and devices */
    for (; path && *path; path++)
        count++;
    return count;
}

/* The first root is the machine: readable if all of it is. */
static void open_roots(struct hostview *view, struct arena *arena)
{
    const struct kernel_rules *rules = &view->rules;
    size_t most = rules->count + count_more(view);
    view->roots = arena_zalloc(arena, most * sizeof(*view->roots));
    view->root_count = 0;
    if (rules->readable_all)
        view->roots[view->root_count++] = (struct confine_root){ view->machine, false };
    for (size_t i = 0; i < rules->count; i++)
        if (is_landlock_root(view, &rules->items[i]))
            add_root(view, rules->items[i].path.data,
                    rules->items[i].kind == KERNEL_WRITABLE);
    add_more_readable(view);
    add_devices(view);
}

bool hostview_enter(struct hostview *view, int server, struct arena *arena,
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

void hostview_close_roots(struct hostview *view)
{
    for (size_t i = 0; i < view->root_count; i++)
        if (view->roots[i].fd != view->machine)
            close_fd(&view->roots[i].fd);
    view->root_count = 0;
}
