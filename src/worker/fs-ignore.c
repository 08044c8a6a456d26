#include "worker/fs-ignore.h"

#include "search/ignore.h"

enum { MAX_ABOVE = 64 };

/* The rules of one folder. */
struct level {
    struct arena *arena;
    struct ignore_rules rules, exclude; /* .gitignore; .git/info/exclude */
    size_t skip;       /* of a path from the start: what comes before the folder's own */
    struct str prefix; /* or, for a folder above the start: what comes before it */
    bool is_repository;
};

struct fs_ignore {
    struct fs *fs;
    struct vpath start;
    struct level *levels;
    size_t count, cap;
};

static void read_rules(
        struct fs *fs, struct str path, struct arena *arena, struct ignore_rules *out)
{
    struct vfile *file;
    struct vpath at;
    size_t len = 0, got = 1;
    if (vpath_parse(path, fs->workspace, arena, &at) ||
            vfs_open(fs->vfs, at, VFS_READ, 0, &file))
        return;
    auto_buf text = BUF(IGNORE_MAX_BYTES);
    char *to;
    while (got && (to = buf_reserve(&text, 4096)) && !vfile_read(file, to, 4096, &got))
        text.len = len += got;
    vfile_close(file);
    ignore_parse(arena_str(arena, buf_str(&text)), arena, out);
}

static bool exists(struct fs *fs, struct str path, struct arena *arena)
{
    struct vfs_stat st;
    struct vpath at;
    return !vpath_parse(path, fs->workspace, arena, &at) &&
           !vfs_stat(fs->vfs, at, VFS_NOFOLLOW, &st);
}

static struct level read_level(struct fs *fs, struct str dir)
{
    struct level l = { .arena = arena_create() };
    const char *slash = str_is(dir, "/") ? "" : "/";
    char *path = arena_printf(l.arena, "%.*s%s.gitignore", STR_ARG(dir), slash);
    read_rules(fs, str_of(path), l.arena, &l.rules);
    path = arena_printf(l.arena, "%.*s%s.git", STR_ARG(dir), slash);
    l.is_repository = exists(fs, str_of(path), l.arena);
    if (l.is_repository) {
        path = arena_printf(l.arena, "%s/info/exclude", path);
        read_rules(fs, str_of(path), l.arena, &l.exclude);
    }
    return l;
}

static void push(struct fs_ignore *g, struct level l)
{
    GROW(g->levels, g->count, g->cap);
    g->levels[g->count++] = l;
}

/* The folder above, or "" above the root. */
static struct str parent_of(struct str path)
{
    const char *slash = memrchr(path.data, '/', path.len);
    if (path.len <= 1 || !slash)
        return STR("");
    return str_sub(path, 0, slash == path.data ? 1 : (size_t)(slash - path.data));
}

/* Those above the start, if one of them is the root of a repository. */
static void read_above(struct fs_ignore *g, struct vpath start)
{
    struct fs *fs = g->fs;
    struct vpath real;
    struct str dirs[MAX_ABOVE];
    size_t count = 0;
    if (vfs_resolve(fs->vfs, start, VFS_FOLLOW, fs->arena, &real))
        return;
    bool found = false;
    for (struct str dir = real.text; !found && dir.len && count < MAX_ABOVE;
            dir = parent_of(dir)) {
        const char *slash = str_is(dir, "/") ? "" : "/";
        char *path = arena_printf(fs->arena, "%.*s%s.git", STR_ARG(dir), slash);
        found = exists(fs, str_of(path), fs->arena);
        dirs[count++] = dir;
    }
    for (size_t i = found ? count : 0; i-- > 1;) { /* 0 is the start itself */
        struct level l = read_level(fs, dirs[i]);
        size_t len = dirs[i].len > 1 ? dirs[i].len + 1 : 1;
        l.prefix = str_from(real.text, len);
        push(g, l);
    }
}

struct fs_ignore *fs_ignore_create(struct fs *fs, struct vpath start)
{
    struct fs_ignore *g = xcalloc(1, sizeof(*g));
    g->fs = fs;
    g->start = start;
    read_above(g, start);
    return g;
}

void fs_ignore_destroy(struct fs_ignore *g)
{
    if (!g)
        return;
    while (g->count)
        fs_ignore_leave(g);
    free(g->levels);
    free(g);
}

void fs_ignore_enter(struct fs_ignore *g, struct str rel)
{
    auto_buf dir = BUF(8192);
    buf_add(&dir, g->start.text);
    if (rel.len && !str_is(g->start.text, "/"))
        buf_addc(&dir, '/');
    buf_add(&dir, rel);
    struct level l = read_level(g->fs, buf_str(&dir));
    l.skip = rel.len ? rel.len + 1 : 0;
    push(g, l);
}

void fs_ignore_leave(struct fs_ignore *g)
{
    arena_destroy(g->levels[--g->count].arena);
}

static enum ignore_answer ask(const struct level *l, const struct ignore_rules *rules,
        struct str rel, bool is_dir)
{
    if (!rules->count)
        return IGNORE_SILENT;
    if (!l->prefix.len)
        return ignore_ask(rules, str_from(rel, l->skip), is_dir);
    auto_buf path = BUF(16384);
    buf_add(&path, l->prefix);
    buf_addc(&path, '/');
    buf_add(&path, rel);
    return ignore_ask(rules, buf_str(&path), is_dir);
}

/* The nearest .gitignore that has something to say decides, then the repository's own
 * list.  What lies above a repository is not asked. */
bool fs_ignore_has(const struct fs_ignore *g, struct str rel, bool is_dir)
{
    enum ignore_answer answer = IGNORE_SILENT;
    size_t i = g->count;
    while (i-- > 0 && answer == IGNORE_SILENT) {
        answer = ask(&g->levels[i], &g->levels[i].rules, rel, is_dir);
        if (g->levels[i].is_repository)
            break;
    }
    if (answer == IGNORE_SILENT && i < g->count)
        answer = ask(&g->levels[i], &g->levels[i].exclude, rel, is_dir);
    return answer == IGNORE_OUT;
}
