#include "search/dirwalk.h"

#include <errno.h>

struct level {
    struct arena *arena; /* of the entries */
    struct vfs_entry *entries;
    size_t count, next;
    size_t path_len; /* of the directory */
    struct vfs_stat st;
};

struct dirwalk {
    struct vfs *vfs;
    struct vpath cwd;
    struct budget *budget;
    struct arena *scratch; /* of one path */
    bool follow, follow_root, types_only;
    bool started, enter; /* enter: `current` is a directory to be listed next... */
    bool is_remote;      /* ...but for this */
    struct vfs_stat current;
    struct buf path;
    size_t root_len;
    struct level *levels;
    size_t depth, cap;
};

struct dirwalk *dirwalk_create(
        const struct dirwalk_view *view, const char *root, bool follow_root, bool follow)
{
    struct dirwalk *w = xcalloc(1, sizeof(*w));
    *w = (struct dirwalk){ .vfs = view->vfs,
        .cwd = view->cwd,
        .budget = view->budget,
        .scratch = arena_create(),
        .follow = follow,
        .follow_root = follow_root || follow,
        .path = BUF(65536),
        .root_len = strlen(root) };
    buf_add(&w->path, str_of(root));
    return w;
}

void dirwalk_destroy(struct dirwalk *w)
{
    while (w->depth)
        arena_destroy(w->levels[--w->depth].arena);
    arena_destroy(w->scratch);
    free(w->levels);
    buf_finish(&w->path);
    free(w);
}

struct str dirwalk_place(const struct dirwalk *w)
{
    return str_from(buf_str(&w->path), w->root_len);
}

void dirwalk_types_only(struct dirwalk *w)
{
    w->types_only = true;
}

void dirwalk_skip(struct dirwalk *w)
{
    w->enter = false;
}

static void fill(struct dirwalk *w, enum dirwalk_step step, struct dirwalk_entry *out)
{
    struct str path = buf_str(&w->path);
    const char *slash = w->depth ? memrchr(path.data, '/', path.len) : NULL;
    *out = (struct dirwalk_entry){
        .step = step,
        .path = path.data,
        .name = slash ? slash + 1 : path.data,
        .depth = w->depth,
        .root_len = w->root_len,
        .st = w->current,
    };
}

/* Is the directory one of those it lies in? */
static bool is_loop(const struct dirwalk *w)
{
    for (size_t i = 0; i < w->depth; i++)
        if (w->levels[i].st.dev == w->current.dev &&
                w->levels[i].st.ino == w->current.ino)
            return true;
    return false;
}

/* Is the type from the listing all that has to be known?  Of a directory it is the file
 * system too. */
static bool type_is_enough(const struct dirwalk *w, enum vfs_type type)
{
    if (!w->types_only || type == VFS_UNKNOWN || type == VFS_DIR)
        return false;
    return !w->follow || type != VFS_LINK;
}

/* Is the directory the first of a file system that had better not be walked? */
static bool comes_to_remote(struct dirwalk *w)
{
    struct vpath path;
    if (!w->depth || w->levels[w->depth - 1].st.dev == w->current.dev)
        return false;
    struct arena_mark mark = arena_mark(w->scratch);
    bool is = !vpath_parse(buf_str(&w->path), w->cwd, w->scratch, &path) &&
              vfs_enters_remote(w->vfs, path);
    arena_rewind(w->scratch, mark);
    return is;
}

static int stat_current(struct dirwalk *w)
{
    bool follow = w->depth ? w->follow : w->follow_root;
    struct vpath path;
    if (w->path.full)
        return ENAMETOOLONG;
    struct arena_mark mark = arena_mark(w->scratch);
    int errnum = vpath_parse(buf_str(&w->path), w->cwd, w->scratch, &path);
    if (!errnum) {
        errnum = vfs_stat(w->vfs, path, follow ? VFS_FOLLOW : VFS_NOFOLLOW, &w->current);
        if (errnum && follow) /* a link to nowhere is itself */
            errnum = vfs_stat(w->vfs, path, VFS_NOFOLLOW, &w->current) ? errnum : 0;
    }
    arena_rewind(w->scratch, mark);
    return errnum;
}

/* What lies at `path`: a file, or a directory that is entered by the next step. */
static void look(struct dirwalk *w, enum vfs_type type, struct dirwalk_entry *out)
{
    int errnum = 0;
    if (type_is_enough(w, type))
        w->current = (struct vfs_stat){ .type = type };
    else
        errnum = stat_current(w);
    bool is_dir = !errnum && w->current.type == VFS_DIR;
    if (is_dir && w->follow && is_loop(w))
        errnum = ELOOP;
    fill(w, errnum ? WALK_FAILED : is_dir ? WALK_DIR : WALK_FILE, out);
    out->errnum = errnum;
    w->enter = is_dir && !errnum;
    w->is_remote = w->enter && comes_to_remote(w);
}

static int list(struct dirwalk *w, struct level *level)
{
    struct vpath path;
    int errnum = vpath_parse(buf_str(&w->path), w->cwd, level->arena, &path);
    return errnum ? errnum
                  : vfs_list(w->vfs, path, level->arena, &level->entries, &level->count);
}

/* Enter the directory that the last step showed; true: `out` says that it failed. */
static bool enter(struct dirwalk *w, struct dirwalk_entry *out)
{
    w->enter = false;
    struct level level = {
        .arena = arena_create(), .path_len = w->path.len, .st = w->current
    };
    int errnum = w->is_remote ? EREMOTE : list(w, &level);
    if (errnum) {
        arena_destroy(level.arena);
        fill(w, WALK_UNREADABLE, out);
        out->errnum = errnum;
        return true;
    }
    GROW(w->levels, w->depth, w->cap);
    w->levels[w->depth++] = level;
    return false;
}

static void set_path(struct dirwalk *w, size_t len, struct str name)
{
    w->path.len = len;
    w->path.full = false;
    if (name.len && len && w->path.data[len - 1] != '/')
        buf_addc(&w->path, '/');
    buf_add(&w->path, name);
    if (w->path.data)
        w->path.data[w->path.len] = 0;
}

bool dirwalk_next(struct dirwalk *w, struct dirwalk_entry *out)
{
    if (!budget_spend(w->budget, 1))
        return false;
    if (!w->started) {
        w->started = true;
        look(w, VFS_UNKNOWN, out);
        return true;
    }
    if (w->enter && enter(w, out))
        return out->errnum != ECANCELED;
    if (!w->depth)
        return false;
    struct level *level = &w->levels[w->depth - 1];
    if (level->next < level->count) {
        const struct vfs_entry *entry = &level->entries[level->next++];
        set_path(w, level->path_len, entry->name);
        look(w, entry->type, out);
        return true;
    }
    set_path(w, level->path_len, STR(""));
    w->current = level->st;
    arena_destroy(level->arena);
    w->depth--;
    fill(w, WALK_DIR_END, out);
    return true;
}
