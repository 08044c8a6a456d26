#include "worker/save-memory.h"

#include "shell/save-parts.h"

#include <errno.h>
#include <string.h>

#define CHUNK ((size_t)64 << 10)

/* A file with several names, and the one that was saved with its bytes. */
struct first_name {
    uint64_t dev, ino;
    struct str path;
};

struct walk {
    struct vfs *vfs;
    const struct setup *setup;
    struct arena *arena;
    struct buf *out;
    struct first_name *names;
    size_t name_count, name_cap;
    size_t entries;
    struct error *err;
};

bool save_has_memory(const struct setup *setup)
{
    for (size_t i = 0; i < setup->root_count; i++)
        if (setup->roots[i].kind == SETUP_MEMORY)
            return true;
    return false;
}

static bool fail(struct walk *w, const char *path, int errnum)
{
    return error_errno(w->err, errnum, "'%s' cannot be kept", path);
}

static void begin_entry(
        struct walk *w, char type, const struct vpath *path, const struct vfs_stat *st)
{
    buf_addf(w->out, "%s[\"%c\",", w->entries++ ? "," : "", type);
    save_text(path->text, w->out);
    buf_addf(w->out, ",%u,%lld", st->mode & 07777, (long long)st->mtime_ns);
}

static bool put_content(struct walk *w, struct vpath path, uint64_t size)
{
    struct vfile *f;
    if (size > SHELL_SAVE_MAX)
        return error_set(w->err, ERR_LIMIT, "'%s' is longer than %zu bytes",
                path.text.data, SHELL_SAVE_MAX);
    int failure = vfs_open(w->vfs, path, VFS_READ, 0, &f);
    if (failure)
        return fail(w, path.text.data, failure);
    auto_buf content = BUF(SHELL_SAVE_MAX + CHUNK);
    size_t got = 1;
    while (!failure && got) {
        char *to = buf_reserve(&content, CHUNK);
        failure = to ? vfile_read(f, to, CHUNK, &got) : EFBIG;
        content.len += failure ? 0 : got;
    }
    vfile_close(f);
    if (failure)
        return fail(w, path.text.data, failure);
    buf_addc(w->out, ',');
    save_text(buf_str(&content), w->out);
    return true;
}

/* The name that the file was saved by before, or "". */
static struct str earlier_name(
        struct walk *w, const struct vpath *path, const struct vfs_stat *st)
{
    for (size_t i = 0; i < w->name_count; i++)
        if (w->names[i].dev == st->dev && w->names[i].ino == st->ino)
            return w->names[i].path;
    GROW(w->names, w->name_count, w->name_cap);
    w->names[w->name_count++] =
            (struct first_name){ .dev = st->dev, .ino = st->ino, .path = path->text };
    return STR("");
}

static bool put_file(struct walk *w, struct vpath path, const struct vfs_stat *st)
{
    struct str first = st->nlink > 1 ? earlier_name(w, &path, st) : STR("");
    begin_entry(w, first.len ? 'h' : 'f', &path, st);
    if (first.len) {
        buf_addc(w->out, ',');
        save_text(first, w->out);
    } else if (!put_content(w, path, st->size)) {
        return false;
    }
    buf_addc(w->out, ']');
    return true;
}

static bool put_link(struct walk *w, struct vpath path, const struct vfs_stat *st)
{
    struct str target;
    int failure = vfs_readlink(w->vfs, path, w->arena, &target);
    if (failure)
        return fail(w, path.text.data, failure);
    begin_entry(w, 'l', &path, st);
    buf_addc(w->out, ',');
    save_text(target, w->out);
    buf_addc(w->out, ']');
    return true;
}

static bool lies_below(struct str path, struct str root)
{
    return root.len == 1 || (str_starts(path, root) && path.data[root.len] == '/');
}

/* A root, or a folder that is there because a root lies below it. */
static bool is_given(const struct setup *setup, struct str path)
{
    for (size_t i = 0; i < setup->root_count; i++)
        if (str_eq(setup->roots[i].at, path) || lies_below(setup->roots[i].at, path))
            return true;
    return false;
}

static void put_folder(struct walk *w, struct vpath path, const struct vfs_stat *st)
{
    begin_entry(w, 'd', &path, st);
    buf_addc(w->out, ']');
}

static bool put_entries(struct walk *w, struct vpath folder);

static bool put_path(struct walk *w, struct vpath path)
{
    struct vfs_stat st;
    if (is_given(w->setup, path.text))
        return true;
    int failure = vfs_stat(w->vfs, path, VFS_NOFOLLOW, &st);
    if (failure)
        return fail(w, path.text.data, failure);
    if (w->out->full)
        return error_set(w->err, ERR_LIMIT, "the files in memory take too much room");
    if (st.type == VFS_FILE)
        return put_file(w, path, &st);
    if (st.type == VFS_LINK)
        return put_link(w, path, &st);
    if (st.type != VFS_DIR)
        return error_set(
                w->err, ERR_UNSUPPORTED, "'%s' is no file or folder", path.text.data);
    put_folder(w, path, &st);
    if (!put_entries(w, path))
        return false;
    put_folder(w, path, &st);
    return true;
}

static bool put_entries(struct walk *w, struct vpath folder)
{
    struct vfs_entry *entries;
    size_t count;
    int failure = vfs_list(w->vfs, folder, w->arena, &entries, &count);
    if (failure)
        return fail(w, folder.text.data, failure);
    for (size_t i = 0; i < count; i++) {
        struct vpath path;
        failure = vpath_parse(entries[i].name, folder, w->arena, &path);
        if (failure)
            return fail(w, entries[i].name.data, failure);
        if (!put_path(w, path))
            return false;
    }
    return true;
}

static bool put_roots(struct walk *w)
{
    for (size_t i = 0; i < w->setup->root_count; i++) {
        struct vpath at;
        const struct setup_root *root = &w->setup->roots[i];
        if (root->kind != SETUP_MEMORY)
            continue;
        int failure = vpath_parse(root->at, VPATH_ROOT, w->arena, &at);
        if (failure)
            return error_errno(w->err, failure, "the root of files in memory");
        if (!put_entries(w, at))
            return false;
    }
    return true;
}

bool save_memory(
        struct vfs *vfs, const struct setup *setup, struct buf *out, struct error *err)
{
    auto_arena *arena = arena_create();
    struct walk w = {
        .vfs = vfs, .setup = setup, .arena = arena, .out = out, .err = err
    };
    buf_addc(out, '[');
    bool good = put_roots(&w);
    buf_addc(out, ']');
    free(w.names);
    return good;
}

/* The innermost root around it is one in memory, and it has no way out of that. */
static bool is_in_memory(const struct setup *setup, struct str path)
{
    const struct setup_root *around = NULL;
    for (size_t i = 0; i < setup->root_count; i++) {
        const struct setup_root *root = &setup->roots[i];
        if (lies_below(path, root->at) && (!around || root->at.len > around->at.len))
            around = root;
    }
    return around && around->kind == SETUP_MEMORY && !is_given(setup, path) &&
           !str_ends(path, STR("/..")) && !memmem(path.data, path.len, "/../", 4);
}

struct entry {
    char type;
    struct vpath path;
    uint32_t mode;
    int64_t mtime_ns;
    struct str data; /* content, or a target */
};

static bool read_entry(const json_t *item, struct arena *arena, struct entry *out)
{
    struct str type = json_str(json_array_get(item, 0)), path;
    const json_t *mode = json_array_get(item, 2), *mtime = json_array_get(item, 3);
    size_t wanted = str_is(type, "d") ? 4 : 5;
    if (json_array_size(item) != wanted || type.len != 1 || !strchr("dflh", *type.data) ||
            !load_text(json_array_get(item, 1), arena, &path) ||
            !str_starts(path, STR("/")) ||
            vpath_parse(path, VPATH_ROOT, arena, &out->path) || !json_is_integer(mode) ||
            !json_is_integer(mtime))
        return false;
    out->type = *type.data;
    out->mode = (uint32_t)json_integer_value(mode) & 07777;
    out->mtime_ns = json_integer_value(mtime);
    return wanted == 4 || load_text(json_array_get(item, 4), arena, &out->data);
}

/* A file of a memory root, by a path that a link of the list leads nowhere else. */
static bool take_entry(struct vfs *vfs, const struct setup *setup, const json_t *item,
        struct arena *arena, struct entry *out)
{
    struct vpath real;
    return read_entry(item, arena, out) && is_in_memory(setup, out->path.text) &&
           !vfs_resolve(vfs, out->path, VFS_NOFOLLOW, arena, &real) &&
           str_eq(real.text, out->path.text);
}

static int make_file(struct vfs *vfs, const struct entry *e)
{
    struct vfile *f;
    int failure =
            vfs_open(vfs, e->path, VFS_WRITE | VFS_CREATE | VFS_EXCLUSIVE, e->mode, &f);
    if (failure)
        return failure;
    failure = vfile_write(f, e->data);
    vfile_close(f);
    return failure;
}

/* A folder comes twice. */
static int make_folder(struct vfs *vfs, const struct entry *e)
{
    int failure = vfs_mkdir(vfs, e->path, 0700);
    return failure == EEXIST ? 0 : failure;
}

static int make_name(struct vfs *vfs, const struct entry *e, struct arena *arena)
{
    struct vpath first;
    int failure = vpath_parse(e->data, VPATH_ROOT, arena, &first);
    return failure ? failure : vfs_link(vfs, first, e->path);
}

static int make_entry(struct vfs *vfs, const struct entry *e, struct arena *arena)
{
    int failure = 0;
    switch (e->type) {
    case 'd':
        failure = make_folder(vfs, e);
        break;
    case 'f':
        failure = make_file(vfs, e);
        break;
    case 'l':
        failure = vfs_symlink(vfs, e->data, e->path);
        break;
    case 'h':
        return make_name(vfs, e, arena);
    }
    if (failure)
        return failure;
    if (e->type != 'l')
        failure = vfs_chmod(vfs, e->path, e->mode);
    return failure ? failure
                   : vfs_set_times(
                             vfs, e->path, VFS_NOFOLLOW, VFS_TIME_KEEP, e->mtime_ns);
}

static bool load_entries(
        struct vfs *vfs, const struct setup *setup, const json_t *list, struct error *err)
{
    auto_arena *arena = arena_create();
    const json_t *item;
    size_t i;
    json_array_foreach (list, i, item) {
        struct entry e = { .data = STR("") };
        if (!take_entry(vfs, setup, item, arena, &e))
            return error_set(err, ERR_INVALID, "entry %zu of the files is none", i);
        int failure = make_entry(vfs, &e, arena);
        if (failure)
            return error_errno(err, failure, "'%s'", e.path.text.data);
    }
    return true;
}

/* What is in a folder comes behind its first entry, so from the end on all are empty. */
void unload_memory(struct vfs *vfs, const struct setup *setup, const json_t *list)
{
    auto_arena *arena = arena_create();
    for (size_t i = json_array_size(list); i-- > 0;) {
        struct entry e = { .data = STR("") };
        if (!take_entry(vfs, setup, json_array_get(list, i), arena, &e))
            continue;
        int failure = e.type == 'd' ? vfs_rmdir(vfs, e.path) : vfs_unlink(vfs, e.path);
        (void)failure; /* it was not made, or is the end of a folder that is not empty */
    }
}

bool load_memory(
        struct vfs *vfs, const struct setup *setup, const json_t *list, struct error *err)
{
    if (!json_is_array(list))
        return error_set(err, ERR_INVALID, "this is no list of files");
    bool good = load_entries(vfs, setup, list, err);
    if (!good)
        unload_memory(vfs, setup, list);
    return good;
}
