/* Listing a directory, and judging a whole tree before it is removed or moved. */
#include "base/budget.h"
#include "vfs/internal.h"

#include <errno.h>
#include <stdlib.h>

static int compare_entries(const void *a, const void *b)
{
    const struct vfs_entry *x = a, *y = b;
    return str_cmp(x->name, y->name);
}

/* Directories that only exist because something is mounted below them. */
static void add_mounts(
        const struct vfs *vfs, struct str dir, struct vfs_entry *entries, size_t *count)
{
    for (size_t i = 0; i < vfs->count; i++) {
        struct str name, at = vfs->mounts[i].at;
        if (at.len == 1 || !vfs_path_below(at, dir, &name) || !name.len)
            continue;
        name = str_cut(&name, '/');
        size_t j = 0;
        while (j < *count && !str_eq(entries[j].name, name))
            j++;
        entries[j] = (struct vfs_entry){ name, VFS_DIR };
        *count += j == *count;
    }
}

int vfs_list_target(const struct vfs *vfs, const struct target *t, struct arena *arena,
        struct vfs_entry **out, size_t *out_count)
{
    struct vfs_entry *entries = NULL;
    size_t count = 0;
    const struct vfs_ops *ops = t->mount->ops;
    int error = ops->list ? ops->list(t->mount->self, t->rel, vfs->budget, arena,
                                    &entries, &count)
                          : EOPNOTSUPP;
    if (vfs_is_above_mount(vfs, t->path)) {
        if (error)
            count = 0;
        error = 0;
        struct vfs_entry *more = arena_alloc(arena, (count + vfs->count) * sizeof(*more));
        if (count)
            memcpy(more, entries, count * sizeof(*more));
        add_mounts(vfs, t->path, more, &count);
        for (size_t i = 0; i < count; i++)
            more[i].name = arena_str(arena, more[i].name);
        entries = more;
    }
    if (error)
        return error;
    *out = entries;
    *out_count = count;
    return 0;
}

struct list_args {
    struct arena *arena;
    struct vfs_entry **out;
    size_t *count;
};

/* Drop what is not to be seen: by its name, or by its whole path if there is a policy. */
static size_t keep_shown(
        const struct vfs *vfs, struct str dir, struct vfs_entry *entries, size_t count)
{
    size_t kept = 0, start = dir.len > 1 ? dir.len + 1 : 1;
    auto_free char *path = xmalloc(start + VFS_MAX_PATH);
    memcpy(path, dir.data, dir.len);
    path[start - 1] = '/';
    for (size_t i = 0; i < count; i++) {
        struct str shown = entries[i].name;
        if (vfs->options.paths && shown.len < VFS_MAX_PATH) {
            memcpy(path + start, shown.data, shown.len);
            shown = (struct str){ path, start + shown.len };
        }
        if (vfs_gate_shows(vfs, shown))
            entries[kept++] = entries[i];
    }
    return kept;
}

static int do_list(struct vfs *vfs, const struct target *t, void *p)
{
    struct list_args *args = p;
    struct vfs_entry *entries;
    size_t count;
    int error = vfs_list_target(vfs, t, args->arena, &entries, &count);
    if (error)
        return error;
    size_t kept = keep_shown(vfs, t->path, entries, count);
    if (kept > 1)
        qsort(entries, kept, sizeof(*entries), compare_entries);
    *args->out = entries;
    *args->count = kept;
    return 0;
}

int vfs_list(struct vfs *vfs, struct vpath path, struct arena *arena,
        struct vfs_entry **out, size_t *count)
{
    struct list_args args = { arena, out, count };
    const struct gate_op op = { "list", GATE_READ, false };
    return vfs_perform(vfs, path, VFS_FOLLOW, op, do_list, &args);
}

/* One directory of the tree being checked; what it lists lives after `mark`. */
struct level {
    struct vfs_entry *entries;
    size_t count, next;
    size_t path_len;
    struct arena_mark mark;
};

struct tree {
    struct vfs *vfs;
    enum gate_use uses;
    struct str as;     /* where the tree is going to be, or "" */
    size_t top_len;    /* of `path`, where it is now */
    struct target dir; /* the directory being looked at; its path is `path` */
    char path[VFS_MAX_PATH + 1];
    size_t path_len;
    struct level *levels;
    size_t depth, cap;
    struct arena *arena;
};

static int enter(struct tree *tree)
{
    struct level level = { .path_len = tree->path_len, .mark = arena_mark(tree->arena) };
    tree->dir.path = (struct str){ tree->path, tree->path_len };
    if (vfs_is_above_mount(tree->vfs, tree->dir.path))
        return EBUSY;
    int error = vfs_list_target(
            tree->vfs, &tree->dir, tree->arena, &level.entries, &level.count);
    if (error == ENOENT || error == ELOOP || error == ENOTDIR)
        return 0; /* removed or replaced meanwhile: the operation will see it */
    if (error)
        return error;
    GROW(tree->levels, tree->depth, tree->cap);
    tree->levels[tree->depth++] = level;
    return 0;
}

/* At `path`, and where that will be afterwards. */
static int judge_entry(struct tree *tree)
{
    int error =
            vfs_gate(tree->vfs, (struct str){ tree->path, tree->path_len }, tree->uses);
    if (error || !tree->as.len)
        return error;
    auto_buf after = BUF(2 * VFS_MAX_PATH);
    buf_add(&after, tree->as);
    buf_add(&after,
            (struct str){ tree->path + tree->top_len, tree->path_len - tree->top_len });
    return vfs_gate(tree->vfs, buf_str(&after), GATE_CHANGE);
}

static int check_entry(struct tree *tree, size_t dir_len, const struct vfs_entry *entry)
{
    if (tree->vfs->budget && !budget_spend(tree->vfs->budget, 1))
        return ECANCELED;
    bool may_be_dir = entry->type == VFS_DIR || entry->type == VFS_UNKNOWN;
    if (!tree->vfs->options.paths) {
        int error = vfs_gate_name(tree->vfs, entry->name, tree->uses);
        if (error || !may_be_dir)
            return error;
    }
    if (dir_len + 1 + entry->name.len > VFS_MAX_PATH)
        return ENAMETOOLONG;
    tree->path[dir_len] = '/';
    memcpy(tree->path + dir_len + 1, entry->name.data, entry->name.len);
    tree->path_len = dir_len + 1 + entry->name.len;
    tree->path[tree->path_len] = 0;
    int error = tree->vfs->options.paths ? judge_entry(tree) : 0;
    return error || !may_be_dir ? error : enter(tree);
}

static int check_levels(struct tree *tree)
{
    int error = enter(tree);
    while (!error && tree->depth) {
        struct level *level = &tree->levels[tree->depth - 1];
        if (level->next == level->count) {
            arena_rewind(tree->arena, level->mark);
            tree->depth--;
            continue;
        }
        error = check_entry(tree, level->path_len, &level->entries[level->next++]);
    }
    return error;
}

int vfs_check_below(
        struct vfs *vfs, const struct target *dir, struct str as, enum gate_use uses)
{
    auto_arena *arena = arena_create();
    struct tree *tree = xcalloc(1, sizeof(*tree));
    tree->vfs = vfs;
    tree->arena = arena;
    tree->uses = uses;
    tree->as = as;
    tree->path_len = tree->top_len = dir->path.len > 1 ? dir->path.len : 0;
    memcpy(tree->path, dir->path.data, tree->path_len);
    tree->dir = (struct target){
        .mount = dir->mount,
        .rel = tree->path + (dir->rel - dir->path.data),
    };
    int error = check_levels(tree);
    free(tree->levels);
    free(tree);
    return error;
}

static int do_check_tree(struct vfs *vfs, const struct target *t, void *args)
{
    const enum gate_use *uses = args;
    struct vfs_stat st;
    int error = t->mount->ops->stat(t->mount->self, t->rel, &st);
    if (error && !vfs_is_above_mount(vfs, t->path))
        return error;
    return !error && st.type != VFS_DIR ? 0 : vfs_check_below(vfs, t, STR(""), *uses);
}

int vfs_check_tree(struct vfs *vfs, struct vpath path, enum vfs_tree_use use)
{
    enum gate_use uses = use == VFS_TREE_READ ? GATE_READ : GATE_CHANGE;
    const struct gate_op op = { "check-tree", uses, false };
    return vfs_perform(vfs, path, VFS_NOFOLLOW, op, do_check_tree, &uses);
}
