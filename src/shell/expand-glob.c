/*
 * Pathname expansion.  A pattern is worked through component by component; the paths
 * that fit so far are a list, so that no pattern recurses.  Components without magic are
 * not listed: they are added, and the whole is looked up at the end.
 */
#include "shell/expansion.h"

struct glob {
    struct shell *sh;
    struct arena *arena; /* of the paths on the way */
    enum pattern_flags flags;
    struct fields paths; /* what fits the components so far */
    struct str *ignore;  /* patterns of GLOBIGNORE */
    size_t ignore_count;
    bool listed; /* `paths` come from a listing, so that they exist */
};

/* One component, and the slashes before it. */
struct component {
    struct str slashes, text;
    bool is_magic, is_last;
    bool is_globstar; /* ** */
    bool wants_dirs;  /* only a slash follows */
};

static bool next_component(struct glob *g, struct str *rest, struct component *c)
{
    size_t slashes = 0, end;
    if (!rest->len)
        return false;
    while (slashes < rest->len && rest->data[slashes] == '/')
        slashes++;
    for (end = slashes; end < rest->len && rest->data[end] != '/'; end++)
        end += rest->data[end] == '\\' && end + 1 < rest->len &&
               rest->data[end + 1] != '/';
    c->slashes = str_sub(*rest, 0, slashes);
    c->text = str_sub(*rest, slashes, end - slashes);
    *rest = str_from(*rest, end);
    c->is_magic = pattern_is_magic(c->text, g->flags);
    c->is_last = !rest->len;
    c->is_globstar = g->sh->shopt & SHOPT_GLOBSTAR && str_is(c->text, "**");
    c->wants_dirs = str_is(*rest, "/");
    return true;
}

static bool stat_path(
        struct glob *g, struct str path, enum vfs_follow follow, struct vfs_stat *st)
{
    struct vpath parsed;
    struct arena_mark mark = arena_mark(g->arena);
    bool ok = !vpath_parse(path, g->sh->cwd, g->arena, &parsed) &&
              !vfs_stat(g->sh->vfs, parsed, follow, st);
    arena_rewind(g->arena, mark);
    return ok;
}

static bool is_dir(struct glob *g, struct str path)
{
    struct vfs_stat st;
    return stat_path(g, path, VFS_FOLLOW, &st) && st.type == VFS_DIR;
}

static bool add_path(
        struct glob *g, struct fields *out, struct str a, struct str b, struct str c)
{
    size_t len = a.len + b.len + c.len;
    if (!budget_spend(g->sh->budget, 1) || !expand_room(g->sh, g->arena, len + 32))
        return false;
    char *path = arena_alloc(g->arena, len + 1);
    memcpy(path, a.data, a.len);
    memcpy(path + a.len, b.data, b.len);
    memcpy(path + a.len + b.len, c.data, c.len);
    path[len] = 0;
    return fields_push(out, g->arena, path);
}

/* The entries of the directory at `path` ("" is the current one). */
static size_t list(struct glob *g, struct str path, struct vfs_entry **entries)
{
    struct vpath parsed;
    size_t count = 0;
    if (vpath_parse(path.len ? path : STR("."), g->sh->cwd, g->arena, &parsed) ||
            vfs_list(g->sh->vfs, parsed, g->arena, entries, &count))
        return 0;
    return count;
}

static bool add_literal(struct glob *g, const struct component *c, struct fields *out)
{
    auto_buf text = BUF(c->text.len);
    pattern_unquote(c->text, &text);
    for (size_t i = 0; i < g->paths.count; i++)
        if (!add_path(g, out, str_of(g->paths.items[i]), c->slashes, buf_str(&text)))
            return false;
    return true;
}

static bool add_matches(struct glob *g, const struct component *c, struct str dir,
        const struct pattern *pattern, struct fields *out)
{
    struct vfs_entry *entries;
    size_t count = list(g, dir, &entries);
    for (size_t i = 0; i < count; i++) {
        const struct vfs_entry *entry = &entries[i];
        bool may_be_dir = entry->type == VFS_DIR || entry->type == VFS_LINK ||
                          entry->type == VFS_UNKNOWN;
        if (!budget_spend(g->sh->budget, 1))
            return false;
        if ((!c->is_last && !may_be_dir) || !pattern_test(pattern, entry->name))
            continue;
        if (!add_path(g, out, dir, STR(""), entry->name))
            return false;
    }
    return true;
}

static bool add_magic(struct glob *g, const struct component *c, struct fields *out)
{
    const struct pattern *pattern = pattern_compile(c->text, g->flags, g->arena);
    for (size_t i = 0; i < g->paths.count; i++) {
        struct str path = str_of(g->paths.items[i]);
        struct fields dir = { 0 };
        if (!add_path(g, &dir, path, c->slashes, STR("")) ||
                !add_matches(g, c, str_of(dir.items[0]), pattern, out))
            return false;
    }
    return true;
}

/* What `**` comes to is entered, but for what may be slow. */
static bool may_enter(struct glob *g, struct str path)
{
    struct vpath parsed;
    return !vpath_parse(path, g->sh->cwd, g->arena, &parsed) &&
           !vfs_enters_remote(g->sh->vfs, parsed);
}

/* What `**` finds in one directory: files if it is the last component, directories with a
 * slash behind them, which are also put on the stack.  Links are not entered. */
static bool add_tree_entries(struct glob *g, const struct component *c, struct str dir,
        struct fields *stack, struct fields *out)
{
    struct vfs_entry *entries;
    size_t count = list(g, dir, &entries);
    for (size_t i = 0; i < count; i++) {
        const struct vfs_entry *entry = &entries[i];
        bool enter = entry->type == VFS_DIR;
        if (!budget_spend(g->sh->budget, 1))
            return false;
        if (entry->name.data[0] == '.' && g->flags & PATTERN_PERIOD)
            continue;
        if (enter && !add_path(g, stack, dir, entry->name, STR("/")))
            return false;
        bool wanted = c->is_last || enter || (c->wants_dirs && entry->type == VFS_LINK);
        if (wanted &&
                !add_path(g, out, dir, entry->name, c->is_last ? STR("") : STR("/")))
            return false;
    }
    return true;
}

/* A stack of directories instead of recursion. */
static bool add_tree(
        struct glob *g, const struct component *c, struct str top, struct fields *out)
{
    struct fields stack = { 0 };
    if (!add_path(g, &stack, top, STR(""), STR("")))
        return false;
    while (stack.count) {
        struct str dir = str_of(stack.items[--stack.count]);
        if (!str_eq(dir, top) && !may_enter(g, dir))
            continue;
        if (!add_tree_entries(g, c, dir, &stack, out))
            return false;
    }
    return true;
}

static bool add_globstar(struct glob *g, const struct component *c, struct fields *out)
{
    for (size_t i = 0; i < g->paths.count; i++) {
        struct fields top = { 0 };
        if (!add_path(g, &top, str_of(g->paths.items[i]), c->slashes, STR("")))
            return false;
        /* Itself: `**` is zero directories too. */
        if (!fields_push(out, g->arena, top.items[0]) ||
                !add_tree(g, c, str_of(top.items[0]), out))
            return false;
    }
    return true;
}

/* A slash is kept as written before the first magic component only; what `**` found has
 * its slash already. */
static void fit_slashes(struct component *c, const struct component *before)
{
    if (before->is_globstar)
        c->slashes.len = 0;
    else if (c->slashes.len > 1 && before->is_magic)
        c->slashes.len = 1;
}

static bool work_through(struct glob *g, struct str pattern)
{
    struct component c, before = { .is_magic = false };
    if (!fields_push(&g->paths, g->arena, arena_cstr(g->arena, STR(""))))
        return false;
    while (g->paths.count && next_component(g, &pattern, &c)) {
        struct fields next = { 0 };
        if (c.is_globstar && before.is_globstar && !c.is_last)
            continue; /* the same as one */
        fit_slashes(&c, &before);
        bool ok = c.is_globstar ? add_globstar(g, &c, &next)
                  : c.is_magic  ? add_magic(g, &c, &next)
                                : add_literal(g, &c, &next);
        if (!ok)
            return false;
        g->listed = c.is_magic;
        c.is_magic |= before.is_magic;
        before = c;
        g->paths = next;
    }
    return true;
}

static int compare_paths(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Is it there, and a directory if it was written with a slash at the end? */
static bool exists(struct glob *g, struct str path)
{
    struct vfs_stat st;
    if (path.data[path.len - 1] == '/')
        return is_dir(g, path);
    return g->listed || stat_path(g, path, VFS_NOFOLLOW, &st);
}

static bool is_ignored(const struct glob *g, struct str path)
{
    for (size_t i = 0; i < g->ignore_count; i++)
        if (pattern_match(
                    g->ignore[i], path, (g->flags & PATTERN_EXTGLOB) | PATTERN_PATHNAME))
            return true;
    return false;
}

static bool keep_existing(
        struct glob *g, struct fields *out, struct arena *arena, size_t *found)
{
    if (!g->paths.count)
        return true;
    qsort(g->paths.items, g->paths.count, sizeof(*g->paths.items), compare_paths);
    for (size_t i = 0; i < g->paths.count; i++) {
        struct str path = str_of(g->paths.items[i]);
        bool again = i && !strcmp(g->paths.items[i - 1], path.data);
        if (again || !path.len || is_ignored(g, path) || !exists(g, path))
            continue;
        if (!budget_spend(g->sh->budget, 1) ||
                !expand_room(g->sh, arena, path.len + 32) ||
                !fields_push(out, arena, arena_cstr(arena, path)))
            return false;
        ++*found;
    }
    return true;
}

/* GLOBIGNORE: patterns between colons; when it is set, `*` finds dotfiles too. */
static void load_ignore(struct glob *g)
{
    struct str rest;
    if (!vars_get(g->sh->vars, STR("GLOBIGNORE"), &rest) || !rest.len)
        return;
    rest = arena_str(g->arena, rest);
    g->ignore = arena_alloc(g->arena, (rest.len + 1) * sizeof(*g->ignore));
    while (rest.len)
        g->ignore[g->ignore_count++] = str_cut(&rest, ':');
    g->flags &= ~(unsigned)PATTERN_PERIOD;
}

bool expand_glob(struct shell *sh, struct str pattern, struct arena *arena,
        struct fields *out, size_t *found)
{
    auto_arena *scratch = arena_create();
    struct glob g = { .sh = sh, .arena = scratch, .flags = expand_pattern_flags(sh) };
    if (!(sh->shopt & SHOPT_DOTGLOB))
        g.flags |= PATTERN_PERIOD;
    if (sh->shopt & SHOPT_NOCASEGLOB)
        g.flags |= PATTERN_FOLD;
    load_ignore(&g);
    return work_through(&g, pattern) && keep_existing(&g, out, arena, found);
}
