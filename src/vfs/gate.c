/* The door: what is about to be done is judged here, and nowhere else. */
#include "policy/deny.h"
#include "policy/paths.h"
#include "vfs/internal.h"

#include <errno.h>

int vfs_gate_name(const struct vfs *vfs, struct str name, enum gate_use uses)
{
    if (deny_match_path(vfs->options.deny, name))
        return EACCES;
    return uses & GATE_CHANGE && vfs->options.read_only ? EROFS : 0;
}

static bool policy_allows(const struct path_policy *paths, struct str path,
        enum gate_use uses, struct refusal *why)
{
    static const enum path_use meaning[] = { PATH_LOOK, PATH_READ, PATH_WRITE };
    for (size_t i = 0; i < ARRAY_LEN(meaning); i++)
        if (uses & 1u << i && !path_allowed(paths, path, meaning[i], why))
            return false;
    /* It may be written to, which is the caller's to do; nothing else. */
    return !(uses & GATE_CHANGE) || !str_is(path, "/dev/null");
}

int vfs_gate(struct vfs *vfs, struct str path, enum gate_use uses)
{
    int error = vfs_gate_name(vfs, path, uses);
    const struct path_policy *paths = vfs->options.paths;
    if (!error && paths && !policy_allows(paths, path, uses, vfs->why))
        error = EACCES;
    vfs->refusals += error != 0;
    return error;
}

bool vfs_gate_shows(const struct vfs *vfs, struct str path)
{
    const struct path_policy *paths = vfs->options.paths;
    return !deny_match_path(vfs->options.deny, path) &&
           (!paths || path_allowed(paths, path, PATH_LOOK, NULL));
}

int vfs_gate_passing(struct vfs *vfs, struct str path)
{
    const struct path_policy *paths = vfs->options.paths;
    return !paths || path_passable(paths, path) ? 0 : vfs_gate(vfs, path, GATE_LOOK);
}

int vfs_gate_target(struct vfs *vfs, const struct target *t, enum gate_use uses)
{
    const struct path_policy *paths = vfs->options.paths;
    if (t->is_walked || !paths)
        return vfs_gate(vfs, t->path, uses);
    int error = vfs_gate_name(vfs, t->path, uses);
    vfs->refusals += error != 0;
    return error ? error : policy_allows(paths, t->path, uses, NULL) ? 0 : ELOOP;
}

int vfs_gate_tree(struct vfs *vfs, const struct target *t)
{
    const struct path_policy *paths = vfs->options.paths;
    if (!paths || path_tree_allowed(paths, t->path, t->is_walked ? vfs->why : NULL))
        return 0;
    if (!t->is_walked)
        return ELOOP;
    vfs->refusals++;
    return EACCES;
}

const struct refusal *vfs_refusal(const struct vfs *vfs)
{
    return vfs->why && vfs->why->code[0] ? vfs->why : NULL;
}

void vfs_clear_refusal(struct vfs *vfs)
{
    vfs->refusals = 0;
    if (vfs->why)
        refusal_clear(vfs->why);
    vfs_forget_twins(vfs);
}

void vfs_set_observer(struct vfs *vfs, vfs_observer_fn *observer, void *user)
{
    vfs->observer = observer;
    vfs->observer_user = user;
}

/* `refusals`: how many there were before the operation. */
static void notify(
        struct vfs *vfs, struct gate_op op, struct str path, size_t refusals, int error)
{
    /* A link was met, and the path is located again. */
    if (!vfs->observer || error == ELOOP)
        return;
    const struct vfs_event event = {
        .op = op.name,
        .path = path,
        .changes = op.changes,
        .allowed = vfs->refusals == refusals,
        .error = error,
        .data = vfs->replaced,
    };
    vfs->observer(vfs->observer_user, &event);
    vfs->replaced = (struct str){ 0 };
}

void vfs_announce_replace(struct vfs *vfs, struct str path, struct str data)
{
    if (!vfs->observer)
        return;
    const struct vfs_event event = {
        .op = "replace", .path = path, .changes = true, .allowed = true, .is_before = true
    };
    vfs->observer(vfs->observer_user, &event);
    vfs->replaced = data;
}

static int perform_once(struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        int attempt, struct gate_op op, target_fn *fn, void *args)
{
    auto_target t = { 0 };
    size_t refusals = vfs->refusals;
    int error = vfs_locate(vfs, path, follow, attempt, &t);
    bool found = !error;
    if (!error)
        error = vfs_gate_target(vfs, &t, op.uses);
    if (!error)
        error = fn(vfs, &t, args);
    notify(vfs, op, found ? t.path : path.text, refusals, error);
    return error;
}

int vfs_perform(struct vfs *vfs, struct vpath path, enum vfs_follow follow,
        struct gate_op op, target_fn *fn, void *args)
{
    int error = ELOOP;
    for (int attempt = 0; error == ELOOP && attempt < VFS_MAX_ATTEMPTS; attempt++)
        error = perform_once(vfs, path, follow, attempt, op, fn, args);
    return error;
}

static int gate_pair(struct vfs *vfs, const struct target *from, const struct target *to)
{
    /* Under another name it could be read where it could not before. */
    int error = vfs_gate_target(vfs, from, GATE_READ | GATE_CHANGE);
    if (!error)
        error = vfs_gate_target(vfs, to, GATE_CHANGE);
    return !error && from->mount != to->mount ? EXDEV : error;
}

static int perform_pair_once(struct vfs *vfs, struct vpath from, struct vpath to,
        int attempt, struct gate_op op, pair_fn *fn)
{
    auto_target f = { 0 };
    auto_target t = { 0 };
    size_t refusals = vfs->refusals;
    int error = vfs_locate(vfs, from, VFS_NOFOLLOW, attempt, &f);
    if (!error)
        error = vfs_locate(vfs, to, VFS_NOFOLLOW, attempt, &t);
    bool found = !error;
    if (!error)
        error = gate_pair(vfs, &f, &t);
    if (!error)
        error = fn(vfs, &f, &t);
    notify(vfs, op, found ? f.path : from.text, refusals, error);
    notify(vfs, op, found ? t.path : to.text, refusals, error);
    return error;
}

int vfs_perform_pair(struct vfs *vfs, struct vpath from, struct vpath to,
        const char *name, pair_fn *fn)
{
    const struct gate_op op = { name, GATE_CHANGE, true };
    int error = ELOOP;
    /* With a policy, what moves is judged below its canonical name. */
    for (int attempt = vfs->options.paths ? 1 : 0;
            error == ELOOP && attempt < VFS_MAX_ATTEMPTS; attempt++)
        error = perform_pair_once(vfs, from, to, attempt, op, fn);
    return error;
}
