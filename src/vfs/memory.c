#include "vfs/memory.h"

#include "base/arena.h"
#include "vfs/internal.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

int64_t memory_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Account for `more` bytes: ENOSPC if they are too many. */
static int memory_take(struct memory *m, uint64_t more)
{
    if (more > m->max - m->used)
        return ENOSPC;
    m->used += more;
    return 0;
}

static void memory_unref(struct memory *m)
{
    if (!--m->refs)
        free(m);
}

static struct node *node_create(struct memory *m, enum vfs_type type, uint32_t mode)
{
    if (memory_take(m, sizeof(struct node)))
        return NULL;
    struct node *n = xcalloc(1, sizeof(*n));
    n->owner = m;
    n->refs = 1;
    m->refs++;
    int64_t now = memory_now();
    n->st = (struct vfs_stat){
        .type = type,
        .mode = mode,
        .uid = geteuid(),
        .gid = getegid(),
        .nlink = type == VFS_DIR ? 2 : 0,
        .dev = (uint64_t)(uintptr_t)m,
        .ino = ++m->next_ino,
        .mtime_ns = now,
        .atime_ns = now,
        .ctime_ns = now,
    };
    return n;
}

void node_unref(struct node *n)
{
    if (--n->refs)
        return;
    struct memory *m = n->owner;
    m->used -= sizeof(*n) + n->len;
    free(n->data);
    free(n->names);
    free(n);
    memory_unref(m);
}

void node_stat(const struct node *n, struct vfs_stat *out)
{
    *out = n->st;
    out->size = n->st.type == VFS_DIR ? n->count * sizeof(struct name) : n->len;
    out->blocks = (out->size + 511) / 512;
}

int node_resize(struct node *n, size_t size)
{
    if (size > n->len) {
        int error = memory_take(n->owner, size - n->len);
        if (error)
            return error;
        if (size > n->cap) {
            n->cap = size > 2 * n->cap ? size : 2 * n->cap;
            n->data = xrealloc(n->data, n->cap);
        }
        memset(n->data + n->len, 0, size - n->len);
    } else {
        n->owner->used -= n->len - size;
    }
    n->len = size;
    return 0;
}

/* The place of `name` among the sorted names; true if it is there. */
static bool find_name(const struct node *dir, struct str name, size_t *at)
{
    size_t low = 0, high = dir->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = str_cmp(str_of(dir->names[middle].text), name);
        if (!order) {
            *at = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return false;
}

static uint64_t cost_of_name(size_t len)
{
    return sizeof(struct name) + len + 1;
}

/* Takes over the reference to `n`. */
static int add_name(struct node *dir, struct str name, struct node *n)
{
    int error = memory_take(dir->owner, cost_of_name(name.len));
    if (error)
        return error;
    size_t at;
    find_name(dir, name, &at);
    GROW(dir->names, dir->count, dir->names_cap);
    memmove(dir->names + at + 1, dir->names + at,
            (dir->count - at) * sizeof(*dir->names));
    dir->names[at] = (struct name){ str_copy(name), n };
    dir->count++;
    if (n->st.type == VFS_DIR)
        dir->st.nlink++;
    else
        n->st.nlink++;
    dir->st.mtime_ns = dir->st.ctime_ns = n->st.ctime_ns = memory_now();
    return 0;
}

/* Takes the name away; the reference goes to the caller. */
static struct node *cut_name(struct node *dir, size_t at)
{
    struct name cut = dir->names[at];
    dir->owner->used -= cost_of_name(strlen(cut.text));
    free(cut.text);
    dir->count--;
    memmove(dir->names + at, dir->names + at + 1,
            (dir->count - at) * sizeof(*dir->names));
    if (cut.node->st.type == VFS_DIR)
        dir->st.nlink--;
    else
        cut.node->st.nlink--;
    dir->st.mtime_ns = dir->st.ctime_ns = cut.node->st.ctime_ns = memory_now();
    return cut.node;
}

/* Where a path leads: its directory, and the node if there is one. */
struct spot {
    struct node *dir; /* NULL for the root */
    struct str name;
    size_t at;
    struct node *node; /* NULL: nothing has this name */
};

static int find_spot(struct memory *m, const char *path, struct spot *out)
{
    struct str rest = str_of(path);
    *out = (struct spot){ .node = m->root };
    while (rest.len) {
        struct node *dir = out->node;
        if (!dir)
            return ENOENT;
        if (dir->st.type == VFS_LINK)
            return ELOOP;
        if (dir->st.type != VFS_DIR)
            return ENOTDIR;
        out->dir = dir;
        out->name = str_cut(&rest, '/');
        out->node = find_name(dir, out->name, &out->at) ? dir->names[out->at].node : NULL;
    }
    return 0;
}

/* A spot that must hold something. */
static int find_node(struct memory *m, const char *path, struct spot *out)
{
    int error = find_spot(m, path, out);
    return error ? error : out->node ? 0 : ENOENT;
}

/* A spot that must be free, in a directory that was not removed meanwhile. */
static int find_free(struct memory *m, const char *path, struct spot *out)
{
    int error = find_spot(m, path, out);
    return error ? error : out->node ? EEXIST : 0;
}

static int memory_stat(void *self, const char *path, struct vfs_stat *out)
{
    struct spot spot;
    int error = find_node(self, path, &spot);
    if (!error)
        node_stat(spot.node, out);
    return error;
}

static int memory_readlink(
        void *self, const char *path, char *data, size_t size, size_t *len)
{
    struct spot spot;
    int error = find_node(self, path, &spot);
    if (error)
        return error;
    if (spot.node->st.type != VFS_LINK)
        return EINVAL;
    if (spot.node->len >= size)
        return ENAMETOOLONG;
    memcpy(data, spot.node->data, spot.node->len);
    *len = spot.node->len;
    return 0;
}

static int memory_list(void *self, const char *path, struct budget *budget UNUSED,
        struct arena *arena, struct vfs_entry **out, size_t *count)
{
    struct spot spot;
    int error = find_node(self, path, &spot);
    if (error)
        return error;
    const struct node *dir = spot.node;
    if (dir->st.type != VFS_DIR)
        return dir->st.type == VFS_LINK ? ELOOP : ENOTDIR;
    struct vfs_entry *entries = arena_alloc(arena, dir->count * sizeof(*entries));
    for (size_t i = 0; i < dir->count; i++) {
        entries[i].name = arena_str(arena, str_of(dir->names[i].text));
        entries[i].type = dir->names[i].node->st.type;
    }
    *out = entries;
    *count = dir->count;
    return 0;
}

/* A new node with a name at a free spot. */
static int make_node(struct memory *m, const struct spot *spot, enum vfs_type type,
        uint32_t mode, struct str data, struct node **out)
{
    struct node *n = node_create(m, type, mode);
    if (!n)
        return ENOSPC;
    int error = node_resize(n, data.len);
    if (!error && data.len)
        memcpy(n->data, data.data, data.len);
    if (!error)
        error = add_name(spot->dir, spot->name, n);
    if (error) {
        node_unref(n);
        return error;
    }
    if (out)
        *out = n;
    return 0;
}

static int open_existing(struct node *n, enum vfs_open_flags flags)
{
    bool change = flags & (VFS_WRITE | VFS_APPEND | VFS_TRUNCATE | VFS_CREATE);
    if (n->st.type == VFS_LINK)
        return ELOOP;
    if (n->st.type == VFS_DIR)
        return change ? EISDIR : 0;
    if (flags & VFS_TRUNCATE) {
        node_resize(n, 0);
        n->st.mtime_ns = n->st.ctime_ns = memory_now();
    }
    return 0;
}

static int memory_open(void *self, const char *path, enum vfs_open_flags flags,
        uint32_t mode, struct vfile **out)
{
    struct spot spot;
    int error = find_spot(self, path, &spot);
    if (error)
        return error;
    if (!spot.node)
        error = flags & VFS_CREATE
                        ? make_node(self, &spot, VFS_FILE, mode, STR(""), &spot.node)
                        : ENOENT;
    else if (flags & VFS_CREATE && flags & VFS_EXCLUSIVE)
        error = EEXIST;
    else
        error = open_existing(spot.node, flags);
    if (!error)
        *out = memory_file_create(spot.node, flags);
    return error;
}

static int memory_access(void *self, const char *path, int mode)
{
    struct spot spot;
    int error = find_node(self, path, &spot);
    if (error)
        return error;
    const struct vfs_stat *st = &spot.node->st;
    return mode & X_OK && st->type == VFS_FILE && !(st->mode & 0111) ? EACCES : 0;
}

static int memory_mkdir(void *self, const char *path, uint32_t mode)
{
    struct spot spot;
    int error = find_free(self, path, &spot);
    return error ? error : make_node(self, &spot, VFS_DIR, mode, STR(""), NULL);
}

static int memory_symlink(void *self, struct str target, const char *path)
{
    struct spot spot;
    int error = find_free(self, path, &spot);
    return error ? error : make_node(self, &spot, VFS_LINK, 0777, target, NULL);
}

static int memory_unlink(void *self, const char *path)
{
    struct spot spot;
    int error = find_node(self, path, &spot);
    if (error)
        return error;
    if (spot.node->st.type == VFS_DIR)
        return EISDIR;
    node_unref(cut_name(spot.dir, spot.at));
    return 0;
}

static int memory_rmdir(void *self, const char *path)
{
    struct spot spot;
    int error = find_node(self, path, &spot);
    if (error)
        return error;
    if (spot.node->st.type != VFS_DIR)
        return ENOTDIR;
    if (spot.node->count)
        return ENOTEMPTY;
    node_unref(cut_name(spot.dir, spot.at));
    return 0;
}

static int check_replaced(const struct node *from, const struct node *to)
{
    if (!to)
        return 0;
    if (to->st.type == VFS_DIR && from->st.type != VFS_DIR)
        return EISDIR;
    if (to->st.type != VFS_DIR && from->st.type == VFS_DIR)
        return ENOTDIR;
    return to->count ? ENOTEMPTY : 0;
}

static int memory_rename(void *self, const char *from, const char *to)
{
    struct spot source, target;
    int error = find_node(self, from, &source);
    if (!error)
        error = find_spot(self, to, &target);
    if (error || source.node == target.node)
        return error;
    error = check_replaced(source.node, target.node);
    if (error)
        return error;
    /* The new name first, as the only step that can fail. */
    if (target.node) {
        struct node *old = target.dir->names[target.at].node;
        target.dir->names[target.at].node = source.node;
        if (old->st.type != VFS_DIR) {
            old->st.nlink--;
            source.node->st.nlink++;
        }
        node_unref(old);
    } else {
        error = add_name(target.dir, target.name, source.node);
        if (error)
            return error;
    }
    find_name(source.dir, source.name, &source.at);
    cut_name(source.dir, source.at);
    return 0;
}

static int memory_link(void *self, const char *from, const char *to)
{
    struct spot source, target;
    int error = find_node(self, from, &source);
    if (!error)
        error = find_free(self, to, &target);
    if (error)
        return error;
    if (source.node->st.type == VFS_DIR)
        return EPERM;
    error = add_name(target.dir, target.name, source.node);
    if (!error)
        source.node->refs++;
    return error;
}

static int memory_chmod(void *self, const char *path, uint32_t mode)
{
    struct spot spot;
    int error = find_node(self, path, &spot);
    if (error)
        return error;
    if (spot.node->st.type == VFS_LINK)
        return ELOOP;
    spot.node->st.mode = mode;
    spot.node->st.ctime_ns = memory_now();
    return 0;
}

static void set_time(int64_t *field, int64_t ns)
{
    if (ns != VFS_TIME_KEEP)
        *field = ns == VFS_TIME_NOW ? memory_now() : ns;
}

static int memory_set_times(
        void *self, const char *path, int64_t atime_ns, int64_t mtime_ns)
{
    struct spot spot;
    int error = find_node(self, path, &spot);
    if (error)
        return error;
    set_time(&spot.node->st.atime_ns, atime_ns);
    set_time(&spot.node->st.mtime_ns, mtime_ns);
    spot.node->st.ctime_ns = memory_now();
    return 0;
}

static bool is_unchanged(const struct node *n, const struct vfs_stat *expect)
{
    return n->st.ino == expect->ino && n->len == expect->size &&
           n->st.mtime_ns == expect->mtime_ns;
}

static int replace_content(struct node *n, struct str data, const struct vfs_stat *expect)
{
    if (n->st.type == VFS_LINK)
        return ELOOP;
    if (n->st.type == VFS_DIR)
        return EISDIR;
    if (expect && !is_unchanged(n, expect))
        return ESTALE;
    int error = node_resize(n, data.len);
    if (error)
        return error;
    if (data.len)
        memcpy(n->data, data.data, data.len);
    n->st.mtime_ns = n->st.ctime_ns = memory_now();
    return 0;
}

static int memory_replace(void *self, const char *path, struct str data,
        enum vfs_open_flags flags, uint32_t mode, const struct vfs_stat *expect)
{
    struct spot spot;
    int error = find_spot(self, path, &spot);
    if (error)
        return error;
    if (spot.node)
        return flags & VFS_EXCLUSIVE ? EEXIST : replace_content(spot.node, data, expect);
    if (!(flags & VFS_CREATE) || expect)
        return ENOENT;
    return make_node(self, &spot, VFS_FILE, mode, data, NULL);
}

/* Depth is bounded by the longest path, but not the stack's: empty it bottom-up. */
static void remove_all(struct node *root)
{
    struct node **todo = NULL;
    size_t count = 0, cap = 0;
    GROW(todo, count, cap);
    todo[count++] = root;
    while (count) {
        struct node *dir = todo[count - 1];
        if (!dir->count) {
            node_unref(dir);
            count--;
            continue;
        }
        struct node *n = cut_name(dir, dir->count - 1);
        if (n->st.type == VFS_DIR) {
            GROW(todo, count, cap);
            todo[count++] = n;
        } else {
            node_unref(n);
        }
    }
    free(todo);
}

static void memory_destroy(void *self)
{
    struct memory *m = self;
    remove_all(m->root);
    memory_unref(m);
}

const struct vfs_ops memory_ops = {
    .name = "memory",
    .stat = memory_stat,
    .readlink = memory_readlink,
    .list = memory_list,
    .open = memory_open,
    .access = memory_access,
    .mkdir = memory_mkdir,
    .unlink = memory_unlink,
    .rmdir = memory_rmdir,
    .rename = memory_rename,
    .link = memory_link,
    .symlink = memory_symlink,
    .chmod = memory_chmod,
    .set_times = memory_set_times,
    .replace = memory_replace,
    .destroy = memory_destroy,
};

struct memory *memory_create(uint64_t max_bytes)
{
    struct memory *m = xcalloc(1, sizeof(*m));
    m->refs = 1;
    m->max = UINT64_MAX;
    m->root = node_create(m, VFS_DIR, 0755);
    m->max = max_bytes < UINT64_MAX - m->used ? max_bytes + m->used : UINT64_MAX;
    return m;
}

int vfs_mount_memory(struct vfs *vfs, struct vpath at, uint64_t max_bytes)
{
    return vfs_mount(vfs, at, &memory_ops, memory_create(max_bytes));
}
