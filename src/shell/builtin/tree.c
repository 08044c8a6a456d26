#include "shell/builtin/files.h"
#include "shell/builtin/number.h"
#include "shell/pattern.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPT_NOREPORT = 256, OPT_DIRSFIRST, OPT_IGNORED };

static const struct cmd_opt options[] = {
    { 'a', NULL, ARG_NONE, NULL, "names that begin with a dot too" },
    { 'd', NULL, ARG_NONE, NULL, "only directories" },
    { 'f', NULL, ARG_NONE, NULL, "print the whole path of each" },
    { 'F', NULL, ARG_NONE, NULL, "append one of / @ = | *" },
    { 'h', NULL, ARG_NONE, NULL, "print sizes like 1K 234M 2G" },
    { 'i', NULL, ARG_NONE, NULL, "do not draw lines" },
    { 'I', NULL, ARG_REQUIRED, "PATTERN", "leave out names that match one of a|b|c" },
    { 'L', NULL, ARG_REQUIRED, "LEVEL", "go down at most so many levels" },
    { 'n', NULL, ARG_NONE, NULL, "(no colours: the default)" },
    { 'P', NULL, ARG_REQUIRED, "PATTERN", "only files whose names match one of a|b|c" },
    { 'r', NULL, ARG_NONE, NULL, "names in reverse order" },
    { 's', NULL, ARG_NONE, NULL, "print sizes in bytes" },
    { OPT_DIRSFIRST, "dirsfirst", ARG_NONE, NULL, "directories before files" },
    { OPT_NOREPORT, "noreport", ARG_NONE, NULL, "no line with the numbers at the end" },
    { OPT_IGNORED, "charset", ARG_REQUIRED, "X", "(ignored)" },
    { 0 },
};

struct level {
    struct arena *arena;
    struct vfs_entry *entries;
    size_t count, next;
    size_t path_len, prefix_len; /* of the directory */
};

struct tree {
    struct cmd *c;
    bool all, dirs_only, full, marks, human, sizes, no_lines, reverse, dirs_first,
            no_report;
    const char *ignore, *only;
    uint64_t max_depth;
    uint64_t dirs, files;
    struct buf path, prefix; /* of what is being printed; the lines before its name */
    struct level *levels;
    size_t depth, cap;
    int status;
};

/* Does the name match one of "a|b|c"? */
static bool matches(const char *patterns, struct str name)
{
    for (struct str rest = str_of(patterns); rest.len;)
        if (pattern_match(str_cut(&rest, '|'), name, 0))
            return true;
    return false;
}

static bool is_wanted(const struct tree *t, const struct vfs_entry *e)
{
    bool is_dir = e->type == VFS_DIR;
    if ((!t->all && e->name.data[0] == '.') || (t->dirs_only && !is_dir))
        return false;
    if (t->ignore && matches(t->ignore, e->name))
        return false;
    return !t->only || is_dir || matches(t->only, e->name);
}

static int compare(const void *a, const void *b, void *user)
{
    const struct tree *t = user;
    const struct vfs_entry *x = a, *y = b;
    if (t->dirs_first && (x->type == VFS_DIR) != (y->type == VFS_DIR))
        return x->type == VFS_DIR ? -1 : 1;
    int order = str_cmp(x->name, y->name);
    return t->reverse ? -order : order;
}

/* The wanted entries, in order; 0 or an errno. */
static int list(struct tree *t, struct level *level)
{
    struct vpath path;
    int errnum = vpath_parse(buf_str(&t->path), t->c->cwd, level->arena, &path);
    if (!errnum && t->depth && vfs_enters_remote(t->c->vfs, path))
        errnum = EREMOTE;
    if (!errnum)
        errnum = vfs_list(t->c->vfs, path, level->arena, &level->entries, &level->count);
    if (errnum)
        return errnum;
    size_t kept = 0;
    for (size_t i = 0; i < level->count; i++)
        if (is_wanted(t, &level->entries[i]))
            level->entries[kept++] = level->entries[i];
    level->count = kept;
    if (kept > 1 && (t->reverse || t->dirs_first))
        qsort_r(level->entries, kept, sizeof(*level->entries), compare, t);
    return 0;
}

static int enter(struct tree *t)
{
    struct level level = {
        .arena = arena_create(), .path_len = t->path.len, .prefix_len = t->prefix.len
    };
    int errnum = list(t, &level);
    if (errnum) {
        arena_destroy(level.arena);
        return errnum;
    }
    GROW(t->levels, t->depth, t->cap);
    t->levels[t->depth++] = level;
    return 0;
}

static void add_size(const struct tree *t, const struct vfs_stat *st, struct buf *line)
{
    char text[24];
    if (t->human)
        number_human(st->size, 1024, text);
    else
        snprintf(text, sizeof(text), "%llu", (unsigned long long)st->size);
    buf_addf(line, t->human ? "[%4s]  " : "[%11s]  ", text);
}

static char mark_of(const struct vfs_stat *st)
{
    static const char marks[] = { [VFS_DIR] = '/',
        [VFS_LINK] = '@',
        [VFS_FIFO] = '|',
        [VFS_SOCKET] = '=',
        [VFS_UNKNOWN] = 0 };
    if (st->type == VFS_FILE)
        return st->mode & 0111 ? '*' : 0;
    return marks[st->type];
}

/* The line of the entry at `path`. */
static bool print_entry(struct tree *t, const struct vfs_entry *e, bool last)
{
    struct arena_mark mark = arena_mark(t->c->arena);
    struct vfs_stat st = { .type = e->type };
    struct str target;
    auto_buf line = BUF(1 << 20);
    if (!t->no_lines) {
        buf_add(&line, buf_str(&t->prefix));
        buf_add(&line, last ? STR("└── ") : STR("├── "));
    }
    if ((t->sizes || t->human || t->marks) &&
            file_stat(t->c, t->path.data, VFS_NOFOLLOW, &st))
        st = (struct vfs_stat){ .type = e->type };
    if (t->sizes || t->human)
        add_size(t, &st, &line);
    buf_add(&line, t->full ? buf_str(&t->path) : e->name);
    if (st.type == VFS_LINK && !file_readlink(t->c, t->path.data, &target))
        buf_addf(&line, " -> %.*s", STR_ARG(target));
    else if (t->marks && mark_of(&st))
        buf_addc(&line, mark_of(&st));
    buf_addc(&line, '\n');
    arena_rewind(t->c->arena, mark);
    return cmd_put(t->c, buf_str(&line));
}

static void cut(struct buf *b, size_t len)
{
    b->len = len;
    if (b->data)
        b->data[len] = 0;
}

/* The next entry of the innermost directory. */
static bool step(struct tree *t)
{
    struct level *level = &t->levels[t->depth - 1];
    cut(&t->path, level->path_len);
    cut(&t->prefix, level->prefix_len);
    if (level->next == level->count) {
        arena_destroy(level->arena);
        t->depth--;
        return true;
    }
    const struct vfs_entry *e = &level->entries[level->next++];
    bool last = level->next == level->count;
    if (t->path.len && t->path.data[t->path.len - 1] != '/')
        buf_addc(&t->path, '/');
    buf_add(&t->path, e->name);
    if (!print_entry(t, e, last))
        return false;
    bool is_dir = e->type == VFS_DIR;
    t->dirs += is_dir;
    t->files += !is_dir;
    if (!is_dir || t->depth >= t->max_depth)
        return true;
    /* As wide as the branch above, with no-break spaces as tree prints them. */
    buf_add(&t->prefix, last ? STR("    ") : STR("│\u00a0\u00a0 "));
    if (enter(t))
        t->status = 2;
    return true;
}

static bool print_tree(struct tree *t, const char *root)
{
    buf_clear(&t->path);
    buf_clear(&t->prefix);
    buf_add(&t->path, str_of(root));
    int errnum = enter(t);
    if (errnum) {
        t->status = 2;
        return cmd_printf(t->c, "%s  [error opening dir]\n", root);
    }
    bool ok = cmd_printf(
            t->c, "%s%s\n", root, t->marks && root[strlen(root) - 1] != '/' ? "/" : "");
    while (ok && t->depth && cmd_tick(t->c))
        ok = step(t);
    while (t->depth)
        arena_destroy(t->levels[--t->depth].arena);
    return ok && !budget_stopped(t->c->budget);
}

static bool print_report(struct tree *t)
{
    if (t->no_report)
        return true;
    const char *dirs = t->dirs == 1 ? "directory" : "directories";
    if (t->dirs_only)
        return cmd_printf(t->c, "\n%llu %s\n", (unsigned long long)t->dirs, dirs);
    return cmd_printf(t->c, "\n%llu %s, %llu file%s\n", (unsigned long long)t->dirs, dirs,
            (unsigned long long)t->files, t->files == 1 ? "" : "s");
}

static bool set_option(struct tree *t, int key, const char *value)
{
    switch (key) {
    case 'a':
        return t->all = true;
    case 'd':
        return t->dirs_only = true;
    case 'f':
        return t->full = true;
    case 'F':
        return t->marks = true;
    case 'h':
        return t->human = true;
    case 'i':
        return t->no_lines = true;
    case 'I':
        t->ignore = value;
        return true;
    case 'L':
        if (number_plain(str_of(value), &t->max_depth) && t->max_depth)
            return true;
        cmd_err(t->c, "Invalid level, must be greater than 0.");
        return false;
    case 'P':
        t->only = value;
        return true;
    case 'r':
        return t->reverse = true;
    case 's':
        return t->sizes = true;
    case OPT_DIRSFIRST:
        return t->dirs_first = true;
    case OPT_NOREPORT:
        return t->no_report = true;
    default:
        return key != CMD_BAD;
    }
}

static int cmd_tree(struct cmd *c)
{
    struct tree t = {
        .c = c, .max_depth = UINT64_MAX, .path = BUF(65536), .prefix = BUF(1 << 20)
    };
    struct cmd_options o = cmd_options(c);
    bool ok = true;
    for (int k; ok && (k = cmd_next(&o)) != CMD_END;)
        ok = set_option(&t, k, o.value);
    if (!ok)
        return 1;
    for (int i = 0; ok && i < c->argc; i++)
        ok = print_tree(&t, c->argv[i]);
    if (!c->argc)
        ok = print_tree(&t, ".");
    ok = ok && print_report(&t);
    buf_finish(&t.path);
    buf_finish(&t.prefix);
    free(t.levels);
    return ok ? t.status : 1;
}

const struct command command_tree = {
    "tree",
    cmd_tree,
    options,
    "[OPTION]... [DIRECTORY]...",
    "Draw trees of files.",
    0,
};
